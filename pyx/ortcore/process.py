"""Functions about the whole process that need no more than Python."""
from __future__ import annotations

import importlib
import os
import platform
import sys

from ortcore._errors import make_error
from ortcore._process import get_available_providers, get_build_info, get_version_string, set_thread_budget
from ortcore.cuda import is_available, use_libraries

_PROVIDERS = ("Tensorrt CUDA MIGraphX OpenVINO Dnnl VitisAI QNN Nnapi VSINPU Js CoreML Dml Rknpu WebNN WebGpu Xnnpack CANN Azure CPU").split()
_MODULES = ("", ".capi", ".capi._pybind_state", ".capi.onnxruntime_pybind11_state", ".capi.onnxruntime_inference_collection")
_pool_sizes_set = False


def get_all_providers() -> list[str]:
    """The names of providers that onnxruntime knows, in its order of priority, whether they exist here or not."""
    return [f"{name}ExecutionProvider" for name in _PROVIDERS]


def get_device() -> str:
    """'GPU' if the CUDA provider can run here, otherwise 'CPU'."""
    return "GPU" if "CUDAExecutionProvider" in get_available_providers() else "CPU"


def set_global_thread_pool_sizes(intra_op_num_threads: int = 0, inter_op_num_threads: int = 0) -> None:
    """Sets the number of threads that all runs of the process share; once only. Sessions need no other options for it."""
    global _pool_sizes_set
    if _pool_sizes_set:
        raise make_error(1, "the sizes of the global thread pools were set already; set_thread_budget() may be called again and again")
    set_thread_budget(max(intra_op_num_threads, 0))
    _pool_sizes_set = True


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Says where cuBLAS and cuDNN are: in `directory`, or where the `cuda` extra puts them (`''` as well).

    They are opened when first needed. Without CUDA this does nothing.
    """
    if not (cuda or cudnn) or not is_available():
        return
    if directory and not os.path.isdir(directory):
        raise RuntimeError(f"preload_dlls: there is no directory '{directory}'")
    use_libraries([directory] if directory else None)


def install_as_onnxruntime() -> None:
    """From here on `import onnxruntime`, and what programs import from onnxruntime.capi, gives ortcore.

    Raises ImportError if the real onnxruntime was imported already: names taken from it would be mixed with ours.
    """
    present = sys.modules.get("onnxruntime")
    if present is not None and present is not sys.modules["ortcore"]:
        raise ImportError("onnxruntime is imported already; call install_as_onnxruntime() before the first import of it")
    for name in _MODULES:
        sys.modules["onnxruntime" + name] = importlib.import_module("ortcore" + name)


def print_debug_info() -> None:
    """Prints what a bug report should tell."""
    print(f"ortcore version: {get_version_string()}")
    print(f"build: {get_build_info()}")
    print(f"providers: {', '.join(get_available_providers())}")
    print(f"Python: {sys.version.split()[0]}, {platform.platform()}")


def enable_telemetry_events() -> None:
    """Accepted for compatibility: there is no telemetry."""


def disable_telemetry_events() -> None:
    """Accepted for compatibility: there is no telemetry."""


def has_collective_ops() -> bool:
    """False: there are none."""
    return False
