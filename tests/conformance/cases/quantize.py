"""QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear: per tensor, per axis, in blocks."""

import ml_dtypes
import numpy as np
from conformance.case import bf16, case, data, f16, f32, i8, i16, i32, u8, u16
from conformance.schema import dtypes, versions
from onnx import helper

SMALL = {
    n: np.dtype(getattr(ml_dtypes, n))
    for n in (
        "int4",
        "uint4",
        "int2",
        "uint2",
        "float4_e2m1fn",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float6_e2m3fn",
        "float6_e3m2fn",
    )
}
SMALL_INTEGERS = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}


def limits(dtype):
    return SMALL_INTEGERS.get(dtype.name) or (np.iinfo(dtype).min, np.iinfo(dtype).max)


def is_float(dtype):
    return dtype.name.startswith("float")


def spread(scale, shape, axis, block):
    """A scale or zero point for each element of x, as float."""
    scale = np.asarray(scale).astype(f32)
    if scale.ndim == 0 or (scale.size == 1 and not block):
        return np.broadcast_to(scale.reshape(()), shape)
    if not block:
        return np.broadcast_to(scale.reshape([-1 if d == axis % len(shape) else 1 for d in range(len(shape))]), shape)
    return np.repeat(scale, block, axis)[tuple(slice(n) for n in shape)]


def quantized(x, scale, zero, dtype, axis=1, block=0):
    quotient = x.astype(f32) / spread(scale, x.shape, axis, block)
    zeros = spread(zero, x.shape, axis, block)
    if is_float(dtype):
        largest = np.float32(ml_dtypes.finfo(dtype).max)
        return np.clip(quotient + zeros, -largest, largest).astype(dtype)
    return np.clip(np.rint(quotient) + zeros, *limits(dtype)).astype(i32).astype(dtype)


def dequantized(q, scale, zero, dtype, axis=1, block=0):
    # A zero point is subtracted in the integers, where it is exact.
    return ((q.astype(f32) - spread(zero, q.shape, axis, block)) * spread(scale, q.shape, axis, block)).astype(dtype)


def codes(shape, dtype, seed=0):
    if is_float(dtype):
        return data(shape, f32, -2, 2, seed).astype(dtype)
    low, high = (-100, 100) if dtype == i32 else limits(dtype)
    return np.random.default_rng(seed).integers(low, high, shape, endpoint=True).astype(i32).astype(dtype)


