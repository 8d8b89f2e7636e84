"""SessionOptions, RunOptions, enumerations, OrtDevice, OrtMemoryInfo, OrtArenaCfg."""
import copy

import numpy as np
import pytest

import ortcore as ort
from ortcore.capi import onnxruntime_pybind11_state as state

from . import models

A = np.ones((3, 2), np.float32)

DEFAULTS = {
    "enable_cpu_mem_arena": True, "enable_mem_pattern": True, "enable_mem_reuse": True, "enable_profiling": False,
    "execution_mode": ort.ExecutionMode.ORT_SEQUENTIAL, "execution_order": ort.ExecutionOrder.DEFAULT,
    "graph_optimization_level": ort.GraphOptimizationLevel.ORT_ENABLE_ALL, "inter_op_num_threads": 0, "intra_op_num_threads": 0,
    "log_severity_level": -1, "log_verbosity_level": 0, "logid": "", "optimized_model_filepath": "", "profile_file_prefix": "onnxruntime_profile_",
    "use_deterministic_compute": False, "use_per_session_threads": True,
}


@pytest.mark.parametrize("name, default", DEFAULTS.items())
def test_defaults(name, default):
    value = getattr(ort.SessionOptions(), name)
    assert value == default and type(value) is type(default)


@pytest.mark.parametrize("name, value, read", [
    ("enable_mem_reuse", 0, False), ("enable_profiling", np.bool_(True), True), ("enable_mem_pattern", None, False), ("intra_op_num_threads", 3, 3),
    ("inter_op_num_threads", -1, -1), ("log_severity_level", 4, 4), ("logid", "me", "me"), ("logid", b"me", "me"),
    ("execution_mode", ort.ExecutionMode.ORT_PARALLEL, ort.ExecutionMode.ORT_PARALLEL),
    ("graph_optimization_level", ort.GraphOptimizationLevel.ORT_ENABLE_BASIC, ort.GraphOptimizationLevel.ORT_ENABLE_BASIC),
])
def test_settings_are_read_back(name, value, read):
    options = ort.SessionOptions()
    setattr(options, name, value)
    assert getattr(options, name) == read and type(getattr(options, name)) is type(read)


@pytest.mark.parametrize("name, value", [("enable_mem_reuse", "yes"), ("intra_op_num_threads", "1"), ("intra_op_num_threads", 1.5), ("logid", 5),
                                         ("execution_mode", 1), ("graph_optimization_level", ort.ExecutionMode.ORT_PARALLEL)])
def test_settings_of_the_wrong_type(name, value):
    with pytest.raises(TypeError, match=name):
        setattr(ort.SessionOptions(), name, value)


BAD_SETTINGS = {
    "intra_op_num_threads": ("-2", "1025", "4294967296", "two", "", " 2", "1.5", "9" * 30), "inter_op_num_threads": ("-2", "1025", "x"),
    "graph_optimization_level": ("4", "-1", "98", "all"), "execution_mode": ("2",), "enable_cpu_mem_arena": ("2", "true"), "enable_profiling": ("yes",),
    "use_deterministic_compute": ("-1",), "log_severity_level": ("5", "9", "-2"), "log_verbosity_level": ("4294967296",),
    "session.use_env_allocators": ("true", "2", ""), "session.record_ep_graph_assignment_info": ("yes",),
    "optimization.constant_folding_max_output_size_in_bytes": ("-1", "1k"),
}
BAD_RUN_SETTINGS = {
    "stage_outputs": ("yes", "true", "2", ""), "disable_synchronize_execution_providers": ("true", "2"), "only_execute_path_to_fetches": ("x",),
    "gpu_graph_id": ("one", "", "4294967296"), "log_severity_level": ("5", "-2", "x"),
}


@pytest.mark.parametrize("made, known", [(ort.SessionOptions, BAD_SETTINGS), (ort.RunOptions, BAD_RUN_SETTINGS)])
def test_values_that_are_none_of_a_known_setting(made, known):
    for key, values in known.items():
        for value in values:
            with pytest.raises(ValueError, match=f"'{key}' is '{value}'; it must be ") as caught:
                made()._set(key, value)
            assert isinstance(caught.value, state.InvalidArgument)


def test_a_refused_setting_stays_as_it_was():
    options, run_options = ort.SessionOptions(), ort.RunOptions()
    options.intra_op_num_threads = 3
    for name, value in (("intra_op_num_threads", -3), ("log_severity_level", 9), ("graph_optimization_level", ort.GraphOptimizationLevel(5))):
        with pytest.raises(ValueError, match=name):
            setattr(options, name, value)
    with pytest.raises(ValueError, match="log_severity_level"):
        run_options.log_severity_level = 9
    assert (options.intra_op_num_threads, options.log_severity_level, run_options.log_severity_level) == (3, -1, -1)
    assert options.graph_optimization_level == ort.GraphOptimizationLevel.ORT_ENABLE_ALL


