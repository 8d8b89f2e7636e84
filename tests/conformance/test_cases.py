"""Runs every row of cases/ in every way: unoptimised and optimised, symbolic, fixed and constant shapes, plainly and bound."""
import importlib
import os
import pkgutil
import re

import numpy as np
import pytest

from . import cases
from .case import PEER, Case, Opt
from .model import Shapes, build, has_constants

MODULE = os.environ.get("ORT_MODULE", "ortcore")            # ORT_MODULE=onnxruntime asks the peer the same questions
engine = importlib.import_module(MODULE)
try:
    import onnxruntime as peer
except ImportError:
    peer = None

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
# A process has one kind of CUDA device: the real one, or with ORTCORE_CUDA=emulated in its environment the emulated one.
PROVIDERS = {"cpu": [CPU]} | ({"cuda": [CUDA, CPU]} if MODULE == "ortcore" and CUDA in engine.get_available_providers() else {})
# Kernels of a GPU add in another order and approximate functions in another way; both within a few units in the last place.
LOOSER = {"cpu": 1, "cuda": 8}
POISON = 0xA5
# (how shapes are given, optimisation level)
LOADS = [(Shapes.SYMBOLIC, "ORT_DISABLE_ALL"), (Shapes.FIXED, "ORT_ENABLE_ALL"), (Shapes.CONSTANT, "ORT_ENABLE_ALL")]


def load_cases():
    rows = []
    for module in sorted(m.name for m in pkgutil.iter_modules(cases.__path__)):
        rows += importlib.import_module(f"{cases.__name__}.{module}").CASES
    return rows


def load(module, model, level, device):
    options = module.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(module.GraphOptimizationLevel, level)
    return module.InferenceSession(model, options, providers=PROVIDERS[device])


def flatten(value):
    """The arrays of a value, whatever it is made of; maps in the order of their keys."""
    if isinstance(value, dict):
        return [np.array(list(value.keys())), np.array(list(value.values()))]
    if isinstance(value, list | tuple):
        return [array for item in value for array in flatten(item)]
    return [np.asarray(value)]


def assert_equal(case: Case, got, want, where, looser=1):
    assert len(got) == len(want), where
    for index, (g, w) in enumerate(zip(got, want, strict=True)):
        parts, wanted = flatten(g), flatten(w)
        assert len(parts) == len(wanted), f"{where}: output {index} has {len(parts)} parts, expected {len(wanted)}"
        for a, b in zip(parts, wanted, strict=True):
            assert_array_equal(case, a, b, f"{where}: output {index}", looser)


def assert_array_equal(case: Case, got, want, where, looser):
    if want.dtype.kind in "OUS":
        assert got.shape == want.shape and got.astype(object).tolist() == want.astype(object).tolist(), f"{where}: {got} for {want}"
        return
    assert got.dtype == want.dtype, f"{where}: type {got.dtype}, expected {want.dtype}"
    assert got.shape == want.shape, f"{where}: shape {got.shape}, expected {want.shape}"
    if want.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want, where)
    else:
        rtol, atol = case.tolerances(want.dtype)
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(got.astype(wide), want.astype(wide), rtol * looser, atol * looser, equal_nan=True, err_msg=where)


def onnx_type(array):
    import onnx

    return onnx.helper.np_dtype_to_tensor_dtype(array.dtype)


def is_bindable(value):
    """Whole bytes an element and no strings: what a caller can own the memory of."""
    return isinstance(value, np.ndarray) and value.dtype.kind != "O" and not re.search(r"int[24]$|float[46]_", value.dtype.name)


def run_on_device(session, feeds, names):
    """The outputs of a bound run whose inputs and outputs all lie on the device."""
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_ortvalue_input(name, engine.OrtValue.ortvalue_from_numpy(value, "cuda", 0))
    for name in names:
        binding.bind_output(name, "cuda", 0)
    for _ in range(2):
        session.run_with_iobinding(binding)
    assert all(value.device_name() == "cuda" for value in binding.get_outputs())
    return binding.copy_outputs_to_cpu()


