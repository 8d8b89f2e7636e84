"""Plain runs: names, values in, values out."""
import collections
import ctypes
import os
import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as P
from onnx import helper as h

import ortcore as ort
from ortcore.capi.onnxruntime_pybind11_state import InvalidArgument, OrtValueVector

from . import models

A = np.arange(6, dtype=np.float32).reshape(3, 2)
B = np.ones((3, 2), np.float32)


@pytest.fixture(scope="module")
def session():
    return ort.InferenceSession(models.add())


def identity(kind, array, shape=("N",), **fields):
    return ort.InferenceSession(models.identity(kind, shape, **fields)).run(None, {"x": array})[0]


@pytest.mark.parametrize("names", [None, [], (), "", ["c"], ("c",)])
def test_output_names(session, names):
    assert [o.tolist() for o in session.run(names, {"a": A, "b": B})] == [(A + B).tolist()]


def test_order_and_repetition_of_outputs():
    session = ort.InferenceSession(models.two_outputs())
    shape, total, again = session.run(["shape", "total", "total"], {"a": A, "b": B})
    assert shape.tolist() == [3, 2] and total.tolist() == again.tolist() == (A + B).tolist()


def test_bad_arguments(session):
    feed = {"a": A, "b": B}
    with pytest.raises(InvalidArgument, match="zz"):
        session.run(["c", "zz"], feed)
    with pytest.raises(InvalidArgument, match="Invalid output name"):
        session.run(["a"], feed)
    for names in ("c", [5]):
        with pytest.raises(TypeError):
            session.run(names, feed)
    for feeds in ([A, B], None):
        with pytest.raises(TypeError, match="input_feed must be a mapping .* not (list|NoneType)"):
            session.run(None, feeds)
    with pytest.raises(TypeError, match="names of inputs must be str"):
        session.run(None, {**feed, 5: A})
    for options in ({}, ort.SessionOptions()):
        with pytest.raises(TypeError, match="RunOptions"):
            session.run(None, feed, options)
    with pytest.raises(TypeError):
        session.run(None)
    assert session.run(output_names=None, input_feed=feed, run_options=ort.RunOptions())[0].shape == (3, 2)


def test_any_mapping(session):
    class Mine(collections.abc.Mapping):
        def __init__(self, items):
            self.items_ = items

        def __getitem__(self, key):
            return self.items_[key]

        def __iter__(self):
            return iter(self.items_)

        def __len__(self):
            return len(self.items_)

    for mapping in (collections.OrderedDict(a=A, b=B), Mine({"a": A, "b": B})):
        assert session.run(None, mapping)[0].tolist() == (A + B).tolist()


def test_shapes_are_checked(session):
    for a, text in ((A[0], "rank"), (A[None], "rank"), (np.zeros((3, 3), np.float32), "index: 1 Got: 3 Expected: 2")):
        with pytest.raises(InvalidArgument, match=text):
            session.run(None, {"a": a, "b": B})
    with pytest.raises(InvalidArgument, match="'N'"):
        session.run(None, {"a": A[:2], "b": B})


def test_none_means_the_initializers_own_value(session):
    overridable = ort.InferenceSession(models.overridable())
    x = np.zeros((1, 2), np.float32)
    assert overridable.run(None, {"x": x, "W": None})[0].tolist() == [[10, 20]]
    assert overridable.run(None, {"x": x, "W": np.array([5, 6], np.float32)})[0].tolist() == [[5, 6]]
    assert session.run(None, {"a": A, "b": B, "zz": None})[0].shape == (3, 2)
    with pytest.raises(ValueError, match="Required inputs"):
        session.run(None, {"a": A, "b": None})


def test_layouts_of_arrays(session):
    read_only = A.copy()
    read_only.flags.writeable = False
    unaligned = np.frombuffer(b"\0" + A.tobytes(), np.uint8)[1:].view(np.float32).reshape(3, 2)
    for a in (A.astype(">f4"), np.asfortranarray(A), np.repeat(A, 2, axis=0)[::2], A[::-1][::-1], read_only, unaligned):
        assert session.run(None, {"a": a, "b": B})[0].tolist() == (A + B).tolist()
    assert identity(P.FLOAT, np.broadcast_to(np.float32(7), (3,))).tolist() == [7, 7, 7]
    assert identity(P.FLOAT, np.arange(4, dtype=np.float32)[::-1]).tolist() == [3, 2, 1, 0]
    with pytest.raises(ValueError, match="filled"):
        identity(P.FLOAT, np.ma.array([1, 2], mask=[0, 1], dtype=np.float32))


