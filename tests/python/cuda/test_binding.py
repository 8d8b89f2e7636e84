"""Bindings to memory on CUDA devices: by address, by object; what is refused, and what moves no byte."""
import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ortcore as ort
from ortcore import OrtValue

from .. import models


def bound(session, device, two, kind="DeviceArray"):
    """A binding of `add` all of whose memory is arrays of another library."""
    a, b, _ = two
    arrays = device.array(a, getattr(device, kind)), device.array(b, getattr(device, kind)), device.array(np.zeros_like(a), getattr(device, kind))
    return session.io_binding(), arrays


def test_by_address(add, device, two):
    binding, (a, b, c) = bound(add, device, two)
    for name, array in (("a", a), ("b", b)):
        binding.bind_input(name, "cuda", 0, np.float32, array.shape, array.data_ptr())
    binding.bind_output("c", "cuda", 0, np.float32, c.shape, c.data_ptr())
    add.run_with_iobinding(binding)
    assert np.array_equal(c.numpy(), two[2])
    a.fill(two[0] + 1)
    add.run_with_iobinding(binding)
    assert np.array_equal(c.numpy(), two[2] + 1)


@pytest.mark.parametrize("kind", ["InterfaceArray", "DlpackArray"])
def test_by_object(add, device, two, kind):
    binding, (a, b, c) = bound(add, device, two, kind)
    binding["a"], binding["b"], binding["c"] = a, b, c
    del a, b
    gc.collect()
    add.run_with_iobinding(binding)
    assert np.array_equal(c.numpy(), two[2]) and binding["c"].data_ptr() == c.data_ptr()


def test_nothing_moves_in_the_steady_state(add, device, two, emulated):
    binding, (a, b, c) = bound(add, device, two, "InterfaceArray")
    binding["a"], binding["b"], binding["c"] = a, b, c
    for _ in range(3):
        add.run_with_iobinding(binding)
    emulated.clear()
    for _ in range(5):
        add.run_with_iobinding(binding)
    counters = emulated.counters()
    assert counters["launches"] == 5
    for name in ("copies_host_to_device", "copies_device_to_host", "copies_device_to_device", "allocations", "pinned_allocations", "memsets"):
        assert counters[name] == 0, name
    latest = add.stats()["latest"]
    assert latest["allocations"] == latest["bytes_copied"] == latest["host_to_device_copies"] == latest["device_to_host_copies"] == 0


def test_outputs_that_the_engine_allocates(add, two):
    binding = add.io_binding()
    binding.bind_cpu_input("a", two[0])
    binding.bind_ortvalue_input("b", OrtValue.ortvalue_from_numpy(two[1], "cuda"))
    binding.bind_output("c", "cuda")
    add.run_with_iobinding(binding)
    first = binding.get_outputs()[0]
    assert first.device_name() == "cuda" and np.array_equal(first.numpy(), two[2])
    add.run_with_iobinding(binding)
    assert binding.get_outputs()[0].data_ptr() == first.data_ptr()     # the shape is the same
    binding.bind_output("c", "cpu")
    add.run_with_iobinding(binding)
    assert binding.get_outputs()[0].device_name() == "cpu" and np.array_equal(binding.get_outputs()[0].numpy(), two[2])


def test_memory_that_is_refused(add, device, two):
    binding, (a, _, c) = bound(add, device, two)
    host = np.zeros((3, 2), np.float32)
    refusals = [
        (a.data_ptr() + 2, (2, 2), "not a multiple of 4"),
        (host.ctypes.data, (3, 2), "is memory of the host"),
        (a.data_ptr(), (1000, 2), "up to the end of its allocation"),
        (0, (3, 2), "NULL"),
        (12345 * 4, (3, 2), "no memory that CUDA knows"),
    ]
    for pointer, shape, text in refusals:
        with pytest.raises(RuntimeError, match=text):
            binding.bind_input("a", "cuda", 0, np.float32, shape, pointer)
        if pointer:
            with pytest.raises(RuntimeError, match=text):
                binding.bind_output("c", "cuda", 0, np.float32, shape, pointer)
    gone = c.data_ptr()
    c.free()
    with pytest.raises(RuntimeError, match="'c'.*freed already"):
        binding.bind_output("c", "cuda", 0, np.float32, (3, 2), gone)


