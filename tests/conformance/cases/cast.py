"""Cast, CastLike, BitCast: every pair of types at every opset."""

import ml_dtypes
import numpy as np
from conformance.case import INTEGERS, bf16, boolean, case, data, f16, f32, f64, i8, i32, i64, string, u8
from conformance.schema import dtypes, versions
from onnx import TensorProto, helper


def number(dtype):
    return TensorProto.STRING if dtype == string else helper.np_dtype_to_tensor_dtype(dtype)


def sample(dtype):
    """Small whole numbers that every type holds: casts between any two types are then exact."""
    if dtype == string:
        return np.array(["0", "1", "1"], object)
    return np.array([0, 1, 1]).astype(f32).astype(dtype)


def texts(x):
    return np.array([f"{float(v):g}" for v in x.astype(f32)], object)


def converted(x, dtype):
    if x.dtype == string:
        x = x.astype(f32)
    if dtype == string:
        return texts(x)
    return x.astype(f32).astype(dtype) if x.dtype != boolean else x.astype(dtype)


def pairs(op):
    for opset in versions(op):
        taken = [string if t == string else np.dtype(t) for t in dtypes(op, opset, "T1")]
        for source in taken:
            for target in taken:
                # float8e8m0 has no zero.
                x = sample(source) if "e8m0" not in f"{source}{target}" else sample(source)[1:]
                how = {"attrs": {"to": number(target)}} if op == "Cast" else {}
                inputs = [x] if op == "Cast" else [x, sample(target)[:1]]
                yield case(
                    op, opset, inputs, converted(x, target), id=f"{name(source)}-{name(target)}", constant=False, peer="every pair would take long", **how
                )


def name(dtype):
    return "string" if dtype == string else dtype.name


def to(dtype):
    return {"to": number(np.dtype(dtype))}


def values():
    x = np.array([1.7, -1.3, -0.2, 0.2, 100.9, 0], f32)
    for dtype in (i8, i32, i64, f64, f16, boolean):
        yield case("Cast", 13, [x], x.astype(dtype), attrs=to(dtype), id=f"truncates-{dtype}")
    wide = np.array([300, -1, 70000, 2**31 - 1], i64)
    for dtype in INTEGERS:
        yield case("Cast", 13, [wide], wide.astype(dtype), attrs=to(dtype), id=f"wraps-{dtype}")
    yield case("Cast", 13, [np.array([2**63, 2**64 - 1], np.uint64)], np.array([2.0**63, 2.0**64], f32), attrs=to(f32), id="uint64")
    yield case("Cast", 13, [np.array([1e10, 5e18, -5e18], f32)], lambda v: v.astype(i64), attrs=to(i64), id="int64", wide=False)
    yield case("Cast", 13, [np.array([1e300, -1e300, np.nan], f64)], np.array([np.inf, -np.inf, np.nan], f32), attrs=to(f32), id="infinite")
    # Just above the middle between two halves: by way of float it would round to even, the wrong way.
    yield case(
        "Cast", 13, [np.array([1 + 2**-11 + 2**-40], f64)], np.array([1 + 2**-10], f16), attrs=to(f16), rtol=0, atol=0, id="one rounding", peer="rounds twice"
    )
    yield case("Cast", 13, [data((3, 30000), f32)], lambda v: v.astype(bf16), attrs=to(bf16), id="large", wide=False)
    yield case("Cast", 13, [data((300000,), u8)], lambda v: v.astype(f32), attrs=to(f32), id="large-uint8")


