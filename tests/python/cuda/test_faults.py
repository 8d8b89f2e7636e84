"""What goes wrong on the device is an error in Python that names it; sessions and the process go on where CUDA would."""
import numpy as np
import pytest
from onnx import TensorProto as P
from onnx import helper as h

import ortcore as ort
from ortcore import OrtValue
from ortcore.capi.onnxruntime_pybind11_state import InvalidInput

from .. import models

pytestmark = pytest.mark.usefixtures("emulated")
X = np.arange(6, dtype=np.float32).reshape(3, 2)
FEED = {"a": X, "b": X}


def test_every_allocation_of_a_session_may_fail(emulated):
    failures = 0
    for n in range(100):                                   # an arena tries again with less, so that one failure alone need not be seen
        emulated.inject(fail_allocations_after=n)
        try:
            session = ort.InferenceSession(models.add(), providers=["CUDAExecutionProvider"])
            result = session.run(None, FEED)[0]
        except MemoryError as error:
            assert "GPU 0" in str(error)
            failures += 1
        else:
            assert np.array_equal(result, 2 * X)
            break
        finally:
            emulated.inject()
    assert 0 < failures < 99


def test_a_session_survives_when_memory_runs_out(add, emulated):
    emulated.inject(fail_allocations_after=0)
    with pytest.raises(MemoryError):
        add.run(None, {"a": np.zeros((1 << 20, 2), np.float32), "b": np.zeros((1 << 20, 2), np.float32)})
    emulated.inject()
    assert np.array_equal(add.run(None, FEED)[0], 2 * X)


def test_a_kernel_that_faults(add, emulated):
    add.run(None, FEED)
    emulated.inject(sticky_error_at_launch=1)
    with pytest.raises(RuntimeError, match="lost to this process"):
        add.run(None, FEED)
    with pytest.raises(RuntimeError, match="700"):
        OrtValue.ortvalue_from_numpy(X, "cuda")
    emulated.recover()
    assert np.array_equal(add.run(None, FEED)[0], 2 * X)


def test_a_lost_device(add, emulated):
    add.run(None, FEED)
    emulated.inject(device_lost=True)
    with pytest.raises(RuntimeError, match="GPU 0"):
        add.run(None, FEED)
    emulated.recover()
    assert np.array_equal(add.run(None, FEED)[0], 2 * X)


def test_memory_that_was_freed_after_it_was_bound(add, device, emulated):
    binding = add.io_binding()
    array = device.array(X)
    binding.bind_input("a", "cuda", 0, np.float32, array.shape, array.data_ptr())
    binding.bind_cpu_input("b", X)
    binding.bind_output("c")
    array.free()
    try:
        add.run_with_iobinding(binding)
    except RuntimeError:
        pass
    found = emulated.findings()
    emulated.recover()
    assert {finding.kind for finding in found} & {"use_after_free", "kernel_fault"}


def test_settings_that_do_not_exist(emulated):
    with pytest.raises(ValueError, match="no_such_setting"):
        emulated.configure(no_such_setting=1)
    with pytest.raises(ValueError, match="policy"):
        emulated.configure(policy="often")
    with pytest.raises(ValueError, match="in no allocation"):
        emulated.name_memory(16, "mine")


def gather(session):
    """y [N] = one of four numbers by the index i [N], which a kernel checks."""
    return session(models.gather_constant())


def test_a_fault_that_is_known_late_leaks_no_result(session, emulated):
    s = gather(session)
    bad = OrtValue.ortvalue_from_numpy(np.full(100_000, 9), "cuda")
    live = []
    for _ in range(12):
        binding = s.io_binding()
        binding.bind_ortvalue_input("i", bad)
        binding.bind_output("y", "cuda")
        with pytest.raises(RuntimeError, match="index"):
            s.run_with_iobinding(binding)
        del binding
        live.append(emulated.counters()["live_bytes"])
    assert live[-1] == live[2], live


