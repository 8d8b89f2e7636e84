"""Element types: ONNX's numbers, numpy's dtypes, and everything else by which users name a type."""

from __future__ import annotations

from typing import Any

import numpy as np

# ONNX number -> name, as in the type strings of the API, "tensor(float)".
NAMES = {
    1: "float", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool", 10: "float16", 11: "double",
    12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128", 16: "bfloat16", 17: "float8e4m3fn", 18: "float8e4m3fnuz", 19: "float8e5m2",
    20: "float8e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4e2m1", 24: "float8e8m0", 25: "uint2", 26: "int2", 27: "float6e2m3",
    28: "float6e3m2",
}  # fmt: skip
NUMBERS = {name: number for number, name in NAMES.items()}
STRING = NUMBERS["string"]

# Bits of one element in ONNX's packed storage, of the types that ml_dtypes holds in a byte each.
PACKED_BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2, 27: 6, 28: 6}

_NUMPY = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64,
    12: np.uint32, 13: np.uint64, 14: np.complex64, 15: np.complex128,
}  # fmt: skip
_ML_DTYPES = {
    16: "bfloat16", 17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz", 21: "uint4", 22: "int4",
    23: "float4_e2m1fn", 24: "float8_e8m0fnu", 25: "uint2", 26: "int2", 27: "float6_e2m3fn", 28: "float6_e3m2fn",
}  # fmt: skip
_ALIASES = {
    "float32": 1, "float64": 11, "half": 10, "f32": 1, "f64": 11, "f16": 10, "bf16": 16, "str": 8, "object": 8, "long": 7, "int": 6, "short": 5,
    "float8_e4m3fn": 17, "float8_e4m3fnuz": 18, "float8_e5m2": 19, "float8_e5m2fnuz": 20, "float4_e2m1fn": 23, "float8_e8m0fnu": 24,
}  # fmt: skip

# numpy dtype -> ONNX number; ml_dtypes' entries are added when an array of theirs is first met.
_by_dtype = {np.dtype(scalar): number for number, scalar in _NUMPY.items()}


def of_dtype(dtype: np.dtype[Any]) -> int | None:
    """ONNX's number for a numpy dtype in native byte order; None if it has none."""
    number = _by_dtype.get(dtype)
    if number is not None:
        return number
    if dtype.kind in "OUST":
        return STRING
    if dtype.kind in "Vfiuc" and dtype.type.__module__.partition(".")[0] == "ml_dtypes":
        for candidate, name in _ML_DTYPES.items():
            if name == dtype.name:
                _by_dtype[dtype] = candidate
                return candidate
    if dtype.isnative:
        return _by_dtype.get(np.dtype(dtype.str)) if dtype.kind in "biufc" else None
    return None


def to_dtype(number: int) -> np.dtype[Any]:
    """The numpy dtype that holds elements of this ONNX type. The narrow types come from ml_dtypes."""
    if number in _NUMPY:
        return np.dtype(_NUMPY[number])
    if number == STRING:
        return np.dtype(object)
    name = _ML_DTYPES.get(number)
    if name is None:
        raise ValueError(f"{number} is no ONNX element type; they run from 1 (float) to {max(NAMES)}")
    try:
        import ml_dtypes
    except ImportError:
        raise ImportError(f"arrays of {NAMES[number]} need the package ml_dtypes: pip install ml_dtypes") from None
    scalar = getattr(ml_dtypes, name, None)
    if scalar is None:
        raise NotImplementedError(f"this version of ml_dtypes has no {name}; a newer one may")
    return np.dtype(scalar)


def parse(element_type: Any, numbers: bool = True) -> int:
    """ONNX's number for whatever names an element type: that number, a numpy dtype or scalar type, an ml_dtypes type, a torch dtype, or a
    string such as 'float16', 'tensor(float)' or 'bfloat16'. With `numbers` integers of numpy are ONNX numbers too."""
    if isinstance(element_type, int) or (numbers and isinstance(element_type, np.integer)):
        number = int(element_type)
        if number not in NAMES:
            raise RuntimeError(f"{number} is no ONNX element type; they run from 1 (float) to {max(NAMES)}")
        return number
    if isinstance(element_type, str):
        name = element_type.removeprefix("tensor(").removesuffix(")").removeprefix("torch.")
        if name in NUMBERS or name in _ALIASES:
            return NUMBERS.get(name) or _ALIASES[name]
    elif type(element_type).__module__.partition(".")[0] == "torch":
        name = str(element_type).removeprefix("torch.")
        if name in NUMBERS or name in _ALIASES:
            return _ALIASES.get(name) or NUMBERS[name]
    dtype = np.dtype(type(element_type)) if isinstance(element_type, np.generic) else np.dtype(element_type)
    found = of_dtype(dtype.newbyteorder("="))
    if found is None:
        raise RuntimeError(f"no ONNX element type corresponds to the dtype {dtype}")
    return found


def pack(array: np.ndarray[Any, Any], bits: int) -> np.ndarray[Any, Any]:
    """One element a byte -> ONNX's packed bytes, the first element in the low bits."""
    codes = np.ascontiguousarray(array).view(np.uint8).ravel() & ((1 << bits) - 1)
    planes = (codes[:, None] >> np.arange(bits, dtype=np.uint8)) & 1
    return np.packbits(planes.ravel(), bitorder="little")


def unpack(data: np.ndarray[Any, Any], count: int, bits: int, signed: bool) -> np.ndarray[Any, Any]:
    """ONNX's packed bytes -> one code a byte, sign-extended if the type is signed."""
    planes = np.unpackbits(data, count=count * bits, bitorder="little").reshape(count, bits)
    codes = (planes << np.arange(bits, dtype=np.uint8)).sum(axis=1, dtype=np.uint8)
    if signed:
        codes = (codes ^ (1 << (bits - 1))).astype(np.int16) - (1 << (bits - 1))
        return codes.astype(np.int8).view(np.uint8)
    return codes
