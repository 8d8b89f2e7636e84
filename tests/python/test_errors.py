"""Exceptions: classes, texts, what they tell."""
import pickle

import numpy as np
import pytest

import ortcore as ort
from ortcore.capi import _pybind_state
from ortcore.capi import onnxruntime_pybind11_state as state

from . import models

CODES = {1: "Fail", 2: "InvalidArgument", 3: "NoSuchFile", 4: "NoModel", 5: "EngineError", 6: "RuntimeException", 7: "InvalidProtobuf", 8: "ModelLoaded",
         9: "NotImplemented", 10: "InvalidGraph", 11: "EPFail", 12: "ModelLoadCanceled", 13: "ModelRequiresCompilation", 14: "NotFound", 15: "OutOfMemory"}


@pytest.mark.parametrize("code, name", CODES.items())
def test_every_code_has_its_class(code, name):
    cls = getattr(state, name)
    assert cls.code == code and cls.__name__ == name and issubclass(cls, RuntimeError) and issubclass(cls, ort.Error)
    assert getattr(_pybind_state, name) is cls


@pytest.mark.parametrize("name, builtin", [("InvalidArgument", ValueError), ("NoSuchFile", FileNotFoundError), ("NotImplemented", NotImplementedError),
                                           ("NotFound", KeyError), ("OutOfMemory", MemoryError), ("InvalidGraph", ValueError)])
def test_classes_are_builtins_too(name, builtin):
    assert issubclass(getattr(state, name), builtin)
    assert str(getattr(state, name)("some text")) == "some text"


def test_text_of_a_failed_load(tmp_path):
    with pytest.raises(state.NoSuchFile, match=r"^\[ONNXRuntimeError\] : 3 : NO_SUCHFILE : .*missing\.onnx") as info:
        ort.InferenceSession(str(tmp_path / "missing.onnx"))
    assert info.value.code == 3 and info.value.node == ""


@pytest.mark.cpu_only
def test_runs_raise_the_code_and_bindings_say_the_step(cpu_session):
    session = cpu_session(models.gather())
    feed = {"x": np.ones(2, np.float32), "i": np.array([5])}
    with pytest.raises(state.InvalidArgument, match=r"^\[ONNXRuntimeError\] : 2 : INVALID_ARGUMENT : ") as info:
        session.run(None, feed)
    assert info.value.node == "pick"
    binding = session.io_binding()
    for name, array in feed.items():
        binding.bind_cpu_input(name, array)
    binding.bind_output("y")
    with pytest.raises(RuntimeError, match="^Error in execution: ") as info:
        session.run_with_iobinding(binding)
    assert isinstance(info.value, state.InvalidArgument) and info.value.node == "pick"
    assert session.run(None, {"x": np.ones(2, np.float32), "i": np.array([1])})[0].tolist() == [1]


def test_errors_survive_pickling():
    error = pickle.loads(pickle.dumps(state.InvalidArgument("text")))
    assert type(error) is state.InvalidArgument and str(error) == "text"


def test_names_in_messages(cpu_session):
    session = cpu_session(models.add())
    array = np.ones((3, 2), np.float32)
    with pytest.raises(ValueError, match=r"'zz'.*'a', 'b'"):
        session.run(None, {"a": array, "b": array, "zz": array})
    with pytest.raises(ValueError, match=r"Required inputs \(\['b'\]\)"):
        session.run(None, {"a": array})
    with pytest.raises(ValueError, match=r"Required inputs \(\['b'\]\) are missing from input feed \(\['a'\]\). None was given for 'b'"):
        session.run(None, {"a": array, "b": None})
    with pytest.raises(ValueError, match=r"tensor\(double\).*tensor\(float\)"):
        session.run(None, {"a": array.astype(float), "b": array})
    with pytest.raises(TypeError, match="input 'a': set cannot be used as a tensor"):
        session.run(None, {"a": {1}, "b": array})


@pytest.mark.cpu_only
@pytest.mark.parametrize("model, feed", [
    (models.gather(), {"x": np.ones(2, np.float32), "i": np.array([5])}),
    (models.add(), {"a": np.ones((2, 2), np.float32), "b": np.ones((3, 2), np.float32)}),
    (models.add(), {"a": np.ones((2, 2), np.float32)}),
    (models.add(), {"a": np.ones((2, 2), np.float32), "b": None}),
], ids=["index", "symbolic dims", "missing", "None"])
def test_what_does_not_fit_is_caught_as_either_of_onnxruntimes_classes(cpu_session, model, feed):
    """onnxruntime's kernels disagree whether it is a Fail or an InvalidArgument."""
    with pytest.raises(state.InvalidInput) as info:
        cpu_session(model).run(None, feed)
    assert isinstance(info.value, state.Fail) and isinstance(info.value, state.InvalidArgument) and info.value.code == 2


@pytest.mark.parametrize("call", [
    lambda session: session.run(None, [np.ones((2, 2), np.float32)]),
    lambda session: session.run_with_iobinding(None),
    lambda session: session.io_binding().bind_ortvalue_input("a", np.ones((2, 2), np.float32)),
    lambda session: session.io_binding().bind_ortvalue_output("c", None),
    lambda session: session.run(None, {}, {"tag": "x"}),
    lambda session: ort.InferenceSession(models.add(), sess_options={}),
])
def test_objects_of_the_wrong_class_are_a_type_error_that_onnxruntimes_handlers_catch_too(cpu_session, call):
    session = cpu_session(models.add())
    with pytest.raises(TypeError) as info:
        call(session)
    assert isinstance(info.value, AttributeError)
