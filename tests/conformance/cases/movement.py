"""Operators that move data: views, permutations, cutting and joining, indexing, padding, selecting."""
import itertools

import ml_dtypes
import numpy as np
from onnx import helper

from ..case import FLOATS, INTEGERS, NUMERIC, boolean, case, data, f16, f32, f64, i8, i32, i64, ints, string, u8

F8, INT4, UINT4 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4)
EVERY = (*NUMERIC, boolean, string, np.dtype(np.complex64), np.dtype(np.complex128))
WIDTHS = (u8, f16, f32, f64, np.dtype(np.complex128), string)          # one type of each element width, and strings
EDGES = [(), (0,), (1,), (3, 0, 2), (2, 3, 4), (1, 2, 1, 3, 1, 2)]


def codes(shape, dtype):
    """Small whole numbers of any type, packed ones and strings included; the same for all shapes of a size."""
    numbers = (np.arange(int(np.prod(shape))) % 7).reshape(shape)
    return numbers.astype(str).astype(object) if dtype == string else numbers.astype(dtype)


def moved(op, opset, inputs, *outputs, **more):
    """Outputs that are compared as they are, whatever the type."""
    return case(op, opset, inputs, outputs if len(outputs) > 1 else outputs[0], wide=False, **more)


# ---- Views ----

def reshape(opset, x, shape, want, **more):
    return moved("Reshape", opset, [x, ints(*shape)], x.reshape(want), **more)


VIEWS = [
    *[moved("Identity", opset, [codes((2, 3), t)], codes((2, 3), t)) for opset in (7, 13, 16, 21) for t in WIDTHS],
    *[reshape(opset, codes((2, 3, 4), t), (4, -1), (4, 6)) for opset in (7, 13, 14, 19) for t in WIDTHS],
    reshape(14, data((2, 3, 4)), (0, 0, 1, -1), (2, 3, 1, 4), id="zeros copy dims"),
    reshape(14, data((0, 3, 4)), (3, 4, 0), (3, 4, 0), id="allowzero", attrs={"allowzero": 1}),
    reshape(14, data((0, 3)), (-1, 3), (0, 3), id="empty, inferred"),
    reshape(14, data(()), (), (), id="scalar"),
    reshape(14, data((1, 1)), (), (), id="to a scalar"),
    reshape(23, codes((2, 3), INT4), (3, 2), (3, 2)),
    case("Reshape", 14, [data((2, 3)), ints(4, 2)], error="shape \\[2,3\\] cannot be reshaped to \\[4,2\\]"),
    case("Reshape", 14, [data((2, 3)), ints(-1, -1)], error="-1 twice"),
    case("Reshape", 14, [data((2, 3)), ints(2, 3, 0)], error="entry 2 of 'shape' is 0"),
    case("Reshape", 14, [data((2, 3)), ints(-2, 3)], error="entry 0 of 'shape' is -2"),
    case("Reshape", 14, [data((0, 3)), ints(0, -1)], attrs={"allowzero": 1}, error="both 0 and -1"),
    *[moved("Squeeze", opset, [codes((1, 2, 1, 3), t)], codes((2, 1, 3), t), attrs={"axes": [0]}) for opset in (7, 11) for t in (f32, string)],
    moved("Squeeze", 11, [data((1, 2, 1))], data((1, 2, 1)).reshape(2)),
    *[moved("Squeeze", 13, [codes((1, 2, 1, 3), t), ints(0, -2)], codes((2, 3), t)) for t in WIDTHS],
    moved("Squeeze", 13, [data((1, 2, 1))], data((1, 2, 1)).reshape(2)),
    case("Squeeze", 13, [data((1, 2)), ints(1)], error="axis 1 of 'data' has 2 elements"),
    case("Squeeze", 13, [data((1, 2)), ints(2)], error="axes"),
    case("Squeeze", 13, [data((1, 2)), ints(0, -2)], error="axis 0 twice"),
    *[moved("Unsqueeze", opset, [codes((2, 3), t)], codes((2, 1, 3, 1), t), attrs={"axes": [1, 3]}) for opset in (7, 11) for t in (f32, string)],
    *[moved("Unsqueeze", 13, [codes((2, 3), t), ints(-1, 0)], codes((1, 2, 3, 1), t)) for t in WIDTHS],
    case("Unsqueeze", 13, [data((2, 3)), ints(1, 1)], error="axis 1 twice"),
    moved("ExpandDims", 1, [data((2, 3)), np.array(-1, i32)], data((2, 3)).reshape(2, 3, 1), domain="com.microsoft"),
    *[moved("Flatten", opset, [codes((2, 3, 4), t)], codes((6, 4), t), attrs={"axis": 2}) for opset in (7, 9, 13) for t in (f32, f64)],
    *[moved("Flatten", 13, [data((2, 3, 4))], data((2, 3, 4)).reshape(np.prod((2, 3, 4)[:axis], dtype=int), -1), attrs={"axis": axis}) for axis in (-3, -1, 0, 1, 3)],
    moved("Flatten", 13, [data(())], data(()).reshape(1, 1), attrs={"axis": 0}, id="scalar"),
    case("Flatten", 13, [data((2, 3))], attrs={"axis": 3}, error="attribute 'axis' is 3"),
    *[moved("Shape", 13, [np.zeros(s, f32)], np.array(s, i64), id=f"rank {len(s)}, {s}") for s in EDGES],
    *[moved("Shape", 7, [codes((2, 3), t)], ints(2, 3)) for t in EVERY],
    *[moved("Shape", 15, [data((2, 3, 4))], np.array((2, 3, 4)[start:end], i64), attrs={"start": start, "end": end}, id=f"{start}:{end}")
      for start, end in itertools.product((-9, -2, 0, 1, 9), (-9, -1, 2, 9)) if start >= -3],
    moved("Shape", 15, [data((2, 3, 4))], ints(2, 3, 4), attrs={"start": -9}),
    *[moved("Size", opset, [np.zeros(s, f32)], np.array(np.prod(s), i64), id=f"{s}") for opset in (7, 13) for s in EDGES],
    *[case("Dropout", opset, [data((2, 3), t)], lambda x: x, attrs={"ratio": 0.3}) for opset in (7, 10) for t in (f16, f32, f64)],
    moved("Dropout", 7, [data((2, 3))], data((2, 3)), np.zeros((2, 3), f32), id="mask"),
    moved("Dropout", 10, [data((2, 3))], data((2, 3)), np.zeros((2, 3), bool), id="mask"),
    *[case("Dropout", opset, [data((2, 3), t)], lambda x: (x, np.ones((2, 3), bool))) for opset in (12, 13, 22) for t in FLOATS if opset > 12 or t != FLOATS[-1]],
    moved("Dropout", 13, [data((2, 3)), np.array(0, f32), np.array(True)], data((2, 3)), np.ones((2, 3), bool), id="training, ratio 0"),
]

