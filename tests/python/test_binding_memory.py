"""Memory that outputs are bound to: what is refused when it is bound, and what a callable may return."""
import re

import numpy as np
import pytest
from onnx import TensorProto as P
from onnx import helper

from . import models

A = np.arange(6, dtype=np.float32).reshape(3, 2)
B = np.ones((3, 2), np.float32)
READ_ONLY = A.copy()
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize("memory, reason", [(READ_ONLY, "it is read-only"), (np.zeros((2, 3), np.float32).T, r"it is strided .*strides \(4, 12\)"),
                                            (A.astype(">f4"), "dtype >f4 is not in the machine's byte order"), ([1.0], "list cannot be used as a tensor"),
                                            (memoryview(bytes(24)).cast("f"), "it is read-only")])
def test_memory_that_cannot_be_written_is_refused_by_name(cpu_session, memory, reason):
    binding = cpu_session(models.add()).io_binding()
    for bind in (lambda: binding.bind_output("c", memory), lambda: binding.bind_output("c", capacity=memory), lambda: binding.__setitem__("c", memory)):
        with pytest.raises((ValueError, TypeError), match=f"Error when binding output: .*output 'c' cannot be .*{reason}"):
            bind()


def test_shapes_that_the_model_fixes_are_checked_when_bound(cpu_session):
    """c is [N, 2]: two dims, the second of 2. What is only declared is not held against a buffer."""
    session = cpu_session(models.add())
    binding = session.io_binding()
    binding["a"], binding["b"] = A, B
    binding.bind_output("c", np.zeros((3, 2), np.float32))
    for shape in ((), (6,), (3, 3), (3, 2, 1)):
        text = ",".join(map(str, shape))
        with pytest.raises(ValueError, match=rf"output 'c' is bound to a buffer of shape \[{text}\], but the model computes shape \[\?,2\]"):
            binding.bind_output("c", np.zeros(shape, np.float32))
    session.run_with_iobinding(binding)                     # a refused bind changes nothing
    assert binding["c"].numpy().tolist() == (A + B).tolist()
    binding.bind_output("c", np.zeros((7, 2), np.float32))  # N is the run's concern
    with pytest.raises(ValueError, match=r"\[7,2\].*\[3,2\]"):
        session.run_with_iobinding(binding)
    node = helper.make_node("NonZero", ["x"], ["y"])
    wrong = models.model([node], [models.value("x", P.FLOAT, [4])], [models.value("y", P.INT64, [1, 4])])
    session = cpu_session(wrong)
    binding, y = session.io_binding(), np.zeros((1, 2), np.int64)
    binding["x"] = np.float32([0, 1, 0, 1])
    binding["y"] = y
    session.run_with_iobinding(binding)
    assert y.tolist() == [[1, 3]]


def test_what_an_allocator_raises_comes_out_of_the_run(cpu_session):
    session = cpu_session(models.add())
    binding = session.io_binding()
    binding["a"], binding["b"] = A, B
    error = KeyError("no memory today")

    def fails(shape, dtype, size):
        raise error

    binding["c"] = fails
    with pytest.raises(KeyError) as info:
        session.run_with_iobinding(binding)
    assert info.value is error
    assert info.value.__notes__ == ["in the allocator of output 'c'"]
    for given, said in ((np.zeros(1, np.float32), "returned 4 bytes where shape (3, 2) of float32 needs 24"), (bytearray(23), "returned 23 bytes"),
                        (np.zeros((3, 2), np.int32), "returned memory of tensor(int32) where float32 is needed"), (np.zeros((3, 2)), "tensor(double)"),
                        (None, "returned cannot be used: NoneType"), (np.zeros((2, 3), np.float32).T, "returned cannot be written into: it is strided")):
        binding["c"] = lambda shape, dtype, size, given=given: given
        with pytest.raises(ValueError, match="output 'c'.*" + re.escape(said)):
            session.run_with_iobinding(binding)
    binding["c"] = lambda shape, dtype, size: bytearray(size)
    session.run_with_iobinding(binding)
    assert binding["c"].numpy().tolist() == (A + B).tolist()
    binding["c"] = None
    session.run_with_iobinding(binding)
    assert binding["c"].numpy().tolist() == (A + B).tolist()
    with pytest.raises(TypeError, match="callable"):
        binding.bind_output("c", allocator=5)
