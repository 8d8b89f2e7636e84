"""OrtValue: making one, asking it, changing it."""
import copy
import pickle

import numpy as np
import pytest
from onnx import TensorProto as P

import ortcore as ort
from ortcore.capi.onnxruntime_pybind11_state import OrtValueVector

from . import models

OrtValue = ort.OrtValue
make = OrtValue.ortvalue_from_numpy
A = np.arange(6, dtype=np.float32).reshape(3, 2)


def test_questions():
    value = make(A)
    assert (value.data_type(), value.element_type(), value.shape(), value.device_name()) == ("tensor(float)", 1, [3, 2], "cpu")
    assert (value.has_value(), value.is_tensor(), value.is_sparse_tensor(), value.is_tensor_sequence()) == (True, True, False, False)
    assert value.tensor_size_in_bytes() == 24 and value.data_ptr() == A.ctypes.data
    assert value._ortvalue is value._get_c_value() and value._numpy_obj is A


def test_memory_is_shared_both_ways():
    array = A.copy()
    value = make(array)
    array[0, 0] = 99
    assert value.numpy()[0, 0] == 99
    value.numpy()[0, 1] = 98
    assert array[0, 1] == 98 and np.shares_memory(value.numpy(), array)


@pytest.mark.parametrize("array", [A.T, A[::2], A[:, ::-1], A.astype(">f4"), np.asfortranarray(A)])
def test_other_layouts_are_copied_by_value(array):
    value = make(array)
    assert np.array_equal(value.numpy(), array) and value.data_ptr() != array.ctypes.data and value.data_type() == "tensor(float)"


def test_scalars_and_empty_tensors():
    assert make(np.array(3, np.float32)).shape() == [] and make(np.array(3, np.float32)).numpy() == 3
    empty = make(np.zeros((0, 2), np.float32))
    assert (empty.shape(), empty.data_ptr(), empty.tensor_size_in_bytes(), empty.numpy().shape) == ([0, 2], 0, 0, (0, 2))


def test_read_only_stays_read_only():
    array = A.copy()
    array.flags.writeable = False
    value = make(array)
    assert not value.numpy().flags.writeable and value.numpy().tolist() == A.tolist()
    with pytest.raises(RuntimeError, match="read-only"):
        value.update_inplace(A)
    with pytest.raises(BufferError, match="read-only"):
        value.__dlpack__()
    assert np.array_equal(np.from_dlpack(value), A) and array.tolist() == A.tolist()


@pytest.mark.parametrize("source", [None, [1.0, 2.0], 5, "a", b"abc", np.array(["2020"], "M8[Y]"), np.zeros(2, [("a", "f4")]), np.ones(2, "g")])
def test_what_cannot_be_a_tensor(source):
    with pytest.raises(RuntimeError) as info:
        make(source)
    assert isinstance(info.value, TypeError)


def test_arguments_of_from_numpy():
    assert make(A, device_type="cpu", device_id=0).shape() == make(A, "cpu", 0, -1).shape() == [3, 2]
    with pytest.raises(TypeError, match="positional"):
        make(numpy_obj=A)
    for device in ("cuda", "gpu", "npu", "CPU", "cuda:0", ""):
        with pytest.raises(RuntimeError):
            make(A, device, 0)
    with pytest.raises(TypeError):
        make(A, "cpu", "0")


# ---- From a shape

@pytest.mark.parametrize("shape", [[], (2, 3), [0, 2], np.array([2, 3]), [np.int64(2)], range(3)])
def test_shapes(shape):
    value = OrtValue.ortvalue_from_shape_and_type(shape, np.float32)
    assert value.shape() == [int(d) for d in shape] and value._numpy_obj is None


@pytest.mark.parametrize("shape, error", [([-1, 2], RuntimeError), ([2**40, 2**40], RuntimeError), ([2.5], TypeError), ("23", TypeError), (5, TypeError),
                                          (None, TypeError), ([2**45], MemoryError)])
def test_bad_shapes(shape, error):
    with pytest.raises(error):
        OrtValue.ortvalue_from_shape_and_type(shape, np.float32)


@pytest.mark.parametrize("spec, name", [(np.float32, "float"), (np.dtype("f2"), "float16"), ("float16", "float16"), ("f4", "float"), (float, "double"),
                                        (int, "int64"), (bool, "bool"), (1, "float"), (P.BFLOAT16, "bfloat16"), ("bfloat16", "bfloat16"),
                                        ("tensor(float)", "float"), ("tensor(int4)", "int4"), ("float8e4m3fn", "float8e4m3fn"), (str, "string"),
                                        (np.complex64, "complex64"), ("double", "double")])
def test_spellings_of_types(spec, name):
    assert OrtValue.ortvalue_from_shape_and_type([2], spec).data_type() == f"tensor({name})"


