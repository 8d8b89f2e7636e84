"""Where nodes run, which copies that takes, and what a run that stays on the device costs."""
import numpy as np
import pytest
from onnx import TensorProto as P
from onnx import helper as h

import ortcore as ort

from .. import models, networks

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"


def placed(session):
    return {node.op_type: node for node in session.explain()}


def test_a_node_without_a_kernel_falls_back_and_the_copies_say_why(session):
    nodes = [h.make_node("Relu", ["x"], ["r"]), h.make_node("Det", ["r"], ["d"], name="det"), h.make_node("Neg", ["d"], ["y"], name="neg")]
    s = session(models.model(nodes, [models.value("x", P.FLOAT, [2, 2])], [models.value("y", P.FLOAT, [])]))
    assert s.run(None, {"x": np.array([[1, 2], [3, 5]], np.float32)})[0] == 1
    nodes = placed(s)
    assert [node.op_type for node in s.explain()] == ["Relu", "MemcpyToHost", "Det", "MemcpyFromHost", "Neg"]
    assert nodes["Relu"].provider == nodes["Neg"].provider == CUDA and nodes["Det"].provider == CPU
    assert "no kernel for Det of tensor(float)" in nodes["Det"].reason
    assert nodes["MemcpyToHost"].bytes == 16 and "'det' (Det)" in nodes["MemcpyToHost"].reason
    assert nodes["MemcpyFromHost"].bytes == 4 and "'neg' (Neg)" in str(nodes["MemcpyFromHost"])


def test_shape_arithmetic_stays_on_the_host_and_costs_no_copy(session):
    nodes = [h.make_node("Shape", ["x"], ["s"]), h.make_node("Gather", ["s", "zero"], ["n"]), h.make_node("Concat", ["n", "rest"], ["shape"], axis=0),
             h.make_node("Reshape", ["x", "shape"], ["r"]), h.make_node("Neg", ["r"], ["y"])]
    s = session(models.model(nodes, [models.value("x", P.FLOAT, ["N", 2, 3])], [models.value("y", P.FLOAT, ["N", "M"])],
                             [h.make_tensor("zero", P.INT64, [1], [0]), h.make_tensor("rest", P.INT64, [1], [-1])]))
    binding = s.io_binding()
    binding.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(np.ones((4, 2, 3), np.float32), "cuda"))
    binding.bind_output("y", "cuda")
    for _ in range(2):
        s.run_with_iobinding(binding)
    latest = s.stats()["latest"]
    assert latest["host_to_device_copies"] == latest["device_to_host_copies"] == 0
    assert not {"MemcpyToHost", "MemcpyFromHost"} & placed(s).keys()
    assert binding.get_outputs()[0].shape() == [4, 6]


def test_one_value_is_copied_once_for_all_its_readers(session):
    nodes = [h.make_node("Relu", ["x"], ["r"]), h.make_node("Det", ["r"], ["a"]), h.make_node("Det", ["r"], ["b"])]
    s = session(models.model(nodes, [models.value("x", P.FLOAT, [2, 2])], [models.value("a", P.FLOAT, []), models.value("b", P.FLOAT, [])]))
    assert [node.op_type for node in s.explain()].count("MemcpyToHost") == 1


def test_inputs_and_outputs_on_either_side(session, add, two):
    a, b, c = two
    device = [ort.OrtValue.ortvalue_from_numpy(v, "cuda") for v in (a, b)]
    for left in (a, device[0]):
        for right in (b, device[1]):
            for where in ("cpu", "cuda"):
                binding = add.io_binding()
                for name, value in zip(("a", "b"), (left, right), strict=True):
                    bind = binding.bind_ortvalue_input if isinstance(value, ort.OrtValue) else binding.bind_cpu_input
                    bind(name, value)
                binding.bind_output("c", where)
                add.run_with_iobinding(binding)
                out = binding.get_outputs()[0]
                latest = add.stats()["latest"]
                assert out.device_name() == where and np.array_equal(out.numpy(), c)
                assert latest["host_to_device_copies"] == (left is a) + (right is b)
                assert latest["device_to_host_copies"] == (where == "cpu")


def test_host_inputs_are_read_anew_by_every_run(add, two):
    a, b, c = two
    binding = add.io_binding()
    binding.bind_cpu_input("a", a)
    binding.bind_cpu_input("b", b)
    binding.bind_output("c", "cuda")
    for _ in range(3):
        add.run_with_iobinding(binding)
        assert np.array_equal(binding.copy_outputs_to_cpu()[0], a + b)
        a += 1


