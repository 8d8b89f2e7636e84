"""Exceptions: classes, texts, what they tell."""
import pickle

import numpy as np
import pytest
from onnx import TensorProto as P
from onnx import helper as h

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


# ---- Arguments are named

def bound(session):
    return session.io_binding().bind_output


NUMBERS = {
    "capacity": (lambda s, n: bound(s)("c", buffer_ptr=4096, capacity=n), 0, 2**64 - 1),
    "buffer_ptr": (lambda s, n: bound(s)("c", "cpu", 0, np.float32, [0], n), 0, 2**64 - 1),
    "the value for dim 'N'": (lambda s, n: ort.SessionOptions().add_free_dimension_override_by_name("N", n), -2**63, 2**63 - 1),
    "the value for dim 'DATA'": (lambda s, n: ort.SessionOptions().add_free_dimension_override_by_denotation("DATA", n), -2**63, 2**63 - 1),
    "dim 1 of a shape": (lambda s, n: ort.OrtValue.ortvalue_from_shape_and_type([0, n], np.float32), -2**63, 2**63 - 1),
    "device_id": (lambda s, n: ort.OrtDevice.make("cpu", n), -2**15, 2**15 - 1),
    "vendor_id": (lambda s, n: ort.OrtDevice(0, 0, n, 0), 0, 2**32 - 1),
    "id": (lambda s, n: ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, n, ort.OrtMemType.DEFAULT), -2**31, 2**31 - 1),
    "OrtArenaCfg option max_mem": (lambda s, n: ort.OrtArenaCfg({"max_mem": n}), -2**63, 2**63 - 1),
    "severity": (lambda s, n: ort.set_default_logger_severity(n), 0, 4),
    "threads": (lambda s, n: ort.set_thread_budget(n), 0, 2**31 - 1),
    "seed": (lambda s, n: ort.set_seed(n), -2**63, 2**63 - 1),
    "the length of file 'w'": (lambda s, n: ort.SessionOptions().add_external_initializers_from_files_in_memory(["w"], [b"1"], [n]), 0, 2**64 - 1),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_out_of_range_are_named_with_the_range(cpu_session, name):
    call, least, most = NUMBERS[name]
    for number in (least - 1, most + 1, 2**70, -(2**70)):
        with pytest.raises(ValueError, match=f"{name} is {number}; it must be from {least} to {most}"):
            call(cpu_session(models.add()), number)
    for nonsense in ("1", 1.5, []):
        with pytest.raises(TypeError, match=f"{name} must be an int, not {type(nonsense).__name__}"):
            call(cpu_session(models.add()), nonsense)


class Exporter:
    """Says of itself what a test wants."""

    def __init__(self, capsule=5, device=(1, 0)):
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **asked):
        return self.capsule

    def __dlpack_device__(self):
        return self.device


@pytest.mark.parametrize("call, words", [
    (lambda s: s.run_async(None, None, print, None), "input_feed must be a mapping .* not NoneType"),
    (lambda s: s.run_async(None, {}, 5, None), "callback must be callable or None, not int"),
    (lambda s: ort.IOBinding(5), "an IOBinding is made for an InferenceSession, not for int"),
    (lambda s: ort.OrtValue.ortvalue_from_numpy(np.zeros(2)).__dlpack__(dl_device=5), "dl_device must be a pair of ints, not 5"),
    (lambda s: ort.OrtValue.ortvalue_from_numpy(np.zeros(2)).__dlpack__(dl_device=(1,)), r"dl_device must be a pair of ints, not \(1,\)"),
    (lambda s: ort.OrtValue.ortvalue_from_numpy(np.zeros(2)).__dlpack__(max_version=1), "max_version must be a pair of ints, not 1"),
    (lambda s: ort.OrtValue.from_dlpack(Exporter()), r"Exporter.__dlpack__\(\) returned int; it must be a capsule 'dltensor'"),
    (lambda s: s.run(None, {"a": Exporter(None), "b": None}), "input 'a': Exporter.* returned NoneType"),
    (lambda s: s.io_binding().bind_cpu_input("a", Exporter(device=5)), r"'a': what __dlpack_device__\(\) returns must be a pair of ints, not 5"),
    (lambda s: ort.OrtValue.ortvalue_from_shape_and_type(5, np.float32), "a shape is a sequence of ints, not int"),
    (lambda s: ort.OrtValue.ortvalue_from_shape_and_type([1] * 17, np.float32), "a shape of rank 17; ortcore's tensors have at most 16"),
    (lambda s: ort.OrtValue.ortvalue_from_shape_and_type([1] * 65, np.float32), "a shape of rank 65; ortcore's tensors have at most 16"),
])
def test_what_was_given_and_what_is_wanted_are_named(cpu_session, call, words):
    with pytest.raises(TypeError, match=words):
        call(cpu_session(models.add()))


