"""Memory that reaches a binding by two ways: results fed back, weights, items of sequences, what an output allocator returns."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ortcore as ort

FLOAT = TensorProto.FLOAT


def session(nodes, inputs, outputs, weights=(), options=None):
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs], list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return ort.InferenceSession(model.SerializeToString(), options)


def vector(name):
    return helper.make_tensor_value_info(name, FLOAT, ["n"])


def cumulative():
    """y = the sums from the end of x, z = x + y: x is read after y has been written."""
    axis = numpy_helper.from_array(np.array(0), "axis")
    nodes = [helper.make_node("CumSum", ["x", "axis"], ["y"], reverse=1), helper.make_node("Add", ["x", "y"], ["z"])]
    return session(nodes, [vector("x")], ["y", "z"], [axis])


def expected(x):
    y = np.cumsum(x[::-1])[::-1]
    return y, x + y


VIEWS = {
    "numpy": lambda value: value.numpy(),
    "a slice": lambda value: value.numpy()[:],
    "dlpack": np.from_dlpack,
    "OrtValue": lambda value: value,
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_result_fed_back_is_not_overwritten_while_it_is_read(view):
    s = cumulative()
    binding = s.io_binding()
    binding["x"] = np.array([1, 2, 3], np.float32)
    binding.bind_output("y")
    binding.bind_output("z")
    state = np.array([1, 2, 3], np.float32)
    for _ in range(4):
        s.run_with_iobinding(binding)
        y, z = binding.get_outputs()
        want_y, want_z = expected(state)
        np.testing.assert_array_equal(y.numpy(), want_y)
        np.testing.assert_array_equal(z.numpy(), want_z)
        state = want_y.copy()
        binding["x"] = view(y)


def test_a_result_bound_as_another_output_is_not_shared():
    s = cumulative()
    binding = s.io_binding()
    x = np.array([1, 2, 3], np.float32)
    binding["x"] = x
    binding.bind_output("y")
    binding.bind_output("z")
    s.run_with_iobinding(binding)
    binding.bind_ortvalue_output("z", binding.get_outputs()[0])
    s.run_with_iobinding(binding)
    y, z = binding.get_outputs()
    np.testing.assert_array_equal(y.numpy(), expected(x)[0])
    np.testing.assert_array_equal(z.numpy(), expected(x)[1])


def test_weights_that_the_caller_lent_cannot_be_an_output():
    w = np.array([1, 2, 3], np.float32)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_initializer("w", ort.OrtValue.ortvalue_from_numpy(w))
    nodes = [helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Add", ["y", "w"], ["z"])]
    s = session(nodes, [vector("x")], ["y", "z"], [numpy_helper.from_array(np.zeros(3, np.float32), "w")], options)
    with pytest.raises(RuntimeError, match="initializer 'w'"):
        s.io_binding().bind_output("y", w)


def test_items_of_a_bound_sequence_cannot_be_an_output():
    items = helper.make_value_info("q", helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, ["n"])))
    nodes = [
        helper.make_node("Neg", ["x"], ["y"]),
        helper.make_node("ConcatFromSequence", ["q"], ["c"], axis=0),
        helper.make_node("Add", ["c", "y"], ["z"]),
    ]
    s = session(nodes, [vector("x"), items], ["y", "z"])
    binding = s.io_binding()
    item = np.array([1, 2, 3], np.float32)
    binding["x"], binding["q"] = np.array([10, 20, 30], np.float32), [item]
    binding.bind_output("y", item)
    binding.bind_output("z")
    with pytest.raises(RuntimeError, match="overlaps input 'q'"):
        s.run_with_iobinding(binding)
    np.testing.assert_array_equal(item, [1, 2, 3])


def product():
    nodes = [helper.make_node("Add", ["x", "x"], ["y"]), helper.make_node("Mul", ["x", "y"], ["z"])]
    return session(nodes, [vector("x")], ["y", "z"])


def test_an_allocator_must_not_return_an_input():
    s = product()
    binding = s.io_binding()
    x = np.array([1, 2, 3], np.float32)
    binding["x"] = x
    binding.bind_output("y", allocator=lambda *_: x)
    binding.bind_output("z")
    with pytest.raises(RuntimeError, match="overlaps input 'x'"):
        s.run_with_iobinding(binding)
    np.testing.assert_array_equal(x, [1, 2, 3])


def test_two_allocators_must_not_return_one_array():
    s = product()
    binding = s.io_binding()
    binding["x"] = np.array([1, 2, 3], np.float32)
    shared = np.empty(3, np.float32)
    binding.bind_output("y", allocator=lambda *_: shared)
    binding.bind_output("z", allocator=lambda *_: shared)
    with pytest.raises(RuntimeError, match="overlapping memory"):
        s.run_with_iobinding(binding)


def test_an_allocator_must_not_run_its_own_binding():
    s = product()
    binding = s.io_binding()
    binding["x"] = np.array([1, 2, 3], np.float32)

    def allocate(shape, *_):
        s.run_with_iobinding(binding)
        return np.empty(shape, np.float32)

    binding.bind_output("y", allocator=allocate)
    with pytest.raises(RuntimeError, match="running already"):
        s.run_with_iobinding(binding)
    binding.bind_output("y")
    s.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.get_outputs()[0].numpy(), [2, 4, 6])


def test_a_scan_over_nothing_has_the_inferred_shape():
    body = helper.make_graph(
        [helper.make_node("Add", ["a", "e"], ["b"]), helper.make_node("Mul", ["b", "b"], ["o"])],
        "body",
        [helper.make_tensor_value_info(name, FLOAT, None) for name in ("a", "e")],
        [helper.make_tensor_value_info(name, FLOAT, None) for name in ("b", "o")],
    )
    nodes = [helper.make_node("Scan", ["s", "x"], ["t", "y"], body=body, num_scan_inputs=1)]
    inputs = [helper.make_tensor_value_info("s", FLOAT, ["k"]), helper.make_tensor_value_info("x", FLOAT, ["n", "k"])]
    s = session(nodes, inputs, ["t", "y"])
    t, y = s.run(None, {"s": np.ones(2, np.float32), "x": np.zeros((0, 2), np.float32)})
    assert t.tolist() == [1, 1] and y.shape == (0, 2)