def test_unknown_attributes():
    for options in (ort.SessionOptions(), ort.RunOptions()):
        with pytest.raises(AttributeError):
            options.no_such_option = 1
    with pytest.raises(TypeError):
        copy.copy(ort.SessionOptions())


@pytest.mark.parametrize("options, add, get", [(ort.SessionOptions, "add_session_config_entry", "get_session_config_entry"),
                                               (ort.RunOptions, "add_run_config_entry", "get_run_config_entry")])
def test_config_entries(options, add, get):
    options = options()
    add, get = getattr(options, add), getattr(options, get)
    add("some.key", "1")
    add("some.key", "2")
    assert get("some.key") == "2"
    with pytest.raises(RuntimeError, match="other.key"):
        get("other.key")
    for key, value in (("", "1"), ("k" * 1025, "1"), ("k", "v" * 8193)):
        with pytest.raises(RuntimeError, match="bytes"):
            add(key, value)
    for key, value in ((None, "1"), ("k", None), (5, "1"), ("k", 1)):
        with pytest.raises(TypeError):
            add(key, value)
    add("k" * 1024, "v" * 8192)


def test_run_options():
    options = ort.RunOptions()
    assert (options.log_severity_level, options.log_verbosity_level, options.logid, options.terminate, options.only_execute_path_to_fetches) == (
        -1, 0, "", False, False)
    options.logid, options.only_execute_path_to_fetches = "run", True
    assert options.logid == "run" and options.only_execute_path_to_fetches is True
    with pytest.raises(NotImplementedError, match="LoRA"):
        options.add_active_adapter(None)


def test_what_is_not_supported_says_so():
    options = ort.SessionOptions()
    for refused in (lambda: options.register_custom_ops_library("x.so"), lambda: options.set_provider_selection_policy_delegate(print),
                    lambda: ort.LoraAdapter(), lambda: ort.AdapterFormat.read_adapter("x"), lambda: ort.ModelCompiler(options, b"")):
        with pytest.raises(NotImplementedError):
            refused()


def test_providers_of_options():
    options = ort.SessionOptions()
    assert not options.has_providers()
    options.add_provider("CPUExecutionProvider", {})
    assert options.has_providers()
    with pytest.warns(UserWarning, match="own are used"):
        ort.InferenceSession(models.add(), options, providers=["CPUExecutionProvider"])
    with pytest.raises(RuntimeError):
        options.add_provider("FooExecutionProvider", {})
    with pytest.raises(RuntimeError):
        options.add_provider_for_devices([], {})
    options.add_provider_for_devices(ort.get_ep_devices(), {})
    options.set_provider_selection_policy(ort.OrtExecutionProviderDevicePolicy.PREFER_CPU)


# ---- Enumerations

def test_members_behave_like_their_number_but_have_no_order():
    level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    assert level == 99 and int(level) == 99 and hash(level) == hash(99) and level != ort.ExecutionMode.ORT_SEQUENTIAL
    assert ort.ExecutionMode.ORT_SEQUENTIAL != ort.ExecutionOrder.DEFAULT and level in {99}
    assert repr(level) == "<GraphOptimizationLevel.ORT_ENABLE_ALL: 99>" and str(level) == "GraphOptimizationLevel.ORT_ENABLE_ALL"
    assert (level.name, level.value) == ("ORT_ENABLE_ALL", 99) and ort.GraphOptimizationLevel(99) is level
    assert ort.GraphOptimizationLevel(5).name == "???" and ort.GraphOptimizationLevel(5) == 5
    assert ort.OrtMemType.__members__["CPU"] == -1 and ort.OrtMemType.CPU is ort.OrtMemType.CPU_OUTPUT
    with pytest.raises(TypeError):
        level < level  # noqa: B015
    flags = ort.OrtCompileApiFlags
    assert flags.ERROR_IF_NO_NODES_COMPILED | flags.ERROR_IF_OUTPUT_FILE_EXISTS == 3
    assert ort.OrtDeviceVendorId.NVIDIA == 0x10DE and state.kSameAsRequested == 1


# ---- Devices and memory

@pytest.mark.parametrize("name, kind, vendor", [("cpu", 0, 0), ("cuda", 1, 0x10DE), ("gpu", 1, 0), ("dml", 1, 0x1414), ("webgpu", 1, 0), ("npu", 3, 0),
                                                ("cann", 3, 0x19E5)])
