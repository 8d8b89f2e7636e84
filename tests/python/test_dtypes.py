"""Every element type, in through each door and out again."""
import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto as P

import ortcore as ort

from . import models

PLAIN = {"float32": P.FLOAT, "float64": P.DOUBLE, "float16": P.FLOAT16, "int8": P.INT8, "int16": P.INT16, "int32": P.INT32, "int64": P.INT64,
         "uint8": P.UINT8, "uint16": P.UINT16, "uint32": P.UINT32, "uint64": P.UINT64, "bool": P.BOOL, "longlong": P.INT64, "intc": P.INT32,
         "ulonglong": P.UINT64, "complex64": P.COMPLEX64, "complex128": P.COMPLEX128}
EXTENSIONS = {"bfloat16": P.BFLOAT16, "float8_e4m3fn": P.FLOAT8E4M3FN, "float8_e4m3fnuz": P.FLOAT8E4M3FNUZ, "float8_e5m2": P.FLOAT8E5M2,
              "float8_e5m2fnuz": P.FLOAT8E5M2FNUZ, "uint4": P.UINT4, "int4": P.INT4, "float4_e2m1fn": P.FLOAT4E2M1, "float8_e8m0fnu": P.FLOAT8E8M0,
              "uint2": P.UINT2, "int2": P.INT2}
VALUES = {"int4": [-8, -1, 0, 7, 3], "int2": [-2, -1, 0, 1, -2], "uint2": [0, 1, 2, 3, 1], "uint4": [0, 15, 8, 7, 1], "float8_e8m0fnu": [1, 2, 4, 0.5, 8]}


def sample(name):
    if name in PLAIN:
        return np.array([0, 1, 2, 3, 1]).astype(name)
    return np.array(VALUES.get(name, [0, 1, 0.5, 2, -1])).astype(getattr(ml_dtypes, name))


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.astype(np.complex128).tolist() == b.astype(np.complex128).tolist()


ALL = {**PLAIN, **EXTENSIONS}


@pytest.mark.parametrize("name, number", ALL.items())
def test_values_keep_type_and_contents(name, number):
    array = sample(name)
    value = ort.OrtValue.ortvalue_from_numpy(array)
    assert value.element_type() == number and value.shape() == [5] and same(value.numpy(), array)
    assert ort.OrtValue.ortvalue_from_shape_and_type([2], array.dtype).element_type() == number
    assert ort.OrtValue.ortvalue_from_shape_and_type([2], name).element_type() == number
    strided = np.repeat(array, 2)[::2]
    assert same(ort.OrtValue.ortvalue_from_numpy(strided).numpy(), array)


@pytest.mark.parametrize("name, number", ALL.items())
def test_models_take_and_give_them(name, number):
    array = sample(name)
    session = ort.InferenceSession(models.identity(number, opset=25, ir=13))
    result = session.run(None, {"x": array})[0]
    assert same(result, array)
    binding = session.io_binding()
    binding.bind_cpu_input("x", array)
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert same(binding.copy_outputs_to_cpu()[0], array)
    assert same(session.run_with_ort_values(None, {"x": array})[0].numpy(), array)


@pytest.mark.parametrize("name", [n for n in ALL if n not in ("uint4", "int4", "uint2", "int2", "float4_e2m1fn")])
def test_whole_bytes_are_shared_and_written_in_place(name):
    array = sample(name)
    assert ort.OrtValue.ortvalue_from_numpy(array).data_ptr() == array.ctypes.data
    session = ort.InferenceSession(models.identity(ALL[name], opset=25, ir=13))
    binding, output = session.io_binding(), np.zeros_like(array)
    binding["x"], binding["y"] = array, output
    session.run_with_iobinding(binding)
    assert same(output, array)


@pytest.mark.parametrize("name, size", [("int4", 3), ("uint4", 3), ("int2", 2), ("uint2", 2), ("float4_e2m1fn", 3)])
def test_narrow_types_are_packed_and_counted(name, size):
    array = sample(name)
    assert ort.OrtValue.ortvalue_from_numpy(array).tensor_size_in_bytes() == size
    session = ort.InferenceSession(models.identity(ALL[name], opset=25, ir=13))
    binding = session.io_binding()
    binding.bind_cpu_input("x", array)
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert session.stats()["latest"]["bytes_copied"] == size
    with pytest.raises(TypeError, match="output 'y' .*packed"):
        binding.bind_output("y", array)


def test_packed_memory_by_pointer():
    session = ort.InferenceSession(models.identity(P.INT4, opset=25, ir=13))
    binding, packed, output = session.io_binding(), np.array([0x2F, 0x03], np.uint8), np.zeros(2, np.uint8)
    binding.bind_input("x", "cpu", 0, P.INT4, [3], packed.ctypes.data)
    binding.bind_output("y", "cpu", 0, P.INT4, [3], output.ctypes.data)
    session.run_with_iobinding(binding)
    assert binding.get_outputs()[0].numpy().tolist() == [-1, 2, 3]


@pytest.mark.parametrize("bits, name", [(2, "uint2"), (4, "uint4")])
def test_packing_of_every_length(bits, name):
    rng = np.random.default_rng(0)
    for n in range(20):
        array = rng.integers(0, 2**bits, n).astype(getattr(ml_dtypes, name))
        assert same(ort.OrtValue.ortvalue_from_numpy(array).numpy(), array)


def test_shapes_survive_packing():
    array = np.arange(6).reshape(2, 3).astype(ml_dtypes.int4)
    assert same(ort.OrtValue.ortvalue_from_numpy(array).numpy(), array) and same(ort.OrtValue.ortvalue_from_numpy(array.T).numpy(), array.T)
    assert ort.OrtValue.ortvalue_from_numpy(np.array(3).astype(ml_dtypes.int4)).numpy().shape == ()


@pytest.mark.parametrize("name", ["float32", "int16", "uint64", "complex64", "float16"])
def test_the_other_byte_order(name):
    array = sample(name)
    swapped = array.astype(array.dtype.newbyteorder(">"))
    assert same(ort.OrtValue.ortvalue_from_numpy(swapped).numpy(), array)


def test_types_are_never_cast():
    session = ort.InferenceSession(models.identity(P.FLOAT))
    for name in ALL:
        if ALL[name] != P.FLOAT:
            with pytest.raises(ValueError, match="expected"):
                session.run(None, {"x": sample(name)})


def test_ml_dtypes_is_needed_only_for_its_types(monkeypatch):
    import sys

    from ortcore._element_types import numpy_dtype

    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert numpy_dtype(P.FLOAT) == np.float32
    with pytest.raises(ImportError, match="install ml_dtypes"):
        numpy_dtype(P.BFLOAT16)


def test_torch_dtypes_by_name():
    class Dtype:
        def __init__(self, name):
            self.name = name

        def __str__(self):
            return "torch." + self.name

    Dtype.__module__ = "torch"
    for name, number in (("float16", P.FLOAT16), ("bfloat16", P.BFLOAT16), ("int64", P.INT64), ("bool", P.BOOL), ("float8_e4m3fn", P.FLOAT8E4M3FN)):
        assert ort.OrtValue.ortvalue_from_shape_and_type([2], Dtype(name)).element_type() == number
