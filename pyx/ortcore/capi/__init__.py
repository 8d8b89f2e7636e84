"""Where onnxruntime keeps its native names."""
