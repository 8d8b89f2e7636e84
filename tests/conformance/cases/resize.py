"""Resize and Upsample: each axis is a matrix that says how much of every input element an output element takes."""
import numpy as np

from conformance.case import FLOATS, case, data, f16, f32, i32, ints, u8

COORDINATES = {
    "asymmetric": lambda o, scale, size, out: o / scale,
    "half_pixel": lambda o, scale, size, out: (o + 0.5) / scale - 0.5,
    "pytorch_half_pixel": lambda o, scale, size, out: (o + 0.5) / scale - 0.5 if out > 1 else np.zeros_like(o),
    "align_corners": lambda o, scale, size, out: o * (size - 1) / (out - 1) if out > 1 else np.zeros_like(o),
}
NEAREST = {"round_prefer_floor": lambda x: np.ceil(x - 0.5), "round_prefer_ceil": lambda x: np.floor(x + 0.5), "floor": np.floor, "ceil": np.ceil}


def cubic(distance, a=-0.75):
    d = abs(distance)
    near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return near if d <= 1 else far if d < 2 else 0.0


def axis_matrix(size, scale, mode, coordinate, nearest, out=None):
    out = int(size * scale) if out is None else out
    at, matrix = COORDINATES[coordinate](np.arange(out, dtype=float), scale, size, out), np.zeros((out, size))
    for row, x in enumerate(at):
        if mode == "nearest":
            taps = {NEAREST[nearest](x): 1.0}
        elif mode == "linear":
            x = min(max(x, 0), size - 1)
            taps = {np.floor(x): 1 - (x - np.floor(x)), np.floor(x) + 1: x - np.floor(x)}
        else:
            taps = {np.floor(x) + k: cubic(np.floor(x) + k - x) for k in (-1, 0, 1, 2)}
        for column, weight in taps.items():
            matrix[row, int(min(max(column, 0), size - 1))] += weight
    return matrix


def resized(x, scales, mode="nearest", coordinate="half_pixel", nearest="round_prefer_floor", sizes=None):
    result = np.asarray(x, float)
    for axis, scale in enumerate(scales):
        matrix = axis_matrix(x.shape[axis], scale, mode, coordinate, nearest, sizes[axis] if sizes else None)
        result = np.moveaxis(np.tensordot(matrix, result, (1, axis)), 0, axis)
    return result if x.dtype.kind == "f" else result.astype(x.dtype)


def resize(opset, x, scales, mode="nearest", coordinate="half_pixel", nearest="round_prefer_floor", sizes=None):
    attrs = {"mode": mode, "coordinate_transformation_mode": coordinate} | ({"nearest_mode": nearest} if mode == "nearest" else {})
    given = [None, np.float32(scales)] if sizes is None else [None, np.zeros(0, f32) if opset < 13 else None, ints(*sizes)]
    scales = scales if sizes is None else [s / n for s, n in zip(sizes, x.shape, strict=True)]
    name = f"{x.dtype} {mode} {coordinate} {nearest if mode == 'nearest' else ''} {'sizes' if sizes else ''} {np.round(scales, 2)}"
    return case("Resize", opset, [x, np.zeros(0, f32) if opset < 13 else None, *given[1:]],
                lambda v, *_: resized(v, scales, mode, coordinate, nearest, sizes), attrs=attrs, id=name, rtol=1e-5 if x.dtype == f32 else 4e-3, atol=1e-5)


def antialiased(x, scales, reach):
    """A triangle (reach 1) or a cubic (reach 2), stretched so that every element counts."""
    for axis, scale in enumerate(scales):
        size, by = x.shape[axis], max(1.0, 1 / scale)
        matrix = np.zeros((int(size * scale), size))
        for row in range(len(matrix)):
            at = (row + 0.5) / scale - 0.5
            taps = np.arange(np.floor(at) - np.ceil(reach * by) + 1, np.floor(at) + np.ceil(reach * by) + 1)
            weights = np.array([max(0, 1 - abs(t - at) / by) if reach == 1 else cubic((t - at) / by) for t in taps])
            for t, weight in zip(taps, weights / weights.sum(), strict=True):
                matrix[row, int(min(max(t, 0), size - 1))] += weight
        x = np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)
    return x


