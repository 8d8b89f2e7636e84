"""SessionOptions and RunOptions."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ortcore._enums import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from ortcore._session import NativeOptions, NativeRunOptions

KEY_BYTES, VALUE_BYTES = 1024, 8192


def _bool(name: str, value: Any) -> bool:
    if value is None or isinstance(value, (bool, np.bool_)) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{name} must be a bool, not {value!r}")


def _int(name: str, value: Any) -> int:
    if isinstance(value, (int, np.integer)):
        return int(value)
    raise TypeError(f"{name} must be an int, not {type(value).__name__}")


def _str(name: str, value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (str, os.PathLike)):
        return str(value)
    raise TypeError(f"{name} must be a str, not {type(value).__name__}")


def _member(kind: type) -> Any:
    def convert(name: str, value: Any) -> Any:
        if isinstance(value, kind):
            return value
        raise TypeError(f"{name} must be a {kind.__name__}, not {type(value).__name__}")

    return convert


def check_entry(key: Any, value: Any) -> None:
    """A settings entry: two strings of acceptable length."""
    if not isinstance(key, str) or not isinstance(value, str):
        raise TypeError(f"config keys and values must be str, not {type(key).__name__} and {type(value).__name__}")
    if not 1 <= len(key.encode()) <= KEY_BYTES:
        raise RuntimeError(f"a config key has 1 to {KEY_BYTES} bytes, this one has {len(key.encode())}")
    if len(value.encode()) > VALUE_BYTES:
        raise RuntimeError(f"a config value has at most {VALUE_BYTES} bytes, this one has {len(value.encode())}")


# name -> (default, converter). What the core does not know of is kept and can be read back.
_SESSION_FIELDS: dict[str, tuple[Any, Any]] = {
    "enable_cpu_mem_arena": (True, _bool),
    "enable_mem_pattern": (True, _bool),
    "enable_mem_reuse": (True, _bool),
    "enable_profiling": (False, _bool),
    "execution_mode": (ExecutionMode(0), _member(ExecutionMode)),
    "execution_order": (ExecutionOrder(0), _member(ExecutionOrder)),
    "graph_optimization_level": (GraphOptimizationLevel(99), _member(GraphOptimizationLevel)),
    "inter_op_num_threads": (0, _int),
    "intra_op_num_threads": (0, _int),
    "log_severity_level": (-1, _int),
    "log_verbosity_level": (0, _int),
    "logid": ("", _str),
    "optimized_model_filepath": ("", _str),
    "profile_file_prefix": ("onnxruntime_profile_", _str),
    "use_deterministic_compute": (False, _bool),
    "use_per_session_threads": (True, _bool),
}


def _field(name: str, converter: Any, doc: str = "") -> property:
    def get(self: Any) -> Any:
        return self._fields[name]

    def set_(self: Any, value: Any) -> None:
        self._fields[name] = converter(name, value)

    return property(get, set_, doc=doc)


class SessionOptions:
    """How a session is made. Copied when a session is constructed: later changes affect later sessions only. Holds every OrtValue and buffer
    that it is given. Not for concurrent changes."""

    __slots__ = ("_cancel", "_config", "_dims", "_fields", "_files", "_initializers", "_native", "_providers")

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {name: default for name, (default, _) in _SESSION_FIELDS.items()}
        self._config: dict[str, str] = {}
        self._dims: list[tuple[str, int, bool]] = []
        self._initializers: dict[str, tuple[Any, bool]] = {}
        self._files: list[tuple[str, Any]] = []
        self._providers: list[tuple[str, dict[str, str]]] = []
        self._native: list[NativeOptions] = []
        self._cancel = False

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Sets a config entry; the last value of a key wins. Unknown keys are kept."""
        check_entry(key, value)
        self._config[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """The entry's value. RuntimeError if it was not set."""
        if not isinstance(key, str):
            raise TypeError(f"config keys must be str, not {type(key).__name__}")
        if key not in self._config:
            raise RuntimeError(f"SessionOptions does not have configuration with key: {key}")
        return self._config[key]

    def add_free_dimension_override_by_name(self, name: str, value: int) -> None:
        """Every dim that the model calls `name` is `value`. Negative values are ignored; the first registration of a name wins."""
        self._dims.append((_str("the name of a dim", name), _int("the dim", value), False))

    def add_free_dimension_override_by_denotation(self, denotation: str, value: int) -> None:
        """Every dim of an input with this denotation is `value`."""
        self._dims.append((_str("a denotation", denotation), _int("the dim", value), True))

    def add_initializer(self, name: str, ortvalue: Any) -> None:
        """Replaces the model's initializer `name`. The value is used in place and kept alive; its type and shape must be the initializer's."""
        self._add_initializer(name, ortvalue, False)

    def add_external_initializers(self, names: list[str], ortvalues: list[Any]) -> None:
        """Replaces initializers that have external data."""
        if len(names) != len(ortvalues):
            raise RuntimeError(f"{len(names)} names were given, but {len(ortvalues)} values")
        for name, value in zip(names, ortvalues, strict=True):
            self._add_initializer(name, value, True)

    def _add_initializer(self, name: str, ortvalue: Any, external: bool) -> None:
        native = getattr(ortvalue, "_ortvalue", None)
        if native is None:
            raise RuntimeError(f"the value of initializer {name!r} must be an OrtValue, not {type(ortvalue).__name__}")
        if name in self._initializers:
            raise RuntimeError(f"an OrtValue for initializer {name!r} was added already")
        self._initializers[_str("the name of an initializer", name)] = (native, external)

    def add_external_initializers_from_files_in_memory(self, names: list[str], buffers: list[Any], lengths: list[int]) -> None:
        """External data files by name, as buffers instead of files."""
        if not len(names) == len(buffers) == len(lengths):
            raise RuntimeError("names, buffers and lengths must have one length")
        for name, buffer, length in zip(names, buffers, lengths, strict=True):
            self._files.append((_str("the name of a file", name), memoryview(buffer).cast("B")[:length]))

    def add_provider(self, name: str, options: dict[str, str]) -> None:
        """Appends an execution provider, in order of priority."""
        from ortcore._inference import get_all_providers, get_available_providers

        if name not in get_all_providers():
            raise RuntimeError(f"unknown execution provider {name!r}")
        if name not in get_available_providers():
            from ortcore._exceptions import from_status

            raise from_status(2, f"execution provider {name!r} cannot be used on this machine or in this build", "")
        self._providers.append((name, {str(k): str(v) for k, v in options.items()}))

    def has_providers(self) -> bool:
        return bool(self._providers)

    def add_provider_for_devices(self, devices: list[Any], options: dict[str, str]) -> None:
        """Appends the provider of these OrtEpDevices."""
        if not devices:
            from ortcore._exceptions import from_status

            raise from_status(2, "no devices were given", "")
        self.add_provider(devices[0].ep_name, options)

    def set_provider_selection_policy(self, policy: Any) -> None:
        """Accepted: with one kind of device there is nothing to select."""

    def set_provider_selection_policy_delegate(self, delegate: Any) -> None:
        """Accepted: with one kind of device there is nothing to select."""

    def register_custom_ops_library(self, path: str) -> None:
        """Not supported: libraries of custom operators are built for onnxruntime's own ABI."""
        from ortcore._exceptions import from_status

        raise from_status(1, f"custom-op libraries of onnxruntime cannot be loaded ({path})", "")

    def set_load_cancellation_flag(self, cancel: bool) -> None:
        """True ends the loading of a session that uses these options, also from another thread."""
        self._cancel = bool(cancel)
        for native in list(self._native):
            native.cancel_load(self._cancel)

    def _to_native(self, extra: dict[str, str]) -> NativeOptions:
        """What the core takes. Entries of `extra` come last."""
        native = NativeOptions()
        for name, value in self._fields.items():
            native.set(name, value if isinstance(value, str) else str(int(value)))
        for key, value in (self._config | extra).items():
            native.set(key, value)
        for name, dim, denotation in self._dims:
            native.override_dim(name, dim, denotation)
        for name, (value, external) in self._initializers.items():
            native.add_initializer(name, value, external)
        for name, buffer in self._files:
            native.add_external_file(name, buffer)
        native.cancel_load(self._cancel)
        return native

    def _clone(self) -> SessionOptions:
        copy = SessionOptions()
        for name in ("_fields", "_config", "_dims", "_initializers", "_files", "_providers"):
            setattr(copy, name, getattr(self, name).copy())
        copy._cancel = self._cancel
        return copy

    def __copy__(self) -> SessionOptions:
        raise TypeError("cannot pickle 'SessionOptions' object: make a new one and set it alike")

    def __deepcopy__(self, memo: Any) -> SessionOptions:
        raise TypeError("cannot pickle 'SessionOptions' object: make a new one and set it alike")


for _name, (_default, _converter) in _SESSION_FIELDS.items():
    setattr(SessionOptions, _name, _field(_name, _converter))


class RunOptions(NativeRunOptions):
    """How a run is made. `terminate = True` ends runs that use it, from any thread; set it back to use the object again."""

    __slots__ = ("_adapters", "_config", "_fields")

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {"log_severity_level": -1, "log_verbosity_level": 0, "logid": "", "only_execute_path_to_fetches": False}
        self._config: dict[str, str] = {}

    log_severity_level = _field("log_severity_level", _int)
    log_verbosity_level = _field("log_verbosity_level", _int)
    logid = _field("logid", _str)
    only_execute_path_to_fetches = _field("only_execute_path_to_fetches", _bool)

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Sets a config entry of the runs that use this object."""
        check_entry(key, value)
        self.set(key, value)
        self._config[key] = value

    def get_run_config_entry(self, key: str) -> str:
        """The entry's value. RuntimeError if it was not set."""
        if not isinstance(key, str):
            raise TypeError(f"config keys must be str, not {type(key).__name__}")
        if key not in self._config:
            raise RuntimeError(f"RunOptions does not have configuration with key: {key}")
        return self._config[key]

    def add_active_adapter(self, adapter: Any) -> None:
        """LoRA adapters are not supported."""
        if adapter is None:
            raise TypeError("an adapter must be a LoraAdapter, not None")
        raise NotImplementedError("LoRA adapters are not supported")
