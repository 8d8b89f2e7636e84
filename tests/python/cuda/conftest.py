"""What the tests of CUDA share. They run where CUDA is available: on a GPU, or on the emulated one with ORTCORE_CUDA=emulated."""
from pathlib import Path

import numpy as np
import pytest

import ortcore as ort
import ortcore.cuda
from ortcore.cuda import emulation

from .. import models
from . import device_arrays

ORDERS = [("starve", 1), ("random", 2), ("random", 3), ("eager", 4)]


def pytest_collection_modifyitems(items):
    here = [item for item in items if item.path.parent == Path(__file__).parent]
    if here and not ortcore.cuda.is_available():
        skip = pytest.mark.skip(reason=f"CUDA is not available: {ortcore.cuda.why_not()}")
        for item in here:
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def nothing_found():
    """On the emulated GPU every test fails that does what would be wrong on a GPU too."""
    if not ortcore.cuda.is_emulated():
        yield
        return
    emulation.clear()
    yield
    found = emulation.findings()
    emulation.recover()
    assert not found, found


@pytest.fixture
def emulated():
    if not ortcore.cuda.is_emulated():
        pytest.skip("only the emulated GPU can be told to fail")
    return emulation


@pytest.fixture
def device():
    """Makes arrays on the device as another library would."""
    if not device_arrays.available():
        pytest.skip("there is no CUDA runtime library to make arrays with")
    return device_arrays


@pytest.fixture
def session():
    """session(model) on CUDA, with provider options as keywords."""

    def make(model, **options):
        return ort.InferenceSession(model, providers=[("CUDAExecutionProvider", options), "CPUExecutionProvider"])

    return make


@pytest.fixture
def add(session):
    """c = a + b on the device, float32 [N, 2]."""
    return session(models.add())


@pytest.fixture
def two():
    """Two arrays for `add`, and their sum."""
    a = np.arange(6, dtype=np.float32).reshape(3, 2)
    b = 10 * a + 1
    return a, b, a + b


@pytest.fixture(params=ORDERS if ortcore.cuda.is_emulated() else [None], ids=str)
def order(request):
    """In which the device runs what it may: on the emulated one in several, with every access watched."""
    if request.param:
        emulation.configure(policy=request.param[0], seed=request.param[1], race_check=1)
    yield
    if request.param:
        emulation.configure(policy="starve", race_check=0)
