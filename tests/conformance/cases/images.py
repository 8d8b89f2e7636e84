"""GridSample, AffineGrid and Col2Im."""
import itertools

import numpy as np

from ..case import FLOATS, case, data, f32, f64, i32, ints


def read(image, place, mode, padding, align):
    """`image` (spatial axes only) at one normalised place, x first."""
    total, axes = 0.0, []
    for n, at in zip(image.shape, place[::-1], strict=True):
        low, high = (0, n - 1) if align else (-0.5, n - 0.5)
        x = (at + 1) / 2 * (n - 1) if align else ((at + 1) * n - 1) / 2

        def back(v, low=low, high=high):
            span = 2 * (high - low)
            far = abs(v - low) % span
            return low + min(far, span - far)

        if mode == "nearest":
            x = np.rint(x)
        if not low <= x <= high and mode != "cubic":        # there, each tap is padded instead
            x = min(max(x, 0), n - 1) if padding == "border" else back(x) if padding == "reflection" else x
        if mode == "nearest":
            x = np.rint(x)
        first = int(np.floor(x))
        rest = x - first
        a = -0.75
        cubic = lambda d: (a + 2) * d**3 - (a + 3) * d**2 + 1 if d <= 1 else a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
        weights = {"nearest": [(0, 1)], "linear": [(0, 1 - rest), (1, rest)], "cubic": [(i, cubic(abs(rest - i))) for i in (-1, 0, 1, 2)]}[mode]
        taps = []
        for i, weight in weights:
            i += first
            if not 0 <= i < n:
                if padding == "zeros":
                    continue
                i = min(max(int(back(i)) if padding == "reflection" else i, 0), n - 1)
            taps.append((i, weight))
        axes.append(taps)
    for combination in itertools.product(*axes):
        total += image[tuple(i for i, _ in combination)] * np.prod([w for _, w in combination])
    return total


def grid_sample(x, grid, mode="linear", padding="zeros", align=0):
    y = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for n, c, *place in np.ndindex(*y.shape):
        y[(n, c, *place)] = read(x[n, c], grid[(n, *place)], mode, padding, align)
    return y


def affine_grid(theta, size, align):
    axes = [np.linspace(-1, 1, n) if align else (2 * np.arange(n) + 1) / n - 1 for n in size[2:]]
    where = np.stack([*reversed(np.meshgrid(*axes, indexing="ij")), np.ones(size[2:])], -1)
    return np.stack([where @ t.T for t in theta])


def col2im(x, image, block, strides, pads, dilations):
    axes = range(len(image))
    columns = [(image[d] + pads[d] + pads[d + len(image)] - dilations[d] * (block[d] - 1) - 1) // strides[d] + 1 for d in axes]
    x = x.reshape(x.shape[0], -1, *block, *columns)
    y = np.zeros((*x.shape[:2], *image))
    for b in np.ndindex(*block):
        for c in np.ndindex(*columns):
            at = tuple(c[d] * strides[d] + b[d] * dilations[d] - pads[d] for d in axes)
            if all(0 <= at[d] < image[d] for d in axes):
                y[(slice(None), slice(None), *at)] += x[(slice(None), slice(None), *b, *c)]
    return y


def fold(shape, image, block, dtype=f32, **attrs):
    given = {"strides": [1] * len(image), "pads": [0] * 2 * len(image), "dilations": [1] * len(image)} | attrs
    return case("Col2Im", 18, [data(shape, dtype), ints(*image), ints(*block)], lambda x, i, b: col2im(x, image, block, **given).astype(x.dtype), attrs=attrs)


PLACES = data((1, 3, 4, 2), f32, -1.4, 1.4)
IMAGES = [
    *[case("GridSample", 20, [data((1, 2, 4, 5)), PLACES], lambda x, g, m=mode, p=padding, a=align: grid_sample(x, g, m, p, a), rtol=1e-5, atol=1e-5,
           attrs={"mode": mode, "padding_mode": padding, "align_corners": align}, id=f"{mode}, {padding}, {align}")
      for mode in ("nearest", "linear", "cubic") for padding in ("zeros", "border", "reflection") for align in (0, 1)],
    *[case("GridSample", opset, [data((1, 2, 4, 5), t), PLACES.astype(t)], grid_sample, attrs={"mode": mode}, rtol=0.02, atol=0.02)
      for opset, mode in ((16, "bilinear"), (20, "linear")) for t in FLOATS if opset > 16 or t != FLOATS[-1]],
    case("GridSample", 20, [data((2, 1, 3, 4, 2)), data((2, 2, 2, 3, 3), f32, -1.2, 1.2)], grid_sample, rtol=1e-5, atol=1e-5),
    case("GridSample", 1, [data((1, 2, 4, 5)), PLACES], grid_sample, attrs={"mode": "bilinear"}, rtol=1e-5, atol=1e-5, domain="com.microsoft"),
    case("GridSample", 20, [data((1, 2, 4, 5)), np.full((1, 1, 1, 2), np.nan, f32)], np.zeros((1, 2, 1, 1), f32), id="NaN is nowhere", peer="is undefined there"),
    case("GridSample", 20, [data((1, 2, 4, 5)), data((1, 3, 4, 3))], error="does not fit 'X'"),
    *[case("AffineGrid", 20, [data((2, n - 2, n - 1)), ints(*size)], lambda t, s, a=align: affine_grid(t, s, a), attrs={"align_corners": align}, rtol=1e-5, atol=1e-5)
      for n, size in ((4, (2, 3, 4, 5)), (5, (2, 3, 2, 3, 4))) for align in (0, 1)],
    case("AffineGrid", 20, [data((2, 2, 3)), ints(1, 1, 2, 2)], error="does not fit 'size'"),
    *[fold((2, 8, 12), (4, 5), (2, 2), t) for t in (f32, f64, i32)],
    fold((1, 8, 9), (5, 5), (2, 2), dilations=[2, 2]),
    fold((1, 18, 4), (5, 5), (3, 3), strides=[2, 2]),
    fold((1, 4, 30), (4, 5), (2, 2), pads=[1, 0, 1, 2]),
    fold((1, 2, 7), (8,), (2,)),
    fold((1, 8, 8), (3, 3, 3), (2, 2, 2)),
    case("Col2Im", 18, [data((1, 8, 11)), ints(4, 5), ints(2, 2)], error="'input' has 8 rows of 11 columns"),
]

CASES = IMAGES
