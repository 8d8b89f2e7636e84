"""DLPack, in both directions."""
import numpy as np
import pytest

import ortcore as ort

from . import models

OrtValue = ort.OrtValue
A = np.arange(6, dtype=np.float32).reshape(3, 2)


class Unversioned:
    """A producer that knows DLPack before version 1."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, *, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


def test_device():
    assert OrtValue.ortvalue_from_numpy(A).__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 1), (2, 0)])
def test_capsules_say_their_version(version):
    capsule = OrtValue.ortvalue_from_numpy(A.copy()).__dlpack__(max_version=version, stream=None, dl_device=(1, 0), copy=False)
    assert ("dltensor_versioned" in repr(capsule)) == (version is not None and version[0] >= 1)
    assert OrtValue.from_dlpack(capsule).numpy().tolist() == A.tolist()


def test_capsules_are_used_once():
    capsule = OrtValue.ortvalue_from_numpy(A.copy()).__dlpack__()
    OrtValue.from_dlpack(capsule)
    assert "used_dltensor" in repr(capsule)
    with pytest.raises(TypeError):
        OrtValue.from_dlpack(capsule)


def test_numpy_reads_and_writes_our_memory():
    value = OrtValue.ortvalue_from_numpy(A.copy())
    array = np.from_dlpack(value)
    assert array.ctypes.data == value.data_ptr() and array.tolist() == A.tolist()
    array[0, 0] = 9
    assert value.numpy()[0, 0] == 9
    copied = OrtValue.from_dlpack(value.__dlpack__(copy=True))
    assert copied.data_ptr() != value.data_ptr()


@pytest.mark.parametrize("wrap", [lambda a: a, Unversioned, lambda a: a.__dlpack__()])
def test_we_read_numpys_memory(wrap):
    array = A.copy()
    value = OrtValue.from_dlpack(wrap(array))
    array[0, 0] = 77
    assert value.data_ptr() == array.ctypes.data and value.numpy()[0, 0] == 77 and value.shape() == [3, 2]


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int32", "float16", "float64", "int64", "complex64"])
def test_types(name):
    array = np.zeros(2, name)
    assert OrtValue.from_dlpack(array).numpy().dtype == array.dtype and np.from_dlpack(OrtValue.ortvalue_from_numpy(array)).dtype == array.dtype


@pytest.mark.parametrize("array", [A.T, A[::2], A[::-1], A[:, :1], np.zeros((0, 2), np.float32), np.array(3, np.float32)])
def test_layouts(array):
    value = OrtValue.from_dlpack(array)
    assert np.array_equal(value.numpy(), array) and value.shape() == list(array.shape)


def test_read_only_producers():
    array = A.copy()
    array.flags.writeable = False
    value = OrtValue.from_dlpack(array)
    assert value.data_ptr() == array.ctypes.data and not value.numpy().flags.writeable
    with pytest.raises(RuntimeError):
        value.update_inplace(A)


def test_refusals():
    for wrong in (5, None, [1.0]):
        with pytest.raises(TypeError):
            OrtValue.from_dlpack(wrong)
    value = OrtValue.ortvalue_from_numpy(A)
    with pytest.raises(BufferError):
        value.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError):
        value.__dlpack__(5)
    with pytest.raises(RuntimeError):
        OrtValue.ortvalue_from_numpy(np.array(["a"])).__dlpack__()


@pytest.mark.cpu_only
def test_dlpack_objects_are_bound_in_one_step(cpu_session):
    session = cpu_session(models.add())
    binding, output = session.io_binding(), np.zeros((3, 2), np.float32)
    binding["a"], binding["b"], binding["c"] = Unversioned(A), Unversioned(A.T.copy().T), Unversioned(output)
    session.run_with_iobinding(binding)
    assert output.tolist() == (A + A).tolist() and session.stats()["latest"]["bytes_copied"] == A.nbytes
    with pytest.raises(RuntimeError):
        binding["c"] = Unversioned(np.zeros((2, 3), np.float32).T)
