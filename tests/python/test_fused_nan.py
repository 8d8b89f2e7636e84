"""Fusing an activation into a product or a convolution changes nothing for NaN and infinities."""

import ml_dtypes
import numpy as np
import pytest
from onnx import helper, numpy_helper

import ortcore as ort

ACTIVATIONS = {name: (name, {}) for name in ("Relu", "Clip", "HardSigmoid", "LeakyRelu", "Sigmoid", "Tanh", "HardSwish", "Elu")}
ACTIVATIONS["LeakyRelu of 0"] = ("LeakyRelu", {"alpha": 0.0})
NEEDS_NUMBERS = ("Relu", "Clip", "HardSigmoid", "LeakyRelu of 0")      # what oneDNN would compute by maxima and minima


def outputs(activation, nodes, x, weights):
    """Of the nodes and an activation of their result `a`: unoptimised, and fused."""
    op, attributes = ACTIVATIONS[activation]
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    if op == "Clip":
        weights = {**weights, "least": np.array(-1, x.dtype), "most": np.array(6, x.dtype)}
    last = helper.make_node(op, ["a", *(["least", "most"] if op == "Clip" else [])], ["y"], **attributes)
    graph = helper.make_graph(
        [*nodes, last],
        "g",
        [helper.make_tensor_value_info("x", kind, x.shape)],
        [helper.make_tensor_value_info("y", kind, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString()
    for level in (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
        options = ort.SessionOptions()
        options.graph_optimization_level = level
        yield ort.InferenceSession(model, options).run(None, {"x": x})[0].astype(np.float32)


def with_specials(shape):
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    flat = x.reshape(-1)
    flat[3], flat[7], flat[11] = np.nan, np.inf, -np.inf
    return x


def assert_alike(results, **tolerances):
    plain, fused = results
    assert np.isnan(plain).any() and not np.isnan(plain).all()
    np.testing.assert_allclose(fused, plain, equal_nan=True, **tolerances)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("ins, outs, kernel", [(64, 32, 1), (16, 32, 3), (3, 4, 1)], ids=["1x1", "3x3", "too small for oneDNN"])
def test_convolution(activation, ins, outs, kernel):
    w = np.random.default_rng(6).standard_normal((outs, ins, kernel, kernel)).astype(np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["a"], strides=[2, 2] if kernel > 1 else [1, 1])
    assert_alike(outputs(activation, [node], with_specials((1, ins, 17, 17)), {"w": w}), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("activation", NEEDS_NUMBERS)
def test_convolution_of_bfloat16(activation):
    w = np.random.default_rng(6).standard_normal((32, 64, 1, 1)).astype(ml_dtypes.bfloat16)
    x = with_specials((1, 64, 16, 16)).astype(ml_dtypes.bfloat16)
    assert_alike(outputs(activation, [helper.make_node("Conv", ["x", "w"], ["a"])], x, {"w": w}), rtol=0.05, atol=0.3)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_convolution_and_residual(activation):
    w = np.random.default_rng(6).standard_normal((64, 64, 1, 1)).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Add", ["c", "x"], ["a"])]
    assert_alike(outputs(activation, nodes, with_specials((2, 64, 16, 16)), {"w": w}), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_product(activation):
    rng = np.random.default_rng(7)
    weights = {"w": rng.standard_normal((64, 48)).astype(np.float32), "b": rng.standard_normal(48).astype(np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Add", ["m", "b"], ["a"])]
    assert_alike(outputs(activation, nodes, with_specials((32, 64)), weights), rtol=1e-4, atol=1e-4)