@pytest.mark.parametrize("spec", [0, 99, -1, "junk", None, "longdouble", ">f4", "M8[D]"])
def test_bad_types(spec):
    with pytest.raises(RuntimeError):
        OrtValue.ortvalue_from_shape_and_type([2], spec)


def test_memory_from_a_registered_allocator():
    info = ort.OrtMemoryInfo.create_v2("Cpu", ort.OrtMemoryInfoDeviceType.CPU, 0, 7, ort.OrtDeviceMemoryType.DEFAULT, 0,
                                       ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR)
    with pytest.raises(RuntimeError, match="create_and_register_allocator"):
        OrtValue.ortvalue_from_shape_and_type([2], np.float32, memory_info=info)
    ort.create_and_register_allocator(info, ort.OrtArenaCfg(0, -1, -1, -1))
    with pytest.warns(UserWarning, match="ignored"):
        value = OrtValue.ortvalue_from_shape_and_type([2], np.float32, "cuda", memory_info=info)
    assert value.shape() == [2]


def test_the_cpu_is_one_device():
    """A memory info by name has its number whatever number was given, as in onnxruntime."""
    info = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_DEVICE_ALLOCATOR, 5, ort.OrtMemType.DEFAULT)
    assert info.device_id == 0
    assert ort.OrtMemoryInfo("Cuda", ort.OrtAllocatorType.ORT_DEVICE_ALLOCATOR, 5, ort.OrtMemType.DEFAULT).device_id == 5


# ---- Other types on the same memory

def test_with_onnx_type():
    raw = np.array([0x3F80, 0x4000], np.uint16)
    value = OrtValue.ortvalue_from_numpy_with_onnx_type(raw, P.BFLOAT16)
    assert (value.data_type(), value.shape(), value.data_ptr()) == ("tensor(bfloat16)", [2], raw.ctypes.data)
    assert OrtValue.ortvalue_from_numpy_with_onnx_type(np.arange(6, dtype=np.int16)[::2], P.INT16).numpy().tolist() == [0, 2, 4]
    for data, kind in ((A, P.BFLOAT16), (np.zeros(2, np.uint8), P.FLOAT), (A, 99), (A, 0), (np.array(["a"]), P.FLOAT), (np.array(["a"], object), P.STRING),
                       ([1.0], P.FLOAT)):
        with pytest.raises(RuntimeError):
            OrtValue.ortvalue_from_numpy_with_onnx_type(data, kind)
    with pytest.raises(TypeError):
        OrtValue.ortvalue_from_numpy_with_onnx_type(A, np.float32)


# ---- Changing the contents

def test_update_inplace():
    array = A.copy()
    value = make(array)
    assert value.update_inplace(A + 10) is None and array.tolist() == (A + 10).tolist()
    value.update_inplace(A.T.copy().T)
    value.update_inplace(np.arange(12, dtype=np.float32)[::2])
    assert array.tolist() == [[0, 2], [4, 6], [8, 10]]
    value.update_inplace(A.astype(">f4"))
    assert array.tolist() == A.tolist()
    value.update_inplace(make(A + 1))
    value.update_inplace(value)
    assert array.tolist() == (A + 1).tolist() and value.data_ptr() == array.ctypes.data


@pytest.mark.parametrize("data", [A[0], A.astype(float), A.astype(np.int32), A.astype(np.float16), np.array(["a"] * 6)])
def test_update_inplace_refuses_other_types_and_sizes(data):
    array = A.copy()
    with pytest.raises((RuntimeError, TypeError)):
        make(array).update_inplace(data)
    with pytest.raises((RuntimeError, TypeError)):
        make(array).update_inplace(make(data))
    assert array.tolist() == A.tolist()


@pytest.mark.parametrize("data", [[1.0] * 6, None, 5, "text"])
def test_update_inplace_takes_arrays_only(data):
    with pytest.raises(TypeError):
        make(A.copy()).update_inplace(data)


def test_copy_tensors():
    sources, destinations = [make(A), make(A + 1)], [make(np.zeros_like(A)), make(np.zeros(6, np.float32))]
    ort.copy_tensors(sources, destinations)
    assert destinations[0].numpy().tolist() == A.tolist() and destinations[1].numpy().tolist() == (A + 1).ravel().tolist()
    for source, destination in (([], []), (sources, []), (sources[:1], [make(A.astype(float))]), (sources[:1], [make(A[0])]), ([A], destinations[:1])):
        with pytest.raises(RuntimeError):
            ort.copy_tensors(source, destination)
    with pytest.raises(TypeError):
        ort.copy_tensors(sources[0], destinations[0])
    with pytest.raises(RuntimeError, match="stream"):
        ort.copy_tensors(sources, destinations, stream=5)


# ---- As an array, a string tensor, a sequence

