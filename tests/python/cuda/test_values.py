"""OrtValues on CUDA devices."""
import gc

import numpy as np
import pytest

import ortcore as ort
from ortcore import OrtValue
from ortcore.capi.onnxruntime_pybind11_state import InvalidArgument

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_from_numpy_and_back():
    value = OrtValue.ortvalue_from_numpy(X, "cuda", 0)
    assert value.device_name() == "cuda" and value.shape() == [2, 3] and value.data_type() == "tensor(float)" and value.data_ptr() != X.ctypes.data
    assert value.__dlpack_device__() == (2, 0) and value.tensor_size_in_bytes() == X.nbytes
    first, second = value.numpy(), value.numpy()
    assert np.array_equal(first, X) and not np.shares_memory(first, second)
    assert np.array_equal(np.asarray(value), X) and np.array_equal(value.contents(), X)
    with pytest.raises(ValueError, match="copy"):
        value.__array__(copy=False)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint16", "int32", "int64", "bool", "complex64"])
def test_types(dtype):
    array = X.astype(dtype)
    value = OrtValue.ortvalue_from_numpy(array, "cuda")
    assert value.numpy().dtype == dtype and np.array_equal(value.numpy(), array)
    assert value.__cuda_array_interface__["typestr"] == np.dtype(dtype).str


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    value = OrtValue.ortvalue_from_numpy(X.astype(ml_dtypes.bfloat16), "cuda")
    assert value.numpy().dtype == ml_dtypes.bfloat16
    assert not hasattr(value, "__cuda_array_interface__")     # the interface has no name for the type; DLPack has


def test_strided_arrays_are_copied():
    assert np.array_equal(OrtValue.ortvalue_from_numpy(X.T, "cuda").numpy(), X.T)
    assert np.array_equal(OrtValue.ortvalue_from_numpy(X.astype(">f4"), "cuda").numpy(), X)


def test_from_shape_and_type():
    value = OrtValue.ortvalue_from_shape_and_type([4, 5], np.float16, "cuda", 0)
    assert value.shape() == [4, 5] and value.device_name() == "cuda" and value.numpy().shape == (4, 5)
    empty = OrtValue.ortvalue_from_shape_and_type([0, 5], np.float32, "cuda")
    assert empty.numpy().shape == (0, 5)
    with pytest.raises(RuntimeError, match="cuda:9"):
        OrtValue.ortvalue_from_shape_and_type([1], np.float32, "cuda", 9)
    with pytest.raises(MemoryError, match=f"was asked for {8 << 40} bytes"):
        OrtValue.ortvalue_from_shape_and_type([1 << 40], np.float64, "cuda")


def test_update_inplace():
    value = OrtValue.ortvalue_from_numpy(X, "cuda")
    pointer = value.data_ptr()
    value.update_inplace(X + 1)
    assert value.data_ptr() == pointer and np.array_equal(value.numpy(), X + 1)
    value.update_inplace(OrtValue.ortvalue_from_numpy(X + 2, "cuda"))
    assert np.array_equal(value.numpy(), X + 2)
    host = OrtValue.ortvalue_from_numpy(np.zeros_like(X))
    host.update_inplace(value)
    assert np.array_equal(host.numpy(), X + 2)
    with pytest.raises(InvalidArgument):
        value.update_inplace(X.astype(np.float64))


def test_dlpack_shares_memory_and_keeps_it():
    value = OrtValue.ortvalue_from_numpy(X, "cuda")
    again = OrtValue.from_dlpack(value)
    assert again.data_ptr() == value.data_ptr() and again.device_name() == "cuda"
    del value
    gc.collect()
    assert np.array_equal(again.numpy(), X)
    assert np.array_equal(np.from_dlpack(again, device="cpu", copy=True), X)
    with pytest.raises(BufferError, match="without a copy"):
        again.__dlpack__(dl_device=(1, 0), copy=False)


@pytest.mark.parametrize("kind", ["InterfaceArray", "DlpackArray"])
def test_arrays_of_other_libraries(device, kind):
    source = device.array(X, getattr(device, kind))
    before = device.exported_count()
    value = OrtValue.ortvalue_from_numpy(source) if kind == "InterfaceArray" else OrtValue.from_dlpack(source)
    assert value.data_ptr() == source.data_ptr() and value.device_name() == "cuda"
    if kind == "InterfaceArray":
        assert value.__cuda_array_interface__["data"][0] == source.data_ptr()
    del source
    gc.collect()
    assert np.array_equal(value.numpy(), X)
    del value
    gc.collect()
    assert device.exported_count() == before


def test_strided_arrays_on_the_device_are_refused(device):
    source = device.array(X, device.InterfaceArray)
    source.strides = (4, 8)
    with pytest.raises(TypeError, match="contiguous"):
        OrtValue.ortvalue_from_numpy(source)
    source = device.array(X, device.DlpackArray)
    source.strides = (4, 8)
    with pytest.raises(InvalidArgument, match="contiguous"):
        OrtValue.from_dlpack(source)


def test_stream_zero_is_ambiguous():
    value = OrtValue.ortvalue_from_numpy(X, "cuda")
    for stream in (None, 1, 2, -1):
        value.__dlpack__(stream=stream)


def test_copy_tensors(device):
    source = OrtValue.ortvalue_from_numpy(X.copy())
    middle, target = (OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32, d) for d in ("cuda", "cpu"))
    ort.copy_tensors([source], [middle])
    ort.copy_tensors([middle], [target])
    assert np.array_equal(target.numpy(), X)
    stream = ort.OrtSyncStream("cuda", 0)
    source.update_inplace(X + 1)
    ort.copy_tensors([source, middle], [middle, target], stream)
    stream.synchronize()
    assert np.array_equal(target.numpy(), X + 1) and stream.__cuda_stream__() == (0, stream.get_handle())
    with pytest.raises(TypeError, match="OrtSyncStream"):
        ort.copy_tensors([source], [middle], 5)


def test_registered_allocators():
    for name in ("Cuda", "CudaPinned"):
        info = ort.OrtMemoryInfo(name, ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
        ort.create_and_register_allocator_v2("CUDAExecutionProvider", info, {}, ort.OrtArenaCfg({"max_mem": 1 << 20}))
        value = OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32, memory_info=info)
        value.update_inplace(X)
        assert np.array_equal(value.numpy(), X)
        with pytest.raises(RuntimeError, match="smaller than requested"):
            OrtValue.ortvalue_from_shape_and_type([1 << 20], np.float32, memory_info=info)
    with pytest.raises(RuntimeError, match="is no memory of"):
        ort.create_and_register_allocator_v2("CPUExecutionProvider", info)


def test_devices():
    devices = ort.get_ep_devices()
    assert [d.ep_name for d in devices] == ["CUDAExecutionProvider"] * ort.cuda.device_count() + ["CPUExecutionProvider"]
    gpu = devices[0]
    assert gpu.device.type == ort.OrtHardwareDeviceType.GPU and gpu.device.vendor_id == 0x10DE and gpu.device.metadata["name"] == ort.cuda.device_name()
    assert gpu.memory_info(ort.OrtDeviceMemoryType.DEFAULT).name == "Cuda"
    assert gpu.memory_info(ort.OrtDeviceMemoryType.HOST_ACCESSIBLE).name == "CudaPinned"
    assert gpu.create_sync_stream().get_handle() != 0
    assert ort.get_device() == "GPU"
    with pytest.raises(RuntimeError, match="no GPU 99"):
        ort.cuda.device_name(99)