def twice(x, *_):
    return x.repeat(2, 2).repeat(2, 3)


IMAGE = data((1, 2, 4, 6))
CASES = [
    *[case("Upsample", 7, [data((1, 2, 3, 4), t)], lambda x: resized(x, [1, 1, 2, 3], "nearest", "asymmetric", "floor"),
           attrs={"mode": "nearest", "scales": [1.0, 1.0, 2.0, 3.0]}) for t in (f32, u8)],
    *[case("Upsample", 9, [IMAGE, np.float32([1, 1, 2, 2])], lambda x, s, m=m: resized(x, [1, 1, 2, 2], m, "asymmetric", "floor"), attrs={"mode": m}, id=m,
           atol=1e-5) for m in ("nearest", "linear")],
    *[case("Resize", 10, [IMAGE, np.float32(s)], lambda x, _, m=m, s=s: resized(x, s, m, "asymmetric", "floor"), attrs={"mode": m}, id=f"{m} {s}", atol=1e-5)
      for m in ("nearest", "linear") for s in ([1, 1, 2, 2], [1, 1, 0.5, 0.5])],
    *[resize(opset, IMAGE, [1, 1, 2, 1.5], mode, c) for opset in (11, 13, 18, 19) for mode in ("nearest", "linear", "cubic")
      for c in ("half_pixel", "asymmetric", "align_corners")],
    *[resize(13, IMAGE, [1, 1, 1.7, 0.6], "nearest", "asymmetric", n) for n in NEAREST],
    *[resize(13, IMAGE, None, mode, "pytorch_half_pixel", sizes=[1, 2, 7, 1]) for mode in ("nearest", "linear", "cubic")],
    *[resize(11, IMAGE, None, mode, sizes=[1, 2, 8, 3]) for mode in ("nearest", "linear")],
    *[resize(13, data((1, 2, 4, 6), t), [1, 1, 2, 2], "linear") for t in FLOATS if t != f16],
    *[resize(13, data((1, 2, 4, 6), t, 0, 100), [1, 1, 2, 0.5], "nearest") for t in (u8, i32)],
    *[case("Resize", 19, [IMAGE, None, np.float32([1, 1, 0.625, 0.375])], lambda x, r, s, reach=reach: antialiased(x, [1, 1, 0.625, 0.375], reach),
           attrs={"mode": mode, "antialias": 1}, id=f"antialias {mode}", rtol=1e-5, atol=1e-5) for mode, reach in (("linear", 1), ("cubic", 2))],
    resize(13, data((1, 4, 6, 2)), [1, 2, 1.5, 1], "linear"),
    resize(13, data((3, 4, 5)), [2, 1.5, 0.5], "linear"),
    *[case("Resize", 13, [data((1, 2, 2, 3), t), None, np.float32([1, 1, 2, 2])], twice, id=f"nearest {np.dtype(t)}") for t in (bool, object)],
    case("Resize", 19, [IMAGE, None, None, ints(8, 12)], twice, attrs={"axes": [2, -1]}, id="sizes of two axes"),
    case("Resize", 19, [IMAGE, None, None, ints(8, 30)], twice, attrs={"axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"}, id="not larger"),
    case("Resize", 19, [IMAGE, None, None, ints(5, 12)], twice, attrs={"axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"}, id="not smaller"),
    case("Resize", 13, [np.arange(4, dtype=f32), np.float32([0, 2]), None, ints(3)], np.array([0, 3, 9], f32),
         attrs={"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 9.0}, id="crop"),
    case("Resize", 13, [IMAGE, None, np.float32([1, 2])], error="'scales' has 2 elements, expected 4", id="too few scales"),
    case("Resize", 13, [IMAGE, None, np.float32([1, 1, -1, 1])], error="positive", id="negative scale"),
    case("Resize", 13, [IMAGE, None, np.float32([1, 1, 2, 2])], attrs={"mode": "area"}, error="'mode' is 'area'", id="unknown mode"),
]
