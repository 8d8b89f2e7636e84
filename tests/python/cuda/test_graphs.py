"""CUDA graphs: recorded by themselves, recorded again where an address changes, never stale."""
import numpy as np
import pytest
from onnx import TensorProto as P
from onnx import helper as h

import ortcore as ort

from .. import models

W = np.array([1, 2, 3, 4], np.float32)


def model():
    """y = relu(x + w)², flat: x float32 [N, 4]."""
    nodes = [h.make_node("Add", ["x", "w"], ["a"]), h.make_node("Relu", ["a"], ["b"]), h.make_node("Reshape", ["b", "s"], ["c"]),
             h.make_node("Mul", ["c", "c"], ["y"])]
    return models.model(nodes, [models.value("x", P.FLOAT, ["N", 4])], [models.value("y", P.FLOAT, ["M"])],
                        [h.make_tensor("w", P.FLOAT, [4], W), h.make_tensor("s", P.INT64, [1], [-1])])


def expected(x):
    return (np.maximum(x + W, 0) ** 2).ravel()


def array(value, rows=3):
    return np.full((rows, 4), value, np.float32)


def on_device(x):
    return ort.OrtValue.ortvalue_from_numpy(x, "cuda", 0)


class Bound:
    """A binding of the model with graphs on, and what its latest run did."""

    def __init__(self, session):
        self.session = session(model(), enable_cuda_graph="1")
        self.binding = self.session.io_binding()

    def run(self, x, y, options=None):
        self.binding.bind_ortvalue_input("x", x)
        self.binding.bind_ortvalue_output("y", y)
        self.session.run_with_iobinding(self.binding, options)
        assert np.array_equal(y.numpy(), expected(x.numpy()))
        latest = self.session.stats()["latest"]
        return latest["graph_captures"], latest["graph_updates"], latest["graph_launches"]


@pytest.fixture
def bound(session):
    return Bound(session)


PLAIN, CAPTURED, UPDATED, REPLAYED = (0, 0, 0), (1, 0, 1), (0, 1, 1), (0, 0, 1)


def test_the_second_run_is_recorded_and_later_ones_are_launched(bound):
    x, y = on_device(array(1)), on_device(np.zeros(12, np.float32))
    assert [bound.run(x, y) for _ in range(4)] == [PLAIN, CAPTURED, REPLAYED, REPLAYED]
    assert bound.session.stats()["latest"]["kernel_launches"] == 0


def test_new_contents_at_the_same_address_are_read(bound):
    x, y = on_device(array(1)), on_device(np.zeros(12, np.float32))
    for value in range(5):
        x.update_inplace(array(value - 2))
        bound.run(x, y)


def test_other_addresses_are_recorded_again(bound):
    xs, ys = [on_device(array(v)) for v in (-2, 5)], [on_device(np.zeros(12, np.float32)) for _ in range(2)]
    order = [(0, 0), (0, 0), (1, 0), (1, 1), (1, 1), (0, 1), (0, 0)]
    assert [bound.run(xs[i], ys[o]) for i, o in order] == [PLAIN, CAPTURED, UPDATED, UPDATED, REPLAYED, UPDATED, UPDATED]


def test_each_shape_has_its_graph_up_to_a_limit(bound):
    values = {rows: (on_device(array(rows, rows)), on_device(np.zeros(4 * rows, np.float32))) for rows in range(1, 12)}
    for rows in (1, 2):
        assert [bound.run(*values[rows]) for _ in range(3)] == [PLAIN, CAPTURED, REPLAYED]
    assert bound.run(*values[1]) == REPLAYED and bound.run(*values[2]) == REPLAYED
    for rows in range(3, 12):
        bound.run(*values[rows])
    assert bound.run(*values[1]) == PLAIN, "the least recently used graphs go"
    assert bound.run(*values[11]) == CAPTURED


