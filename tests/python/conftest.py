"""What the tests of the Python API share."""
import gc
import os
import weakref

import numpy as np
import pytest

# What sessions of these tests run on, where a test does not say otherwise: ORTCORE_TEST_PROVIDER=CUDAExecutionProvider asks a GPU the same questions.
PROVIDERS = list(dict.fromkeys([os.environ.get("ORTCORE_TEST_PROVIDER", "CPUExecutionProvider"), "CPUExecutionProvider"]))


def pytest_configure(config):
    config.addinivalue_line("markers", "cpu_only: asserts what holds on the CPU alone: that nothing is copied, where a result lies")
    if len(PROVIDERS) > 1:
        import ortcore

        assert PROVIDERS[0] in ortcore.get_available_providers(), f"ORTCORE_TEST_PROVIDER={PROVIDERS[0]}, which is not available here"


def pytest_collection_modifyitems(items):
    for item in items:
        if len(PROVIDERS) > 1 and item.get_closest_marker("cpu_only"):
            item.add_marker(pytest.mark.skip(reason="holds on the CPU alone"))


@pytest.fixture(autouse=True)
def default_providers(monkeypatch):
    """Sessions made without providers, or with the CPU's alone, get those of this run."""
    if len(PROVIDERS) == 1:
        return
    import ortcore

    make = ortcore.InferenceSession.__init__

    def init(self, model, sess_options=None, providers=None, provider_options=None, **more):
        if not providers or list(providers) == ["CPUExecutionProvider"]:
            providers, provider_options = PROVIDERS, None
        make(self, model, sess_options, providers, provider_options, **more)

    monkeypatch.setattr(ortcore.InferenceSession, "__init__", init)


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
