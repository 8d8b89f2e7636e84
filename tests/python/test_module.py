"""Functions of the module, and the package in the place of onnxruntime."""
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import ortcore as ort
from ortcore.capi import onnxruntime_inference_collection as collection
from ortcore.capi import onnxruntime_pybind11_state as state

from . import models


def python(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120, **options)


def test_versions():
    assert ort.__version__ == ort.version == ort.get_version_string() and re.fullmatch(r"\d+\.\d+\.\d+\S*", ort.__version__)
    assert isinstance(ort.get_build_info(), str) and ort.package_name == "ortcore" and isinstance(ort.cuda_version, str)


def test_providers_and_devices():
    available = ort.get_available_providers()
    assert available[-1] == "CPUExecutionProvider" and available is not ort.get_available_providers()
    everything = ort.get_all_providers()
    assert len(everything) == 19 and set(available) <= set(everything)
    assert ort.get_device() == ("GPU" if "CUDAExecutionProvider" in available else "CPU")
    device = ort.get_ep_devices()[0]
    assert device.ep_name == "CPUExecutionProvider" and "version" in device.ep_metadata
    assert device.device.type == ort.OrtHardwareDeviceType.CPU and device.memory_info(ort.OrtDeviceMemoryType.DEFAULT) is None
    with pytest.raises(RuntimeError, match="stream"):
        device.create_sync_stream()
    for call in (lambda: ort.register_execution_provider_library("x", "x.so"), lambda: ort.unregister_execution_provider_library("x")):
        with pytest.raises(state.Fail):
            call()
    assert isinstance(state.get_default_session_options(), ort.SessionOptions) and state.get_hardware_devices()


def test_functions_without_effect(capsys):
    assert ort.preload_dlls(directory="/nowhere") is None and ort.has_collective_ops() is False
    assert ort.enable_telemetry_events() is None and ort.disable_telemetry_events() is None
    ort.print_debug_info()
    assert capsys.readouterr().out.startswith(f"ortcore version: {ort.__version__}\n")


def test_logging():
    messages = []
    ort.set_default_logger_callback(lambda *message: messages.append(message), 2)
    try:
        ort.set_default_logger_severity(2)
        session = ort.InferenceSession(models.add())
        session.io_binding().bind_output("c", "cuda")
    finally:
        ort.set_default_logger_callback(None)
    severity, category, logid, location, text = messages[-1]
    assert severity == 2 and "cuda" in text.lower() and all(isinstance(part, str) for part in (category, logid, location))
    for callback, least in ((5, 2), (print, 5), (print, -1)):
        with pytest.raises(RuntimeError):
            ort.set_default_logger_callback(callback, least)
    for bad in (5, -1):
        with pytest.raises(RuntimeError):
            ort.set_default_logger_severity(bad)
    for bad in ("1", 1.5, None):
        with pytest.raises(TypeError):
            ort.set_default_logger_severity(bad)
    ort.set_default_logger_verbosity(3)


def test_seed():
    from onnx import TensorProto as P
    from onnx import helper as h

    model = models.model([h.make_node("RandomNormal", [], ["y"], shape=[4])], [], [models.value("y", P.FLOAT, [4])])
    results = []
    for _ in range(2):
        ort.set_seed(42)
        results.append(ort.InferenceSession(model).run(None, {})[0].tolist())
    assert results[0] == results[1]
    # Dropout draws from the same source: its own seed, if it has one, decides; each run goes on where the last one ended.
    inputs, outputs = [models.value("x", P.FLOAT, [64]), models.value("yes", P.BOOL, [])], [models.value("y", P.FLOAT, [64])]
    dropout = lambda **seed: models.model([h.make_node("Dropout", ["x", "", "yes"], ["y"], **seed)], inputs, outputs)
    drop = lambda s: s.run(None, {"x": np.ones(64, np.float32), "yes": np.array(True)})[0].tolist()
    ort.set_seed(1)
    first, same, other = (ort.InferenceSession(dropout(seed=n)) for n in (7, 7, 8))
    a, b = drop(first), drop(first)
    assert drop(same) == a != b == drop(same) and drop(other) not in (a, b)
    unseeded = []
    for seed in (42, 42, 43):
        ort.set_seed(seed)
        unseeded.append(drop(ort.InferenceSession(dropout())))
    assert unseeded[0] == unseeded[1] != unseeded[2]
    for bad in ("1", 1.5, None):
        with pytest.raises(TypeError):
            ort.set_seed(bad)
    with pytest.raises(ValueError, match="seed is 18446744073709551616"):
        ort.set_seed(2**64)


