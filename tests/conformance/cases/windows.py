"""Convolutions and pools: everything that slides a window over an image."""
import itertools

import ml_dtypes  # noqa: F401 (registers bfloat16)
import numpy as np

from ..case import bf16, case, data, f16, f32, f64, i8, i32, i64, u8
from .linear import INT32, codes, loose, saturate, scalar


def pairs(pads, rank):
    return list(zip(pads[:rank], pads[rank:], strict=True))


def conv(x, w, b=None, group=1, strides=None, dilations=None, pads=None):
    """The definition: one product for each output position."""
    rank = x.ndim - 2
    strides, dilations, pads = strides or [1] * rank, dilations or [1] * rank, pads or [0] * 2 * rank
    x = np.pad(x, [(0, 0), (0, 0), *pairs(pads, rank)])
    span = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilations, strict=True)]
    out = [(n - s) // t + 1 for n, s, t in zip(x.shape[2:], span, strides, strict=True)]
    y = np.zeros((x.shape[0], w.shape[0], *out), np.result_type(x, w))
    ins, outs = x.shape[1] // group, w.shape[0] // group
    for g in range(group):
        image, weights = x[:, g * ins:(g + 1) * ins], w[g * outs:(g + 1) * outs]
        for at in itertools.product(*map(range, out)):
            window = tuple(slice(i * t, i * t + s, d) for i, t, s, d in zip(at, strides, span, dilations, strict=True))
            y[(slice(None), slice(g * outs, (g + 1) * outs), *at)] = np.tensordot(image[(slice(None), slice(None), *window)], weights, (range(1, rank + 2), range(1, rank + 2)))
    return y if b is None else y + b.reshape(1, -1, *[1] * rank)


def conv_transpose(x, w, b=None, group=1, strides=None, dilations=None, pads=None, output_padding=None):
    """Each input element adds a scaled copy of its weights."""
    rank = x.ndim - 2
    strides, dilations, pads, extra = strides or [1] * rank, dilations or [1] * rank, pads or [0] * 2 * rank, output_padding or [0] * rank
    full = [(n - 1) * t + (k - 1) * d + 1 + e for n, k, t, d, e in zip(x.shape[2:], w.shape[2:], strides, dilations, extra, strict=True)]
    ins, outs = x.shape[1] // group, w.shape[1]
    y = np.zeros((x.shape[0], outs * group, *full))
    for g in range(group):
        for at in itertools.product(*map(range, x.shape[2:])):
            part = np.tensordot(x[(slice(None), slice(g * ins, (g + 1) * ins), *at)], w[g * ins:(g + 1) * ins], (1, 0))
            window = tuple(slice(i * t, i * t + (k - 1) * d + 1, d) for i, k, t, d in zip(at, w.shape[2:], strides, dilations, strict=True))
            y[(slice(None), slice(g * outs, (g + 1) * outs), *window)] += part
    y = y[(slice(None), slice(None), *[slice(a, n - b) for (a, b), n in zip(pairs(pads, rank), full, strict=True)])]
    return y if b is None else y + b.reshape(1, -1, *[1] * rank)


def weights(outs, ins, kernel, dtype=f32):
    return data((outs, ins, *kernel), dtype, -1, 1, seed=1)


def conv_case(opset, shape, outs, kernel, dtype=f32, bias=True, op="Conv", domain="", function=conv, after=None, attrs=None, **how):
    group = how.get("group", 1)
    w = weights(shape[1], outs // group, kernel, dtype) if op == "ConvTranspose" else weights(outs, shape[1] // group, kernel, dtype)
    inputs = [data(shape, dtype, -1, 1), w] + ([data((outs,), dtype, seed=2)] if bias else [])
    expect = lambda *x: after(function(*x, **how)) if after else function(*x, **how)  # noqa: E731
    return case(op, opset, inputs, expect, attrs=how | (attrs or {}), domain=domain, id=f"{shape}-{outs}-{kernel}-{dtype}-{how | (attrs or {})}", **loose(dtype))


SPATIAL = [(9,), (8, 7), (5, 6, 4)]
CONV = [
    *[conv_case(11, (2, c, *spatial), m, (k,) * len(spatial), group=g, strides=[s] * len(spatial), dilations=[d] * len(spatial), pads=[p] * 2 * len(spatial))
      for spatial in SPATIAL for c, m, g in ((4, 6, 1), (4, 8, 2), (6, 12, 6)) for k, s, d, p in ((1, 1, 1, 0), (3, 1, 1, 1), (3, 2, 1, 1), (3, 1, 2, 2), (2, 2, 1, 0))],
    *[conv_case(22, (2, 4, 8, 7), 6, (3, 3), t, pads=[1, 0, 1, 2]) for t in (f32, f64, f16, bf16)],
    conv_case(1, (1, 3, 8, 7), 4, (3, 2), bias=False),
    conv_case(11, (1, 32, 20, 22), 48, (3, 3), pads=[1, 1, 1, 1]),                     # large enough for oneDNN
    conv_case(22, (1, 32, 20, 22), 48, (3, 3), bf16, pads=[1, 1, 1, 1]),
    conv_case(11, (1, 32, 20, 22), 48, (1, 1)),
    conv_case(11, (1, 48, 20, 22), 48, (3, 3), group=48, pads=[1, 1, 1, 1], strides=[2, 2]),
    conv_case(11, (0, 3, 8, 7), 4, (3, 2)),
    *[case("Conv", 11, [data((1, 3, 10, 11)), weights(4, 3, (3, 3))], lambda x, w, p=pads: conv(x, w, strides=[2, 2], pads=p), attrs={"auto_pad": kind, "strides": [2, 2]}, id=kind, **loose(f32))
      for kind, pads in (("SAME_UPPER", [0, 1, 1, 1]), ("SAME_LOWER", [1, 1, 0, 1]), ("VALID", [0] * 4))],
    case("Conv", 11, [data((1, 3, 8, 7)), weights(4, 2, (3, 3))], error="has 3 channels"),
    case("Conv", 11, [data((1, 3, 2, 7)), weights(4, 3, (3, 3))], error="does not fit"),
    case("Conv", 11, [data((1, 3, 8, 7)), weights(4, 3, (3, 3))], attrs={"kernel_shape": [2, 3]}, error="kernel_shape"),
    case("Conv", 11, [data((1, 3, 8, 7)), weights(4, 3, (3, 3)), data((5,))], error="the bias has shape"),
    case("Conv", 11, [data((3, 8)), weights(4, 3, (3,))], error="has rank 2"),
    conv_case(1, (1, 4, 8, 7), 6, (3, 3), op="FusedConv", domain="com.microsoft", attrs={"activation": "Relu"}, after=lambda y: np.maximum(y, 0)),
    conv_case(1, (1, 32, 20, 22), 48, (3, 3), op="FusedConv", domain="com.microsoft", attrs={"activation": "LeakyRelu", "activation_params": [0.25]},
              after=lambda y: np.where(y < 0, 0.25 * y, y)),
]

transposed = {"op": "ConvTranspose", "function": conv_transpose}
TRANSPOSE = [
    *[conv_case(11, (2, c, *spatial), m, (3,) * len(spatial), strides=[s] * len(spatial), dilations=[d] * len(spatial), pads=[p] * 2 * len(spatial), group=g, **transposed)
      for spatial in ((5,), (4, 6), (3, 4, 5)) for c, m, g in ((4, 6, 1), (4, 8, 2), (4, 4, 4)) for s, d, p in ((1, 1, 0), (2, 1, 1), (3, 1, 0), (2, 2, 1))],
    *[conv_case(22, (1, 4, 4, 6), 6, (3, 3), t, strides=[2, 2], output_padding=[1, 0], **transposed) for t in (f32, f64, f16, bf16)],
    conv_case(1, (1, 4, 4, 6), 6, (2, 2), strides=[2, 2], bias=False, **transposed),
    conv_case(11, (1, 32, 12, 14), 48, (3, 3), strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1], **transposed),
    case("ConvTranspose", 11, [data((1, 2, 4, 5)), weights(2, 3, (3, 3))], lambda x, w: conv_transpose(x, w, strides=[2, 2], pads=[0, 0, 1, 1]),
         attrs={"strides": [2, 2], "auto_pad": "SAME_UPPER"}, **loose(f32)),
    case("ConvTranspose", 11, [data((1, 2, 4, 5)), weights(2, 3, (3, 3))], lambda x, w: conv_transpose(x, w, strides=[2, 2], pads=[1, 1, 0, 0]),
         attrs={"strides": [2, 2], "auto_pad": "SAME_LOWER"}, **loose(f32)),
    case("ConvTranspose", 11, [data((1, 2, 4, 5)), weights(2, 3, (3, 3))], lambda x, w: np.pad(conv_transpose(x, w, strides=[2, 2]), [(0, 0), (0, 0), (0, 1), (0, 1)]),
         attrs={"strides": [2, 2], "output_shape": [10, 12]}, id="output_shape beyond the windows", peer="asks for output_padding", **loose(f32)),
    case("ConvTranspose", 11, [data((1, 3, 4, 5)), weights(2, 3, (3, 3))], error="has 3 channels"),
]


def integer_conv(x, w, x_zero=0, w_zero=0, **how):
    w_zero = np.asarray(w_zero, i64)
    return conv(x.astype(i64) - int(x_zero), w.astype(i64) - w_zero.reshape(-1, *[1] * (w.ndim - 1)), **how)


def linear_conv(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b=0, **how):
    shape = (1, -1, *[1] * (x.ndim - 2))
    sums = integer_conv(x, w, x_zero, w_zero, **how) + np.asarray(b, i64).reshape(shape)
    scale = (x_scale.astype(f32) * w_scale.astype(f32) / y_scale.astype(f32)).reshape(shape)
    return saturate(np.rint(sums.astype(f32) * scale) + int(y_zero), y_zero.dtype)


def quantised_conv(c, m, k, g=1, x_type=u8, w_type=i8, domain="", opset=10, per_channel=True, **how):
    how |= {"group": g}
    shape = (2, c, 8, 7)
    scales = np.linspace(0.005, 0.02, m, dtype=f32) if per_channel else scalar(0.01)
    inputs = [codes(shape, x_type), scalar(0.02), scalar(100, x_type), codes((m, c // g, k, k), w_type), scales, np.zeros(m, w_type) if per_channel else scalar(0, w_type), scalar(0.9),
              scalar(7, x_type), np.arange(m, dtype=i32) * 100]
    return case("QLinearConv", opset, inputs, lambda *x: linear_conv(*x, **how), attrs=how, domain=domain, id=f"{c}-{m}-{k}-{g}-{x_type}-{w_type}-{domain}")


QUANTISED = [
    *[case("ConvInteger", 10, [codes((2, c, 8, 7), x), codes((m, c // g, k, k), w), scalar(100, x), scalar(3, w)],
           lambda x, w, xz, wz, g=g, k=k: integer_conv(x, w, xz, wz, group=g, pads=[k // 2] * 4).astype(i32), attrs={"group": g, "pads": [k // 2] * 4},
           peer=x == u8 or "has no kernel for int8")
      for x, w in ((u8, u8), (u8, i8), (i8, i8)) for c, m, k, g in ((3, 5, 3, 1), (4, 8, 3, 2), (4, 6, 1, 1))],
    case("ConvInteger", 10, [codes((1, 2, 9), u8), codes((3, 2, 3), u8), None, np.arange(3, dtype=u8)], lambda x, w, _, wz: integer_conv(x, w, 0, wz).astype(i32), id="a zero point for each channel",
         peer="refuses them"),
    case("ConvInteger", 10, [codes((1, 2, 9), u8), codes((3, 3, 3), u8)], error="has 2 channels", output_types=[INT32]),
    *[quantised_conv(c, m, k, g, pads=[k // 2] * 4) for c, m, k, g in ((3, 5, 3, 1), (4, 8, 3, 2), (6, 6, 3, 6), (4, 6, 1, 1), (32, 24, 3, 1))],
    quantised_conv(4, 6, 3, x_type=u8, w_type=u8, per_channel=False, strides=[2, 2]),
    quantised_conv(4, 6, 3, x_type=i8, dilations=[2, 2]),
    quantised_conv(4, 6, 3, domain="com.microsoft", opset=1),
]

# ---- Pools ------------------------------------------------------------------------------------------------------------


def windows(x, kernel_shape, strides=None, pads=None, dilations=None, ceil_mode=0):
    """For each output position: (its index, the window's indices on each axis, how many of the window's places lie inside input and pads)."""
    rank = x.ndim - 2
    strides, dilations, pads = strides or [1] * rank, dilations or [1] * rank, pads or [0] * 2 * rank
    outs = []
    for n, k, s, d, (a, b) in zip(x.shape[2:], kernel_shape, strides, dilations, pairs(pads, rank), strict=True):
        room = n + a + b - ((k - 1) * d + 1)
        out = (-(-room // s) if ceil_mode else int(room / s)) + 1           # towards zero: a window may be too large by less than a stride
        outs.append(out - 1 if ceil_mode and (out - 1) * s >= n + a else out)
    for at in itertools.product(*map(range, outs)):
        places = [[i * s - a + j * d for j in range(k)] for i, k, s, d, (a, _) in zip(at, kernel_shape, strides, dilations, pairs(pads, rank), strict=True)]
        padded = np.prod([sum(p < n + b for p in axis) for axis, n, (_, b) in zip(places, x.shape[2:], pairs(pads, rank), strict=True)])
        yield at, outs, [[p for p in axis if 0 <= p < n] for axis, n in zip(places, x.shape[2:], strict=True)], padded


def pool(x, reduce, count_include_pad=0, **how):
    y = None
    for at, outs, places, padded in windows(x, **how):
        y = np.zeros((*x.shape[:2], *outs), x.dtype) if y is None else y
        window = x[(slice(None), slice(None), *np.ix_(*places))]
        y[(slice(None), slice(None), *at)] = reduce(window.reshape(*x.shape[:2], -1), padded if count_include_pad else np.prod([len(p) for p in places]))
    return y


def max_pool(x, storage_order=0, **how):
    y = pool(x, lambda window, n: window.max(-1), **how)
    indices = np.zeros(y.shape, i64)
    strides = np.cumprod([1, *x.shape[2:][:-1]]) if storage_order else np.cumprod([1, *x.shape[:2:-1]])[::-1]
    for at, _, places, _ in windows(x, **how):
        for n, c in np.ndindex(*x.shape[:2]):
            best = max(itertools.product(*places), key=lambda place: x[(n, c, *place)])
            indices[(n, c, *at)] = (n * x.shape[1] + c) * np.prod(x.shape[2:]) + np.dot(strides, best)
    return y, indices


def average_pool(x, **how):
    return pool(x, lambda window, n: window.sum(-1) / n, **how)


def lp_pool(x, p=2, **how):
    return pool(x, lambda window, n: (np.abs(window) ** p).sum(-1) ** (1 / p), **how)


GEOMETRIES = [{"kernel_shape": [k] * n, "strides": [s] * n, "pads": [p] * 2 * n} for n in (1, 2, 3) for k, s, p in ((1, 1, 0), (3, 1, 1), (3, 2, 1), (2, 2, 0))]


def spatial_of(how):
    return SPATIAL[len(how["kernel_shape"]) - 1]


def pool_case(op, opset, function, dtype=f32, shape=None, more=None, **how):
    shape = shape or (2, 3, *spatial_of(how))
    return case(op, opset, [data(shape, dtype)], lambda x: function(x, **how), attrs=how, id=f"{shape}-{dtype}-{how}", **(loose(dtype) if dtype not in (u8, i8) else {}), **(more or {}))


only_values = lambda x, **how: max_pool(x, **how)[0]  # noqa: E731
CEIL = {"kernel_shape": [3, 3], "strides": [3, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}
DILATED = {"kernel_shape": [2, 3], "dilations": [2, 2], "pads": [1, 1, 1, 1]}
# AveragePool's last window may hang over the pads: only what lies inside counts.
OVERHANG = [{"kernel_shape": [k], "strides": [s], "pads": [a, b], "ceil_mode": c, "count_include_pad": 1} for k, s, a, b, c in ((7, 3, 3, 3, 1), (5, 1, 2, 2, 0), (4, 3, 0, 2, 1), (3, 4, 1, 0, 1))]

# Windows larger than the padded input, by less than a stride: one place. Text recognisers are run on images that have become too low.
TOO_LARGE = [(shape, {"kernel_shape": k, "strides": s, "pads": p, "ceil_mode": c, **d}) for shape, k, s, p, c, d in (
    ((2, 3, 1, 9), [2, 2], [2, 2], [0] * 4, 0, {}), ((1, 2, 1), [2], [3], [0, 0], 0, {}), ((1, 2, 2), [5], [4], [1, 0], 0, {}), ((2, 3, 1, 2), [3, 2], [3, 1], [0] * 4, 1, {}),
    ((1, 2, 2, 3, 7), [3, 5, 2], [2, 3, 2], [0] * 6, 0, {}), ((1, 2, 4), [3], [2], [0, 0], 0, {"dilations": [2]}))]

POOLS = [
    *[pool_case(op, opset, function, shape=shape, **more, **how) for shape, how in TOO_LARGE for op, opset, function, more in (
        ("MaxPool", 12, max_pool, {}), ("AveragePool", 19, average_pool, {}), ("AveragePool", 19, average_pool, {"count_include_pad": 1}), ("LpPool", 18, lp_pool, {}))],
    *[case(op, 19, [data((1, 2, *size))], attrs={"kernel_shape": [5] * len(size), "strides": [2] * len(size)}, error="does not fit: it spans 5")
      for op in ("MaxPool", "AveragePool", "LpPool") for size in ((3,), (2,), (8, 3))],
    *[pool_case("MaxPool", 12, max_pool, **how) for how in (*GEOMETRIES, CEIL, DILATED)],
    *[pool_case("MaxPool", 12, only_values, t, **GEOMETRIES[5]) for t in (f64, f16, u8, i8)],
    pool_case("MaxPool", 22, max_pool, bf16, **GEOMETRIES[6]),
    *[pool_case("MaxPool", opset, only_values, **GEOMETRIES[5]) for opset in (1, 8, 10)],
    *[pool_case("MaxPool", 12, max_pool, storage_order=1, **GEOMETRIES[i]) for i in (2, 6, 10)],
    case("MaxPool", 12, [np.array([[[1, np.nan, 3, 4]]], f32)], np.array([[[np.nan, np.nan, 4]]], f32), attrs={"kernel_shape": [2]}, id="NaN", peer="loses NaN"),
    *[case("MaxPool", 12, [data((1, 2, 10, 11))], lambda x, p=pads: max_pool(x, kernel_shape=[3, 3], strides=[2, 2], pads=p)[0], attrs={"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": kind},
           id=kind) for kind, pads in (("SAME_UPPER", [0, 1, 1, 1]), ("SAME_LOWER", [1, 1, 0, 1]), ("VALID", [0] * 4))],
    case("MaxPool", 12, [data((1, 2, 4, 4))], error="'kernel_shape' is missing"),
    case("MaxPool", 12, [data((1, 2, 4, 4))], attrs={"kernel_shape": [5, 5]}, error="does not fit"),
    *[pool_case("AveragePool", 19, average_pool, **how) for how in (*GEOMETRIES, CEIL, DILATED)],
    *[pool_case("AveragePool", 19, average_pool, count_include_pad=1, **how) for how in GEOMETRIES],
    *[pool_case("AveragePool", opset, average_pool, shape=(1, 1, 9), more={"peer": "counts differently"}, **how) for opset in (11, 19, 22) for how in OVERHANG],
    *[pool_case("AveragePool", 22, average_pool, t, **GEOMETRIES[5]) for t in (f64, f16, bf16)],
    pool_case("AveragePool", 1, average_pool, **GEOMETRIES[5]),
    *[pool_case("LpPool", 18, lp_pool, p=p, more={"peer": "pads and dilates differently"}, **how) for p in (1, 2, 3) for how in (GEOMETRIES[1], GEOMETRIES[5], CEIL, DILATED)],
    *[pool_case("LpPool", 22, lp_pool, t, **GEOMETRIES[5]) for t in (f64, f16, bf16)],
    pool_case("LpPool", 2, lp_pool, p=2, **GEOMETRIES[4]),
    case("LpPool", 18, [data((1, 2, 4, 4))], attrs={"kernel_shape": [2, 2], "p": 0}, error="'p' must be positive"),
    *[case("GlobalMaxPool", opset, [data((2, 3, *spatial), t)], lambda x: x.max(tuple(range(2, x.ndim)), keepdims=True))
      for opset, t in ((1, f32), (1, f64), (1, f16), (22, bf16)) for spatial in SPATIAL],
    *[case("GlobalAveragePool", opset, [data((2, 3, *spatial), t)], lambda x: x.mean(tuple(range(2, x.ndim)), keepdims=True), **loose(t))
      for opset, t in ((1, f32), (1, f64), (1, f16), (22, bf16)) for spatial in SPATIAL],
    *[case("GlobalLpPool", opset, [data((2, 3, *spatial), t)], lambda x: (np.abs(x) ** 3).sum(tuple(range(2, x.ndim)), keepdims=True) ** (1 / 3), attrs={"p": 3}, **loose(t))
      for opset, t in ((2, f32), (2, f64), (2, f16), (22, bf16)) for spatial in SPATIAL],
    case("GlobalAveragePool", 1, [data((2, 3))], error="has rank 2"),
]


def unpool(x, indices, shape, inner=None):
    y = np.zeros(inner or shape, x.dtype)
    y.reshape(-1)[indices.reshape(-1)] = x.reshape(-1)
    return np.pad(y, [(0, a - b) for a, b in zip(shape, y.shape, strict=True)])


PLACES = np.array([0, 3, 8, 14, 16 + 5, 16 + 6, 16 + 9, 16 + 15], i64).reshape(1, 2, 2, 2)
TWO = {"kernel_shape": [2, 2], "strides": [2, 2]}
OTHERS = [
    *[case("MaxUnpool", opset, [data((1, 2, 2, 2), t), PLACES], lambda x, i: unpool(x, i, (1, 2, 4, 4)), attrs=TWO, peer=t == f32 or "has f32 only")
      for opset, t in ((9, f32), (11, f64), (22, bf16), (11, f16))],
    case("MaxUnpool", 11, [data((1, 1, 2, 2)), PLACES[:, :1], np.array([1, 1, 5, 5], i64)], lambda x, i, _: unpool(x, i, (1, 1, 5, 5), (1, 1, 4, 4)), attrs=TWO, constant=False,
         id="larger output", peer="counts in the larger image"),
    case("MaxUnpool", 11, [data((1, 2, 2, 2)), PLACES + 20], attrs=TWO, error="the unpooled image"),
    case("MaxRoiPool", 1, [np.arange(2 * 5 * 6, dtype=f32).reshape(1, 2, 5, 6), np.array([[0, 0, 0, 5, 4], [0, 1, 1, 2, 2]], f32)],
         lambda x, r: np.stack([np.array([[x[0, c, 0:3, 0:3].max(), x[0, c, 0:3, 3:6].max()], [x[0, c, 2:5, 0:3].max(), x[0, c, 2:5, 3:6].max()]]) for c in (0, 1)]
                               + [x[0, c, 1:3, 1:3] for c in (0, 1)]).reshape(2, 2, 2, 2), attrs={"pooled_shape": [2, 2]}),
    case("MaxRoiPool", 1, [data((1, 2, 5, 6)), np.array([[3, 0, 0, 5, 4]], f32)], attrs={"pooled_shape": [2, 2]}, error="names image 3"),
]


def deform_conv(x, w, offset, b, mask, group=1, offset_group=1, strides=(1, 1), pads=(0, 0, 0, 0)):
    n, channels, height, width = x.shape
    outs, ins, kh, kw = w.shape
    oh, ow = offset.shape[2:]
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    columns = np.zeros((n, channels, kh * kw, oh, ow))
    for i, c, t, y, z in np.ndindex(*columns.shape):
        at = (c // (channels // offset_group)) * kh * kw + t
        h = y * strides[0] - pads[0] + t // kw + offset[i, 2 * at, y, z]
        v = z * strides[1] - pads[1] + t % kw + offset[i, 2 * at + 1, y, z]
        if -1 < h < height and -1 < v < width:
            top, left = int(np.floor(h)), int(np.floor(v))
            fh, fw = h - top, v - left
            p = padded[i, c, top + 1:top + 3, left + 1:left + 3]
            columns[i, c, t, y, z] = (1 - fh) * ((1 - fw) * p[0, 0] + fw * p[0, 1]) + fh * ((1 - fw) * p[1, 0] + fw * p[1, 1])
            columns[i, c, t, y, z] *= 1 if mask is None else mask[i, at, y, z]
    out = np.zeros((n, outs, oh, ow))
    for o in range(outs):
        g = o // (outs // group)
        out[:, o] = np.einsum("nctyx,ct->nyx", columns[:, g * ins:(g + 1) * ins], w[o].reshape(ins, -1)) + b[o]
    return out


def deform_case(opset, dtype=f32, group=1, offset_group=1, mask=True):
    how = {"group": group, "offset_group": offset_group, "strides": [2, 2], "pads": [1, 1, 1, 1]}
    inputs = [data((2, 4, 7, 8), dtype), weights(6, 4 // group, (3, 3), dtype), data((2, offset_group * 18, 4, 4), dtype, -2, 2, seed=3), data((6,), dtype)]
    if mask:
        inputs.append(data((2, offset_group * 9, 4, 4), dtype, seed=4))
    return case("DeformConv", opset, inputs, lambda x, w, o, b, m=None: deform_conv(x, w, o, b, m, **how), attrs=how, id=f"{dtype}-{group}-{offset_group}-{mask}",
                peer="is slow to be compared", **loose(dtype))


DEFORM = [
    *[deform_case(19, f32, g, og, mask) for g, og in ((1, 1), (2, 1), (2, 2)) for mask in (True, False)],
    *[deform_case(22, t) for t in (f64, f16, bf16)],
    case("DeformConv", 19, [data((1, 1, 3, 3)), weights(1, 1, (2, 2)), data((1, 8, 3, 3))], error="input 'offset' has shape"),
]

CASES = CONV + TRANSPOSE + QUANTISED + POOLS + OTHERS + DEFORM
