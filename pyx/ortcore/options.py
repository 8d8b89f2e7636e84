"""SessionOptions and RunOptions: settings with onnxruntime's names and defaults."""
from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ortcore._errors import InvalidType, list_of, make_error
from ortcore._options import NativeRunOptions, NativeSessionOptions
from ortcore._process import get_available_providers
from ortcore.enums import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, OrtExecutionProviderDevicePolicy

if TYPE_CHECKING:
    from ortcore.devices import OrtEpDevice

T = TypeVar("T")
MOST_KEY_BYTES, MOST_VALUE_BYTES = 1024, 8192


class Setting(Generic[T]):
    """An attribute that stands for a setting of the C library, which keeps it as text."""

    def __init__(self, default: T, to_text: Callable[[Any], str], from_text: Callable[[str], T], doc: str):
        self.default, self.to_text, self.from_text = default, to_text, from_text
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = name

    def __get__(self, options: Any, owner: type | None = None) -> T:
        if options is None:
            return self  # type: ignore[return-value]
        text = options._get(self.key)
        return self.default if text is None else self.from_text(text)

    def __set__(self, options: Any, value: T) -> None:
        try:
            text = self.to_text(value)
        except TypeError as error:
            raise TypeError(f"{self.key}: {error}") from None
        options._set(self.key, text)


def _bool_text(value: object) -> str:
    if value is not None and not hasattr(type(value), "__bool__"):
        raise TypeError(f"expected a bool, not {type(value).__name__}")
    return "1" if value else "0"


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise TypeError(f"expected a str, not {type(value).__name__}")
    return value


def _flag(default: bool, doc: str) -> Setting[bool]:
    return Setting(default, _bool_text, lambda text: text != "0", doc)


def _number(default: int, doc: str) -> Setting[int]:
    return Setting(default, lambda value: str(operator.index(value)), int, doc)


def _string(default: str, doc: str) -> Setting[str]:
    return Setting(default, _text, str, doc)


def _member(default: T, doc: str) -> Setting[T]:
    cls = type(default)

    def to_text(value: object) -> str:
        if not isinstance(value, cls):
            raise TypeError(f"expected a member of {cls.__name__}, not {value!r}")
        return str(int(value))  # type: ignore[call-overload]

    return Setting(default, to_text, lambda text: cls(int(text)), doc)  # type: ignore[call-arg]


def _check_entry(key: object, value: object) -> None:
    for what, text, most in (("key", key, MOST_KEY_BYTES), ("value", value, MOST_VALUE_BYTES)):
        if not isinstance(text, str):
            raise TypeError(f"the {what} of a config entry must be str, not {type(text).__name__}")
        if len(text.encode()) > most or (what == "key" and not text):
            raise make_error(2, f"the {what} of a config entry may have up to {most} bytes and a key at least one; this one has {len(text.encode())}")