# ---- Permuting axes ----


def transpose(opset, x, perm, **more):
    return moved("Transpose", opset, [x], np.ascontiguousarray(x.transpose(perm)).reshape(x.transpose(perm).shape), attrs={"perm": list(perm)}, **more)


def depth_to_space(x, b, mode):
    n, c, h, w = x.shape
    y = x.reshape(n, b, b, c // b // b, h, w).transpose(0, 3, 4, 1, 5, 2) if mode == "DCR" else x.reshape(n, c // b // b, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return y.reshape(n, c // b // b, h * b, w * b)


def space_to_depth(x, b, mode="DCR"):
    n, c, h, w = x.shape
    y = x.reshape(n, c, h // b, b, w // b, b).transpose((0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))
    return y.reshape(n, c * b * b, h // b, w // b)


PERMUTED = [
    *[transpose(13, codes((2, 3, 4), t), perm) for t in WIDTHS for perm in itertools.permutations(range(3))],
    *[transpose(7, codes((2, 3), t), (1, 0)) for t in EVERY if t.name != "bfloat16"],
    *[transpose(13, codes((35, 70), t), (1, 0), id=f"tiles of {t}") for t in WIDTHS],
    transpose(13, data((2, 5, 3, 8)), (0, 2, 1, 3), id="heads"),
    transpose(13, data((2, 5, 3, 8)), (0, 2, 3, 1), id="heads, transposed"),
    transpose(13, data((2, 3, 17, 19)), (0, 2, 3, 1), id="channels last"),
    transpose(13, data((1, 600, 700)), (0, 2, 1), id="large"),
    transpose(13, data((2, 1, 3, 1)), (3, 1, 2, 0), id="axes of one"),
    transpose(13, data((3, 0, 2)), (2, 0, 1), id="empty"),
    *[transpose(opset, codes((3, 5, 3), t), (2, 0, 1)) for opset, t in ((21, F8), (21, INT4), (21, UINT4))],
    moved("Transpose", 13, [data((2, 3, 4))], np.ascontiguousarray(data((2, 3, 4)).T), id="reversed by default"),
    moved("Transpose", 13, [data(())], data(()), id="scalar"),
    case("Transpose", 13, [data((2, 3))], attrs={"perm": [0, 0]}, error="each axis from 0 to 1 once, but entry 1 is 0"),
    case("Transpose", 13, [data((2, 3))], attrs={"perm": [1, 0, 2]}, error="rank"),
    *[moved("DepthToSpace", 7, [codes((1, 8, 2, 3), t)], depth_to_space(codes((1, 8, 2, 3), t), 2, "DCR"), attrs={"blocksize": 2}) for t in (f32, f64)],
    *[moved("DepthToSpace", opset, [codes((2, 18, 2, 3), t)], depth_to_space(codes((2, 18, 2, 3), t), 3, mode), attrs={"blocksize": 3, "mode": mode}, id=f"{mode}, {t}")
      for opset in (11, 13) for mode in ("DCR", "CRD") for t in (f32, f64, u8)],
    *[moved("SpaceToDepth", opset, [codes((2, 3, 4, 6), t)], space_to_depth(codes((2, 3, 4, 6), t), 2), attrs={"blocksize": 2}) for opset in (7, 13) for t in (f32, f64)],
    moved("SpaceToDepth", 28, [data((2, 3, 4, 6))], space_to_depth(data((2, 3, 4, 6)), 2, "CRD"), attrs={"blocksize": 2, "mode": "CRD"}),
    case("DepthToSpace", 13, [data((1, 6, 2, 2))], attrs={"blocksize": 2}, error="axis 1 of 'input' has 6 elements, which is not a multiple of 4"),
    case("SpaceToDepth", 13, [data((2, 3, 4))], attrs={"blocksize": 2}, error="rank 4"),
]

# ---- Joining, cutting, repeating ----


def concat(opset, arrays, axis, **more):
    return moved("Concat", opset, arrays, np.concatenate(arrays, axis), attrs={"axis": axis}, **more)


def sliced(opset, x, index, starts, ends, axes=None, steps=None, index_type=i64, **more):
    lists = [None if v is None else np.array(v, index_type) for v in (starts, ends, axes, steps)]
    while lists[-1] is None:
        lists.pop()
    return moved("Slice", opset, [x, *lists], x[index], **more)


BIG, SMALL = 2**63 - 1, -2**63
JOINED = [
    *[concat(opset, [codes((2, n, 3), t) for n in (1, 0, 4)], axis) for opset, axis in ((7, 1), (11, -2), (13, 1)) for t in WIDTHS],
    *[concat(13, [data((2, 3, 4)), data((2, 3, 4), seed=1)], axis, id=f"axis {axis}") for axis in (-3, -2, -1)],
    concat(13, [data((3,))], 0, id="one input"),
    concat(13, [ints(1), ints(2), ints(3)], 0, id="a shape"),
    case("Concat", 13, [data((2, 3)), data((3, 3))], attrs={"axis": 1}, error="only the concatenation axis 1 may differ"),
    case("Concat", 13, [data((2, 3)), data((2, 3, 1))], attrs={"axis": 1}, error="input 1 has rank 3"),
    case("Concat", 13, [data((2, 3)), data((2, 3))], attrs={"axis": 2}, error="axis"),
    *[moved("Split", opset, [codes((4, 6), t)], codes((4, 6), t)[:, :1], codes((4, 6), t)[:, 1:1], codes((4, 6), t)[:, 1:], attrs={"axis": 1, "split": [1, 0, 5]})
      for opset in (7, 11) for t in WIDTHS],
    *[moved("Split", opset, [codes((4, 6), t)], codes((4, 6), t)[:2], codes((4, 6), t)[2:]) for opset in (7, 13) for t in (f32, string)],
    *[moved("Split", opset, [data((4, 6)), ints(2, 4)], data((4, 6))[:, :2], data((4, 6))[:, 2:], attrs={"axis": -1}) for opset in (13, 18)],
    moved("Split", 18, [data((7,))], data((7,))[:3], data((7,))[3:6], data((7,))[6:], attrs={"num_outputs": 3}),
    case("Split", 18, [data((7,)), ints(3, 3)], outputs=2, error="sum to 6, but axis 0 has 7"),
    case("Split", 18, [data((7,)), ints(8, -1)], outputs=2, error="entry 1 of 'split' is negative"),
    case("Split", 18, [data((7,)), ints(3, 3, 1)], outputs=2, error="3 entries for 2 outputs"),
    case("Split", 13, [data((7,))], outputs=2, error="cannot be split into 2 equal parts"),
    *[moved("Slice", opset, [codes((4, 5), t)], codes((4, 5), t)[1:, -2:], attrs={"starts": [1, -2], "ends": [9, 9]}) for opset in (7, 9) for t in WIDTHS],
    moved("Slice", 9, [data((4, 5))], data((4, 5))[:, 1:3], attrs={"starts": [1], "ends": [3], "axes": [1]}),
    *[sliced(opset, codes((4, 5, 3), t), np.s_[1:3, ::2, ::-1], (1, 0, -1), (3, BIG, SMALL), (0, 1, 2), (1, 2, -1)) for opset in (10, 11, 13) for t in WIDTHS],
    sliced(13, data((4, 5)), np.s_[1:3], (1,), (3,), id="starts and ends alone"),
    sliced(13, data((4, 5)), np.s_[:, 3:0:-2], (3,), (0,), (-1,), (-2,), i32, id="int32 lists"),
    sliced(13, data((4, 5)), np.s_[2:2], (2,), (2,), (0,), id="nothing"),
    sliced(13, data((4, 5)), np.s_[3:1], (3,), (1,), (0,), id="end before start"),
    sliced(13, data((10,)), np.s_[::-1], (BIG,), (SMALL,), (0,), (-1,), id="limits"),
    sliced(13, data((10,)), np.s_[9::-1], (20,), (-20,), (0,), (-1,), id="beyond the ends, backward"),
    sliced(13, data((10,)), np.s_[0:1], (-100,), (-100 + 91,), (0,), (BIG,), id="a huge step"),
    sliced(13, data((0, 3)), np.s_[::-1], (-1,), (SMALL,), (0,), (-1,), id="an empty axis, backward"),
    sliced(13, data((600, 3, 200)), np.s_[:, :, 7:190], (7,), (190,), (2,), id="large, inner axis"),
    case("Slice", 13, [data((4, 5)), ints(0), ints(2), ints(0), ints(0)], error="entry 0 of 'steps' is 0"),
    case("Slice", 13, [data((4, 5)), ints(0), ints(2), ints(5)], error="axes"),
    case("Slice", 13, [data((4, 5)), ints(0, 0), ints(2)], error="'starts' has 2 entries, but 'ends' has 1"),
    *[moved("Expand", opset, [codes((3, 1, 2), t), ints(2, 1, 4, 1)], np.broadcast_to(codes((3, 1, 2), t), (2, 3, 4, 2)).copy()) for opset in (8, 13) for t in WIDTHS],
    *[moved("Expand", 13, [data(s), np.array(to, i64)], np.broadcast_to(data(s), np.broadcast_shapes(s, to)).copy(), id=f"{s} to {to}")
      for s, to in (((), ()), ((), (3, 2)), ((1, 3, 1, 4, 1), (1, 3, 2, 4, 2)), ((1,), (0,)), ((0, 1), (1, 4)), ((5, 1), (1,)))],
    case("Expand", 13, [data((3,)), ints(2)], error="shape \\[3\\] cannot be broadcast to \\[2\\]"),
    *[moved("Tile", opset, [codes((2, 3), t), ints(2, 3)], np.tile(codes((2, 3), t), (2, 3))) for opset in (7, 13) for t in WIDTHS],
    moved("Tile", 13, [data((2, 3, 2)), ints(1, 2, 1)], np.tile(data((2, 3, 2)), (1, 2, 1))),
    moved("Tile", 13, [data((2, 3)), ints(0, 2)], np.zeros((0, 6), f32)),
    case("Tile", 13, [data((2, 3)), ints(2)], error="1 entries, but 'input' has rank 2"),
    case("Tile", 13, [data((2, 3)), ints(2, -1)], error="entry 1 of 'repeats' is negative"),
]

# ---- Indexing ----

SCATTERS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
OUT_OF_RANGE = [("Gather", ints(3)), ("Gather", ints(-4)), ("Gather", ints(0, 10**12)), ("GatherElements", ints(3)), ("GatherND", np.array([[-4]], i64))]


def scattered(x, indices, updates, axis, combine=None):
    y = x.copy()
    for at in np.ndindex(*indices.shape):
        to = (*at[:axis], int(indices[at]), *at[axis + 1:])
        y[to] = combine(y[to], updates[at]) if combine else updates[at]
    return y


def scattered_nd(x, indices, updates, combine=None):
    y = x.copy()
    for at in np.ndindex(*indices.shape[:-1]):
        to = tuple(int(i) for i in indices[at])
        y[to] = combine(y[to], updates[at]) if combine else updates[at]
    return y


INDEXED = [
    *[moved("Gather", opset, [codes((4, 3, 2), t), np.array([[1, 0], [2, -1]], it)], np.take(codes((4, 3, 2), t), [[1, 0], [2, -1]], axis), attrs={"axis": axis},
            peer=t != string or "copies only the first string of each block")
      for opset, axis in ((7, 0), (11, 1), (13, -2)) for t in WIDTHS for it in (i32, i64)],
    moved("Gather", 13, [data((4, 3, 2)), np.array(2, i64)], data((4, 3, 2))[:, 2], attrs={"axis": 1}, id="scalar"),
    moved("Gather", 13, [data((4, 3)), np.zeros((0, 2), i64)], np.zeros((0, 2, 3), f32), id="no indices"),
    moved("Gather", 13, [data((50, 300)), np.arange(900).reshape(3, 300) % 50], data((50, 300))[np.arange(900).reshape(3, 300) % 50], id="embedding"),
    *[case(op, 13, [data((3,)), indices], error="is out of range") for op, indices in OUT_OF_RANGE],
    *[moved("GatherElements", opset, [codes((3, 4), t), np.array([[2, -1, 0]], it)], codes((3, 4), t)[[2, -1, 0], [0, 1, 2]].reshape(1, 3), attrs={"axis": 0})
      for opset in (11, 13) for t in WIDTHS for it in (i32, i64)],
    *[moved("GatherElements", 13, [data((2, 3, 4)), np.arange(24).reshape(2, 3, 4) % 2], np.take_along_axis(data((2, 3, 4)), np.arange(24).reshape(2, 3, 4) % 2, axis), attrs={"axis": axis})
      for axis in (0, 1, -1)],
    case("GatherElements", 13, [data((2, 3)), np.zeros((2, 4), i64)], error="only the indexed axis 0 may be longer"),
    *[moved("GatherND", opset, [codes((3, 4, 2), t), np.array([[0, 1], [-1, -1]], i64)], codes((3, 4, 2), t)[[0, -1], [1, -1]]) for opset in (11, 12, 13) for t in WIDTHS],
    moved("GatherND", 13, [data((2, 3, 4)), np.array([[[1, 0], [2, 3]], [[0, -1], [-3, 1]]], i64)],
          data((2, 3, 4))[[[0, 0], [1, 1]], [[1, 2], [0, -3]], [[0, 3], [-1, 1]]], attrs={"batch_dims": 1}),
    moved("GatherND", 1, [data((3, 4)), np.array([[1, 2]], i32)], data((3, 4))[[1], [2]], domain="com.microsoft"),
    case("GatherND", 13, [data((3, 4)), np.array([[0, 1, 2]], i64)], error="coordinates"),
    *[moved(op, opset, [codes((3, 4), t), np.array([[2, -3], [1, -2]], it), codes((2, 2), t)], scattered(codes((3, 4), t), np.array([[2, 0], [1, 1]]), codes((2, 2), t), 0))
      for op, opset in (("Scatter", 9), ("Scatter", 11), ("ScatterElements", 11), ("ScatterElements", 13), ("ScatterElements", 16), ("ScatterElements", 18)) for t in WIDTHS for it in (i32, i64)],
    moved("ScatterElements", 18, [data((2, 5)), np.array([[1, -2]], i64), data((1, 2), seed=1)], scattered(data((2, 5)), np.array([[1, 3]]), data((1, 2), seed=1), 1), attrs={"axis": 1}),
    *[moved("ScatterElements", opset, [data((2, 3), t), np.array([[1, 1, 0]], i64), data((1, 3), t, seed=1)],
            scattered(data((2, 3), t), np.array([[1, 1, 0]]), data((1, 3), t, seed=1), 1, SCATTERS[r]), attrs={"axis": 1, "reduction": r}, id=f"{r}, {t}",
            **({"peer": "adds bfloat16 and float16 otherwise"} if t.itemsize == 2 and t in FLOATS else {}))
      for opset, rs in ((16, ("add", "mul")), (18, SCATTERS)) for r in rs for t in NUMERIC],
    *[case("ScatterElements", 18, [data((3,)), ints(at), data((1,))], error="is out of range") for at in (3, -4, 10**12)],
    case("ScatterElements", 18, [data((3, 2)), np.zeros((1, 2), i64), data((1, 1))], error="they must agree"),
    case("ScatterElements", 18, [data((3,)), ints(0), data((1,))], attrs={"reduction": "sum"}, error="'reduction' is 'sum'"),
    *[moved("ScatterND", opset, [codes((3, 4), t), np.array([[2, -1], [0, 0]], i64), codes((2,), t)], scattered_nd(codes((3, 4), t), np.array([[2, 3], [0, 0]]), codes((2,), t)))
      for opset in (11, 13, 16, 18) for t in WIDTHS],
    moved("ScatterND", 18, [data((3, 4)), np.array([[1]], i64), data((1, 4), seed=1)], scattered_nd(data((3, 4)), np.array([[1]]), data((1, 4), seed=1)), id="rows"),
    *[moved("ScatterND", opset, [data((2, 3), t), np.array([[1], [1]], i64), data((2, 3), t, seed=1)],
            scattered_nd(data((2, 3), t), np.array([[1], [1]]), data((2, 3), t, seed=1), SCATTERS[r]), attrs={"reduction": r}, id=f"{r}, {t}",
            **({"peer": "adds bfloat16 and float16 otherwise"} if t.itemsize == 2 and t in FLOATS else {}))
      for opset, rs in ((16, ("add", "mul")), (18, SCATTERS)) for r in rs for t in NUMERIC],
    *[case("ScatterND", 18, [data((3,)), np.array([[at]], i64), data((1,))], error="is out of range") for at in (3, -4, 10**12)],
    case("ScatterND", 18, [data((3, 2)), np.array([[0]], i64), data((1, 3))], error="ask for \\[1,2\\]"),
    moved("TensorScatter", 24, [data((2, 1, 4, 3)), data((2, 1, 2, 3), seed=1), ints(2, 0)],
          np.stack([np.concatenate([data((2, 1, 4, 3))[0, :, :2], data((2, 1, 2, 3), seed=1)[0]], 1), np.concatenate([data((2, 1, 2, 3), seed=1)[1], data((2, 1, 4, 3))[1, :, 2:]], 1)])),
    moved("TensorScatter", 24, [data((1, 3, 2)), data((1, 2, 2), seed=1), ints(2)],
          np.stack([data((1, 2, 2), seed=1)[0, 1], data((1, 3, 2))[0, 1], data((1, 2, 2), seed=1)[0, 0]])[None], attrs={"mode": "circular"}),
    case("TensorScatter", 24, [data((1, 3, 2)), data((1, 2, 2)), ints(2)], error="write index 2 of sample 0"),
]

# ---- Padding ----


def pad(opset, x, pads, mode="constant", value=None, axes=None, **more):
    lists = [ints(*(p[0] for p in pads), *(p[1] for p in pads)), None if value is None else np.array(value, x.dtype), None if axes is None else ints(*axes)]
    while lists[-1] is None:
        lists.pop()
    full = [(0, 0)] * x.ndim
    for axis, p in zip(range(x.ndim) if axes is None else axes, pads, strict=True):
        full[axis] = p
    wide = x if x.dtype.kind in "fiub" else x.astype(i8)
    want = np.pad(wide, full, mode=mode, **({"constant_values": 0 if value is None else value} if mode == "constant" else {})).astype(x.dtype)
    return moved("Pad", opset, [x, *lists], want, attrs={"mode": mode}, id=f"{mode}, {x.dtype}, {pads}", **more)


PEER_PADS = {"peer": "refuses or differs where pads exceed the axis"}
PADDED = [
    *[moved("Pad", 7, [data((2, 3), t)], np.pad(data((2, 3), t), ((1, 0), (0, 2)), constant_values=1.5), attrs={"pads": [1, 0, 0, 2], "value": 1.5}) for t in (f16, f32, f64)],
    *[moved("Pad", 7, [data((4, 5))], np.pad(data((4, 5)), ((1, 0), (0, 2)), mode=mode), attrs={"pads": [1, 0, 0, 2], "mode": mode}, id=mode) for mode in ("reflect", "edge")],
    *[pad(11, data((2, 3), t), [(1, 2), (0, 3)], value=7) for t in NUMERIC if t.name != "bfloat16"],
    *[pad(13, codes((2, 3), t), [(1, 2), (0, 3)], value=1) for t in (boolean, np.dtype(ml_dtypes.bfloat16))],
    *[pad(18, data((4, 3, 2)), [(2, 1)], mode, axes=[axis]) for mode in ("constant", "reflect", "edge") for axis in (0, 1, -3)],
    *[pad(19, data((3, 4, 5), t), [(2, 2), (0, 1), (3, 0)], mode) for mode in ("constant", "reflect", "edge", "wrap") for t in (f32, i64, u8)],
    *[pad(19, data((n,)), [p], mode, **PEER_PADS) for n, p in ((3, (4, 0)), (3, (0, 5)), (3, (7, 8)), (2, (9, 3)), (1, (2, 2))) for mode in ("wrap", "reflect", "edge")],
    *[pad(21, codes((3, 3), t), [(1, 1), (2, 0)], mode) for t in (INT4, UINT4) for mode in ("constant", "edge", "wrap")],
    *[pad(opset, data((2, 3)), [(1, 0), (0, 1)]) for opset in (23, 24)],
    pad(19, data((2, 0)), [(1, 0), (0, 3)], value=2),
    pad(19, data((600, 400)), [(1, 1), (2, 2)], "reflect"),
    moved("Pad", 13, [data((2, 2), string), ints(0, 1, 0, 0), np.array("-", object)], np.array([["-", *row] for row in data((2, 2), string)], object), peer="lacks strings"),
    moved("Pad", 19, [data((5, 4)), ints(-1, 1, 2, -2)], np.pad(data((5, 4))[1:, :2], ((0, 2), (1, 0))), id="negative pads crop"),
    moved("Pad", 19, [data((6,)), ints(-2, 3)], np.pad(data((6,))[2:], ((0, 3),), mode="reflect"), attrs={"mode": "reflect"}, id="cropped, then reflected", peer="reflects what was cropped"),
    moved("Pad", 1, [data((2, 3)), ints(1, 0, 0, 2), np.array([2], f32)], np.pad(data((2, 3)), ((1, 0), (0, 2)), constant_values=2), domain="com.microsoft"),
    case("Pad", 19, [data((2, 3)), ints(1, 1)], error="2 entries, but an input of rank 2 needs 4"),
    case("Pad", 19, [data((3,)), ints(-2, -2)], error="remove more than the 3 elements"),
    case("Pad", 19, [data((0,)), ints(1, 1)], attrs={"mode": "edge"}, error="axis 0 is empty"),
    case("Pad", 19, [data((3,)), ints(1, 1)], attrs={"mode": "mirror"}, error="'mode' is 'mirror'"),
    *[moved("CenterCropPad", 18, [codes((5, 4, 3), t), np.array([2, 7, 3], it)], np.pad(codes((5, 4, 3), t)[1:3], ((0, 0), (1, 2), (0, 0)))) for t in (f32, u8) for it in (i32, i64)],
    moved("CenterCropPad", 18, [data((5, 4, 3)), ints(4)], np.pad(data((5, 4, 3)), ((0, 0), (0, 0), (0, 1))), attrs={"axes": [-1]}),
    case("CenterCropPad", 18, [data((5, 4)), ints(4)], error="1 entries for 2 axes"),
]

# ---- Selecting ----


def onehot(indices, depth, values, axis=-1):
    wrapped = np.where(indices < 0, indices + depth, indices)
    hit = np.moveaxis(wrapped[..., None] == np.arange(depth), -1, axis)
    return np.where(hit, values[1], values[0]).astype(values.dtype)


def topk(opset, x, k, axis=-1, largest=1, **more):
    """Ties in the order of indices: a stable sort of what grows with rank."""
    keys = np.moveaxis(x, axis, -1)
    order = np.argsort(keys if not largest else -keys.astype(f64) if x.dtype.kind == "f" else -keys.astype(object).astype(f64), -1, kind="stable")[..., :k]
    values = np.take_along_axis(keys, order, -1)
    inputs, attrs = ([x], {"k": k, "axis": axis}) if opset < 10 else ([x, ints(k)], {"axis": axis})
    if opset >= 11:
        attrs["largest"] = largest
    return moved("TopK", opset, inputs, np.moveaxis(values, -1, axis), np.moveaxis(order, -1, axis), attrs=attrs, **more)


NAN, INF = np.nan, np.inf
SELECTED = [
    *[moved("Compress", opset, [codes((3, 2, 2), t), np.array([False, True, True])], codes((3, 2, 2), t)[1:], attrs={"axis": 0}) for opset in (9, 11) for t in WIDTHS],
    moved("Compress", 11, [data((3, 4)), np.array([True, False, True])], data((3, 4)).reshape(-1)[[0, 2]], id="flattened, short"),
    moved("Compress", 11, [data((3, 4)), np.array([False, True, False, True])], data((3, 4))[:, [1, 3]], attrs={"axis": -1}),
    case("Compress", 11, [data((2,)), np.array([False, False, True])], error="selects element 2"),
    *[moved("NonZero", opset, [np.array([[0, 1, 2], [0, 0, 3]], t)], np.array([[0, 0, 1], [1, 2, 2]], i64)) for opset in (9, 13) for t in (*NUMERIC, boolean) if opset == 13 or t.name != "bfloat16"],
    moved("NonZero", 13, [np.array([0.0, -0.0, NAN, 5e-324])], np.array([[2, 3]], i64), id="signs and NaN"),
    moved("NonZero", 13, [np.zeros((2, 0), f32)], np.zeros((2, 0), i64)),
    moved("NonZero", 13, [np.array(3, f32)], np.zeros((1, 1), i64), id="scalar"),
    moved("NonZero", 13, [data((3, 700, 5), boolean)], np.array(np.nonzero(data((3, 700, 5), boolean)), i64), id="many"),
    moved("Compress", 11, [data((3, 2500, 2)), data((2500,), boolean)], data((3, 2500, 2))[:, data((2500,), boolean)], attrs={"axis": 1}, id="many"),
    *[moved("ReverseSequence", 10, [codes((4, 2, 3), t), ints(3, 1)], np.stack([codes((4, 2, 3), t)[[2, 1, 0, 3], 0], codes((4, 2, 3), t)[:, 1]], 1)) for t in WIDTHS],
    moved("ReverseSequence", 10, [data((2, 4)), ints(4, 0)], np.stack([data((2, 4))[0, ::-1], data((2, 4))[1]]), attrs={"time_axis": 1, "batch_axis": 0}),
    case("ReverseSequence", 10, [data((4, 2)), ints(5, 1)], error="entry 0 of 'sequence_lens' is 5|a length is negative or longer"),
    *[moved("Trilu", 14, [codes((2, 3, 4), t), np.array(k, i64)], (np.triu if upper else np.tril)(codes((2, 3, 4), t), k), attrs={"upper": upper}, id=f"{t}, {k}, {upper}")
      for t in (f32, f64, u8, boolean) for k in (-5, -1, 0, 2) for upper in (0, 1)],
    moved("Trilu", 14, [data((3, 3)), np.array(2**62, i64)], np.zeros((3, 3), f32), id="a far diagonal"),
    moved("Trilu", 1, [data((3, 3))], np.triu(data((3, 3))), domain="com.microsoft"),
    *[moved("OneHot", opset, [np.array([[1, -1], [7, 0]], it), np.array(3, dt), np.array([2, 5], vt)], onehot(np.array([[1, -1], [7, 0]]), 3, np.array([2, 5], vt)))
      for opset in (9, 11) for it, dt, vt in ((i64, i64, f32), (i32, i32, i64), (f32, f32, f64), (i8, u8, boolean), (i64, f64, f16))],
    *[moved("OneHot", 11, [np.array([0, 2]), ints(3), np.array([0, 1], f32)], onehot(np.array([0, 2]), 3, np.array([0, 1], f32), axis), attrs={"axis": axis}) for axis in (0, 1, -2)],
    moved("OneHot", 11, [np.array([0, 2]), np.array(3), np.array(["off", "on"], object)], onehot(np.array([0, 2]), 3, np.array(["off", "on"], object))),
    case("OneHot", 11, [np.array([0]), np.array(0), np.array([0, 1], f32)], error="'depth' is 0"),
    *[topk(opset, data((3, 5), t), 2) for opset in (7, 10, 11) for t in (FLOATS[:3] if opset < 11 else [t for t in NUMERIC if t.name != "bfloat16"])],
    topk(24, codes((3, 5), np.dtype(ml_dtypes.bfloat16)).astype(f32), 2),
    *[topk(11, data((4, 6, 3), i64), 3, axis, largest, id=f"axis {axis}, largest {largest}") for axis in (0, 1, 2, -2) for largest in (0, 1)],
    topk(11, np.array([3, 1, 3, 1, 3], f32), 4, id="ties"),
    topk(11, data((2, 1000)), 700, id="a large k"),
    topk(11, data((64, 1000)), 5, id="many rows"),
    *[topk(11, data((2, 5000), t), k, -1, largest, id=f"long rows, {k} of {t}, largest {largest}") for t, k in ((f32, 100), (f32, 3000), (i64, 700)) for largest in (0, 1)],
    topk(11, data((2500, 3)), 2500, 0, id="long columns, all"),
    topk(11, data((5,)), 0, id="none"),
    moved("TopK", 11, [np.array([1, NAN, INF, -INF, -0.0, 0.0], f32), ints(6)], np.array([NAN, INF, 1, -0.0, 0.0, -INF], f32), ints(1, 2, 0, 4, 5, 3), id="NaN is largest", peer="leaves NaN's place open"),
    moved("TopK", 11, [np.array([1, NAN, INF, -INF], f64), ints(4)], np.array([-INF, 1, INF, NAN], f64), ints(3, 0, 2, 1), attrs={"largest": 0}, id="NaN is largest, smallest first", peer="leaves NaN's place open"),
    moved("TopK", 11, [np.array([2**63 - 1, -2**63, 2**63 - 2], i64), ints(2)], np.array([2**63 - 1, 2**63 - 2], i64), ints(0, 2), id="64 bits"),
    case("TopK", 11, [data((3,)), ints(4)], outputs=2, output_types=[helper.make_tensor_type_proto(t, None) for t in (1, 7)], error="K is 4, but axis 0 has only 3"),
    *[moved("Unique", 11, [np.array([2, 1, 1, 3, 4, 3], t)], np.array([1, 2, 3, 4], t), ints(1, 0, 3, 4), ints(1, 0, 0, 2, 3, 2), ints(2, 1, 2, 1)) for t in (*INTEGERS, f16, f32, f64)],
    moved("Unique", 11, [np.array([2, 1, 1, 3, 4, 3], f32)], np.array([2, 1, 3, 4], f32), ints(0, 1, 3, 4), ints(0, 1, 1, 2, 3, 2), ints(1, 2, 2, 1), attrs={"sorted": 0}),
    moved("Unique", 11, [np.array([[1, 0, 0], [1, 0, 0], [2, 3, 4]], f32)], np.array([[1, 0, 0], [2, 3, 4]], f32), ints(0, 2), ints(0, 0, 1), ints(2, 1), attrs={"axis": 0}),
    moved("Unique", 11, [np.array(["b", "a", "b", ""], object)], np.array(["", "a", "b"], object), ints(3, 1, 0), ints(2, 1, 2, 0), ints(1, 1, 2)),
    moved("Unique", 11, [np.array([1, NAN, NAN, -0.0, 0.0], f32)], np.array([-0.0, 1, NAN], f32), None, None, ints(2, 1, 2), id="NaN and zeros", peer="keeps every NaN"),
    moved("Unique", 11, [np.zeros(0, f32)], np.zeros(0, f32), ints(), ints(), ints(), id="nothing"),
]

CASES = [*VIEWS, *PERMUTED, *JOINED, *INDEXED, *PADDED, *SELECTED]
