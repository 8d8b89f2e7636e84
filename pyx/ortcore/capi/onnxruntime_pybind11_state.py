"""The native names that programs import from onnxruntime.capi.onnxruntime_pybind11_state: exception classes, types, enumerations, functions."""

from typing import TYPE_CHECKING, Any

from ortcore import (
    copy_tensors,
    get_all_providers,
    get_available_providers,
    get_build_info,
    get_device,
    get_ep_devices,
    get_version_string,
    has_collective_ops,
    register_execution_provider_library,
    set_default_logger_callback,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_seed,
    unregister_execution_provider_library,
)
from ortcore._device import OrtArenaCfg, OrtDevice, OrtMemoryInfo, create_and_register_allocator, create_and_register_allocator_v2
from ortcore._enums import (
    ArenaExtendStrategy,
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    OrtAllocatorType,
    OrtCompileApiFlags,
    OrtDeviceMemoryType,
    OrtExecutionProviderDevicePolicy,
    OrtHardwareDeviceType,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
)
from ortcore._exceptions import BY_NAME
from ortcore._hardware import OrtEpDevice, OrtHardwareDevice, get_hardware_devices
from ortcore._inference import ModelMetadata, NodeArg
from ortcore._options import RunOptions, SessionOptions
from ortcore._ortvalue import OrtValueVector
from ortcore._session import NativeBinding as SessionIOBinding
from ortcore._session import NativeSession as InferenceSession
from ortcore._value import Value as OrtValue
from ortcore._value import Value as SparseTensor

kNextPowerOfTwo = ArenaExtendStrategy.kNextPowerOfTwo  # type: ignore[attr-defined]  # noqa: N816
kSameAsRequested = ArenaExtendStrategy.kSameAsRequested  # type: ignore[attr-defined]  # noqa: N816

globals().update(BY_NAME)


def get_default_session_options() -> SessionOptions:
    """Fresh session options."""
    return SessionOptions()


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


__all__ = [name for name in globals() if not name.startswith("_") and name not in ("TYPE_CHECKING", "Any", "BY_NAME")]
