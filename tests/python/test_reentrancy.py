"""Code of the caller's runs while arrays are made of its objects, and may change the very dicts and lists that are being read."""
import threading

import numpy as np
import pytest

from . import models

X = np.arange(3, dtype=np.float32)


class ViaArray:
    def __init__(self, act):
        self.act = act

    def __array__(self, dtype=None, copy=None):
        self.act()
        return X.copy()


class ViaInterface(ViaArray):
    __array__ = None

    @property
    def __array_interface__(self):
        self.act()
        self.kept = X.copy()
        return self.kept.__array_interface__


class ViaDlpack(ViaArray):
    __array__ = None

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **arguments):
        self.act()
        return X.copy().__dlpack__(**arguments)


@pytest.mark.parametrize("producer", [ViaArray, ViaInterface, ViaDlpack])
@pytest.mark.parametrize("change", ["replace", "grow", "clear"])
def test_a_feed_that_changes_while_it_is_read(cpu_session, producer, change):
    session, feed = cpu_session(models.add(shape=("N",))), {}

    def act():
        if change == "replace":                            # the dict's size stays, and so an iterator over it would go on
            for name in list(feed):
                feed[name] = feed.pop(name)
        elif change == "grow":
            feed.update({f"{i}": X for i in range(100)})
        else:
            feed.clear()

    for _ in range(100):
        feed.clear()
        feed.update(a=producer(act), b=producer(act))
        assert np.array_equal(session.run(None, feed)[0], 2 * X)


@pytest.mark.parametrize("producer", [ViaArray, ViaInterface, ViaDlpack])
@pytest.mark.parametrize("change", [lambda items: items.extend([X] * 1000), lambda items: items.clear()])
def test_a_sequence_that_changes_while_it_is_read(cpu_session, producer, change):
    session, items = cpu_session(models.sequence_identity()), []
    items.extend([producer(lambda: change(items)), X])
    assert [list(x) for x in session.run(None, {session.get_inputs()[0].name: items})[0]] == [list(X)] * 2


def test_output_names_that_change_while_they_are_read(cpu_session):
    names = ["c"]
    feed = {"a": ViaArray(lambda: names.extend(["c"] * 1000)), "b": X}
    assert len(cpu_session(models.add(shape=("N",))).run(names, feed)) == 1


def test_a_feed_that_another_thread_changes(cpu_session):
    session, feed, stop = cpu_session(models.add(shape=("N",))), {"a": X, "b": X}, threading.Event()

    def change():
        while not stop.is_set():
            feed["a"] = feed.pop("a")
            feed["more"] = X
            del feed["more"]

    other = threading.Thread(target=change)
    other.start()
    try:
        for _ in range(2000):
            try:
                assert np.array_equal(session.run(None, feed)[0], 2 * X)
            except RuntimeError as error:                  # "more" is no input, or "a" was away at that moment
                assert "more" in str(error) or "missing" in str(error)
    finally:
        stop.set()
        other.join()