def small_floats():
    x = np.array([0, -0.0, 1, -1.7, 0.013, 448, 500, -1e9, np.inf, -np.inf, np.nan], f32)
    for name_ in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"):
        dtype = np.dtype(getattr(ml_dtypes, name_))
        largest = np.float32(ml_dtypes.finfo(dtype).max)
        saturated = np.where(np.isnan(x), x, np.clip(x, -largest, largest)).astype(dtype)
        yield case("Cast", 19, [x], saturated, attrs=to(dtype), id=f"{name_}-saturates", rtol=0, atol=0)
        overflow = (
            np.where(np.abs(x.astype(dtype).astype(f32)) > largest, np.nan, x.astype(dtype).astype(f32))
            if name_ == "float8_e4m3fn"
            else x.astype(dtype).astype(f32)
        )
        yield case("Cast", 19, [x], overflow.astype(dtype), attrs={**to(dtype), "saturate": 0}, id=f"{name_}-overflows", rtol=0, atol=0)
    e8m0 = np.dtype(ml_dtypes.float8_e8m0fnu)
    x = np.array([1, 1.25, 1.5, 3, 0.3, 2.0**-127, np.nan], f32)
    for mode, result in {"up": [1, 2, 2, 4, 0.5], "down": [1, 1, 1, 2, 0.25], "nearest": [1, 1, 2, 4, 0.25]}.items():
        want = np.array([*result, 2.0**-127, np.nan], f32).astype(e8m0)
        yield case("Cast", 24, [x], want, attrs={**to(e8m0), "round_mode": mode}, id=f"e8m0-{mode}", rtol=0, atol=0)
    yield case(
        "Cast",
        24,
        [x],
        attrs={**to(e8m0), "round_mode": "sideways"},
        error="'round_mode' is 'sideways'",
        output_types=[helper.make_tensor_type_proto(number(e8m0), None)],
    )


def packed():
    for name_ in ("int4", "uint4", "int2", "uint2"):
        dtype = np.dtype(getattr(ml_dtypes, name_))
        x = np.arange(-9, 10).astype(i8)
        bits = int(name_[-1])
        wrapped = (x.astype(int) & (2**bits - 1)).astype(u8)
        want = np.where(wrapped >= 2 ** (bits - 1), wrapped.astype(int) - 2**bits, wrapped) if name_[0] == "i" else wrapped
        yield case("Cast", 25, [x], want.astype(i8).astype(dtype), attrs=to(dtype), id=f"{name_}-wraps")
        yield case("Cast", 25, [np.arange(1000).astype(i8).astype(dtype)], lambda v: v.astype(f32), attrs=to(f32), id=f"{name_}-odd count", wide=False)


def text():
    yield case(
        "Cast",
        13,
        [np.array(["1.5", " 2 ", "-INF", "+inf", "NaN", "1e-5"], object)],
        np.array([1.5, 2, -np.inf, np.inf, np.nan, 1e-5], f32),
        attrs=to(f32),
        id="text",
    )
    yield case(
        "Cast",
        13,
        [np.array(["42", "-7", "100.5", "9223372036854775807"], object)],
        np.array([42, -7, 100, 2**63 - 1], i64),
        attrs=to(i64),
        id="text to int64",
        peer="no fractions there",
    )
    yield case("Cast", 13, [np.array(["12", "twelve"], object)], attrs=to(f32), error='element 1 is "twelve", which is not a number')
    x = np.array([0.1, 314.15926, -2, np.inf, -np.inf, np.nan, 1 / 3, 16777217], f32)
    yield case(
        "Cast",
        13,
        [x],
        np.array(["0.1", "314.15927", "-2", "INF", "-INF", "NaN", "0.33333334", "16777216"], object),
        attrs={"to": TensorProto.STRING},
        id="to text",
    )
    yield case(
        "Cast",
        13,
        [np.array([0.1, 1 / 3], f64)],
        np.array(["0.1", "0.3333333333333333"], object),
        attrs={"to": TensorProto.STRING},
        id="double to text",
        peer="17 digits always",
    )
    yield case(
        "Cast", 13, [np.array([2**64 - 1], np.uint64)], np.array(["18446744073709551615"], object), attrs={"to": TensorProto.STRING}, id="uint64 to text"
    )


def bits():
    yield case("BitCast", 26, [np.array([1.0, -2.0], f32)], np.array([0x3F800000, -0x40000000], i32), attrs=to(i32))
    yield case("BitCast", 26, [np.array([1, 2], i64)], np.array([1, 2], i64).view(f64), attrs=to(f64))
    yield case("BitCast", 26, [np.array([1, 2], u8)], np.array([1, 2], i8), attrs=to(i8))
    yield case("BitCast", 26, [np.array([1.0], f32)], attrs=to(i64), error="elements of 32 bits cannot be seen as elements of 64 bits")


CASES = [
    *pairs("Cast"),
    *pairs("CastLike"),
    *values(),
    *small_floats(),
    *packed(),
    *text(),
    *bits(),
    case("Cast", 13, [np.ones(2, f32)], attrs={"to": TensorProto.FLOAT8E5M2}, error="not a type that Cast"),
]
