"""The Python classes of the inference API, at onnxruntime's place."""

from ortcore import IOBinding, InferenceSession, OrtDevice, OrtValue, SparseTensor
from ortcore.capi import _pybind_state as C  # noqa: N812

__all__ = ["C", "IOBinding", "InferenceSession", "OrtDevice", "OrtValue", "SparseTensor"]
