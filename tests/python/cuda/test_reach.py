"""Memory that a session cannot reach is refused, by name, on every way in: a kernel that read it would end the process."""
import numpy as np
import pytest

import ortcore as ort
from ortcore import OrtValue

from .. import models
from .device_arrays import DlpackArray, InterfaceArray

TWO = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture
def on_cpu():
    return ort.InferenceSession(models.add(), providers=["CPUExecutionProvider"])


def on_gpu():
    return OrtValue.ortvalue_from_numpy(TWO, "cuda", 0)


def on_host():
    return OrtValue.ortvalue_from_numpy(TWO)


def run_binding(session, bind):
    binding = session.io_binding()
    bind(binding)
    session.run_with_iobinding(binding)


def bind_address(binding):
    memory = on_gpu()
    binding.bind_input("a", "cuda", 0, np.float32, [3, 2], memory.data_ptr())


INPUTS = {
    "run": lambda s, gpu, device: s.run(None, {"a": gpu, "b": TWO}),
    "run, DLPack": lambda s, gpu, device: s.run(None, {"a": device.array(TWO, DlpackArray), "b": TWO}),
    "run, __cuda_array_interface__": lambda s, gpu, device: s.run(None, {"a": device.array(TWO, InterfaceArray), "b": TWO}),
    "run_with_ort_values": lambda s, gpu, device: s.run_with_ort_values(None, {"a": gpu, "b": on_host()}),
    "bind_ortvalue_input": lambda s, gpu, device: run_binding(s, lambda b: b.bind_ortvalue_input("a", gpu)),
    "bind_input": lambda s, gpu, device: run_binding(s, bind_address),
    "binding[name]": lambda s, gpu, device: run_binding(s, lambda b: b.__setitem__("a", device.array(TWO, InterfaceArray))),
}


@pytest.mark.parametrize("way", INPUTS)
def test_inputs_of_a_session_on_the_cpu(on_cpu, device, way):
    with pytest.raises(RuntimeError, match="input 'a' lies in memory on cuda:0, which this session, running on the CPU only, cannot reach"):
        INPUTS[way](on_cpu, on_gpu(), device)
    assert np.array_equal(on_cpu.run(None, {"a": TWO, "b": TWO})[0], 2 * TWO)


OUTPUTS = {
    "bind_output, address": lambda b, gpu: b.bind_output("c", "cuda", 0, np.float32, [3, 2], gpu.data_ptr()),
    "bind_output, capacity": lambda b, gpu: b.bind_output("c", "cuda", 0, buffer_ptr=gpu.data_ptr(), capacity=24),
    "bind_output, allocator": lambda b, gpu: b.bind_output("c", "cuda", 0, allocator=lambda shape, dtype, size: gpu),
    "bind_ortvalue_output": lambda b, gpu: b.bind_ortvalue_output("c", gpu),
}


@pytest.mark.parametrize("way", OUTPUTS)
def test_outputs_of_a_session_on_the_cpu(on_cpu, way):
    with pytest.raises(RuntimeError, match="output 'c' lies in memory on cuda:0, which this session, running on the CPU only, cannot reach"):
        OUTPUTS[way](on_cpu.io_binding(), on_gpu())


@pytest.mark.parametrize(("bound", "given"), [("cpu", on_gpu), ("cuda", on_host), ("cuda", lambda: TWO.copy())])
@pytest.mark.parametrize("provider", ["CPUExecutionProvider", "CUDAExecutionProvider"])
def test_an_allocator_gives_memory_where_the_output_is_bound(provider, bound, given):
    if provider == "CPUExecutionProvider" and bound == "cuda":
        pytest.skip("refused when it is bound")
    session = ort.InferenceSession(models.add(), providers=[provider])
    binding = session.io_binding()
    for name in "ab":
        binding.bind_cpu_input(name, TWO)
    binding.bind_output("c", bound, 0, allocator=lambda shape, dtype, size: given())
    where = "cuda where memory of the host" if bound == "cpu" else "cpu where memory of the GPU"
    with pytest.raises(RuntimeError, match=f"the allocator of output 'c' returned memory of {where} is needed"):
        session.run_with_iobinding(binding)
    binding.bind_output("c")
    session.run_with_iobinding(binding)
    assert np.array_equal(binding.copy_outputs_to_cpu()[0], 2 * TWO)


@pytest.mark.parametrize("provider", ["CPUExecutionProvider", "CUDAExecutionProvider"])
def test_items_of_sequences_lie_on_the_host(provider):
    s = ort.InferenceSession(models.sequence_identity(), providers=[provider])
    name = s.get_inputs()[0].name
    with pytest.raises(RuntimeError, match=f"input '{name}' is seq.tensor.float.. with tensors in a device's memory"):
        s.run(None, {name: [on_host(), on_gpu()]})
    assert np.array_equal(s.run(None, {name: [on_host()]})[0][0], TWO)


def test_weights_are_given_in_host_memory():
    with pytest.raises(RuntimeError, match="the value for initializer 'w' lies on cuda:0; weights are read on the host"):
        ort.SessionOptions().add_initializer("w", on_gpu())


CALLED_CPU = {
    "bind_input": lambda b, gpu: b.bind_input("a", "cpu", 0, np.float32, [3, 2], gpu.data_ptr()),
    "bind_output": lambda b, gpu: b.bind_output("c", "cpu", 0, np.float32, [3, 2], gpu.data_ptr()),
    "capacity": lambda b, gpu: b.bind_output("c", "cpu", 0, buffer_ptr=gpu.data_ptr(), capacity=24),
}


@pytest.mark.parametrize("provider", ["CPUExecutionProvider", "CUDAExecutionProvider"])
@pytest.mark.parametrize("way", CALLED_CPU)
def test_memory_of_a_gpu_that_is_called_the_hosts(provider, way):
    binding, gpu = ort.InferenceSession(models.add(), providers=[provider]).io_binding(), on_gpu()
    with pytest.raises(RuntimeError, match="(input 'a'|output 'c'): .* is memory of GPU 0, which the host cannot use: bind it with device_type 'cuda'"):
        CALLED_CPU[way](binding, gpu)
