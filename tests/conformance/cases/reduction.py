"""Reductions, softmax and normalisation."""

import numpy as np
from conformance.case import FLOATS, NUMERIC, case, data, ints

SUMS = {
    "ReduceSum": np.sum,
    "ReduceMean": np.mean,
    "ReduceProd": np.prod,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceL1": lambda x, **k: np.sum(np.abs(x), **k),
    "ReduceL2": lambda x, **k: np.sqrt(np.sum(x * x, **k)),
    "ReduceSumSquare": lambda x, **k: np.sum(x * x, **k),
    "ReduceLogSum": lambda x, **k: np.log(np.sum(x, **k)),
    "ReduceLogSumExp": lambda x, **k: np.log(np.sum(np.exp(x), **k)),
}
POSITIVE = {"ReduceLogSum"}


def sample(op, shape, dtype=np.float32):
    x = data(shape, dtype)
    return np.abs(x) + np.ones((), x.dtype) if op in POSITIVE else x


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def layer_norm(x, scale, bias=0.0, axis=-1, eps=1e-5):
    axes = tuple(range(axis % x.ndim, x.ndim))
    mean = x.mean(axis=axes, keepdims=True)
    inverse = 1 / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + eps)
    return (x - mean) * inverse * scale + bias, mean, inverse


def group_norm(x, scale, bias, groups):
    parts = x.reshape(x.shape[0], groups, -1)
    normal = (parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + 1e-5)
    shape = (1, -1) + (1,) * (x.ndim - 2)
    return normal.reshape(x.shape) * scale.reshape(shape) + bias.reshape(shape)



def sums(reverse, exclusive):
    """Along axis 1, in the order of the walk."""

    def run(x, axis):
        x = x[:, ::-1] if reverse else x
        y = x.cumsum(1) - x if exclusive else x.cumsum(1)
        return y[:, ::-1] if reverse else y

    return run


