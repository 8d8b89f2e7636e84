"""A session saves the model that its rewrites made of the one it read; the saved model computes the same."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ortcore as ort


def model_bytes(opset=17):
    """Weights, a constant that folds, an erf-Gelu that fuses, a branch that captures, a symbolic dim, an output that is an input."""
    rng = np.random.default_rng(3)
    weights = [numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name) for name, shape in (("w", (4, 4)), ("b", (4,)))]
    constants = [numpy_helper.from_array(np.array(value, np.float32), name) for name, value in (("root2", 2**0.5), ("one", 1), ("half", 0.5))]

    def branch(name, op):
        return helper.make_graph(
            [helper.make_node(op, ["g", "h"], [f"{name}_y"])], name, [], [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, ["n", 4])]
        )

    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["h"]),
        helper.make_node("Div", ["h", "root2"], ["d"]),
        helper.make_node("Erf", ["d"], ["e"]),
        helper.make_node("Add", ["e", "one"], ["p"]),
        helper.make_node("Mul", ["h", "p"], ["q"]),
        helper.make_node("Mul", ["q", "half"], ["g"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch("then", "Add"), else_branch=branch("else", "Mul")),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4]), helper.make_tensor_value_info("c", TensorProto.BOOL, [])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4]), helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])]
    graph = helper.make_graph(nodes, "saved", inputs, outputs, weights + constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9).SerializeToString()


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"])
@pytest.mark.parametrize("condition", [True, False])
def test_a_saved_model_computes_the_same(tmp_path, level, condition):
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    options.optimized_model_filepath = str(tmp_path / "saved.onnx")
    session = ort.InferenceSession(model_bytes(), options)
    saved = ort.InferenceSession(tmp_path / "saved.onnx")
    assert [(i.name, i.type, i.shape) for i in saved.get_inputs()] == [(i.name, i.type, i.shape) for i in session.get_inputs()]
    assert [o.name for o in saved.get_outputs()] == [o.name for o in session.get_outputs()]
    feed = {"x": np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4), "c": np.array(condition)}
    for got, want in zip(saved.run(None, feed), session.run(None, feed), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


def test_an_unoptimised_model_is_saved_as_valid_onnx(tmp_path):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.optimized_model_filepath = str(tmp_path / "saved.onnx")
    ort.InferenceSession(model_bytes(), options)
    saved = onnx.load(tmp_path / "saved.onnx")
    assert {n.op_type for n in saved.graph.node} >= {"MatMul", "Erf", "If"}
    assert {i.name for i in saved.graph.initializer} >= {"w", "b"}


def test_a_path_that_cannot_be_written_is_an_error(tmp_path):
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "no such folder" / "saved.onnx")
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidArgument, match="cannot be written"):
        ort.InferenceSession(model_bytes(), options)
