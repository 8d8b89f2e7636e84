"""Objects of NVIDIA's cuda-python, the package itself: handles of cuda.bindings, buffers and streams of cuda.core.

The emulated GPU stands in for the CUDA runtime, not for the driver, whose library those packages load for work of their own. What they can make without
it is tested everywhere: handles, and buffers around memory that is there. Streams and events of cuda.core need a real driver.
"""
import numpy as np
import pytest

import ortcore as ort
import ortcore.cuda

from .. import models

runtime = pytest.importorskip("cuda.bindings.runtime")
driver = pytest.importorskip("cuda.bindings.driver")
core = pytest.importorskip("cuda.core")


@pytest.fixture
def on_a_gpu():
    if ortcore.cuda.is_emulated():
        pytest.skip("streams of cuda.core need a driver")


def run(session, binding, two):
    binding.bind_cpu_input("b", two[1])
    binding.bind_output("c", "cuda")
    session.run_with_iobinding(binding)
    return binding.get_outputs()[0].numpy()


@pytest.mark.parametrize("kind", [runtime.cudaStream_t, driver.CUstream])
@pytest.mark.parametrize("way", ["beside an address", "wait_for"])
def test_streams_by_handle(add, device, two, kind, way):
    stream = device.Stream()
    array = device.DeviceArray(two[0].shape, stream=stream).fill(two[0])
    binding, handle = add.io_binding(), kind(stream.handle)
    if way == "wait_for":
        binding.bind_input("a", "cuda", 0, np.float32, array.shape, array.data_ptr())
        binding.wait_for(handle)
    else:
        binding.bind_input("a", "cuda", 0, np.float32, array.shape, array.data_ptr(), stream=handle)
    assert np.array_equal(run(add, binding, two), two[2])
    binding.make_wait(handle)
    stream.synchronize()


@pytest.mark.parametrize("kind", [runtime.cudaEvent_t, driver.CUevent])
def test_events_by_handle(add, device, two, kind):
    stream = device.Stream()
    array, binding = device.DeviceArray(two[0].shape, stream=stream).fill(two[0]), add.io_binding()
    binding.bind_input("a", "cuda", 0, np.float32, array.shape, array.data_ptr())
    event = stream.record()
    binding.wait_for(kind(event.handle))
    assert np.array_equal(run(add, binding, two), two[2])
    with pytest.raises(TypeError, match="is no stream"):
        binding.make_wait(kind(event.handle))


def test_addresses(add, device, two):
    a, b, c = device.array(two[0]), device.array(two[1]), device.DeviceArray(two[2].shape)
    binding = add.io_binding()
    for name, array in (("a", a), ("b", b)):
        binding.bind_input(name, "cuda", 0, np.float32, array.shape, driver.CUdeviceptr(array.data_ptr()))
    binding.bind_output("c", "cuda", 0, np.float32, c.shape, driver.CUdeviceptr(c.data_ptr()))
    add.run_with_iobinding(binding)
    assert np.array_equal(c.numpy(), two[2])


def test_buffers(add, device, two):
    a, b, c = device.array(two[0]), device.array(two[1]), device.DeviceArray(two[2].shape)
    binding = add.io_binding()
    buffers = {name: core.Buffer.from_handle(array.data_ptr(), array.nbytes) for name, array in (("a", a), ("b", b), ("c", c))}
    for name in ("a", "b"):
        binding.bind_input(name, "cuda", 0, np.float32, a.shape, buffers[name].handle)
    binding.bind_output("c", "cuda", 0, np.float32, c.shape, buffers["c"].handle)
    add.run_with_iobinding(binding)
    assert np.array_equal(c.numpy(), two[2])


def test_a_stream_of_cuda_core(on_a_gpu, session, two):
    gpu = core.Device(0)
    gpu.set_current()
    stream = gpu.create_stream()
    add = session(models.add())
    binding = add.io_binding()
    value = ort.OrtValue.ortvalue_from_numpy(two[0], "cuda")
    binding.bind_ortvalue_input("a", value)
    binding.wait_for(stream)
    binding.wait_for(stream.record())
    assert np.array_equal(run(add, binding, two), two[2])
    binding.make_wait(stream)
    callers = session(models.add(), user_compute_stream=int(stream.handle))
    assert callers.io_binding().__cuda_stream__() == (0, int(stream.handle))
    stream.sync()