def test_outputs_that_the_engine_allocates_stay_where_they_are(session):
    s = session(model(), enable_cuda_graph="1")
    binding = s.io_binding()
    binding.bind_ortvalue_input("x", on_device(array(2)))
    binding.bind_output("y", "cuda", 0)
    addresses = set()
    for _ in range(4):
        s.run_with_iobinding(binding)
        addresses.add(binding.get_outputs()[0].data_ptr())
        assert np.array_equal(binding.copy_outputs_to_cpu()[0], expected(array(2)))
    assert len(addresses) == 1 and s.stats()["total"]["graph_launches"] == 3


def test_an_output_that_the_caller_keeps_is_not_written_again(session):
    s = session(model(), enable_cuda_graph="1")
    binding = s.io_binding()
    binding.bind_output("y", "cuda", 0)
    kept = []
    for value in range(4):
        binding.bind_ortvalue_input("x", on_device(array(value)))
        binding.bind_output("y", "cuda", 0)                 # bound anew: memory of its own
        s.run_with_iobinding(binding)
        kept.append(binding.get_outputs()[0])
    for value, y in enumerate(kept):
        assert np.array_equal(y.numpy(), expected(array(value)))


def test_two_bindings_do_not_meet(session):
    s = session(model(), enable_cuda_graph="1")
    bindings, values = [s.io_binding() for _ in range(2)], [on_device(array(v)) for v in (3, 4)]
    for binding, value in zip(bindings, values, strict=True):
        binding.bind_ortvalue_input("x", value)
        binding.bind_output("y", "cuda", 0)
    for _ in range(4):
        for binding, value in zip(bindings, values, strict=True):
            s.run_with_iobinding(binding)
            assert np.array_equal(binding.copy_outputs_to_cpu()[0], expected(value.numpy()))


def test_host_memory_is_not_recorded(bound):
    x, y = array(1), np.zeros(12, np.float32)
    binding = bound.session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y", "cpu", 0, np.float32, y.shape, y.ctypes.data)
    for value in range(4):
        x[:] = value
        bound.session.run_with_iobinding(binding)
        assert np.array_equal(y, expected(x))
    assert bound.session.stats()["total"]["graph_captures"] == 0


def test_a_run_option_says_no(bound):
    x, y = on_device(array(1)), on_device(np.zeros(12, np.float32))
    options = ort.RunOptions()
    options.add_run_config_entry("gpu_graph_id", "-1")
    assert [bound.run(x, y, options) for _ in range(3)] == [PLAIN] * 3


def test_a_node_on_the_host_prevents_it_and_is_named(session, capfd):
    nodes = [h.make_node("Relu", ["x"], ["r"]), h.make_node("Det", ["r"], ["d"]), h.make_node("Neg", ["d"], ["y"])]
    s = session(models.model(nodes, [models.value("x", P.FLOAT, [2, 2])], [models.value("y", P.FLOAT, [])]), enable_cuda_graph="1")
    binding = s.io_binding()
    binding.bind_ortvalue_input("x", on_device(np.array([[1, 2], [3, 5]], np.float32)))
    binding.bind_output("y", "cuda", 0)
    for _ in range(3):
        s.run_with_iobinding(binding)
        assert binding.copy_outputs_to_cpu()[0] == 1
    warnings = [line for line in capfd.readouterr().err.splitlines() if "CUDA graph" in line]
    assert len(warnings) == 1 and "MemcpyToHost" in warnings[0] and "runs on the host" in warnings[0]
    assert s.stats()["total"]["graph_captures"] == 0


def test_a_binding_releases_its_graphs_and_their_memory(session, emulated):
    s = session(model(), enable_cuda_graph="1")
    x, y = on_device(array(1)), on_device(np.zeros(12, np.float32))
    before = None
    for _ in range(3):
        binding = s.io_binding()
        binding.bind_ortvalue_input("x", x)
        binding.bind_ortvalue_output("y", y)
        for _ in range(3):
            s.run_with_iobinding(binding)
        del binding
        live = emulated.counters()["live_bytes"]
        assert before is None or live == before
        before = live

