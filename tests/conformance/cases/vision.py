"""NonMaxSuppression, RoiAlign, LRN, LpNormalization, MeanVarianceNormalization, RotaryEmbedding and the losses."""
import numpy as np

from onnx import TensorProto, helper

from ..case import FLOATS, case, data, f16, f32, i32, i64, ints

# ---- NonMaxSuppression ----


def corners(box, centred):
    if centred:
        x, y, width, height = box
        return y - height / 2, x - width / 2, y + height / 2, x + width / 2
    return min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3])


def overlap(a, b):
    """Intersection over union."""
    height, width = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    areas = [(y1 - y0) * (x1 - x0) for y0, x0, y1, x1 in (a, b)]
    common = max(height, 0) * max(width, 0)
    return common / (sum(areas) - common) if min(areas) > 0 else 0


def nms(boxes, scores, most=None, iou=None, least=None, centred=0):
    iou = 0 if iou is None else np.ravel(iou)[0]
    picked = []
    for n, c in np.ndindex(*scores.shape[:2]):
        kept = []
        for i in np.argsort(-scores[n, c], kind="stable"):
            box = corners(boxes[n, i], centred)
            if (least is None or scores[n, c, i] > least) and all(overlap(box, corners(boxes[n, j], centred)) <= iou for j in kept):
                kept.append(i)
        picked += [(n, c, i) for i in kept[: 0 if most is None else max(int(np.ravel(most)[0]), 0)]]
    return np.array(picked, i64).reshape(-1, 3)


ROW = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]]], f32)
SCORES = np.array([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3]]], f32)
INT64 = helper.make_tensor_type_proto(TensorProto.INT64, None)
HALF, NONE = np.float32(0.5), np.float32(0)
MANY, MARKS = data((2, 40, 4), f32, 0, 4), data((2, 3, 40), f32, 0, 1)
SUPPRESSION = [
    case("NonMaxSuppression", 10, [ROW, SCORES, ints(3), HALF, NONE], nms, id="three rows of boxes"),
    case("NonMaxSuppression", 11, [ROW, SCORES, ints(3), HALF, NONE], nms, id="three rows of boxes"),
    case("NonMaxSuppression", 11, [ROW[..., [2, 3, 0, 1]], SCORES, ints(3), HALF, NONE], nms, id="flipped corners"),
    case("NonMaxSuppression", 11, [ROW, SCORES, ints(3), HALF, np.float32(0.4)], nms, id="scores that are too low"),
    case("NonMaxSuppression", 11, [ROW, np.full_like(SCORES, 0.7), ints(6), HALF], nms, id="of equal scores the first wins"),
    case("NonMaxSuppression", 11, [ROW[:, [0] * 6], SCORES, ints(6), HALF, NONE], nms, id="equal boxes"),
    case("NonMaxSuppression", 11, [ROW * np.array([1, 1, 0, 0], f32), SCORES, ints(6), HALF, NONE], nms, id="empty boxes never overlap"),
    case("NonMaxSuppression", 11, [ROW, SCORES], nms, id="none is asked for"),
    case("NonMaxSuppression", 11, [ROW, SCORES, ints(-1), HALF], nms, id="fewer than none"),
    case("NonMaxSuppression", 11, [MANY, MARKS, ints(7), np.float32(0.3), np.float32(0.2)], nms, id="batches and classes"),
    case("NonMaxSuppression", 11, [MANY, MARKS, ints(100), np.float32(0.3)], lambda *x: nms(*x, centred=1), attrs={"center_point_box": 1}, id="by centres"),
    case("NonMaxSuppression", 11, [data((1, 600, 4), f32, 0, 4, 1), data((1, 2, 600), f32, 0, 1, 1), ints(600), np.float32(0.3), np.float32(0.1)], nms, id="many boxes"),
    case("NonMaxSuppression", 11, [ROW[:, :0], SCORES[..., :0], ints(3), HALF, NONE], nms, id="no boxes"),
    case("NonMaxSuppression", 11, [ROW, SCORES[..., :4], ints(3)], error="'boxes' has shape .* and 'scores' ", output_types=[INT64]),
    case("NonMaxSuppression", 11, [ROW, SCORES, ints(3), np.float32(1.5)], error="'iou_threshold' is 1.5", output_types=[INT64]),
]