def test_what_may_stand_for_an_array():
    class Interface:
        def __init__(self, array):
            self.array = array
            self.__array_interface__ = array.__array_interface__

    class Array:
        def __array__(self, dtype=None, copy=None):
            return np.array([1, 2], np.float32)

    class Pack:
        def __dlpack__(self, **arguments):
            return np.array([1, 2], np.float32).__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    array = np.array([1, 2], np.float32)
    for source in (Interface(array), Array(), Pack(), memoryview(array), ort.OrtValue.ortvalue_from_numpy(array), [1, 2.0], [1, 2]):
        assert identity(P.FLOAT, source).tolist() == [1, 2]
    assert identity(P.UINT8, bytearray(b"ab")).tolist() == [97, 98]
    assert identity(P.FLOAT, np.float32(3), ()).tolist() == 3
    for source in ("ab", b"ab", 5, object(), (1.0, 2.0), {"a": 1}, range(3)):
        with pytest.raises(RuntimeError):
            identity(P.FLOAT, source)


def test_lists_become_arrays_of_the_inputs_type():
    assert identity(P.FLOAT, [[1], [2]], ("N", 1)).dtype == np.float32
    assert identity(P.INT32, [1, 2]).dtype == np.int32 and identity(P.BOOL, [True]).dtype == bool
    assert identity(P.STRING, ["a", "b"]).tolist() == ["a", "b"]


@pytest.mark.parametrize("given, words", [({2**63: 1}, "a key of a"), ({1: "x"}, "a value of a"), ({1: 300}, "a value of a"), ({1: None}, "a value of a"),
                                          ({"1": 1}, "key '1' of a")])
def test_contents_of_maps_that_do_not_fit_are_named(cpu_session, given, words):
    session = cpu_session(models.maps_identity(P.UINT8))
    for use in (lambda: session.run(None, {"x": [given]}), lambda: session.io_binding().__setitem__("x", [given])):
        with pytest.raises(InvalidArgument, match=rf"'x': {words} seq\(map\(int64,tensor\(uint8\)\)\)"):
            use()
    with pytest.raises(InvalidArgument, match=r"'a': a list given for a tensor\(float\) does not fit float32"):
        cpu_session(models.add()).run(None, {"a": ["x"], "b": A})


def test_subclasses_of_dict_and_list_are_maps_and_sequences(cpu_session):
    class Items(list):
        pass

    session = cpu_session(models.maps_identity())
    given = [collections.OrderedDict({1: 2.0}), collections.Counter({3: 4})]
    assert session.run(None, {"x": Items(given)}) == [[{1: 2.0}, {3: 4.0}]]


def test_maps_of_other_types_are_refused(cpu_session):
    """Also inside a sequence: what one model made is fed to another."""

    def made(name, kind, key):
        return cpu_session(models.maps_identity(kind, key)).run_with_ort_values(None, {"x": [{name: 1.0}]})[0]

    for wanted, fed, text in ((P.INT64, made("a", P.FLOAT, P.STRING), "map.string,tensor.float"),
                              (P.STRING, made(1, P.FLOAT, P.INT64), "map.int64,tensor.float"),
                              (P.INT64, made(1, P.DOUBLE, P.INT64), "map.int64,tensor.double")):
        session = cpu_session(models.maps_identity(key=wanted))
        with pytest.raises(InvalidArgument, match=f"input 'x' is seq.*, but a value of type seq.{text}"):
            session.run(None, {"x": fed})
        with pytest.raises(InvalidArgument, match=f"input 'x' is seq.*, but a value of type seq.{text}"):
            session.io_binding().bind_ortvalue_input("x", fed)
    with pytest.raises(InvalidArgument, match="item 0 of a seq.* must be a dict, not int"):
        cpu_session(models.maps_identity()).run(None, {"x": [5, {1: 1.0}]})