def test_a_bound_run_joins_a_capture_of_the_caller(session, device):
    work = device.Stream()
    s = session(model(), user_compute_stream=str(work.handle))
    x, y = on_device(array(1)), on_device(np.zeros(12, np.float32))
    binding = s.io_binding()
    binding.bind_ortvalue_input("x", x)
    binding.bind_ortvalue_output("y", y)
    s.run_with_iobinding(binding)                           # what a first run makes is there
    with device.captured(work) as graph:
        s.run_with_iobinding(binding)
    for value in (4, -2):
        x.update_inplace(array(value))
        graph.launch(work)
        work.synchronize()
        assert np.array_equal(y.numpy(), expected(array(value)))


def test_what_cannot_be_captured_is_refused_with_its_reason(session, device):
    work = device.Stream()
    s = session(model(), user_compute_stream=str(work.handle))
    binding = s.io_binding()
    binding.bind_cpu_input("x", array(1))
    binding.bind_output("y", "cuda", 0)
    with device.captured(work) as graph:
        with pytest.raises(RuntimeError, match="input 'x' is not in the device's memory"):
            s.run_with_iobinding(binding)
        with pytest.raises(RuntimeError, match="only a run with an IOBinding"):
            s.run(None, {"x": array(1)})
    graph.launch(work)
    work.synchronize()
    s.run_with_iobinding(binding)
    assert np.array_equal(binding.copy_outputs_to_cpu()[0], expected(array(1)))


def test_a_smaller_buffer_at_the_same_address_is_refused_untouched(bound):
    x, y = on_device(array(1)), on_device(np.zeros(12, np.float32))
    for _ in range(3):
        bound.run(x, y)
    x.update_inplace(array(5))
    bound.binding.bind_output("y", "cuda", 0, np.float32, [8], y.data_ptr())
    with pytest.raises(RuntimeError, match=r"output 'y' is bound to a buffer of shape \[8\], but this run computes shape \[12\]"):
        bound.session.run_with_iobinding(bound.binding)
    assert np.array_equal(y.numpy(), expected(array(1)))
    bound.run(x, y)


def test_a_refused_run_does_not_end_recording(bound):
    x, y = on_device(array(1)), on_device(np.zeros(12, np.float32))
    assert bound.run(x, y) == PLAIN
    bound.binding.bind_output("y", "cuda", 0, np.float32, [8], y.data_ptr())
    with pytest.raises(RuntimeError, match="buffer of shape"):
        bound.session.run_with_iobinding(bound.binding)
    assert [bound.run(x, y) for _ in range(2)] == [CAPTURED, REPLAYED]


def test_an_output_that_is_asked_for_later_is_computed(session):
    nodes = [h.make_node("Neg", ["x"], ["a"]), h.make_node("Exp", ["x"], ["b"])]
    s = session(models.model(nodes, [models.value("x", P.FLOAT, [3, 4])], [models.value("a", P.FLOAT, [3, 4]), models.value("b", P.FLOAT, [3, 4])]),
                enable_cuda_graph="1")
    binding = s.io_binding()
    binding.bind_ortvalue_input("x", on_device(array(2)))
    binding.bind_output("a", "cuda")
    for _ in range(3):
        s.run_with_iobinding(binding)
    binding.bind_output("b", "cuda")
    for _ in range(3):
        s.run_with_iobinding(binding)
        a, b = binding.copy_outputs_to_cpu()
        assert np.array_equal(a, -array(2))
        np.testing.assert_allclose(b, np.exp(array(2)), rtol=1e-6)


def test_a_model_with_many_inputs_is_recorded(session):
    """As many as the caches of a large language model."""
    names = [f"x{i}" for i in range(80)]
    s = session(models.model([h.make_node("Neg", [name], [f"y{name}"]) for name in names], [models.value(name, P.FLOAT, ["N"]) for name in names],
                             [models.value(f"y{name}", P.FLOAT, ["N"]) for name in names]), enable_cuda_graph="1")
    binding = s.io_binding()
    for i, name in enumerate(names):
        binding.bind_ortvalue_input(name, on_device(np.full(3, i, np.float32)))
        binding.bind_output(f"y{name}", "cuda")
    for _ in range(4):
        s.run_with_iobinding(binding)
    assert s.stats()["total"]["graph_captures"] == 1 and s.stats()["total"]["graph_launches"] == 3
    assert [float(y[0]) for y in binding.copy_outputs_to_cpu()] == [-i for i in range(80)]