def run_bound(session, feeds, names, want):
    """The outputs of a bound run, its buffers full of rubbish beforehand. Unbindable outputs are left to the engine."""
    binding, buffers = session.io_binding(), []
    for name, value in feeds.items():
        binding.bind_cpu_input(name, value)
    for name, value in zip(names, want, strict=True):
        buffer = None
        if is_bindable(value):
            buffer = np.frombuffer(bytearray([POISON]) * value.nbytes, value.dtype).reshape(value.shape)
            binding.bind_output(name, "cpu", 0, onnx_type(value), value.shape, buffer.ctypes.data)
        else:
            binding.bind_output(name)
        buffers.append(buffer)
    for _ in range(2):                                      # the second run finds the plan of the first
        session.run_with_iobinding(binding)
    if all(b is not None for b in buffers):
        return buffers
    values = [value.numpy() if value.is_tensor() else None for value in binding.get_outputs()]
    return [value if b is None else b for b, value in zip(buffers, values, strict=True)]


def may_be_bound(feeds, want):
    tensors = all(isinstance(v, np.ndarray) and v.dtype.kind != "O" for v in feeds.values())
    return tensors and all(isinstance(v, np.ndarray) for v in want)


def peer_outputs(case: Case, want):
    """What onnxruntime computes, or None where it cannot be asked: other types than numpy's own, operators that it lacks."""
    arrays = [a for v in [*case.inputs, *want] if v is not None for a in flatten(v.value if isinstance(v, Opt) else v) if a is not None]
    foreign = any(a.dtype.kind == "V" for a in arrays)      # ml_dtypes' types
    if peer is None or MODULE == peer.__name__ or case.peer is not True or foreign:
        return None
    model, feeds, names = build(case, want, Shapes.FIXED)
    try:
        return load(peer, model, "ORT_DISABLE_ALL", "cpu").run(names, feeds)
    except Exception:                                       # not implemented there, or a newer opset than it knows
        return None


def wanted_outputs(case: Case):
    if case.check or case.error or case.expect is PEER:
        wanted = [np.zeros(0, np.float32)] * (case.outputs or len(case.output_types or "1"))   # types and number only
    else:
        wanted = case.expected()
    if case.expect is PEER and (wanted := peer_outputs(case, wanted)) is None:
        pytest.skip("this row needs onnxruntime")
    return wanted


def check_error(case: Case, device):
    """What only a kernel sees, the contents of a tensor on the device, is told in words that are not the CPU's."""
    pattern = case.error if device == "cpu" else f"{case.error}|found by a kernel"
    for shapes, level in LOADS:
        if shapes is Shapes.CONSTANT and not has_constants(case):
            continue
        model, feeds, names = build(case, wanted_outputs(case), shapes)
        with pytest.raises(Exception, match=pattern):
            load(engine, model, level, device).run(names, feeds)


def runs_on_cuda(session):
    return any(node.provider == CUDA for node in session.explain())


def check_results(case: Case, device):
    want = wanted_outputs(case)
    asked = [w for w in want if w is not None]
    for shapes, level in LOADS:
        if shapes is Shapes.CONSTANT and not has_constants(case):
            continue
        model, feeds, names = build(case, want, shapes)
        session, where = load(engine, model, level, device), f"{shapes.value}, {level}"
        if device == "cuda" and not runs_on_cuda(session):
            continue
        got = session.run(names, feeds)
        if case.check:
            case.check(got, case.inputs)
            continue
        assert_equal(case, got, asked, f"{where}, run", LOOSER[device])
        if may_be_bound(feeds, asked):
            assert_equal(case, run_bound(session, feeds, names, asked), asked, f"{where}, bound", LOOSER[device])
            if device == "cuda":
                assert_equal(case, run_on_device(session, feeds, names), asked, f"{where}, bound on the device", LOOSER[device])
    if not case.check and case.expect is not PEER and (reference := peer_outputs(case, want)) is not None:
        assert_equal(case, reference, asked, "onnxruntime disagrees with the expectation (if it is wrong, say so in the row's peer=)")


CASES = load_cases()


def needs_a_kernel(case: Case):
    """Whether this case is one for the device: some node of its model runs there."""
    model, _, _ = build(case, wanted_outputs(case), Shapes.FIXED)
    try:
        return runs_on_cuda(load(engine, model, "ORT_DISABLE_ALL", "cuda"))
    except Exception:
        return bool(case.error)


@pytest.mark.parametrize("device", PROVIDERS)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_case(case, device):
    if device == "cuda" and not needs_a_kernel(case):
        pytest.skip("no kernel on the device")
    (check_error if case.error else check_results)(case, device)
