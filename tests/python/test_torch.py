"""Tensors of torch on the CPU, bound as objects and by address. They run where torch is installed; no extra brings it."""
import numpy as np
import pytest
from onnx import TensorProto as P

import ortcore as ort
from ortcore import OrtValue

from . import models

torch = pytest.importorskip("torch")
KINDS = {"float32": P.FLOAT, "float16": P.FLOAT16, "bfloat16": P.BFLOAT16, "float64": P.DOUBLE, "int64": P.INT64, "int32": P.INT32, "uint8": P.UINT8,
         "bool": P.BOOL}


def number(shape, dtype):
    return torch.arange(int(np.prod(shape))).reshape(shape).to(dtype)


@pytest.fixture
def bound(cpu_session):
    """A binding of y = x."""

    def make(kind=P.FLOAT, shape=("N",)):
        session = cpu_session(models.identity(kind, shape))
        return session, session.io_binding()

    return make


@pytest.mark.parametrize("name", KINDS)
def test_every_type_as_an_object_and_by_address(bound, name):
    dtype = getattr(torch, name)
    session, binding = bound(KINDS[name])
    x, y = number((6,), dtype), torch.zeros(6, dtype=dtype)
    binding["x"], binding["y"] = x, y
    session.run_with_iobinding(binding)
    assert torch.equal(x, y) and binding["y"].data_ptr() == y.data_ptr()
    z = torch.zeros(6, dtype=dtype)
    binding.bind_input("x", "cpu", 0, dtype, tuple(x.shape), x.data_ptr())
    binding.bind_output("y", "cpu", 0, dtype, z.shape, z.data_ptr())
    session.run_with_iobinding(binding)
    assert torch.equal(x, z)


@pytest.mark.parametrize("name", KINDS)
def test_results_are_tensors_that_share_the_memory(bound, name):
    session, binding = bound(KINDS[name])
    x = number((6,), getattr(torch, name))
    binding["x"] = x
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    y = torch.from_dlpack(binding["y"])
    assert y.dtype == x.dtype and torch.equal(x, y) and y.data_ptr() == binding["y"].data_ptr()
    del binding, session
    assert torch.equal(x, y)                               # the tensor holds what it needs


def test_run_takes_tensors(cpu_session):
    session = cpu_session(models.add())
    a = torch.arange(6, dtype=torch.float32).reshape(3, 2)
    assert np.array_equal(session.run(None, {"a": a, "b": a.t().contiguous().t()})[0], 2 * a.numpy())


def test_strided_tensors_are_copied_and_counted(bound):
    session, binding = bound(shape=("N", "M"))
    x = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    for view in (x.t(), x[:, ::2], x[1:, 1:3]):
        binding["x"] = view
        binding.bind_output("y")
        session.run_with_iobinding(binding)
        assert torch.equal(torch.from_dlpack(binding["y"]), view)
        assert session.stats()["latest"]["bytes_copied"] >= view.numel() * 4


def test_strided_outputs_are_refused(bound):
    _, binding = bound(shape=("N", "M"))
    with pytest.raises(RuntimeError, match="'y'.*strided|'y'.*contiguous"):
        binding["y"] = torch.zeros(3, 4).t()


def test_zero_dims_and_no_elements(bound):
    session, binding = bound(shape=())
    binding["x"] = torch.tensor(3.0)
    y = torch.zeros(())
    binding["y"] = y
    session.run_with_iobinding(binding)
    assert y.item() == 3
    session, binding = bound()
    binding["x"], binding["y"] = torch.zeros(0), torch.zeros(0)
    session.run_with_iobinding(binding)
    assert binding["y"].shape() == [0]


def test_tensors_with_a_gradient(bound):
    """Their values are read if they are detached; torch itself refuses to export them otherwise, and the error says what to do."""
    session, binding = bound()
    x = torch.ones(4, requires_grad=True)
    with pytest.raises((RuntimeError, TypeError, BufferError), match="detach"):
        binding["x"] = x
    binding["x"] = x.detach()
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert binding["y"].numpy().tolist() == [1, 1, 1, 1]


def test_element_types_are_given_as_torchs(cpu_session):
    value = OrtValue.ortvalue_from_shape_and_type([2], torch.bfloat16)
    assert value.data_type() == "tensor(bfloat16)" and torch.from_dlpack(value).dtype == torch.bfloat16
    assert OrtValue.from_dlpack(torch.ones(2, dtype=torch.float16)).element_type() == P.FLOAT16
    assert ort.OrtValue.ortvalue_from_numpy(torch.ones(2)).numpy().tolist() == [1, 1]


def test_tensors_stay_alive_while_they_are_bound(bound):
    session, binding = bound()
    binding["x"] = torch.full((100_000,), 7.0)
    binding["y"] = torch.zeros(100_000)
    torch.full((100_000,), 9.0)                            # would take the memory if it were free
    session.run_with_iobinding(binding)
    assert float(torch.from_dlpack(binding["y"]).sum()) == 700_000