def test_outputs_are_fresh_writable_and_their_own(session):
    first = session.run(None, {"a": A, "b": B})[0]
    second = session.run(None, {"a": A, "b": B})[0]
    first[:] = 99
    assert second.tolist() == (A + B).tolist() and not np.shares_memory(first, second)
    assert first.flags.writeable and first.flags.c_contiguous and not first.flags.owndata
    x = np.array([1, 2], np.float32)
    assert not np.shares_memory(identity(P.FLOAT, x), x)
    for model in (models.passthrough(), models.weighted(np.zeros(2, np.float32))):
        alone = ort.InferenceSession(model)
        result = alone.run(None, {"x": x})[0]
        result[:] = 77
        assert alone.run(None, {"x": x})[0].tolist() == [1, 2] and x.tolist() == [1, 2]


def test_constants_that_are_outputs_cannot_be_changed():
    session = ort.InferenceSession(models.model([h.make_node("Neg", ["W"], ["y"])], [], [models.value("y", P.FLOAT, [2])],
                                                {"W": np.array([1, 2], np.float32)}))
    session.run(None, {})[0][:] = 77
    assert session.run(None, {})[0].tolist() == [-1, -2]


def test_scalars_and_empty_tensors(session):
    result = identity(P.FLOAT, np.array(3, np.float32), ())
    assert isinstance(result, np.ndarray) and result.shape == ()
    assert identity(P.FLOAT, np.zeros(0, np.float32)).shape == (0,)
    assert session.run(None, {"a": A[:0], "b": B[:0]})[0].shape == (0, 2)


@pytest.mark.cpu_only
def test_inputs_are_not_copied(session):
    big = np.zeros((1000, 2), np.float32)
    session.run(None, {"a": big, "b": big})
    assert session.stats()["latest"]["bytes_copied"] == 0


def test_optionals_with_and_without_a_value():
    session = ort.InferenceSession(models.optional_identity())
    for x, expected in ((None, None), ([1, 2], [1, 2]), (None, None), ([3], [3])):
        result, = session.run(None, {"x": None if x is None else np.array(x, np.float32)})
        assert expected is None and result is None or result.tolist() == expected
    value, = session.run_with_ort_values(None, {"x": None})
    assert not value.has_value()
    assert session.run(None, {"x": value}) == [None] and session.run(None, {}) == [None]


# ---- The other ways to run

def test_ort_values(session):
    make = ort.OrtValue.ortvalue_from_numpy
    results = session.run_with_ort_values(None, {"a": make(A), "b": make(B)})
    assert isinstance(results[0], ort.OrtValue) and results[0].numpy().tolist() == (A + B).tolist()
    with pytest.raises(ValueError):
        session.run_with_ort_values(None, {"a": make(A)})
    with pytest.raises(InvalidArgument):
        session.run_with_ort_values(None, {"a": make(A.astype(float)), "b": make(B)})


def test_a_value_passed_through_outlives_its_source(watch):
    session = ort.InferenceSession(models.passthrough())
    array, alive = watch(np.full(1000, 3, np.float32))
    value = session.run_with_ort_values(None, {"x": ort.OrtValue.ortvalue_from_numpy(array)})[0]
    del array
    assert (value.numpy() == 3).all()
    del value
    assert not alive()


def test_ort_value_vector(session):
    feeds, fetches = OrtValueVector(), OrtValueVector()
    for array in (A, B):
        feeds.push_back(ort.OrtValue.ortvalue_from_numpy(array)._ortvalue)
    device = ort.OrtDevice.make("cpu", 0)._get_c_device()
    session.run_with_ortvaluevector(ort.RunOptions(), ["a", "b"], feeds, ["c"], fetches, [device])
    assert len(fetches) == 1 and fetches[0].numpy().tolist() == (A + B).tolist()
    with pytest.raises(TypeError):
        session.run_with_ortvaluevector(None, ["a", "b"], feeds, ["c"], fetches, [device])
    with pytest.raises(InvalidArgument):
        session.run_with_ortvaluevector(ort.RunOptions(), ["a"], feeds, ["c"], fetches, [device])


