"""Whose work comes first: producers' streams before runs, runs before consumers' streams, ordered on the device and never by the host."""
import numpy as np
import pytest

import ortcore as ort

from .. import models

# The emulated GPU runs only what a synchronisation strictly needs, so that a wait that is missing is seen.


@pytest.fixture
def filled(device, two):
    """filled(kind) gives an array that is being filled on a stream of its own: nothing has been copied yet."""

    def make(kind="DeviceArray"):
        stream = device.Stream()
        return getattr(device, kind)(two[0].shape, stream=stream).fill(two[0]), stream

    return make


def run(session, binding, two):
    binding.bind_cpu_input("b", two[1])
    binding.bind_output("c", "cuda")
    session.run_with_iobinding(binding)
    return binding.get_outputs()[0].numpy()


@pytest.mark.parametrize("kind", ["InterfaceArray", "DlpackArray"])
def test_objects_that_name_their_stream(add, filled, two, kind):
    array, _ = filled(kind)
    binding = add.io_binding()
    binding.bind_cpu_input("a", array)
    assert np.array_equal(run(add, binding, two), two[2])
    if kind == "DlpackArray":
        assert array.asked == [binding.__cuda_stream__()[1]]


def test_a_stream_beside_an_address(add, filled, two):
    array, stream = filled()
    binding = add.io_binding()
    binding.bind_input("a", "cuda", 0, np.float32, array.shape, array.data_ptr(), stream=stream)
    assert np.array_equal(run(add, binding, two), two[2])


@pytest.mark.parametrize("way", ["stream", "handle", "event"])
def test_wait_for(add, filled, two, way):
    array, stream = filled()
    binding = add.io_binding()
    binding.bind_input("a", "cuda", 0, np.float32, array.shape, array.data_ptr())
    binding.wait_for({"stream": stream, "handle": stream.handle, "event": stream.record()}[way])
    assert np.array_equal(run(add, binding, two), two[2])


def test_the_host_does_not_wait(add, filled, two, emulated):
    array, stream = filled()
    binding = add.io_binding()
    before = emulated.counters()["synchronisations"]
    binding.bind_input("a", "cuda", 0, np.float32, array.shape, array.data_ptr(), stream=stream)
    binding.wait_for(stream)
    binding.make_wait(stream)
    assert emulated.counters()["synchronisations"] == before
    stream.synchronize()


@pytest.mark.parametrize("kind", ["InterfaceArray", "DlpackArray"])
def test_values_of_objects_are_complete(filled, two, kind):
    array, _ = filled(kind)
    value = ort.OrtValue.ortvalue_from_numpy(array)
    assert np.array_equal(value.numpy(), two[0])


def asynchronous():
    options = ort.RunOptions()
    options.add_run_config_entry("disable_synchronize_execution_providers", "1")
    return options


def enqueue(add, device, two):
    binding = add.io_binding()
    binding["a"], binding["b"] = (device.array(x, device.InterfaceArray) for x in two[:2])
    binding.bind_output("c", "cuda")
    add.run_with_iobinding(binding, asynchronous())
    return binding


def test_a_run_that_is_not_waited_for(add, device, two, emulated):
    before = emulated.counters()["synchronisations"]
    binding = enqueue(add, device, two)
    assert emulated.counters()["synchronisations"] <= before + 4        # those of filling two arrays
    assert np.array_equal(binding.copy_outputs_to_cpu()[0], two[2])
    assert np.array_equal(enqueue(add, device, two).get_outputs()[0].numpy(), two[2])


def test_consumers_wait_on_the_device(add, device, two):
    binding = enqueue(add, device, two)
    output = binding.get_outputs()[0]
    assert output.__cuda_array_interface__["stream"] == binding.__cuda_stream__()[1]
    consumer = device.Stream()
    output.__dlpack__(stream=consumer.handle)
    copy = device.DeviceArray((3, 2))
    device.call("cudaMemcpyAsync", *map(device.ctypes.c_void_p, (copy.pointer, output.data_ptr())), device.ctypes.c_size_t(copy.nbytes), 3,
                device.ctypes.c_void_p(consumer.handle))
    consumer.synchronize()
    assert np.array_equal(copy.numpy(), two[2])
    binding.synchronize_outputs()
    assert binding.get_outputs()[0].__cuda_array_interface__["stream"] is None
    with pytest.raises(ValueError, match="two things"):
        enqueue(add, device, two).get_outputs()[0].__dlpack__(stream=0)


def test_an_unfinished_output_as_input_of_another_binding(add, device, two):
    first, second = enqueue(add, device, two), add.io_binding()
    second.bind_ortvalue_input("a", first.get_outputs()[0])
    assert np.array_equal(run(add, second, two), two[2] + two[1])


def test_the_callers_stream(session, device, two):
    stream = device.Stream()
    callers = session(models.add(), user_compute_stream=str(stream.handle))
    binding = callers.io_binding()
    assert binding.__cuda_stream__() == (0, stream.handle)
    array = device.DeviceArray((3, 2), stream=stream).fill(two[0])      # enqueued on the same stream: no more is needed
    binding.bind_input("a", "cuda", 0, np.float32, array.shape, array.data_ptr())
    binding["b"] = device.array(two[1], device.InterfaceArray)
    binding.bind_output("c", "cuda")
    callers.run_with_iobinding(binding)
    assert np.array_equal(binding.get_outputs()[0].numpy(), two[2])


def test_a_stream_of_another_device(session, device):
    if ort.cuda.device_count() < 2:
        pytest.skip("there is one GPU only")
    with pytest.raises(RuntimeError, match="belongs to GPU 1"):
        session(models.add(), user_compute_stream=str(device.Stream(1).handle))


def test_what_is_no_stream(add):
    binding = add.io_binding()
    for wrong in ("stream", object(), None, 1.5):
        with pytest.raises(TypeError, match="no stream"):
            binding.wait_for(wrong)
        with pytest.raises(TypeError, match="no stream"):
            binding.make_wait(wrong)
