"""Bound buffers that overlap each other, or that a model passes through."""
import numpy as np
import pytest
from onnx import TensorProto as P
from onnx import helper as h

from . import models

A = np.arange(6, dtype=np.float32).reshape(3, 2)
B = np.ones((3, 2), np.float32)


@pytest.fixture
def bound(cpu_session):
    """A session of c = a + b and a binding whose inputs are A and B."""
    session = cpu_session(models.add())
    binding = session.io_binding()
    binding["a"], binding["b"] = A, B
    return session, binding


    nodes = [h.make_node("MatMul", ["a", "b"], ["c"])]
    square = [models.value(n, P.FLOAT, [2, 2]) for n in "ab"]
    session = cpu_session(models.model(nodes, square, [models.value("c", P.FLOAT, [2, 2])]))
    binding, a = session.io_binding(), np.array([[1, 2], [3, 4]], np.float32)
    binding["a"], binding["b"], binding["c"] = a, a, a
    with pytest.raises(RuntimeError, match="c"):
        session.run_with_iobinding(binding)
    assert a.tolist() == [[1, 2], [3, 4]]


def test_elementwise_in_place(bound):
    session, binding = bound
    a = A.copy()
    binding["a"], binding["c"] = a, a
    for k in range(1, 4):
        session.run_with_iobinding(binding)
        assert a.tolist() == (A + k).tolist()


def test_two_outputs_cannot_share_memory(cpu_session):
    session = cpu_session(models.two_outputs())
    binding, output = session.io_binding(), np.zeros((3, 2), np.float32)
    binding["a"], binding["b"], binding["total"], binding["product"] = A, B, output, output
    with pytest.raises(RuntimeError, match="total|product"):
        session.run_with_iobinding(binding)


def test_a_passed_through_input_is_copied_into_the_output(cpu_session):
    session = cpu_session(models.passthrough())
    binding, x, output = session.io_binding(), np.array([1, 2], np.float32), np.zeros(2, np.float32)
    binding.bind_cpu_input("x", x)
    binding.bind_output("x", "cpu", 0, np.float32, [2], output.ctypes.data)
    session.run_with_iobinding(binding)
    assert output.tolist() == [1, 2] and binding.get_outputs()[0].data_ptr() == output.ctypes.data


def test_an_output_may_become_an_input(bound):
    session, binding = bound
    binding.bind_output("c")
    session.run_with_iobinding(binding)
    first = binding.get_outputs()[0]
    binding.bind_ortvalue_input("a", first)
    session.run_with_iobinding(binding)
    assert binding.get_outputs()[0].numpy().tolist() == (A + B + B).tolist() and first.numpy().tolist() == (A + B).tolist()
