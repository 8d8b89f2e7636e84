"""Operators that make tensors out of little: constants, ranges, diagonals, random numbers."""

import math

import numpy as np
from conformance.case import bf16, boolean, case, data, f16, f32, f64, i32, i64, ints
from conformance.schema import dtypes, versions
from onnx import TensorProto, helper


def constants():
    for opset in versions("ConstantOfShape"):
        yield case("ConstantOfShape", opset, [ints(2, 3)], np.zeros((2, 3), f32), id="zero")
        for dtype in dtypes("ConstantOfShape", opset, "T2"):
            value = np.ones(1, f32).astype(dtype)
            yield case("ConstantOfShape", opset, [ints(3, 3)], np.ones((3, 3), f32).astype(dtype), attrs={"value": value}, id=str(dtype))
    yield case("ConstantOfShape", 9, [ints()], np.full((), 5, i64), attrs={"value": np.array([5], i64)}, id="a number")
    yield case("ConstantOfShape", 9, [ints(0, 4)], np.zeros((0, 4), f32), id="empty")
    yield case("ConstantOfShape", 9, [ints(2, -1)], error="dims are not negative")


def ranges():
    for opset in versions("Range"):
        for dtype in dtypes("Range", opset):
            for start, limit, delta in ((1, 9, 2), (9, 1, -3), (3, 3, 1), (5, 1, 1)):
                want = np.arange(start, limit, delta).astype(dtype)
                yield case("Range", opset, [np.array(v, dtype) for v in (start, limit, delta)], want, id=f"{dtype}-{start}-{limit}-{delta}")
    yield case("Range", 11, [np.array(v, f32) for v in (0, 1, 0.1)], lambda a, b, d: a + np.arange(10) * d, id="fractions", peer="sums up rounding errors")
    yield case(
        "Range",
        11,
        [np.array(v, i64) for v in (2**62, 2**62 + 5, 2)],
        np.array([2**62, 2**62 + 2, 2**62 + 4], i64),
        id="large numbers",
        peer="through double there",
    )
    yield case("Range", 11, [np.array(v, f32) for v in (0, 1, 0)], error="'delta' is 0")
    yield case("Range", 11, [np.array(v, f32) for v in (0, np.inf, 1)], error="no number of elements")


def diagonals():
    for opset in versions("EyeLike"):
        for dtype in dtypes("EyeLike", opset, "T2"):
            yield case("EyeLike", opset, [np.zeros((3, 4), dtype)], np.eye(3, 4, dtype=dtype), id=str(dtype), peer=dtype in (f32, i64) or "few types there")
        for k in (-(2**63), -5, -3, -2, 1, 3, 4, 9, 2**63 - 1):
            yield case(
                "EyeLike", opset, [np.zeros((3, 4), f32)], np.eye(3, 4, max(min(k, 9), -9), dtype=f32), attrs={"k": k}, id=f"k {k}", peer="far diagonals are refused there"
            )
    yield case("EyeLike", 9, [np.zeros((2, 2), i32)], np.eye(2, dtype=f64), attrs={"dtype": TensorProto.DOUBLE}, id="dtype")
    yield case("EyeLike", 9, [np.zeros((2, 2, 2), f32)], error="must have rank 2")


def has_moments(dtype, shape, mean, deviation):
    """Five standard errors: one run in a million is beyond."""

    def check(outputs, _inputs):
        x = outputs[0]
        assert x.dtype == dtype and x.shape == shape
        x = x.astype(f64)
        assert abs(x.mean() - mean) < 5 * deviation / math.sqrt(x.size) + 0.01 * deviation
        assert abs(x.std() / deviation - 1) < 0.05

    return check


def typed(dtype):
    return [helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None)]


