"""The modules of onnxruntime.capi from which programs import."""