def test_a_pass_through_output_is_on_the_side_that_was_asked_for(session):
    s = session(models.passthrough())
    names = [i.name for i in s.get_inputs()], [o.name for o in s.get_outputs()]
    x = np.arange(4, dtype=np.float32)
    for where in ("cpu", "cuda"):
        binding = s.io_binding()
        binding.bind_ortvalue_input(names[0][0], ort.OrtValue.ortvalue_from_numpy(x, "cuda"))
        for name in names[1]:
            binding.bind_output(name, where)
        s.run_with_iobinding(binding)
        assert {value.device_name() for value in binding.get_outputs()} == {where}


def device_bound(session, feeds):
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value, "cuda"))
    for output in session.get_outputs():
        binding.bind_output(output.name, "cuda")
    return binding


IDS = np.array([[3, 1, 4, 1, 5, 9]])
NETWORKS = {"resnet": (networks.resnet, lambda: {"x": np.random.default_rng(0).standard_normal((1, 3, 32, 32)).astype(np.float32)}),
            "gpt2": (networks.gpt2_step, lambda: {"ids": IDS, **networks.empty_past(1)})}


@pytest.mark.parametrize("graphs", ["0", "1"])
@pytest.mark.parametrize("network", NETWORKS)
def test_a_network_bound_on_the_device_copies_and_allocates_nothing(session, emulated, network, graphs):
    make, feeds = NETWORKS[network]
    s = session(make(), enable_cuda_graph=graphs)
    binding = device_bound(s, feeds())
    for _ in range(3):
        s.run_with_iobinding(binding)
    want = binding.copy_outputs_to_cpu()
    emulated.clear()
    s.run_with_iobinding(binding)
    counters, latest = emulated.counters(), s.stats()["latest"]
    assert counters["copies_host_to_device"] == counters["copies_device_to_host"] == counters["allocations"] == counters["pinned_allocations"] == 0
    assert latest["allocations"] == latest["bytes_copied"] == latest["host_to_device_copies"] == latest["device_to_host_copies"] == 0
    assert (counters["graph_launches"], latest["graph_launches"]) == ((1, 1) if graphs == "1" else (0, 0))
    for got, expected in zip(binding.copy_outputs_to_cpu(), want, strict=True):
        assert np.array_equal(got, expected)


def test_memory_comes_back(session, emulated):
    import gc

    gc.collect()
    before = emulated.counters()["live_bytes"]
    s = session(models.matmul_chain())
    x = {i.name: np.ones([4 if isinstance(d, str) else d for d in i.shape], np.float32) for i in s.get_inputs()}
    s.run(None, x)
    assert emulated.counters()["live_bytes"] > before and s.memory_stats("cuda")["bytes_reserved"] > 0
    s.trim()
    del s
    gc.collect()
    assert emulated.counters()["live_bytes"] == before


def test_memory_of_a_gpu_that_is_not_there_is_refused_by_its_name(add):
    binding = add.io_binding()
    with pytest.raises(RuntimeError, match=r"'a' lies in memory on cuda:7, which this session, running on GPU 0 .*, cannot reach"):
        binding.bind_input("a", "cuda", 7, np.float32, [3, 2], 1 << 20)


@pytest.mark.parametrize("graphs", ["0", "1"])
def test_an_input_that_nobody_reads_is_copied_nowhere(session, graphs):
    values = [models.value(name, P.FLOAT, ["N"]) for name in ("x", "unused")]
    s = session(models.model([h.make_node("Relu", ["x"], ["y"])], values, [models.value("y", P.FLOAT, ["N"])]), enable_cuda_graph=graphs)
    x = np.array([-1, 2], np.float32)
    binding = s.io_binding()
    for name in ("x", "unused"):
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(x, "cuda"))
    binding.bind_output("y", "cuda")
    for _ in range(4):
        s.run_with_iobinding(binding)
        latest = s.stats()["latest"]
        assert latest["host_to_device_copies"] == latest["device_to_host_copies"] == latest["bytes_copied"] == 0
    assert latest["graph_launches"] == int(graphs)
    assert np.array_equal(binding.copy_outputs_to_cpu()[0], [0, 2])
