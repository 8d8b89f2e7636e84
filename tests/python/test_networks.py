"""Whole networks against the reference evaluator of onnx, on every device that this process has."""
import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import ortcore

from . import networks

DEVICES = ["cpu"] + ["cuda"] * ("CUDAExecutionProvider" in ortcore.get_available_providers())
PROVIDERS = {"cpu": ["CPUExecutionProvider"], "cuda": ["CUDAExecutionProvider"]}
LEVELS = ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"]
IDS = np.array([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])


def session(network, device, level="ORT_ENABLE_ALL"):
    options = ortcore.SessionOptions()
    options.graph_optimization_level = getattr(ortcore.GraphOptimizationLevel, level)
    return ortcore.InferenceSession(network, options, providers=PROVIDERS[device])


def reference(network, feeds):
    return ReferenceEvaluator(onnx.load_from_string(network)).run(None, feeds)


def assert_close(got, want):
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("device", DEVICES)
def test_resnet(device, level):
    network, x = networks.resnet(), np.random.default_rng(3).standard_normal((2, 3, 32, 32)).astype(np.float32)
    assert_close(session(network, device, level).run(None, {"x": x}), reference(network, {"x": x}))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("tokens", [16, 7])
def test_bert(device, level, tokens):
    network, ids = networks.bert_tiny(), np.random.default_rng(4).integers(0, 1000, (1, tokens))
    assert_close(session(network, device, level).run(None, {"ids": ids}), reference(network, {"ids": ids}))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rows, widths, dtype, tolerance", [(1, (16, 32, 32, 4), np.float32, 2e-5), (16, (512, 2048, 2048, 512), np.float32, 2e-4),
                                                            (16, (512, 2048, 2048, 512), np.float16, 2e-2)], ids=["tiny", "f32", "fp16"])
def test_perceptrons(device, rows, widths, dtype, tolerance):
    """The reference computes in double precision, from the same rounded weights."""
    network, x = networks.mlp(*widths, dtype=dtype), np.random.default_rng(5).standard_normal((rows, widths[0])).astype(dtype)
    weights = [numpy_helper.to_array(w).astype(np.float64) for w in onnx.load_from_string(network).graph.initializer]
    want = x.astype(np.float64)
    for i in range(0, len(weights), 2):
        want = (np.maximum(want, 0) if i else want) @ weights[i] + weights[i + 1]
    got, = session(network, device).run(None, {"x": x})
    assert got.dtype == dtype
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("device", DEVICES)
def test_gpt2_sees_all_tokens_at_once(device, level):
    network, feeds = networks.gpt2_step(), {"ids": IDS, **networks.empty_past(len(IDS))}
    assert_close(session(network, device, level).run(None, feeds), reference(network, feeds))


@pytest.mark.parametrize("device", DEVICES)
def test_gpt2_token_by_token(device):
    """Each step is fed the presents of the one before; logits are those of a run over all tokens."""
    step = session(networks.gpt2_step(), device)
    whole, *_ = step.run(None, {"ids": IDS, **networks.empty_past(len(IDS))})
    past = networks.empty_past(len(IDS))
    for t in range(IDS.shape[1]):
        logits, *presents = step.run(None, {"ids": IDS[:, t:t + 1], **past})
        past = {f"past_{i}": present for i, present in enumerate(presents)}
        assert_close([logits[:, 0]], [whole[:, t]])


@pytest.mark.parametrize("device", DEVICES)
def test_gpt2_with_states_that_stay_on_the_device(device):
    """The presents of a bound run are bound as the pasts of the next one: nothing of them passes through the host."""
    step = session(networks.gpt2_step(), device)
    whole, *_ = step.run(None, {"ids": IDS, **networks.empty_past(len(IDS))})
    past = {name: ortcore.OrtValue.ortvalue_from_numpy(array) for name, array in networks.empty_past(len(IDS)).items()}
    for t in range(IDS.shape[1]):
        binding = step.io_binding()
        binding.bind_cpu_input("ids", np.ascontiguousarray(IDS[:, t:t + 1]))
        for name, states in past.items():
            binding.bind_ortvalue_input(name, states)
        binding.bind_output("logits")
        for i in range(networks.LAYERS):
            binding.bind_output(f"present_{i}", device)
        step.run_with_iobinding(binding)
        logits, *presents = binding.get_outputs()
        assert all(present.device_name() == device for present in presents)
        past = {f"past_{i}": present for i, present in enumerate(presents)}
        assert_close([logits.numpy()[:, 0]], [whole[:, t]])
