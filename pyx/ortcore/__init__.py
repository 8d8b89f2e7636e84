"""Inference of ONNX models on memory that the caller owns, with the API of onnxruntime.

    import numpy as np
    import ortcore as ort

    session = ort.InferenceSession("model.onnx")
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)               # an array: read in place by each run
    binding.bind_output("y", y)                  # an array: written in place
    session.run_with_iobinding(binding)

`ortcore.install_as_onnxruntime()` makes `import onnxruntime` give this package.
"""
from ortcore._binding import IOBinding
from ortcore._device import OrtArenaCfg, OrtDevice, OrtMemoryInfo, create_and_register_allocator, create_and_register_allocator_v2
from ortcore._errors import Error
from ortcore._process import (
    get_available_providers,
    get_build_info,
    get_thread_budget,
    get_version_string,
    set_default_logger_callback,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_seed,
    set_thread_budget,
)
from ortcore._stream import OrtSyncStream
from ortcore._value import OrtValue, copy_tensors
from ortcore.binding import SessionIOBinding
from ortcore.devices import (
    OrtEpDevice,
    OrtHardwareDevice,
    get_ep_devices,
    register_execution_provider_library,
    unregister_execution_provider_library,
)
from ortcore.enums import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    OrtAllocatorType,
    OrtCompileApiFlags,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtExecutionProviderDevicePolicy,
    OrtHardwareDeviceType,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
)
from ortcore.metadata import ModelMetadata, NodeArg, OrtEpAssignedNode, OrtEpAssignedSubgraph, OrtExternalInitializerInfo
from ortcore.options import RunOptions, SessionOptions
from ortcore.process import (
    disable_telemetry_events,
    enable_telemetry_events,
    get_all_providers,
    get_device,
    has_collective_ops,
    install_as_onnxruntime,
    preload_dlls,
    print_debug_info,
    set_global_thread_pool_sizes,
)
from ortcore.session import InferenceSession
from ortcore.sparse import SparseTensor
from ortcore.unsupported import AdapterFormat, LoraAdapter, ModelCompiler

__version__ = version = get_version_string()
package_name = "ortcore"
cuda_version = ""

__all__ = [
    "AdapterFormat", "Error", "ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "IOBinding", "InferenceSession", "LoraAdapter",
    "ModelCompiler", "ModelMetadata", "NodeArg", "OrtAllocatorType", "OrtArenaCfg", "OrtCompileApiFlags", "OrtDevice", "OrtDeviceMemoryType",
    "OrtDeviceVendorId", "OrtEpAssignedNode", "OrtEpAssignedSubgraph", "OrtEpDevice", "OrtExecutionProviderDevicePolicy",
    "OrtExternalInitializerInfo", "OrtHardwareDevice", "OrtHardwareDeviceType", "OrtMemType", "OrtMemoryInfo", "OrtMemoryInfoDeviceType",
    "OrtSparseFormat", "OrtSyncStream", "OrtValue", "RunOptions", "SessionIOBinding", "SessionOptions", "SparseTensor", "copy_tensors",
    "create_and_register_allocator", "create_and_register_allocator_v2", "cuda_version", "disable_telemetry_events", "enable_telemetry_events",
    "get_all_providers", "get_available_providers", "get_build_info", "get_device", "get_ep_devices", "get_thread_budget", "get_version_string",
    "has_collective_ops", "install_as_onnxruntime", "package_name", "preload_dlls", "print_debug_info", "register_execution_provider_library",
    "set_default_logger_callback", "set_default_logger_severity", "set_default_logger_verbosity", "set_global_thread_pool_sizes", "set_seed",
    "set_thread_budget", "unregister_execution_provider_library", "version",
]

# Last, since they import from here: programs write `ort.capi.onnxruntime_pybind11_state.Fail` without importing it.
import ortcore.capi._pybind_state  # noqa: E402
import ortcore.capi.onnxruntime_pybind11_state  # noqa: E402
import ortcore.cuda  # noqa: E402, F401
