"""Element types: ONNX's numbers, what numpy calls them, and the many ways in which users spell them."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ortcore._errors import InvalidArgument, InvalidType

# ONNX number: (ONNX's name, numpy's or ml_dtypes' name). Strings are object arrays in numpy.
_TYPES = {
    1: ("float", "float32"), 2: ("uint8", "uint8"), 3: ("int8", "int8"), 4: ("uint16", "uint16"), 5: ("int16", "int16"), 6: ("int32", "int32"),
    7: ("int64", "int64"), 8: ("string", "object"), 9: ("bool", "bool"), 10: ("float16", "float16"), 11: ("double", "float64"),
    12: ("uint32", "uint32"), 13: ("uint64", "uint64"), 14: ("complex64", "complex64"), 15: ("complex128", "complex128"),
    16: ("bfloat16", "bfloat16"), 17: ("float8e4m3fn", "float8_e4m3fn"), 18: ("float8e4m3fnuz", "float8_e4m3fnuz"),
    19: ("float8e5m2", "float8_e5m2"), 20: ("float8e5m2fnuz", "float8_e5m2fnuz"), 21: ("uint4", "uint4"), 22: ("int4", "int4"),
    23: ("float4e2m1", "float4_e2m1fn"), 24: ("float8e8m0", "float8_e8m0fnu"), 25: ("uint2", "uint2"), 26: ("int2", "int2"),
    27: ("float6e2m3", "float6_e2m3fn"), 28: ("float6e3m2", "float6_e3m2fn"),
}
STRING = 8
_BY_ONNX_NAME = {onnx: number for number, (onnx, _) in _TYPES.items()}
_BY_NUMPY_NAME = {numpy: number for number, (_, numpy) in _TYPES.items() if number != STRING}
# Types that numpy itself does not know; their arrays come from ml_dtypes.
_EXTENSION = {number for number in _TYPES if number >= 16}


def element_type_of_dtype(dtype: np.dtype[Any]) -> int:
    """ONNX's number of a numpy or ml_dtypes dtype, whatever its byte order; 0 if there is none."""
    if dtype.kind in "OSUT":
        return STRING
    return _BY_NUMPY_NAME.get(dtype.name, 0)


def numpy_dtype(element_type: int) -> np.dtype[Any]:
    """The dtype of arrays of an element type. Those beyond numpy's own need the package ml_dtypes."""
    if element_type not in _EXTENSION:
        return np.dtype(_TYPES[element_type][1])
    onnx_name, name = _TYPES[element_type]
    try:
        import ml_dtypes
    except ImportError:
        raise ImportError(f"numpy has no {onnx_name}: install ml_dtypes to get such tensors as arrays, or use data_ptr() or DLPack") from None
    if not hasattr(ml_dtypes, name):
        raise ImportError(f"this version of ml_dtypes has no {name}; install a newer one to get {onnx_name} tensors as arrays")
    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return dtype


def element_type(spec: object) -> int:
    """ONNX's number of an element type given as that number, as "tensor(float)", or as anything that names a dtype.

    Accepts ints (ONNX's TensorProto.DataType), numpy dtypes and whatever `numpy.dtype()` takes, names and types of ml_dtypes, torch's dtypes,
    ONNX's type strings.
    """
    if spec is None:
        raise InvalidType("element_type is None; give a dtype such as numpy.float32, a name such as 'float16', or a number of TensorProto.DataType")
    if not isinstance(spec, (str, type, np.dtype)):
        try:
            number = operator.index(spec)  # type: ignore[arg-type]
        except TypeError:
            pass
        else:
            if number not in _TYPES:
                raise InvalidArgument(f"{number} is no element type; they are numbered 1 ({_TYPES[1][0]}) to {max(_TYPES)} ({_TYPES[max(_TYPES)][0]})")
            return number
    return _element_type_by_name(spec)


def _element_type_by_name(spec: object) -> int:
    text = spec if isinstance(spec, str) else ""
    if type(spec).__module__ == "torch":
        text = str(spec).removeprefix("torch.")
    elif text.startswith("tensor(") and text.endswith(")"):
        text = text[7:-1]
        if text in _BY_ONNX_NAME:
            return _BY_ONNX_NAME[text]
    if text in _BY_NUMPY_NAME:
        return _BY_NUMPY_NAME[text]
    try:
        dtype = np.dtype(text or spec)  # type: ignore[call-overload]
    except TypeError:
        if text in _BY_ONNX_NAME:
            return _BY_ONNX_NAME[text]
        raise InvalidType(f"{spec!r} is no element type; give a dtype such as numpy.float32, a name such as 'float16', or a number of "
                          "TensorProto.DataType") from None
    if not dtype.isnative:
        raise InvalidType(f"dtype {dtype.str!r} has the other byte order; memory that ortcore reads or writes must have the machine's")
    number = element_type_of_dtype(dtype)
    if not number:
        raise InvalidType(f"dtype {dtype} is no element type of ONNX")
    return number