def test_array_protocol():
    value = make(A)
    assert np.shares_memory(np.asarray(value), A) and np.asarray(value, copy=False).shape == (3, 2)
    assert np.array(value, dtype=np.float64).dtype == np.float64 and not np.shares_memory(np.array(value, copy=True), A)
    assert np.add(value, 1).tolist() == (A + 1).tolist()
    with pytest.raises(ValueError, match="copy"):
        np.asarray(value, dtype=np.float64, copy=False)
    for refused in (len, iter, lambda v: v[0], lambda v: v.foo):
        with pytest.raises((TypeError, AttributeError)):
            refused(value)


@pytest.mark.parametrize("array", [np.array(["a", "bb"]), np.array(["a", "bb"], object), np.array([b"a", b"bb"], "S4"), np.array([b"a", b"bb"], object),
                                   np.array([b"ab"] * 2, "S2"), np.array(["é", "日本"]), np.array(["a\0b", "c"], object), np.array([""], object),
                                   np.array([], object), np.array([["a", "b"], ["c", "d"]]), np.array(["a", "b", "c", "d"])[::2], np.array("x")])
def test_strings(array):
    value = make(array)
    result = value.numpy()
    expected = [item.decode() if isinstance(item, bytes) else item for item in array.reshape(-1).tolist()]
    assert value.data_type() == "tensor(string)" and result.dtype == object and result.shape == array.shape
    assert result.reshape(-1).tolist() == expected and value.data_ptr() == 0


@pytest.mark.parametrize("items", [["a", None], [1, "a"], [1.5]])
def test_strings_are_not_guessed(items):
    with pytest.raises(TypeError, match="element"):
        make(np.array(items, object))


def test_strings_that_are_not_utf8():
    with pytest.raises(UnicodeDecodeError):
        make(np.array([b"\xff"], object)).numpy()


def test_sequences(cpu_session):
    session = cpu_session(models.sequence_construct())
    value, = session.run_with_ort_values(None, {"a": make(A[0]), "b": make(A[1])})
    assert (value.data_type(), value.is_tensor(), value.is_tensor_sequence(), value.element_type()) == ("seq(tensor(float))", False, True, 1)
    for question in (value.shape, value.numpy, value.data_ptr, value.device_name, value.tensor_size_in_bytes, value.__dlpack__):
        with pytest.raises(RuntimeError, match="sequence"):
            question()
    assert [item.tolist() for item in value.contents()] == [A[0].tolist(), A[1].tolist()]
    assert np.shares_memory(make(A).contents(), A)
    again = cpu_session(models.sequence_identity()).run(None, {"x": value})[0]
    assert [item.tolist() for item in again] == [A[0].tolist(), A[1].tolist()]
    assert cpu_session(models.sequence_identity()).run(None, {"x": []}) == [[]]
    for bad in ((A,), A, [A, np.array([1])], [1.0]):
        with pytest.raises(RuntimeError):
            cpu_session(models.sequence_identity()).run(None, {"x": bad})


# ---- Identity, copies, vectors

def test_identity_and_copies():
    value = make(A)
    assert value == value and value != make(A) and isinstance(hash(value), int)
    assert copy.copy(value).data_ptr() == value.data_ptr()
    for refused in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            refused(value)
    with pytest.raises(TypeError):
        OrtValue()
    for wrong in (5, A):
        with pytest.raises(ValueError):
            OrtValue(wrong)
    with pytest.raises(RuntimeError, match="twice"):
        value.__init__(value)


def test_vector():
    vector = OrtValueVector()
    vector.reserve(3)
    vector.push_back(make(A)._ortvalue)
    vector.push_back(A.__dlpack__())
    vector.shrink_to_fit()
    assert len(vector) == 2 and [v.shape() for v in vector] == [[3, 2]] * 2 and vector.element_type_at(0) == 1
    assert [type(c).__name__ for c in vector.to_dlpacks(None)] == ["PyCapsule"] * 2 and type(vector.dlpack_at(0)).__name__ == "PyCapsule"
    assert [a.shape for a in vector.to_dlpacks(lambda capsule: OrtValue.from_dlpack(capsule).numpy())] == [(3, 2)] * 2
    with pytest.raises(TypeError):
        vector[-1]
    with pytest.raises(IndexError):
        vector[2]


def test_running_out_of_memory(cpu_session):
    from ortcore._device import inject_allocation_failure

    session = cpu_session(models.add())
    feed = {"a": A, "b": A}
    for n in range(1, 12):
        inject_allocation_failure(n)
        try:
            result = session.run(None, feed)[0]
        except MemoryError:
            continue
        finally:
            inject_allocation_failure(0)
        assert result.tolist() == (A + A).tolist()
    assert session.run(None, feed)[0].tolist() == (A + A).tolist()