def random_numbers():
    shape = (40, 250)
    for op, attrs, mean, deviation in (
        ("RandomNormal", {"mean": 2.0, "scale": 3.0}, 2, 3),
        ("RandomUniform", {"low": -1.0, "high": 5.0}, 2, 6 / math.sqrt(12)),
    ):
        for opset in versions(op):
            for dtype in dtypes(op, opset):
                kind = helper.np_dtype_to_tensor_dtype(dtype)
                check = has_moments(dtype, shape, mean, deviation)
                yield case(
                    op, opset, [], attrs={**attrs, "shape": list(shape), "dtype": kind}, check=check, outputs=1, output_types=typed(dtype), id=str(dtype)
                )
                yield case(f"{op}Like", opset, [np.zeros(shape, dtype)], attrs=attrs, check=check, outputs=1, output_types=typed(dtype))
        yield case(f"{op}Like", 22, [np.zeros(shape, i64)], attrs={**attrs, "dtype": 1}, check=has_moments(f32, shape, mean, deviation), outputs=1)
        yield case(op, 22, [], attrs={"shape": [-1]}, error="'shape' is -1")
    for opset in versions("Bernoulli"):
        for source in dtypes("Bernoulli", opset, "T1"):
            yield case(
                "Bernoulli",
                opset,
                [np.full(shape, 0.25, source)],
                check=has_moments(source, shape, 0.25, math.sqrt(0.1875)),
                outputs=1,
                output_types=typed(source),
            )
    yield case(
        "Bernoulli",
        15,
        [np.full(shape, 0.25, f32)],
        attrs={"dtype": TensorProto.BOOL},
        check=has_moments(boolean, shape, 0.25, math.sqrt(0.1875)),
        outputs=1,
        output_types=typed(boolean),
    )

    def shares(outputs, _inputs):
        samples = outputs[0]
        assert samples.shape == (2, 20000)
        for row, chances in zip(samples, ([0.1, 0.2, 0.7], [0, 1, 0]), strict=True):
            np.testing.assert_allclose(np.bincount(row, minlength=3) / samples.shape[1], chances, atol=0.02)

    logits = np.array([[0.1, 0.2, 0.7], [1e-30, 1, 1e-30]])
    for opset in versions("Multinomial"):
        for source in dtypes("Multinomial", opset, "T1"):
            x = np.maximum(np.log(logits), -100).astype(source)
            for target in (i32, i64):
                attrs = {"sample_size": 20000, "dtype": helper.np_dtype_to_tensor_dtype(target)}
                yield case("Multinomial", opset, [x], attrs=attrs, check=shares, outputs=1, output_types=typed(target), id=f"{source}-{target}")


def drops(dtype, ratio):
    """Elements are dropped where the mask says so, in about that part; the others grow by 1 / (1 - ratio)."""
    def check(outputs, inputs):
        y, mask = outputs
        assert y.dtype == dtype and mask.dtype == bool and y.shape == mask.shape == inputs[0].shape
        assert abs(mask.mean() - (1 - ratio)) < 5 * math.sqrt(ratio * (1 - ratio) / mask.size)
        for axis in (0, 1):                                 # neighbours are dropped independently
            both = (mask.take(range(1, mask.shape[axis]), axis) & mask.take(range(mask.shape[axis] - 1), axis)).mean()
            assert abs(both - (1 - ratio) ** 2) < 5 / math.sqrt(mask.size)
        np.testing.assert_allclose(y.astype(f64), (inputs[0].astype(f64) / (1 - ratio) * mask).astype(dtype).astype(f64), rtol=4 * rounding(dtype))

    return check


def rounding(dtype):
    return {f64: 2.0**-52, f32: 2.0**-23, f16: 2.0**-10, bf16: 2.0**-7}.get(dtype, 2.0**-3)


def dropouts():
    yes, outputs = np.array(True), lambda dtype: [*typed(dtype), *typed(boolean)]
    for opset in versions("Dropout"):
        if opset < 12:
            continue                                        # there the operator knows inference only
        for dtype in dtypes("Dropout", opset, "T"):
            x = data((200, 50), dtype=f32, low=1, high=2).astype(dtype)
            for ratio in (0.25, None):
                given = None if ratio is None else np.array(ratio, dtype)
                yield case("Dropout", opset, [x, given, yes], check=drops(dtype, ratio or 0.5), output_types=outputs(dtype), id=f"training {dtype} {ratio}")
    x = data((200, 50))
    yield case("Dropout", 13, [x, np.array(0.9, f64), yes], check=drops(f32, 0.9), attrs={"seed": 5}, output_types=outputs(f32), id="most, with a seed")
    yield case("Dropout", 13, [np.zeros((0, 3), f32), None, yes], (np.zeros((0, 3), f32), np.zeros((0, 3), bool)), id="nothing to drop")
    yield case("Dropout", 13, [x, np.array([0.5, 0.5], f32), yes], error="'ratio' has 2 elements")
    for ratio in (1, -0.5, np.nan):
        yield case("Dropout", 13, [x, np.array(ratio, f32), yes], error=f"'ratio' is {ratio:g}", id=f"ratio {ratio}")
    yield case("Dropout", 13, [x, np.array(2, f32), np.array(False)], x, peer=False, id="inference ignores the ratio")


CASES = [*constants(), *ranges(), *diagonals(), *random_numbers(), *dropouts()]
