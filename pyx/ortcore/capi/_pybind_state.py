"""The same names as onnxruntime_pybind11_state, where onnxruntime's own wrappers import them from."""

from ortcore.capi.onnxruntime_pybind11_state import *  # noqa: F403