class SessionOptions(NativeSessionOptions):
    """How a model is loaded. A session copies its options: later changes do not concern it."""

    __slots__ = ()

    enable_cpu_mem_arena = _flag(True, "Keep freed memory for later runs; False asks the system each time.")
    enable_mem_pattern = _flag(True, "Accepted for compatibility: memory is always planned.")
    enable_mem_reuse = _flag(True, "Let activations whose lives do not overlap share memory; False helps to find who writes where it must not.")
    enable_profiling = _flag(False, "Write a trace of each node's time; end_profiling() tells the file.")
    use_deterministic_compute = _flag(False, "Accepted for compatibility: on the CPU a session always computes the same bits, however many threads its "
                                             "runs get. On CUDA, floats that ScatterElements and ScatterND add up may differ in rounding.")
    use_per_session_threads = _flag(True, "Accepted for compatibility: all sessions draw on one budget of threads.")
    execution_mode = _member(ExecutionMode.ORT_SEQUENTIAL, "Accepted for compatibility: steps run in order, each on as many threads as pay.")
    execution_order = _member(ExecutionOrder.DEFAULT, "Accepted for compatibility.")
    graph_optimization_level = _member(GraphOptimizationLevel.ORT_ENABLE_ALL, "How far the model is rewritten.")
    inter_op_num_threads = _number(0, "Accepted for compatibility.")
    intra_op_num_threads = _number(0, "Most threads that one run uses; 0: as many as the budget has.")
    log_severity_level = _number(-1, "Least severity logged by the session; -1: the process's.")
    log_verbosity_level = _number(0, "Accepted for compatibility.")
    logid = _string("", "Name of the session in the log.")
    optimized_model_filepath = _string("", "Write the rewritten model there.")
    profile_file_prefix = _string("onnxruntime_profile_", "How the name of the trace's file begins.")

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Sets one of onnxruntime's config entries, such as "session.use_env_allocators". Unknown keys are kept, and may be read back."""
        _check_entry(key, value)
        self._set(key, value)

    def get_session_config_entry(self, key: str) -> str:
        """The entry's value; an error if it was not set."""
        value = self._get(key)
        if value is None:
            raise make_error(2, f"there is no config entry '{key}'")
        return value

    def add_provider(self, provider_name: str, options: Mapping[str, str] | None = None) -> None:
        """Appends a provider. Those given to the session itself win."""
        if provider_name not in get_available_providers():
            raise make_error(2, f"{provider_name} is not available; the providers here are {', '.join(get_available_providers())}")
        if options is not None and not isinstance(options, Mapping):
            raise InvalidType(f"options of a provider must be a mapping or None, not {type(options).__name__}")
        self._providers.append((provider_name, {str(k): str(v) for k, v in (options or {}).items()}))

    def add_provider_for_devices(self, ep_devices: Sequence[OrtEpDevice], provider_options: Mapping[str, str] | None = None) -> None:
        """Appends the provider of these devices."""
        devices = list_of(ep_devices, "ep_devices")
        for device in devices:
            if not hasattr(device, "ep_name"):
                raise InvalidType(f"ep_devices holds {device!r}, which is no OrtEpDevice; get_ep_devices() gives them")
        names = {device.ep_name for device in devices}
        if len(names) != 1:
            raise make_error(2, f"the devices must belong to one provider; these belong to {sorted(names) or 'none'}")
        self.add_provider(names.pop(), provider_options)

    def has_providers(self) -> bool:
        """Whether add_provider() was called."""
        return bool(self._providers)

    def set_provider_selection_policy(self, policy: OrtExecutionProviderDevicePolicy) -> None:
        """Accepted for compatibility: providers are used in the order given."""
        if not isinstance(policy, OrtExecutionProviderDevicePolicy):
            raise TypeError(f"expected a member of OrtExecutionProviderDevicePolicy, not {policy!r}")

    def set_provider_selection_policy_delegate(self, delegate: Callable[..., Any]) -> None:
        """Not supported."""
        raise make_error(9, "a delegate that selects providers is not supported; give the session a list of providers")

    def set_ep_context_data_read_func(self, function: Callable[..., Any]) -> None:
        """Not supported."""
        raise make_error(9, "models compiled for a provider are not supported; load the model that they were made from")

    def clear_ep_context_data_read_func(self) -> None:
        """Accepted for compatibility: there is none."""

    def register_custom_ops_library(self, path: str) -> None:
        """Not supported."""
        raise make_error(9, f"libraries of custom operators such as '{path}' are not supported; use ONNX's operators or a function in the model")

    def __reduce__(self) -> Any:
        raise TypeError("SessionOptions cannot be copied or pickled: they hold memory")


class RunOptions(NativeRunOptions):
    """How one run is done. May be used for many runs, one at a time; `terminate` may be set from another thread while it runs."""

    __slots__ = ("_terminate",)

    only_execute_path_to_fetches = _flag(False, "Accepted for compatibility: only what the outputs need is computed.")
    log_severity_level = _number(-1, "Least severity logged by the run; -1: the session's.")
    log_verbosity_level = _number(0, "Accepted for compatibility.")
    logid = _string("", "Name of the run in the log.")

    @property
    def terminate(self) -> bool:
        """True ends the runs that use these options as soon as their current step is done; they raise Fail."""
        return getattr(self, "_terminate", False)

    @terminate.setter
    def terminate(self, value: bool) -> None:
        try:
            self._terminate = _bool_text(value) == "1"
        except TypeError as error:
            raise TypeError(f"terminate: {error}") from None
        self._set_terminate(self._terminate)

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Sets a config entry of runs: "stage_outputs", "memory.enable_memory_arena_shrinkage", "gpu_graph_id", ..."""
        _check_entry(key, value)
        self._set(key, value)

    def get_run_config_entry(self, key: str) -> str:
        """The entry's value; an error if it was not set."""
        value = self._get(key)
        if value is None:
            raise make_error(2, f"there is no config entry '{key}'")
        return value

    def add_active_adapter(self, adapter: object) -> None:
        """Not supported."""
        raise make_error(9, "LoRA adapters are not supported; feed their parameters as inputs")