@pytest.mark.parametrize("by", ["object", "address"])
def test_memory_that_may_be_larger(add, device, two, by):
    binding = add.io_binding()
    binding.bind_cpu_input("a", two[0])
    binding.bind_cpu_input("b", two[1])
    room = device.array(np.zeros(100, np.float32), device.InterfaceArray)
    how = {"capacity": room} if by == "object" else {"device_type": "cuda", "buffer_ptr": room.data_ptr(), "capacity": 400}
    binding.bind_output("c", **how)
    add.run_with_iobinding(binding)
    output = binding.get_outputs()[0]
    assert output.device_name() == "cuda" and output.shape() == [3, 2] and output.data_ptr() == room.data_ptr() and np.array_equal(output.numpy(), two[2])
    with pytest.raises(RuntimeError, match="'c'.*up to the end of its allocation"):
        binding.bind_output("c", "cuda", buffer_ptr=room.data_ptr(), capacity=100_000)
    binding.bind_output("c", "cuda", buffer_ptr=room.data_ptr(), capacity=8)
    with pytest.raises(RuntimeError, match="needs 24 bytes, but its buffer holds 8"):
        add.run_with_iobinding(binding)


def test_memory_that_a_callable_allocates(add, device, two):
    made = []

    def allocate(shape, dtype, size):
        made.append(device.InterfaceArray(shape, dtype))
        assert made[-1].nbytes == size
        return made[-1]

    binding = add.io_binding()
    binding.bind_cpu_input("a", two[0])
    binding.bind_cpu_input("b", two[1])
    binding.bind_output("c", "cuda", allocator=allocate)
    add.run_with_iobinding(binding)
    output = binding.get_outputs()[0]
    assert len(made) == 1 and output.data_ptr() == made[0].data_ptr() and output.device_name() == "cuda" and np.array_equal(made[0].numpy(), two[2])


def test_several_gpus(session, device, two):
    if ort.cuda.device_count() < 2:
        pytest.skip("there is one GPU only")
    second = session(models.add(), device_id=1)
    binding = second.io_binding()
    far = device.array(two[0], device=0)
    with pytest.raises(RuntimeError, match="'a'.*is memory of GPU 0, and memory of GPU 1"):
        binding.bind_input("a", "cuda", 1, np.float32, far.shape, far.data_ptr())
    binding.bind_input("a", "cuda", 0, np.float32, far.shape, far.data_ptr())       # said rightly, it is copied
    binding.bind_ortvalue_input("b", OrtValue.ortvalue_from_numpy(two[1], "cuda", 1))
    binding.bind_output("c", "cuda", 1)
    second.run_with_iobinding(binding)
    output = binding.get_outputs()[0]
    assert output.__dlpack_device__() == (2, 1) and np.array_equal(output.numpy(), two[2])


def test_threads(add, two):
    def work(offset):
        binding, results = add.io_binding(), []
        for i in range(10):
            binding.bind_ortvalue_input("a", OrtValue.ortvalue_from_numpy(two[0] + offset + i, "cuda"))
            binding.bind_cpu_input("b", two[1])
            binding.bind_output("c", "cuda")
            add.run_with_iobinding(binding)
            results.append(np.array_equal(binding.copy_outputs_to_cpu()[0], two[2] + offset + i))
        return all(results)

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(0, 60, 10)))


def test_a_session_on_the_cpu_refuses_device_memory(two):
    session = ort.InferenceSession(models.add(), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    with pytest.raises(RuntimeError, match="cannot reach"):
        binding.bind_ortvalue_input("a", OrtValue.ortvalue_from_numpy(two[0], "cuda"))
    with pytest.raises(RuntimeError, match="no streams"):
        binding.wait_for(1)


def test_values_of_the_session(add, two):
    value = add.create_ortvalue_from_shape_and_type([3, 2], np.float32, "cuda", 0)
    value.update_inplace(two[0])
    binding = add.io_binding()
    binding.bind_ortvalue_input("a", value)
    binding.bind_cpu_input("b", two[1])
    binding.bind_output("c")
    add.run_with_iobinding(binding)
    assert np.array_equal(binding.copy_outputs_to_cpu()[0], two[2])
    with pytest.raises(RuntimeError, match="session allocator"):
        add.create_ortvalue_from_shape_and_type([3, 2], np.float32, "cuda", 7)


def test_plain_runs_take_values_of_the_device(add, two):
    a = OrtValue.ortvalue_from_numpy(two[0], "cuda")
    assert np.array_equal(add.run(None, {"a": a, "b": two[1]})[0], two[2])
    assert np.array_equal(add.run_with_ort_values(None, {"a": a, "b": OrtValue.ortvalue_from_numpy(two[1])})[0].numpy(), two[2])


def test_outputs_of_one_run_are_inputs_of_the_next(add, two):
    binding = add.io_binding()
    binding.bind_cpu_input("a", two[0])
    binding.bind_cpu_input("b", two[1])
    binding.bind_output("c", "cuda")
    add.run_with_iobinding(binding)
    for _ in range(3):
        binding.bind_ortvalue_input("a", binding.get_outputs()[0])
        binding.bind_output("c", "cuda")
        add.run_with_iobinding(binding)
    assert np.array_equal(binding.copy_outputs_to_cpu()[0], two[0] + 4 * two[1])