def layouts(shape, block=None):
    """(attributes, shape of the scale) for each granularity."""
    yield "tensor", {}, ()
    yield "axis", {"axis": 1}, (shape[1],)
    yield "last axis", {"axis": -1}, (shape[-1],)
    if block:
        yield "blocks", {"axis": 1, "block_size": block}, (shape[0], -(-shape[1] // block), *shape[2:])
        yield "blocks of rows", {"axis": -1, "block_size": 2}, (*shape[:-1], -(-shape[-1] // 2))


def rows(op):
    parameter = {"QuantizeLinear": {10: "T2", 13: "T2", 19: "T2", 21: "T2"}, "DequantizeLinear": {10: "T", 13: "T"}}[op]
    for opset in versions(op):
        for dtype in dtypes(op, opset, parameter.get(opset, "T3" if op == "QuantizeLinear" else "T1")):
            for what, attrs, scale_shape in layouts((2, 6, 5), 3 if opset >= 21 else None):
                if opset < 13 and what != "tensor":
                    continue
                scale = data(scale_shape, f32, 0.5, 1.5)
                zero = codes(scale_shape, dtype, 1) if not is_float(dtype) and dtype != i32 else np.zeros(scale_shape, f32).astype(dtype)
                axis, block = attrs.get("axis", 1), attrs.get("block_size", 0)
                if op == "QuantizeLinear":
                    x = data((2, 6, 5), f32, -9, 9)
                    want = quantized(x, scale, zero, dtype, axis, block)
                else:
                    x = codes((2, 6, 5), dtype)
                    want = dequantized(x, scale, zero, f32, axis, block)
                yield case(op, opset, [x, scale, zero], want, attrs=attrs, id=f"{dtype}-{what}", peer=opset < 21 or "blocks and small types differ by version")


def types():
    for dtype in (f16, bf16):
        x, scale = data((3, 40), dtype, -9, 9), np.array(0.25, dtype)
        yield case("QuantizeLinear", 19, [x, scale, np.array(3, i8)], np.clip(np.rint(x.astype(f32) / 0.25) + 3, -128, 127).astype(i8))
        q = codes((3, 40), u8)
        yield case("DequantizeLinear", 19, [q, np.array(0.3, dtype), np.array(7, u8)], dequantized(q, np.array(0.3, dtype), np.array(7, u8), dtype))
        yield case(
            "DequantizeLinear",
            23,
            [q, np.array(0.25, f32), np.array(7, u8)],
            dequantized(q, 0.25, 7, dtype),
            attrs={"output_dtype": helper.np_dtype_to_tensor_dtype(dtype)},
        )
    x = np.array([7, -1000, 250, 300], i32)
    yield case("QuantizeLinear", 13, [x, np.array(2, f32), np.array(1, u8)], np.array([5, 0, 126, 151], u8), id="int32")  # 3.5 rounds to even
    yield case("QuantizeLinear", 13, [data((9,)), np.array(0.5, f32)], lambda v, s: np.clip(np.rint(v / s), 0, 255).astype(u8), id="uint8 if nothing is said")
    yield case(
        "QuantizeLinear",
        21,
        [data((9,), f32, -9, 9), np.array(0.01, f32)],
        lambda v, s: np.rint(v / s).astype(i16),
        attrs={"output_dtype": 5},
        id="output_dtype",
    )
    # The quotient of halves is a half; with precision it is a float.
    yield case("QuantizeLinear", 23, [np.array([2051.0], f32).astype(f16), np.array(1.0, f16)], np.array([2052], u16), attrs={"output_dtype": 4}, id="halves")
    e8m0 = np.dtype(ml_dtypes.float8_e8m0fnu)
    scale = np.array([0.5, 2], f32).astype(e8m0)
    yield case(
        "DequantizeLinear",
        24,
        [np.array([[1, 2], [3, 4]], i8), scale],
        np.array([[0.5, 4], [1.5, 8]], f32),
        attrs={"axis": 1, "output_dtype": 1},
        id="scales are powers of two",
    )
    yield case("QuantizeLinear", 24, [np.array([[1, 2], [3, 4]], f32), scale, np.zeros(2, i8)], np.array([[2, 1], [6, 2]], i8), id="scales are powers of two")
    yield case(
        "QuantizeLinear",
        21,
        [data((2, 5)), data((2, 2), f32, 1, 2)],
        lambda v, s: quantized(v, s, 0, u8, 1, 3),
        attrs={"block_size": 3},
        id="a short last block",
    )
    yield case("DequantizeLinear", 13, [codes((300000,), i8), np.array(0.1, f32), np.array(3, i8)], lambda q, s, z: dequantized(q, s, z, f32), id="large")
    for dtype in (i8, u8, i16, u16):
        q = codes((3, 4), dtype)
        yield case("DequantizeLinear", 1, [q, np.array(0.5, f32), np.array(1, dtype)], dequantized(q, 0.5, 1, f32), domain="com.microsoft")
        yield case(
            "QuantizeLinear", 1, [data((3, 4)), np.array(0.5, f32), np.array(1, dtype)], lambda v, s, z, t=dtype: quantized(v, s, z, t), domain="com.microsoft"
        )


def refusals():
    yield case("DequantizeLinear", 13, [codes((2, 3), u8), data((2,), f32, 1, 2)], error="the scale has shape")
    yield case("DequantizeLinear", 13, [codes((2, 3), u8), data((3,), f32, 1, 2), codes((2,), u8)], error="the zero point has shape")
    yield case("DequantizeLinear", 21, [codes((2, 3), u8), data((2, 2), f32, 1, 2)], attrs={"block_size": -1}, error="'block_size' is -1")


def dynamic(x):
    low, high = min(x.min(), 0), max(x.max(), 0)
    scale = np.float32(high - low) / np.float32(255)
    zero = np.clip(np.rint(-low / scale), 0, 255)
    return np.clip(np.rint(x / scale) + zero, 0, 255).astype(u8), scale, u8.type(zero)


CASES = [
    *rows("QuantizeLinear"),
    *rows("DequantizeLinear"),
    *types(),
    *refusals(),
    case("DynamicQuantizeLinear", 11, [data((3, 40), f32, -3, 9)], dynamic, wide=False),
    case("DynamicQuantizeLinear", 11, [data((3, 4), f32, 1, 9)], dynamic, wide=False, id="positive"),
    case("DynamicQuantizeLinear", 11, [data((3, 4), f32, -9, -1)], dynamic, wide=False, id="negative"),
    case("DynamicQuantizeLinear", 11, [np.zeros(3, f32)], (np.zeros(3, u8), np.float32(1), u8.type(0)), id="zeros"),
]