def run_async(session, feed, names=None):
    done, calls = threading.Event(), []

    def callback(results, user_data, error):
        calls.append((results, user_data, error, threading.current_thread() is threading.main_thread()))
        done.set()

    assert session.run_async(names, feed, callback, "mine") is None
    assert done.wait(10)
    return calls[0]


def test_async(session):
    results, user_data, error, on_main = run_async(session, {"a": A, "b": B})
    assert results[0].tolist() == (A + B).tolist() and (user_data, error, on_main) == ("mine", "", False)
    results, _, error, _ = run_async(session, {"a": A[:2], "b": B})
    assert results == [] and "'N'" in error and "ONNXRuntimeError" not in error
    assert "zz" in run_async(session, {"a": A, "b": B}, ["zz"])[2]
    with pytest.raises(ValueError, match="Required inputs"):
        session.run_async(None, {"a": A}, None, None)


def test_async_keeps_session_and_inputs_alive(watch):
    array, alive = watch(np.full(1000, 3, np.float32))
    done, results = threading.Event(), []
    ort.InferenceSession(models.identity()).run_async(None, {"x": array}, lambda r, u, e: (results.extend(r), done.set()), None)
    del array
    assert done.wait(10) and (results[0] == 3).all()
    for _ in range(100):
        if not alive():
            return
        time.sleep(0.01)
    pytest.fail("the input is still held")


def test_async_survives_a_callback_that_raises(session, capsys):
    done = threading.Event()

    def callback(results, user_data, error):
        done.set()
        raise ValueError("boom")

    session.run_async(None, {"a": A, "b": B}, callback, None)
    assert done.wait(10)
    assert run_async(session, {"a": A, "b": B})[2] == ""
    printed, deadline = "", time.monotonic() + 10              # the thread prints after the callback has returned
    while "boom" not in printed and time.monotonic() < deadline:
        printed += capsys.readouterr().err
        time.sleep(0.01)
    assert "boom" in printed


def test_termination():
    session, options = ort.InferenceSession(models.add()), ort.RunOptions()
    options.terminate = True
    with pytest.raises(RuntimeError):
        session.run(None, {"a": A, "b": B}, options)
    options.terminate = False
    assert session.run(None, {"a": A, "b": B}, options)[0].shape == (3, 2)


# ---- Threads

def test_one_session_on_many_threads(session):
    wrong = []

    def work(k):
        for _ in range(50):
            if not (session.run(None, {"a": A * k, "b": B})[0] == A * k + 1).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_gil_is_free_while_a_model_runs():
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session, x, ticks, stop = ort.InferenceSession(models.matmul_chain(), options), np.zeros((600, 600), np.float32), [0], []

    def tick():
        while not stop:
            ticks[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks[0]
    session.run(None, {"x": x})
    during = ticks[0] - before
    stop.append(True)
    thread.join()
    assert during > 2


@pytest.mark.cpu_only
def test_async_in_a_forked_child(session):
    run_async(session, {"a": A, "b": B})
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if run_async(session, {"a": A, "b": B})[2] == "" else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc to find the OpenMP library that ortcore uses")
def test_the_callers_number_of_openmp_threads_is_left_alone():
    """Other users of the library in this process, such as torch, rely on their own setting of the calling thread."""
    libraries = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if re.search(r"/lib(gomp|omp|iomp5)[^/]*$", line)}
    if not libraries:
        pytest.skip("this build has no OpenMP")
    for library in map(ctypes.CDLL, sorted(libraries)):
        before = library.omp_get_max_threads()
        try:
            library.omp_set_num_threads(7)
            for threads in 1, 2:
                options = ort.SessionOptions()
                options.intra_op_num_threads = threads
                session = ort.InferenceSession(models.matmul_chain(), options)
                for size in 64, 65:
                    session.run(None, {"x": np.eye(size, dtype=np.float32)})
                with pytest.raises(RuntimeError):
                    session.run(None, {"x": np.eye(64, dtype=np.float32)[:3]})
                assert library.omp_get_max_threads() == 7
        finally:
            library.omp_set_num_threads(before)
