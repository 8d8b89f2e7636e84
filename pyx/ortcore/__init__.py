"""ortcore: inference of ONNX models on memory that the caller owns.

`import ortcore as ort` serves programs written for onnxruntime's inference API: sessions, bindings, OrtValues, options, enumerations.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ortcore import _session
from ortcore._device import OrtArenaCfg, OrtDevice, OrtMemoryInfo, create_and_register_allocator, create_and_register_allocator_v2
from ortcore._enums import (
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
from ortcore._hardware import (
    OrtEpDevice,
    OrtHardwareDevice,
    get_ep_devices,
    register_execution_provider_library,
    unregister_execution_provider_library,
)
from ortcore._inference import InferenceSession, IOBinding, ModelMetadata, NodeArg, copy_tensors, get_all_providers, get_available_providers
from ortcore._options import RunOptions, SessionOptions
from ortcore._ortvalue import OrtValue, SparseTensor

__version__: str = _session.version()
version = __version__
package_name = "ortcore"
cuda_version = ""


def get_version_string() -> str:
    """The version of the engine, as `__version__`."""
    return _session.version()  # type: ignore[no-any-return]


def get_build_info() -> str:
    """One line on how the engine was built."""
    return _session.build_info()  # type: ignore[no-any-return]


def get_device() -> str:
    """'GPU' if a provider for one can be used here, else 'CPU'."""
    return "GPU" if any(name.startswith("CUDA") for name in get_available_providers()) else "CPU"


def set_seed(seed: int) -> None:
    """Seed of random operators, for sessions that are made later. 64-bit signed."""
    if not isinstance(seed, int) or not -(2**63) <= seed < 2**63:
        raise TypeError(f"the seed must be a 64-bit integer, not {seed!r}")
    _session.set_seed(seed)


def set_default_logger_severity(severity: int) -> None:
    """0 verbose, 1 info, 2 warning (the default), 3 error, 4 fatal."""
    if not isinstance(severity, int):
        raise TypeError(f"the severity must be an int, not {type(severity).__name__}")
    _session.set_log_severity(severity)


def set_default_logger_verbosity(verbosity: int) -> None:
    """Accepted: there are no levels below verbose."""
    if not isinstance(verbosity, int):
        raise TypeError(f"the verbosity must be an int, not {type(verbosity).__name__}")


def set_default_logger_callback(callback: Callable[[int, str, str, str, str], None] | None, severity: int = 2) -> None:
    """callback(severity, category, logid, location, message) receives log lines instead of stderr; None restores stderr."""
    if callback is not None and not callable(callback):
        raise RuntimeError("the log callback must be callable, or None")
    if not isinstance(severity, int) or not 0 <= severity <= 4:
        raise RuntimeError(f"the severity must lie in 0..4, not {severity!r}")
    _session.set_log_callback(callback)
    _session.set_log_severity(severity)


def set_global_thread_pool_sizes(intra_op_num_threads: int = 0, inter_op_num_threads: int = 0) -> None:
    """Limits the CPU threads that all runs of the process together may use. 0: the cores that the process may use. Sessions need no other option."""
    _session.set_thread_budget(max(int(intra_op_num_threads), 0))


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Accepted: libraries are found when a provider is first used."""


def print_debug_info() -> None:
    """Prints what a bug report needs."""
    import platform

    import numpy

    print(f"{package_name} version: {__version__}")
    print(f"build: {get_build_info()}")
    print(f"python {platform.python_version()}, numpy {numpy.__version__}, {platform.platform()}")
    print(f"available providers: {', '.join(get_available_providers())}")


def enable_telemetry_events() -> None:
    """Accepted: there is no telemetry."""


def disable_telemetry_events() -> None:
    """Accepted: there is no telemetry."""


def has_collective_ops() -> bool:
    return False


def install_as_onnxruntime() -> None:
    """From now on `import onnxruntime`, and `onnxruntime.capi` below it, give ortcore."""
    import ortcore.capi
    import ortcore.capi._pybind_state
    import ortcore.capi.onnxruntime_inference_collection
    import ortcore.capi.onnxruntime_pybind11_state

    for name, module in list(sys.modules.items()):
        if name == "ortcore" or name == "ortcore.capi" or name.startswith("ortcore.capi."):
            sys.modules["onnxruntime" + name.removeprefix("ortcore")] = module


def __getattr__(name: str) -> Any:
    if name in ("LoraAdapter", "AdapterFormat", "ModelCompiler"):
        raise NotImplementedError(f"{name} is not supported by ortcore")
    raise AttributeError(f"module 'ortcore' has no attribute {name!r}")


__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtAllocatorType",
    "OrtArenaCfg",
    "OrtCompileApiFlags",
    "OrtDevice",
    "OrtDeviceMemoryType",
    "OrtDeviceVendorId",
    "OrtEpDevice",
    "OrtExecutionProviderDevicePolicy",
    "OrtHardwareDevice",
    "OrtHardwareDeviceType",
    "OrtMemType",
    "OrtMemoryInfo",
    "OrtMemoryInfoDeviceType",
    "OrtSparseFormat",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "SparseTensor",
    "copy_tensors",
    "create_and_register_allocator",
    "create_and_register_allocator_v2",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_ep_devices",
    "get_version_string",
    "has_collective_ops",
    "install_as_onnxruntime",
    "preload_dlls",
    "print_debug_info",
    "register_execution_provider_library",
    "set_default_logger_callback",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
    "unregister_execution_provider_library",
]