# ---- RoiAlign ----


def bilinear(image, y, x):
    """The four elements around a place, times their weights."""
    height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(4)
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    y0, x0 = int(y), int(x)
    y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
    down, right = y - y0, x - x0
    return np.array([image[y0, x0] * (1 - down) * (1 - right), image[y0, x1] * (1 - down) * right,
                     image[y1, x0] * down * (1 - right), image[y1, x1] * down * right])


def roi_align(x, rois, batch, height=1, width=1, ratio=0, scale=1.0, mode="avg", half=True):
    y = np.zeros((len(rois), x.shape[1], height, width))
    for r, c, i, j in np.ndindex(*y.shape):
        x0, y0, x1, y1 = rois[r] * scale - (0.5 if half else 0)
        size = [max(n, 0 if half else 1) for n in (y1 - y0, x1 - x0)]
        cell = size[0] / height, size[1] / width
        steps = [ratio or int(np.ceil(n)) for n in cell]
        taps = [bilinear(x[batch[r], c], y0 + (i + (a + 0.5) / steps[0]) * cell[0], x0 + (j + (b + 0.5) / steps[1]) * cell[1]) for a, b in np.ndindex(*steps)]
        y[r, c, i, j] = np.max(taps) if mode == "max" else np.sum(taps) / len(taps)
    return y


REGIONS, IMAGES = np.array([[1, 1, 6, 5], [0, 0, 8, 8], [2.5, 3.25, 4, 7], [-3, -2, 12, 3]], f32), np.array([0, 1, 1, 0], i64)


def roi(opset, dtype=f32, regions=REGIONS, half=True, mode="avg", height=2, width=3, ratio=2, scale=1.0, **more):
    attrs = {"output_height": height, "output_width": width, "sampling_ratio": ratio, "spatial_scale": scale, "mode": mode}
    if opset >= 16:
        attrs["coordinate_transformation_mode"] = "half_pixel" if half else "output_half_pixel"
    return case("RoiAlign", opset, [data((2, 3, 9, 10), dtype), regions.astype(dtype), IMAGES[: len(regions)]],
                lambda x, r, b: roi_align(x, r, b, height, width, ratio, scale, mode, half), attrs=attrs, **more)


REGION = [
    *[roi(16, t, rtol=0.02 if t.itemsize == 2 else 1e-5, atol=0.02 if t.itemsize == 2 else 1e-5) for t in FLOATS],
    *[roi(10, t, half=False, rtol=0.02 if t.itemsize == 2 else 1e-5, atol=0.02 if t.itemsize == 2 else 1e-5) for t in FLOATS if t.name != "bfloat16"],
    roi(16, half=False, id="output_half_pixel", atol=1e-5),
    roi(16, ratio=0, id="as many samples as elements", atol=1e-5),
    roi(16, ratio=0, scale=0.5, height=1, width=1, id="half the size", atol=1e-5),
    roi(16, mode="max", ratio=1, id="max", atol=1e-5, peer="takes the largest weighted element, in an order of its own"),
    case("RoiAlign", 16, [data((1, 1, 4, 4)), REGIONS[:1], ints(1)], error="'batch_indices' (has 1 at 0, but 'X' has 1 images|names an image)"),
    case("RoiAlign", 16, [data((1, 1, 4, 4)), REGIONS[:2], ints(0)], error="'batch_indices' an element for each region"),
    case("RoiAlign", 16, [data((1, 1, 4, 4)), REGIONS[:1], ints(0)], attrs={"mode": "median"}, error="'mode' is 'median', expected avg or max"),
]

# ---- Normalisations ----


