"""Fusing an activation into a product or a convolution changes nothing for NaN and infinities (docs/differences.md names the two that do)."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ortcore as ort

ACTIVATIONS = ["LeakyRelu", "Sigmoid", "Tanh", "HardSwish", "Elu"]


def outputs(nodes, x, weights):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    for level in (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
        options = ort.SessionOptions()
        options.graph_optimization_level = level
        yield ort.InferenceSession(model, options).run(None, {"x": x})[0]


def with_specials(shape):
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    flat = x.reshape(-1)
    flat[3], flat[7], flat[11] = np.nan, np.inf, -np.inf
    return x


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_convolution(activation):
    x, w = with_specials((1, 16, 8, 8)), np.random.default_rng(6).standard_normal((32, 16, 1, 1)).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node(activation, ["c"], ["y"])]
    plain, fused = outputs(nodes, x, {"w": w})
    np.testing.assert_allclose(fused, plain, rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_product(activation):
    rng = np.random.default_rng(7)
    weights = {"w": rng.standard_normal((64, 48)).astype(np.float32), "b": rng.standard_normal(48).astype(np.float32)}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["a"]),
        helper.make_node(activation, ["a"], ["y"]),
    ]
    plain, fused = outputs(nodes, with_specials((32, 64)), weights)
    np.testing.assert_allclose(fused, plain, rtol=1e-4, atol=1e-4, equal_nan=True)
