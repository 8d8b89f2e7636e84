"""Names of onnxruntime's API whose features ortcore does not have. Making one raises NotImplemented and says what to do instead."""
from __future__ import annotations

from typing import Any, NoReturn

from ortcore._errors import make_error


class LoraAdapter:
    """Parameters of a LoRA adapter."""

    def __init__(self) -> None:
        raise make_error(9, "LoRA adapters are not supported; feed their parameters as inputs")

    def Load(self, path: str) -> NoReturn:  # noqa: N802
        """Not supported."""
        raise NotImplementedError


class AdapterFormat:
    """File of a LoRA adapter."""

    def __init__(self, adapter: object = None) -> None:
        raise make_error(9, "LoRA adapters are not supported; feed their parameters as inputs")

    @staticmethod
    def read_adapter(file_path: str) -> AdapterFormat:
        """Not supported."""
        return AdapterFormat()


class ModelCompiler:
    """Compiles a model for a provider ahead of time."""

    def __init__(self, sess_options: object, input_model_path_or_bytes: object, *args: Any, **kwargs: Any) -> None:
        raise make_error(9, "models are not compiled ahead of time; InferenceSession loads them directly, and SessionOptions.optimized_model_filepath "
                            "saves what it made of one")