def test_the_rank_of_an_array_has_the_same_limit():
    assert len(ort.OrtValue.ortvalue_from_numpy(np.zeros([1] * 16)).shape()) == 16
    for rank in (17, 64):
        with pytest.raises(ValueError, match=f"a shape of rank {rank}; ortcore's tensors have at most 16"):
            ort.OrtValue.ortvalue_from_numpy(np.zeros([1] * rank))


def test_outputs_at_a_null_address_are_named(cpu_session):
    with pytest.raises(ValueError, match="output 'c' is bound to 100 bytes at the address 0; give the address"):
        bound(cpu_session(models.add()))("c", buffer_ptr=0, capacity=100)
    with pytest.raises(ValueError, match="Error when binding output: 'c': the memory given for a tensor of 4 elements is NULL"):
        bound(cpu_session(models.add()))("c", "cpu", 0, np.float32, [2, 2], 0)


def test_a_session_that_let_go_of_its_model_says_so_everywhere(cpu_session):
    with cpu_session(models.add()) as session:
        pass
    for use in (session.io_binding, session.get_inputs, lambda: session.run(None, {}), lambda: ort.IOBinding(session), session.end_profiling):
        with pytest.raises(AttributeError, match="this session has let go of its model"):
            use()


@pytest.mark.cpu_only
def test_out_of_memory_tells_for_what_and_how_much(cpu_session):
    with pytest.raises(MemoryError, match=r"a tensor\(float\) of shape \[35184372088832\]: allocator 'Cpu' was asked for 140737488355328 bytes"):
        ort.OrtValue.ortvalue_from_shape_and_type([2**45], np.float32)
    with pytest.raises(MemoryError, match=r"a tensor\(float\) of shape \[1152921504606846976\]: .*4611686018427387904 bytes, more than memory can be"):
        ort.OrtValue.ortvalue_from_shape_and_type([2**60], np.float32)
    small = np.zeros(1, np.int64)
    fill = cpu_session(models.model([h.make_node("ConstantOfShape", ["shape"], ["filled"], name="fill"), h.make_node("Neg", ["filled"], ["y"])],
                                    [models.value("shape", P.INT64, [1])], [models.value("y", P.FLOAT, None)]))
    with pytest.raises(MemoryError, match="was asked for 140737488355328 bytes") as caught:
        fill.run(None, {"shape": small + 2**45})
    assert caught.value.node == "fill"
    expand = cpu_session(models.model([h.make_node("Expand", ["x", "shape"], ["y"])], [models.value("x", P.FLOAT, [1]), models.value("shape", P.INT64, [1])],
                                      [models.value("y", P.FLOAT, None)]))
    with pytest.raises(MemoryError, match="output 'y': .* was asked for 140737488355328 bytes"):
        expand.run(None, {"x": np.zeros(1, np.float32), "shape": small + 2**45})


def test_small_allocations_that_fail_tell_their_size(cpu_session):
    from ortcore._device import inject_allocation_failure

    told = set()
    for n in range(1, 12):
        inject_allocation_failure(n)
        try:
            ort.SessionOptions().add_session_config_entry("k" * 1000, "v" * 500)
        except MemoryError as error:
            told.add(str(error))
        finally:
            inject_allocation_failure(0)
    assert any("out of memory: 1001 bytes were asked for" in text for text in told) and any(" 501 bytes were" in text for text in told), told
