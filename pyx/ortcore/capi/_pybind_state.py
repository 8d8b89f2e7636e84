"""The same names as onnxruntime_pybind11_state."""
from ortcore.capi.onnxruntime_pybind11_state import *  # noqa: F403
