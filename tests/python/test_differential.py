"""The same program on ortcore and on onnxruntime, where that is installed: the same names, results and error classes."""
import inspect

import numpy as np
import pytest
from onnx import TensorProto as P
from onnx import helper, numpy_helper

import ortcore
from ortcore.capi import onnxruntime_pybind11_state as our_state

from . import models

onnxruntime = pytest.importorskip("onnxruntime")
their_state = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state")

A = np.arange(6, dtype=np.float32).reshape(3, 2)
B = np.ones((3, 2), np.float32)
# Containers of models for several providers, and compiled contexts: nothing that runs a model.
LEFT_OUT = {"ModelPackage", "ModelPackageComponentContext", "ModelPackageContext", "ModelPackageOptions", "ModelPackageWriteMode", "OrtEpContextData",
            "OrtEpContextDataBuffer", "import_capi_exception", "onnxruntime_validation", "contextlib"}


def public(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def test_every_public_name_exists():
    assert public(onnxruntime) - LEFT_OUT <= public(ortcore)


@pytest.mark.parametrize("name", ["InferenceSession", "IOBinding", "OrtValue", "OrtDevice", "SparseTensor", "SessionOptions", "RunOptions", "NodeArg",
                                  "ModelMetadata", "OrtMemoryInfo", "OrtArenaCfg"])
def test_every_method_exists(name):
    theirs = public(getattr(onnxruntime, name))
    ours = getattr(ortcore, name)
    instance = {"ModelMetadata": lambda: vars(ortcore.InferenceSession(models.add()).get_modelmeta())}.get(name, dict)()
    assert theirs <= public(ours) | set(instance)


@pytest.mark.parametrize("method", ["bind_cpu_input", "bind_input", "bind_ortvalue_input", "bind_output", "bind_ortvalue_output"])
def test_arguments_of_bindings(method):
    ours, theirs = (list(inspect.signature(getattr(m.IOBinding, method)).parameters.values()) for m in (ortcore, onnxruntime))
    for our, their in zip(ours, theirs, strict=False):
        assert (our.name, our.default) == (their.name, their.default)
    assert len(ours) >= len(theirs)


def outcome(module, program):
    """What the program returns, or the class that it raises."""
    try:
        return program(module)
    except Exception as error:
        return type(error)


def session(module, model, **arguments):
    return module.InferenceSession(model, providers=["CPUExecutionProvider"], **arguments)


def bound(module, model=None, **inputs):
    s = session(module, model or models.add())
    binding = s.io_binding()
    for name, array in (inputs or {"a": A, "b": B}).items():
        binding.bind_cpu_input(name, array)
    return s, binding


def run_bound(module, output):
    s, binding = bound(module)
    binding.bind_output("c", "cpu", 0, np.float32, output.shape, output.ctypes.data)
    s.run_with_iobinding(binding)
    return [output, *binding.copy_outputs_to_cpu()]


def without_outputs(module):
    s, binding = bound(module)
    s.run_with_iobinding(binding)


def of_another_session(module):
    _, binding = bound(module)
    session(module, models.add()).run_with_iobinding(binding)


PROGRAMS = {
    "run": lambda m: session(m, models.add()).run(None, {"a": A, "b": B}),
    "run_names": lambda m: session(m, models.two_outputs()).run(["shape", "total"], {"a": A, "b": B}),
    "unknown_output": lambda m: session(m, models.add()).run(["zz"], {"a": A, "b": B}),
    "unknown_input": lambda m: session(m, models.add()).run(None, {"a": A, "b": B, "zz": A}),
    "missing_input": lambda m: session(m, models.add()).run(None, {"a": A}),
    "wrong_type": lambda m: session(m, models.add()).run(None, {"a": A.astype(float), "b": B}),
    "wrong_rank": lambda m: session(m, models.add()).run(None, {"a": A[0], "b": B}),
    "wrong_dim": lambda m: session(m, models.add()).run(None, {"a": np.zeros((3, 3), np.float32), "b": B}),
    "bad_index": lambda m: session(m, models.gather()).run(None, {"x": A[0], "i": np.array([9])}),
    "missing_file": lambda m: m.InferenceSession("/no/such/model.onnx"),
    "garbage": lambda m: m.InferenceSession(b"garbage" * 9),
    "no_graph": lambda m: m.InferenceSession(b""),
    "strings": lambda m: session(m, models.identity(P.STRING)).run(None, {"x": np.array(["a", "é"])}),
    "sequence": lambda m: session(m, models.sequence_construct()).run(None, {"a": A[0], "b": A[1]}),
    "overridden": lambda m: session(m, models.overridable()).run(None, {"x": A, "W": A[0]}),
    "types": lambda m: [(i.name, i.type, i.shape) for i in session(m, models.overridable()).get_overridable_initializers()],
    "bound_output": lambda m: run_bound(m, np.zeros((3, 2), np.float32)),
    "bound_output_of_wrong_shape": lambda m: run_bound(m, np.zeros((2, 2), np.float32)),
    "no_output_bound": without_outputs,
    "unknown_input_bound": lambda m: bound(m, zz=A),
    "foreign_binding": of_another_session,
    "device": lambda m: m.OrtDevice.make("rocm", 0),
    "memory_info": lambda m: m.OrtMemoryInfo("Foo", m.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, m.OrtMemType.DEFAULT),
    "config_entry": lambda m: m.SessionOptions().get_session_config_entry("unset"),
    "value": lambda m: [getattr(m.OrtValue.ortvalue_from_numpy(A), f)() for f in ("shape", "data_type", "element_type", "device_name", "has_value")],
    "value_on_cuda": lambda m: m.OrtValue.ortvalue_from_numpy(A, "cuda"),
    "update_of_wrong_size": lambda m: m.OrtValue.ortvalue_from_numpy(A.copy()).update_inplace(A[0]),
    "copy_tensors_lengths": lambda m: m.copy_tensors([m.OrtValue.ortvalue_from_numpy(A)], []),
    "enumerations": lambda m: [(repr(e), str(e), int(e)) for e in (m.ExecutionMode.ORT_PARALLEL, m.OrtMemType.CPU_INPUT, m.GraphOptimizationLevel(99))],
}


def same(ours, theirs):
    if isinstance(theirs, type):
        if not isinstance(ours, type):
            return False
        return theirs.__name__ in [cls.__name__ for cls in ours.__mro__] or hasattr(our_state, theirs.__name__) and issubclass(ours, RuntimeError)
    if isinstance(theirs, np.ndarray):
        return ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    if isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return ours == theirs


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_programs_end_alike(program):
    onnxruntime.set_default_logger_severity(4)
    ours, theirs = outcome(ortcore, program), outcome(onnxruntime, program)
    assert same(ours, theirs), (ours, theirs)


def test_numbers_of_codes_agree():
    with pytest.raises(Exception) as theirs:
        onnxruntime.InferenceSession("/no/such/model.onnx")
    with pytest.raises(our_state.NoSuchFile) as ours:
        ortcore.InferenceSession("/no/such/model.onnx")
    assert str(ours.value).split(" : ")[:3] == str(theirs.value).split(" : ")[:3]
    assert {n for n in public(their_state) if isinstance(getattr(their_state, n), type) and issubclass(getattr(their_state, n), Exception)} <= public(our_state)


@pytest.mark.parametrize("steps, batch, features, hidden", [(6, 1, 8, 16), (6, 2, 8, 16), (5, 3, 9, 17), (4, 8, 32, 64)])
def test_quantised_lstms_of_batches(steps, batch, features, hidden):
    """On one thread. On more, onnxruntime rounds each thread's share of the batch by itself, and its results depend on their number."""
    random = np.random.default_rng(steps * batch)
    bytes_of = lambda rows: random.integers(-127, 128, (1, rows, 4 * hidden)).astype(np.int8)  # noqa: E731
    scale, zero = np.array([0.01], np.float32), np.zeros(1, np.int8)
    weights = {"w": bytes_of(features), "r": bytes_of(hidden), "b": random.uniform(-0.3, 0.3, (1, 8 * hidden)).astype(np.float32),
               "w_scale": scale, "w_zero": zero, "r_scale": scale, "r_zero": zero}
    node = helper.make_node("DynamicQuantizeLSTM", ["x", "w", "r", "b", "", "", "", "", "w_scale", "w_zero", "r_scale", "r_zero"], ["y"],
                            domain="com.microsoft", hidden_size=hidden)
    graph = helper.make_graph([node], "lstm", [models.value("x", P.FLOAT, [steps, batch, features])], [models.value("y", P.FLOAT, None)],
                              [numpy_helper.from_array(a, n) for n, a in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8).SerializeToString()
    x = random.standard_normal((steps, batch, features)).astype(np.float32)
    results = []
    for module, threads in ((onnxruntime, 1), (ortcore, 1), (ortcore, 2)):
        options = module.SessionOptions()
        options.intra_op_num_threads = threads
        results.append(session(module, model, sess_options=options).run(None, {"x": x})[0])
    np.testing.assert_allclose(results[1], results[0], atol=2e-6)
    assert np.array_equal(results[1], results[2])