def lrn(x, size, alpha=1e-4, beta=0.75, bias=1.0):
    sums = np.zeros_like(x)
    for c in range(x.shape[1]):
        sums[:, c] = (x[:, max(0, c - (size - 1) // 2): c + size // 2 + 1] ** 2).sum(1)
    return x / (bias + alpha / size * sums) ** beta


def lp(x, p=2, axis=-1):
    norm = np.abs(x).sum(axis, keepdims=True) if p == 1 else np.sqrt((x * x).sum(axis, keepdims=True))
    return np.divide(x, norm, out=np.zeros_like(x), where=norm != 0)


def mvn(x, axes=(0, 2, 3)):
    return (x - x.mean(axes, keepdims=True)) / (x.std(axes, keepdims=True) + 1e-9)


ZERO_LINES = data((3, 5)) * [[1], [0], [1]]
NORMALISATIONS = [
    *[case("LRN", 13, [data((2, 7, 3, 4), t)], lambda x: lrn(x, 3), attrs={"size": 3}, rtol=1e-5 if t.itemsize > 2 else 0.01) for t in FLOATS],
    *[case("LRN", 13, [data((1, 6, 2, 2))], lambda x, n=n: lrn(x, n, 0.5, 0.6, 2.0), attrs={"size": n, "alpha": 0.5, "beta": 0.6, "bias": 2.0}, id=f"size {n}", rtol=1e-5)
      for n in (1, 2, 5, 20)],
    case("LRN", 13, [data((2, 5))], lambda x: lrn(x, 3), attrs={"size": 3}, id="rank 2", rtol=1e-5, peer="takes rank 4 only"),
    case("LRN", 13, [data((1, 2, 2, 2))], attrs={"size": 0}, error="'size' is 0"),
    *[case("LpNormalization", 22, [data((3, 4, 5), t)], lambda x, p=p, a=axis: lp(x, p, a), attrs={"p": p, "axis": axis}, id=f"{t.name} L{p} along {axis}",
           rtol=1e-5 if t.itemsize > 2 else 0.01) for t in FLOATS for p in (1, 2) for axis in (-1, 0, 1)],
    case("LpNormalization", 22, [data((3, 300))], lp, rtol=1e-5),
    case("LpNormalization", 22, [ZERO_LINES], lp, id="a line of zeros stays", rtol=1e-5),
    case("LpNormalization", 22, [data((3, 5))], attrs={"p": 3}, error="'p' is 3, expected 1 or 2"),
    *[case("MeanVarianceNormalization", 13, [data((2, 3, 4, 5), t)], mvn, rtol=1e-4 if t.itemsize > 2 else 0.02, atol=1e-5 if t.itemsize > 2 else 0.02) for t in FLOATS],
    *[case("MeanVarianceNormalization", 13, [data((2, 3, 4, 5))], lambda x, a=axes: mvn(x, tuple(a)), attrs={"axes": axes}, id=f"over {axes}", rtol=1e-4, atol=1e-5)
      for axes in ([0, 1, 2, 3], [-1], [2, 3], [1], [0, 2])],
    case("MeanVarianceNormalization", 13, [data((2, 3, 4, 5))], attrs={"axes": [0, 4]}, error="axes"),
]

# ---- RotaryEmbedding ----


def rotary(x, cos, sin, ids=None, heads=0, rotated=0, interleaved=0):
    flat = x.ndim == 3
    if flat:
        x = x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)
    if ids is not None:
        cos, sin = cos[ids], sin[ids]
    cos, sin = cos[:, None], sin[:, None]
    rotated = rotated or x.shape[-1]
    y, turn = x.copy(), x[..., :rotated]
    a, b = (turn[..., ::2], turn[..., 1::2]) if interleaved else np.split(turn, 2, -1)
    parts = a * cos - b * sin, a * sin + b * cos
    y[..., :rotated] = np.stack(parts, -1).reshape(turn.shape) if interleaved else np.concatenate(parts, -1)
    return y.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1) if flat else y


PLACES = np.array([[0, 1, 2], [4, 2, 9]], i64)
CACHES = [data((10, 4), f32, -1, 1), data((10, 4), f32, -1, 1, seed=1)]
STEPS = [data((2, 3, 4), f32, -1, 1), data((2, 3, 4), f32, -1, 1, seed=1)]
NARROW = [c[:, :2] for c in CACHES]
ROTARY = [
    *[case("RotaryEmbedding", 23, [data((2, 5, 3, 8), t), *(c.astype(t) for c in CACHES), PLACES], rotary) for t in FLOATS if t.itemsize < 8],
    case("RotaryEmbedding", 23, [data((2, 5, 3, 8)), *CACHES, PLACES], lambda *x: rotary(*x, interleaved=1), attrs={"interleaved": 1}, id="interleaved"),
    case("RotaryEmbedding", 23, [data((2, 5, 3, 8)), *STEPS], rotary, id="a row of the caches for each place"),
    case("RotaryEmbedding", 23, [data((2, 3, 40)), *CACHES, PLACES], lambda *x: rotary(*x, heads=5), attrs={"num_heads": 5}, id="rank 3"),
    *[case("RotaryEmbedding", 23, [data((2, 5, 3, 8)), *NARROW, PLACES], lambda *x, i=i: rotary(*x, rotated=4, interleaved=i),
           attrs={"rotary_embedding_dim": 4, "interleaved": i}, id=f"half of each head, interleaved {i}") for i in (0, 1)],
    case("RotaryEmbedding", 23, [data((2, 5, 3, 8)), *CACHES, PLACES + 1], error="'position_ids' has 10 at 5, but the caches have 10 rows"),
    case("RotaryEmbedding", 23, [data((2, 3, 40)), *CACHES, PLACES], attrs={"num_heads": 3}, error="'num_heads' is 3"),
    *[case("RotaryEmbedding", 1, [data((2, 5, 3, 8), t), PLACES, *(c.astype(t) for c in CACHES)], lambda x, i, c, s: rotary(x, c, s, i), domain="com.microsoft") for t in (f16, f32)],
    case("RotaryEmbedding", 1, [data((2, 3, 40)), ints(6), *CACHES], lambda x, i, c, s: rotary(x, c, s, np.arange(6, 9)[None].repeat(2, 0), heads=5),
         domain="com.microsoft", id="one offset"),
]

# ---- Losses ----


def pick(log_p, target, weight=None, reduction="mean", ignored=None):
    weight = np.ones(log_p.shape[1]) if weight is None else weight
    target = target.astype(i64)
    taken = np.ones(target.shape, bool) if ignored is None else target != ignored
    label = np.where(taken, target, 0)
    each = weight[label] * taken
    loss = -np.take_along_axis(log_p, label[:, None], 1)[:, 0] * each
    return loss if reduction == "none" else np.asarray(loss.sum() if reduction == "sum" else loss.sum() / each.sum())


def cross_entropy(x, target, weight=None, **more):
    log_p = x - x.max(1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(1, keepdims=True))
    return pick(log_p, target, weight, **more), log_p


LABELS, WEIGHTS = np.array([[1, 3, 0], [4, 4, 2]], i64), data((5,), f32, 0.1, 2)
LOSSES = [
    *[case(op, 13, [data((2, 5, 3), t), LABELS], f, rtol=1e-5 if t.itemsize > 2 else 0.02, atol=1e-5 if t.itemsize > 2 else 0.02)
      for op, f in (("NegativeLogLikelihoodLoss", pick), ("SoftmaxCrossEntropyLoss", cross_entropy)) for t in FLOATS],
    *[case(op, 13, [data((2, 5, 3)), LABELS.astype(i32), WEIGHTS], lambda *x, f=f, r=r: f(*x, reduction=r, ignored=4), attrs={"reduction": r, "ignore_index": 4},
           id=f"{r}, weighted, some ignored", rtol=1e-5, atol=1e-5)
      for op, f in (("NegativeLogLikelihoodLoss", pick), ("SoftmaxCrossEntropyLoss", cross_entropy)) for r in ("none", "sum", "mean")],
    case("SoftmaxCrossEntropyLoss", 13, [data((4, 5)), np.array([0, -1, 4, 2], i64)], lambda *x: cross_entropy(*x, ignored=-1)[0], attrs={"ignore_index": -1},
         id="an ignored label that is no class", rtol=1e-5),
    case("NegativeLogLikelihoodLoss", 13, [data((2, 5)), np.array([1, 5], i64)], error="label 5 at 1 is none of the 5 classes"),
    case("NegativeLogLikelihoodLoss", 13, [data((2, 5)), np.array([[1], [2]], i64)], error=r"expected \[N, C, ...\] and \[N, ...\]"),
    case("SoftmaxCrossEntropyLoss", 13, [data((2, 5)), np.array([1, 2], i64), data((4,))], error="4 weights for 5 classes"),
]

CASES = SUPPRESSION + REGION + NORMALISATIONS + ROTARY + LOSSES
