"""The classes of onnxruntime's Python layer."""
from ortcore import (
    AdapterFormat,
    InferenceSession,
    IOBinding,
    ModelCompiler,
    OrtDevice,
    OrtDeviceVendorId,
    OrtValue,
    SparseTensor,
    copy_tensors,
)
from ortcore._inference import SessionBase as Session

__all__ = ["AdapterFormat", "IOBinding", "InferenceSession", "ModelCompiler", "OrtDevice", "OrtDeviceVendorId", "OrtValue", "Session", "SparseTensor",
           "copy_tensors"]
