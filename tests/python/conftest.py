"""What the tests of the Python API share."""
import gc
import weakref

import numpy as np
import pytest


class Tracked(np.ndarray):
    """An array that can be watched."""


@pytest.fixture
def watch():
    """watch(array) gives a copy of it and a function that tells whether that copy is alive."""

    def make(array):
        copy = np.array(array).view(Tracked)
        reference = weakref.ref(copy)

        def alive():
            gc.collect()
            return reference() is not None

        return copy, alive

    return make


@pytest.fixture
def cpu_session():
    """Makes a session on the CPU from a model's bytes."""
    import ortcore as ort

    def make(model, **arguments):
        return ort.InferenceSession(model, providers=["CPUExecutionProvider"], **arguments)

    return make