CASES = [
    *[
        case(op, since, [sample(op, (3, 4, 5))], lambda x, f=f: f(x, axis=(0, 2), keepdims=True), attrs={"axes": [0, 2]}, rtol=2e-5, id=f"axes attribute {since}")
        for op, f in SUMS.items()
        for since in (7,)
    ],
    *[
        case(op, 18, [sample(op, (3, 4, 5)), ints(1)], lambda x, a, f=f: f(x, axis=1), attrs={"keepdims": 0}, rtol=2e-5, id="axes input, dropped", constant=True)
        for op, f in SUMS.items()
    ],
    *[case(op, 18, [sample(op, (2, 3, 4))], lambda x, f=f: f(x, keepdims=True).reshape(1, 1, 1), rtol=2e-5, id="all axes") for op, f in SUMS.items()],
    *[case("ReduceSum", 13, [data((4, 70), t), ints(-1)], lambda x, a: x.sum(axis=-1, keepdims=True, dtype=x.dtype), id=f"rows {np.dtype(t).name}", rtol=4e-3 if t in FLOATS else 0) for t in (np.float32, np.float64, np.int32, np.int64)],
    *[case("ReduceMax", 18, [data((5, 600), t), ints(0)], lambda x, a: x.max(axis=0, keepdims=True), id=f"columns {np.dtype(t).name}") for t in NUMERIC],
    case("ReduceMax", 20, [np.array([[True, False], [False, False]]), ints(1)], lambda x, a: x.max(axis=1, keepdims=True), id="bool"),
    case("ReduceSum", 13, [data((2, 3)), np.empty(0, np.int64)], lambda x, a: x, attrs={"noop_with_empty_axes": 1}, id="no axes, no reduction"),
    case("ReduceSumSquare", 18, [data((2, 3))], lambda x: x * x, attrs={"noop_with_empty_axes": 1}, id="no axes: each element squared", peer="it gives the input"),
    case("ReduceLogSumExp", 18, [data((2, 3)), np.empty(0, np.int64)], lambda x, a: x, attrs={"noop_with_empty_axes": 1}, id="no axes: log of exp", rtol=1e-6),
    case("ReduceSum", 13, [data((2, 0, 3)), ints(1)], lambda x, a: np.zeros((2, 1, 3), np.float32), id="no elements"),
    case("ReduceMax", 18, [np.array([1, np.nan, 3], np.float32)], np.array([np.nan], np.float32), id="NaN stays", peer="it drops NaN"),
    case("ReduceSum", 13, [data((2, 3)), ints(2)], error="axes", id="axis out of range"),
    *[case(op, 13, [data((3, 4, 5))], lambda x, f=f: f(x, axis=1)[:, None].astype(np.int64), attrs={"axis": 1}, wide=False) for op, f in (("ArgMax", np.argmax), ("ArgMin", np.argmin))],
    case("ArgMax", 13, [np.array([[2, 1, 2], [0, 0, 0]], np.float32)], np.array([2, 2], np.int64), attrs={"axis": -1, "keepdims": 0, "select_last_index": 1}),
    *[case("Softmax", 13, [data((3, 40), t)], softmax, rtol=1e-2 if np.dtype(t).itemsize == 2 else 2e-6) for t in FLOATS],
    case("Softmax", 13, [data((2, 5, 7))], lambda x: softmax(x, 1), attrs={"axis": 1}, rtol=2e-6, id="inner axis"),
    case("Softmax", 11, [data((2, 3, 4))], lambda x: softmax(x.reshape(2, 12)).reshape(2, 3, 4), rtol=2e-6, id="flattened"),
    case("LogSoftmax", 13, [data((3, 9))], lambda x: np.log(softmax(x)), rtol=1e-5, atol=1e-6),
    case("LogSoftmax", 11, [data((2, 3, 4))], lambda x: np.log(softmax(x.reshape(2, 12))).reshape(2, 3, 4), rtol=1e-5, atol=1e-6),
    case("Hardmax", 13, [data((3, 4))], lambda x: (np.arange(4) == x.argmax(-1)[:, None]).astype(x.dtype)),
    *[
        case(op, 13, [np.array([[1, np.nan, 3, np.nan], [np.nan, 9, 1, 2], [5, 6, 7, np.nan]], np.float32)], np.array([1, 0, 3], np.int64),
             attrs={"axis": 1, "keepdims": 0}, id="NaN", peer="passes NaN over, but for the first element")
        for op in ("ArgMax", "ArgMin")
    ],
    *[
        case("Hardmax", 13, [np.moveaxis(np.array([[1, np.nan, 3, np.nan], [np.nan, 9, 1, 2], [5, 6, 7, np.nan]], np.float32), 1, axis).copy()],
             np.moveaxis(np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]], np.float32), 1, axis).copy(), attrs={"axis": axis},
             id=f"NaN, axis {axis}", peer="passes NaN over")
        for axis in (0, 1)
    ],
    *[
        case("MaxPool", 12, [np.array([[[1, np.nan, 3, 2, 1]]], np.float32)], np.array([[[np.nan, np.nan, 3][: 6 - window]]], np.float32),
             attrs={"kernel_shape": [window]}, id=f"NaN, window {window}", peer="passes NaN over by place")
        for window in (3, 4)
    ],
    case("Hardmax", 11, [data((3, 4))], lambda x: (np.arange(4) == x.argmax(-1)[:, None]).astype(x.dtype)),
    case("LayerNormalization", 17, [data((3, 5, 64)), data((64,)), data((64,))], lambda x, s, b: layer_norm(x, s, b), rtol=1e-4, atol=1e-5),
    case("LayerNormalization", 17, [data((3, 4, 6)), data((4, 6))], lambda x, s: layer_norm(x, s, axis=1)[0], attrs={"axis": 1}, rtol=1e-4, atol=1e-5),
    case("RMSNormalization", 23, [data((3, 64)), data((64,))], lambda x, s: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * s, rtol=1e-5, atol=1e-6),
    case(
        "InstanceNormalization",
        7,
        [data((2, 3, 4, 5)), data((3,)), data((3,))],
        lambda x, s, b: (x - x.mean((2, 3), keepdims=True)) / np.sqrt(x.var((2, 3), keepdims=True) + 1e-5) * s[:, None, None] + b[:, None, None],
        rtol=1e-4,
        atol=1e-5,
    ),
    *[
        case(
            "BatchNormalization",
            since,
            [data((2, 3, 4, 5), t), data((3,), t), data((3,), t), data((3,), t), np.abs(data((3,), t)) + np.ones((), t)],
            lambda x, s, b, m, v: (x - m[:, None, None]) / np.sqrt(v[:, None, None] + 1e-5) * s[:, None, None] + b[:, None, None],
            rtol=1e-2 if np.dtype(t).itemsize == 2 else 1e-5,
            atol=1e-2 if np.dtype(t).itemsize == 2 else 1e-6,
            id=f"{since} {np.dtype(t).name}",
        )
        for since, t in ((9, np.float32), (15, np.float32), (15, np.float64), (15, np.float16))
    ],
    # Longer than a kernel holds, of lengths that vectors do not divide, and shapes that are reduced in several steps.
    *[case(op, 18, [sample(op, (2, 9000), t), ints(1)], lambda x, a, f=f: f(x, axis=1, keepdims=True), rtol=1e-2 if t == np.float16 else 1e-4, id=f"long rows {np.dtype(t).name}")
      for op, f in SUMS.items() if op not in ("ReduceProd", "ReduceSum") for t in (np.float32,) + (() if op in ("ReduceL1", "ReduceSumSquare", "ReduceLogSum") else (np.float16,))],
    case("ReduceSum", 13, [data((70, 3, 500)), ints(0, 2)], lambda x, a: x.sum((0, 2), keepdims=True), rtol=1e-4, atol=1e-2, id="in steps"),
    case("ReduceMax", 18, [data((5, 4, 3, 2, 7)), ints(1, 3)], lambda x, a: x.max((1, 3)), attrs={"keepdims": 0}, id="in steps"),
    case("ReduceMean", 18, [data((3000, 5)), ints(0)], lambda x, a: x.mean(0, keepdims=True), rtol=1e-4, atol=1e-5, id="long columns"),
    case("ReduceMax", 18, [np.array([[1, np.nan, 2], [-np.inf, -np.inf, -np.inf]], np.float32), ints(1)], np.array([[np.nan], [-np.inf]], np.float32), id="NaN", peer="passes NaN over"),
    case("ReduceLogSumExp", 18, [np.array([[1, np.nan], [-np.inf, -np.inf], [np.inf, 1]], np.float32), ints(1)],
         np.array([[np.nan], [-np.inf], [np.inf]], np.float32), id="not finite", peer="gives NaN for infinities"),
    case("ReduceSum", 13, [np.zeros((2, 0, 3), np.float32), ints(1)], np.zeros((2, 1, 3), np.float32), id="of nothing"),
    case("ArgMax", 13, [data((2, 5000), np.int32, 0, 1000)], lambda x: x.argmax(1), attrs={"axis": 1, "keepdims": 0}, id="long rows"),
    case("Softmax", 13, [data((2, 70001))], softmax, rtol=1e-4, atol=1e-9, id="a very long row"),
    case("Softmax", 13, [data((5, 300, 3), np.float16)], lambda x: softmax(x, 1), attrs={"axis": 1}, rtol=1e-2, atol=1e-5, id="long columns"),
    case("LayerNormalization", 17, [data((2, 20000)), data((20000,)), data((20000,))], lambda x, s, b: layer_norm(x, s, b), rtol=1e-3, atol=1e-4, id="long rows"),
    case("LayerNormalization", 17, [data((5, 37)), data((37,)), data((37,))], lambda x, s, b: layer_norm(x, s, b), rtol=1e-4, atol=1e-5, id="odd rows"),
    case("GroupNormalization", 21, [data((2, 4, 7, 7)), data((4,)), data((4,))], lambda x, s, b: group_norm(x, s, b, 2), attrs={"num_groups": 2}, rtol=1e-4, atol=1e-5, id="odd images"),
    case("GroupNormalization", 21, [data((2, 4, 3)), data((4,)), data((4,))], lambda x, s, b: group_norm(x, s, b, 2), attrs={"num_groups": 2}, rtol=1e-4, atol=1e-5),
    case("CumSum", 14, [data((2, 3, 4)), np.array(1)], lambda x, a: x.cumsum(1), rtol=1e-6, atol=1e-6),
    case("CumSum", 14, [np.arange(5), np.array(0)], np.array([10, 10, 9, 7, 4]), attrs={"reverse": 1}, id="reverse"),
    case("CumSum", 14, [np.arange(5), np.array(0)], np.array([0, 0, 1, 3, 6]), attrs={"exclusive": 1}, id="exclusive"),
    *[case("CumSum", 14, [data((3, 3000), np.int64), np.array(1)], sums(reverse, exclusive), attrs={"reverse": reverse, "exclusive": exclusive},
           id=f"long, reverse {reverse}, exclusive {exclusive}") for reverse in (0, 1) for exclusive in (0, 1)],
    case("CumProd", 26, [np.arange(1, 5), np.array(0)], np.array([1, 2, 6, 24])),
]