def test_threads():
    budget = ort.get_thread_budget()
    assert budget >= 1
    code = """
        import ortcore as ort
        ort.set_global_thread_pool_sizes(3, 1)
        assert ort.get_thread_budget() == 3
        try:
            ort.set_global_thread_pool_sizes(2, 1)
        except RuntimeError as error:
            assert "already" in str(error)
        else:
            raise SystemExit("a second call was accepted")
        ort.set_thread_budget(2)
        assert ort.get_thread_budget() == 2
    """
    done = python("-c", textwrap.dedent(code) + f"ort.InferenceSession({models.add()!r})\n")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["InferenceSession", "SessionIOBinding", "OrtValue", "OrtDevice", "OrtValueVector", "SparseTensor", "OrtMemoryInfo",
                                  "SessionOptions", "RunOptions", "NodeArg", "ModelMetadata", "OrtArenaCfg", "GraphOptimizationLevel", "copy_tensors",
                                  "get_available_providers", "set_default_logger_severity", "get_all_providers", "get_device", "DeviceReset"])
def test_native_names(name):
    assert hasattr(state, name)


def test_python_layers_names():
    for name in ("InferenceSession", "IOBinding", "OrtValue", "OrtDevice", "SparseTensor", "Session"):
        assert hasattr(collection, name)
    assert issubclass(ort.InferenceSession, collection.Session)


PROGRAM = f"""
import sys
import numpy as np
import onnxruntime as rt
from onnxruntime import InferenceSession
from onnxruntime.capi import _pybind_state as C
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument, OrtValueVector
from onnxruntime.capi.onnxruntime_inference_collection import IOBinding, OrtValue
session = InferenceSession({models.add()!r}, providers=["CPUExecutionProvider"])
x = np.ones((3, 2), np.float32)
assert session.run(None, {{"a": x, "b": x}})[0].tolist() == (x + x).tolist()
assert isinstance(session.io_binding(), IOBinding) and rt.OrtValue is OrtValue and rt.package_name == "ortcore"
print(__name__, sys.argv[1:])
"""


def test_programs_for_onnxruntime(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = python("-m", "ortcore.as_onnxruntime", str(program), "one", "--two")
    assert done.returncode == 0 and done.stdout == "__main__ ['one', '--two']\n" and not done.stderr, done.stderr
    done = python("-m", "ortcore.as_onnxruntime", "-m", "program", "one", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "__main__ ['one']\n" and not done.stderr, done.stderr
    assert python("-m", "ortcore.as_onnxruntime").returncode != 0
    done = python("-c", "import ortcore; ortcore.install_as_onnxruntime(); ortcore.install_as_onnxruntime(); import onnxruntime; print(onnxruntime is ortcore)")
    assert done.stdout == "True\n", done.stderr
    done = python("-c", "import sys, types; sys.modules['onnxruntime'] = types.ModuleType('x'); import ortcore; ortcore.install_as_onnxruntime()")
    assert "imported already" in done.stderr


def test_flags_for_programs_in_c():
    done = python("-m", "ortcore", "--cflags", "--libs")
    assert done.returncode == 0 and "-lortcore" in done.stdout and "-Wl,-rpath," in done.stdout and "-I" in done.stdout, done.stderr


def test_sparse_tensors():
    cpu = ort.OrtDevice.make("cpu", 0)
    values = np.array([1, 2, 3], np.float32)
    sparse = ort.SparseTensor.sparse_coo_from_numpy([3, 3], values, np.array([1, 4, 8], np.int32), cpu)
    values[0] = 9
    assert sparse.values().tolist() == [9, 2, 3] and not sparse.values().flags.writeable
    assert (sparse.dense_shape(), sparse.format(), sparse.data_type(), sparse.device_name()) == (
        [3, 3], ort.OrtSparseFormat.ORT_SPARSE_COO, "sparse_tensor(float)", "cpu")
    assert sparse.as_coo_view().indices().tolist() == [1, 4, 8]
    for wrong in (sparse.as_csrc_view, sparse.as_blocksparse_view, lambda: sparse.to_cuda(ort.OrtDevice.make("cuda", 0))):
        with pytest.raises(RuntimeError):
            wrong()
    rows = ort.SparseTensor.sparse_csr_from_numpy([3, 3], values[:2], np.array([1, 2]), np.array([0, 1, 1, 2]), cpu)
    assert rows.as_csrc_view().inner().tolist() == [1, 2] and rows.as_csrc_view().outer().tolist() == [0, 1, 1, 2]
    value = ort.OrtValue.ort_value_from_sparse_tensor(sparse)
    assert value.is_sparse_tensor() and value.shape() == [3, 3] and value.as_sparse_tensor().values().tolist() == [9, 2, 3]
    with pytest.raises(RuntimeError):
        value.numpy()
    with pytest.raises(RuntimeError):
        ort.OrtValue.ortvalue_from_numpy(values).as_sparse_tensor()
    for shape, v, i, device in (([3, 3], values[:2], [1, 4, 8], cpu), ([3, 3], values, [1, 4, 99], cpu), ([3, 3], values.reshape(3, 1), [1, 4, 8], cpu),
                                ([3, 3], values, [1, 4, 8], ort.OrtDevice.make("cuda", 0))):
        with pytest.raises(RuntimeError):
            ort.SparseTensor.sparse_coo_from_numpy(shape, v, np.array(i), device)