def test_staged_outputs_stay_as_they_were_when_a_kernel_finds_a_fault(session):
    s = gather(session)
    y = OrtValue.ortvalue_from_numpy(np.full(3, 7, np.float32), "cuda")
    binding = s.io_binding()
    binding.bind_ortvalue_output("y", y)
    options = ort.RunOptions()
    options.add_run_config_entry("stage_outputs", "1")
    binding.bind_cpu_input("i", np.array([0, 1, 9]))
    with pytest.raises(RuntimeError, match="index"):
        s.run_with_iobinding(binding, options)
    assert np.array_equal(y.numpy(), [7, 7, 7])
    binding.bind_cpu_input("i", np.array([0, 1, 2]))
    s.run_with_iobinding(binding, options)
    assert np.array_equal(y.numpy(), [0, 1, 2])


@pytest.mark.parametrize("place", ["cpu", "cuda"])
def test_staged_outputs_reach_what_an_allocator_gives(session, place):
    s, given = gather(session), []

    def allocate(shape, dtype, size):
        given.append(OrtValue.ortvalue_from_shape_and_type(shape, dtype, place))
        return given[-1]

    binding = s.io_binding()
    binding.bind_output("y", place, 0, allocator=allocate)
    binding.bind_cpu_input("i", np.array([2, 1]))
    options = ort.RunOptions()
    options.add_run_config_entry("stage_outputs", "1")
    s.run_with_iobinding(binding, options)
    assert np.array_equal(given[0].numpy(), [2, 1])


def two_faults():
    """Two nodes that a kernel may find fault with: quotient = a / b of integers, and picked = one of them by an index."""
    nodes = [h.make_node("Div", ["a", "b"], ["quotient"], name="ratio"), h.make_node("GatherElements", ["a", "i"], ["picked"], name="pick")]
    inputs = [models.value(n, P.INT64, ["N"]) for n in ("a", "b", "i")]
    return models.model(nodes, inputs, [models.value("quotient", P.INT64, ["N"]), models.value("picked", P.INT64, ["N"])])


NOTHING_WRONG = {"a": np.array([8, 9]), "b": np.array([2, 3]), "i": np.array([1, 0])}
WRONG = [("b", [2, 0], "ratio", r"node 'ratio' \(Div\): GPU 0.*divided by zero"),
         ("i", [0, 2], "pick", r"node 'pick' \(GatherElements\): GPU 0.*index is out of range")]


@pytest.mark.parametrize("name, values, node, message", WRONG)
@pytest.mark.parametrize("graphs", ["0", "1"], ids=["plain", "graph"])
def test_a_fault_that_a_kernel_finds_names_the_node(session, name, values, node, message, graphs):
    s = session(two_faults(), enable_cuda_graph=graphs)
    binding = s.io_binding()
    inputs = {n: OrtValue.ortvalue_from_numpy(v, "cuda") for n, v in NOTHING_WRONG.items()}
    for n, value in inputs.items():
        binding.bind_ortvalue_input(n, value)
    for output in ("quotient", "picked"):
        binding.bind_output(output, "cuda")
    for _ in range(3):                                     # with graphs: recorded by the second
        s.run_with_iobinding(binding)
    inputs[name].update_inplace(np.array(values))
    with pytest.raises(InvalidInput, match=message) as info:
        s.run_with_iobinding(binding)
    assert info.value.node == node
    inputs[name].update_inplace(NOTHING_WRONG[name])
    s.run_with_iobinding(binding)
    assert [v.numpy().tolist() for v in binding.get_outputs()] == [[4, 3], [9, 8]]


def test_who_waits_later_is_told_the_node_too(session):
    s = session(two_faults())
    binding = s.io_binding()
    for n, value in (NOTHING_WRONG | {"i": np.array([5, 0])}).items():
        binding.bind_ortvalue_input(n, OrtValue.ortvalue_from_numpy(value, "cuda"))
    for output in ("quotient", "picked"):
        binding.bind_output(output, "cuda")
    options = ort.RunOptions()
    options.add_run_config_entry("disable_synchronize_execution_providers", "1")
    s.run_with_iobinding(binding, options)
    with pytest.raises(RuntimeError, match="node 'pick'"):
        binding.synchronize_outputs()
    binding.synchronize_outputs()