def test_devices(name, kind, vendor):
    device = ort.OrtDevice.make(name, 3)
    assert (device.device_type(), device.device_id(), device.device_mem_type(), device.device_vendor_id()) == (kind, 3, 0, vendor)
    assert ort.OrtDevice.make(name, 0, 5).device_vendor_id() == 5 and ort.OrtDevice.make(name, 0, -5).device_vendor_id() == vendor


def test_bad_devices():
    for name in ("CPU", "rocm", "cuda:0", ""):
        with pytest.raises(RuntimeError, match="Unsupported device"):
            ort.OrtDevice.make(name, 0)
    for name, number in ((None, 0), ("cpu", 32768), ("cpu", 1.5), ("cpu", "0"), ("cpu", None)):
        with pytest.raises(TypeError):
            ort.OrtDevice.make(name, number)
    with pytest.raises(ValueError):
        ort.OrtDevice(5)
    assert ort.OrtDevice(1, 0, 0x10DE, 2).device_id() == 2 and ort.OrtDevice(0, 0, 0).device_type() == 0 and ort.OrtDevice.cuda() == 1


def test_memory_infos():
    kinds = ort.OrtAllocatorType, ort.OrtMemType
    info = ort.OrtMemoryInfo("CudaPinned", kinds[0].ORT_ARENA_ALLOCATOR, 0, kinds[1].DEFAULT)
    assert (info.name, info.device_mem_type, info.device_vendor_id) == ("CudaPinned", ort.OrtDeviceMemoryType.HOST_ACCESSIBLE, 0x10DE)
    for name in ("cpu", "CUDA", "Foo", ""):
        with pytest.raises(RuntimeError):
            ort.OrtMemoryInfo(name, kinds[0].ORT_ARENA_ALLOCATOR, 0, kinds[1].DEFAULT)
    for arguments in (("Cpu", 0, 0, 0), ("Cpu",), (None, kinds[0].ORT_ARENA_ALLOCATOR, 0, kinds[1].DEFAULT)):
        with pytest.raises(TypeError):
            ort.OrtMemoryInfo(*arguments)
    with pytest.raises(AttributeError):
        info.name = "other"
    gpu = ort.OrtMemoryInfo.create_v2("G", ort.OrtMemoryInfoDeviceType.GPU, 0x10DE, 1, ort.OrtDeviceMemoryType.HOST_ACCESSIBLE, 16,
                                      kinds[0].ORT_ARENA_ALLOCATOR)
    assert (gpu.name, gpu.device_id, gpu.mem_type, gpu.device_vendor_id) == ("G", 1, ort.OrtMemType.CPU_OUTPUT, 0x10DE)


def test_arena_configurations():
    config = ort.OrtArenaCfg({"max_mem": 100, "initial_growth_chunk_size_bytes": 7})
    assert (config.max_mem, config.initial_growth_chunk_size_bytes, config.arena_extend_strategy) == (100, 7, -1)
    config.max_mem = 5
    assert config.max_mem == 5 and ort.OrtArenaCfg(1, 0, 2, 3).max_dead_bytes_per_chunk == 3
    with pytest.raises(RuntimeError, match="bogus"):
        ort.OrtArenaCfg({"bogus": 1})
    for arguments in ((), (1, 2, 3), ({"max_mem": "x"},)):
        with pytest.raises(TypeError):
            ort.OrtArenaCfg(*arguments)


def test_a_registered_arena_has_its_limit(cpu_session):
    info = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    options = ort.SessionOptions()
    options.add_session_config_entry("session.use_env_allocators", "1")
    ort.create_and_register_allocator(info, ort.OrtArenaCfg(1000, -1, -1, -1))
    big = np.zeros((10000, 2), np.float32)
    try:
        with pytest.raises(RuntimeError):
            cpu_session(models.add(), sess_options=options).run(None, {"a": big, "b": big})
    finally:
        ort.create_and_register_allocator_v2("CPUExecutionProvider", info, {}, ort.OrtArenaCfg(0, -1, -1, -1))
    assert cpu_session(models.add(), sess_options=options).run(None, {"a": big, "b": big})[0].shape == (10000, 2)
    for name in ("CUDAExecutionProvider", "Foo"):
        with pytest.raises(RuntimeError):
            ort.create_and_register_allocator_v2(name, info, {}, None)
    with pytest.raises(TypeError):
        ort.create_and_register_allocator(None, None)


def test_memory_is_reused_unless_that_is_off():
    x, planned, results = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32) / 8, {}, {}
    for reuse in True, False:
        options = ort.SessionOptions()
        options.enable_mem_reuse = reuse
        session = ort.InferenceSession(models.matmul_chain(12), options)
        results[reuse] = session.run(None, {"x": x})[0]
        planned[reuse] = session.stats()["latest"]["planned_bytes"]
    assert planned[True] < 4 * x.nbytes and planned[False] >= 11 * x.nbytes
    assert np.array_equal(results[True], results[False])
