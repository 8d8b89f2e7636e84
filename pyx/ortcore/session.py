"""InferenceSession: a model loaded to be run."""
from __future__ import annotations

import difflib
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ortcore._device import OrtDevice, OrtMemoryInfo
from ortcore._element_types import STRING
from ortcore._element_types import element_type as element_type_of
from ortcore._errors import Error, InvalidInput, InvalidType, WrongClass, bytes_like, list_of, make_error
from ortcore._inference import SessionBase
from ortcore._process import get_available_providers, get_thread_budget
from ortcore._session import NativeSession
from ortcore._value import OrtValue
from ortcore.cuda import use_libraries
from ortcore.devices import OrtEpDevice, get_ep_devices
from ortcore.metadata import ModelMetadata, NodeArg, OrtEpAssignedSubgraph, PlacedNode, assigned_subgraphs, make_node_args
from ortcore.options import RunOptions, SessionOptions
from ortcore.vector import OrtValueVector

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
Providers = str | Sequence[str | tuple[str, Mapping[str, Any]]]
# Keyword arguments of InferenceSession beyond its signature; onnxruntime's last one has no meaning here.
KEYWORDS = ("disabled_optimizers", "enable_fallback", "external_data", "read_config_from_model")
Callback = Callable[[list[Any], Any, str], None]

_workers: ThreadPoolExecutor | None = None


def _forget_workers() -> None:
    """A forked child has none of its parent's threads."""
    global _workers
    _workers = None


os.register_at_fork(after_in_child=_forget_workers)


def _get_workers() -> ThreadPoolExecutor:
    """The threads of run_async, made when first needed."""
    global _workers
    if _workers is None:
        _workers = ThreadPoolExecutor(max(2, get_thread_budget()), thread_name_prefix="ortcore-run-async")
    return _workers


def _string_options(options: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in options.items()}


def parse_providers(providers: Iterable[Any] | None, provider_options: Sequence[Mapping[str, Any]] | None) -> dict[str, dict[str, str]]:
    """{name: options} in order of priority. Warns of what is not available and of duplicates, and leaves them out."""
    if providers is not None and not isinstance(providers, Iterable):
        raise TypeError(f"providers must be a list of names or of (name, options) tuples, not {type(providers).__name__}")
    given = [] if providers is None else [providers] if isinstance(providers, str) else list(providers)
    if given and provider_options is not None:
        if not isinstance(provider_options, Sequence):
            raise ValueError("'provider_options' should be a sequence.")
        if len(given) != len(provider_options):
            raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
        if not all(isinstance(name, str) for name in given):
            raise ValueError("Only string values for 'providers' are supported if 'provider_options' is given.")
        if not all(isinstance(options, Mapping) for options in provider_options):
            raise ValueError("'provider_options' values must be dicts.")
        given = list(zip(given, provider_options, strict=True))
    parsed: dict[str, dict[str, str]] = {}
    for item in given:
        if isinstance(item, str):
            item = (item, {})
        if not (isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], Mapping)):
            raise ValueError(f"'providers' values must be either strings or (string, dict) tuples; {item!r} is none of them.")
        name, options = item
        if name not in get_available_providers():
            warnings.warn(f"Specified provider '{name}' is not in available provider names. Available providers: '{', '.join(get_available_providers())}'",
                          stacklevel=4)
        elif name in parsed:
            warnings.warn(f"Duplicate provider '{name}' encountered, ignoring.", stacklevel=4)
        else:
            parsed[name] = _string_options(options)
    return parsed


def _warn_of_unknown(kwargs: Iterable[str]) -> None:
    """onnxruntime ignores them without a word, so that a typo is never found."""
    for name in kwargs:
        if name not in KEYWORDS:
            near = difflib.get_close_matches(name, ["path_or_bytes", "sess_options", "providers", "provider_options", *KEYWORDS], 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(repr, KEYWORDS))}"
            warnings.warn(f"InferenceSession has no argument {name!r}, which is ignored; {hint}", stacklevel=3)


class InferenceSession(SessionBase):
    """A model loaded to be run.

    Args:
        path_or_bytes: the model's file, or the model itself as bytes (a bytearray or memoryview is copied).
        sess_options: a SessionOptions, which is copied.
        providers: names, or (name, {option: value}), in order of priority; or one name. Unknown ones are warned of; the CPU's always comes last.
        provider_options: options of `providers`, if those are names only.
        disabled_optimizers: names of rewrites to leave out.
        external_data: where external data of a model given as bytes is: a folder, or {file name: bytes-like object}, which is held.

    Any number of threads may run a session at once. It may be used in a `with` statement, which lets go of the model at its end; values and
    bindings stay valid after that.
    """

    def __init__(self, path_or_bytes: str | bytes | bytearray | memoryview | os.PathLike[str], sess_options: SessionOptions | None = None,
                 providers: Providers | None = None, provider_options: Sequence[Mapping[str, Any]] | None = None, **kwargs: Any):
        self._model_path: str | None = None
        self._model_bytes: bytes | None = None
        if isinstance(path_or_bytes, (str, os.PathLike)):
            self._model_path = os.fsdecode(path_or_bytes)
        elif isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            self._model_bytes = bytes(path_or_bytes)
        else:
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'; give a path, or the model as bytes")
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise WrongClass(f"sess_options must be a SessionOptions, not {type(sess_options).__name__}")
        self._options = SessionOptions() if sess_options is None else sess_options._copy()
        _warn_of_unknown(kwargs)
        self._apply(kwargs)
        fallback = kwargs.get("enable_fallback", 1)
        try:
            self._enable_fallback = int(fallback) == 1
        except (TypeError, ValueError):
            raise InvalidType(f"enable_fallback must be 0 or 1, not {fallback!r}") from None
        self._metadata: dict[str, Any] = {}
        self._load_with_fallback(providers, provider_options)

    def _apply(self, kwargs: Mapping[str, Any]) -> None:
        given = kwargs.get("disabled_optimizers") or ()
        disabled = [given] if isinstance(given, str) else list_of(given, "disabled_optimizers")
        if disabled:
            self._options._set("disabled_optimizers", ";".join(map(str, disabled)))
        external_data = kwargs.get("external_data")
        if isinstance(external_data, Mapping):
            buffers = {name: bytes_like(buffer, f"the buffer for file '{name}'") for name, buffer in external_data.items()}
            sizes = [buffer.nbytes for buffer in buffers.values()]
            self._options.add_external_initializers_from_files_in_memory(list(buffers), list(buffers.values()), sizes)
        elif external_data is not None:
            if not isinstance(external_data, (str, bytes, os.PathLike)):
                raise InvalidType(f"external_data must be a folder or {{file name: buffer}}, not {type(external_data).__name__}")
            self._options._set("external_data_folder", os.fsdecode(external_data))

    def _load_with_fallback(self, providers: Any, provider_options: Any) -> None:
        try:
            self._load(self._chosen(providers, provider_options))
        except Error:
            raise
        except (ValueError, RuntimeError) as error:
            if not self._enable_fallback:
                raise
            print("*************** EP Error ***************", f"EP Error {error} when using {providers}", f"Falling back to {[CPU]} and retrying.",
                  "****************************************", sep="\n")
            self._load({CPU: {}})
            self._enable_fallback = False

    def _chosen(self, providers: Any, provider_options: Any) -> dict[str, dict[str, str]]:
        chosen = parse_providers(providers, provider_options)
        if self._options.has_providers():
            if providers:
                warnings.warn("providers were given both to the SessionOptions and to the InferenceSession, whose own are used", stacklevel=4)
            else:
                chosen = dict(self._options._providers)
        chosen.setdefault(CPU, {})
        return chosen

    def _load(self, providers: dict[str, dict[str, str]]) -> None:
        options = self._options._copy()
        if CUDA in providers:
            use_libraries()
        for name, settings in providers.items():
            options._use_provider(name, settings)
        self._sess = NativeSession.load(self._model_path, self._model_bytes, options)
        self._provider_options = self._sess.provider_options()
        self._metadata.clear()

    def set_providers(self, providers: Providers | None = None, provider_options: Sequence[Mapping[str, Any]] | None = None) -> None:
        """Loads the model again with other providers. Bindings made before are of no use after; a failure leaves the session as it was."""
        chosen = self._chosen(providers, provider_options)
        for item in [providers] if isinstance(providers, str) else providers or ():
            name = item if isinstance(item, str) else item[0]
            if name not in chosen:
                raise RuntimeError(f"Unknown Provider Type: {name}")
        self._load(chosen)

    def enable_fallback(self) -> None:
        """Lets construction fall back to the CPU when a provider cannot be used."""
        self._enable_fallback = True

    def disable_fallback(self) -> None:
        """The opposite of enable_fallback()."""
        self._enable_fallback = False

    def __enter__(self) -> InferenceSession:
        return self

    def __exit__(self, *exception: object) -> None:
        self._sess = None
        self._metadata.clear()

    def __reduce__(self) -> Any:
        raise TypeError("an InferenceSession cannot be pickled; load the model where it is needed")

    # ---- What the model and the session are

    def _cached(self, name: str, make: Callable[[NativeSession], Any]) -> Any:
        if name not in self._metadata:
            self._metadata[name] = make(self._native())
        return self._metadata[name]

    def get_inputs(self) -> list[NodeArg]:
        """The inputs that a run requires or may be given. The same list each time."""
        inputs: list[NodeArg] = self._cached("inputs", lambda native: make_node_args(native.io(0)))
        return inputs

    def get_outputs(self) -> list[NodeArg]:
        """The outputs, in the model's order. The same list each time."""
        outputs: list[NodeArg] = self._cached("outputs", lambda native: make_node_args(native.io(1)))
        return outputs

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Initializers that a run may be given other values for."""
        overridable: list[NodeArg] = self._cached("overridable", lambda native: make_node_args(native.io(2)))
        return overridable

    def get_modelmeta(self) -> ModelMetadata:
        """What the model's file says of itself. The same object each time."""
        metadata: ModelMetadata = self._cached("modelmeta", lambda native: ModelMetadata(**native.metadata()))
        return metadata

    def get_input_memory_infos(self) -> list[OrtMemoryInfo]:
        """Where each input is read from."""
        return [memory for _, _, _, memory in self._native().io(0)]

    def get_output_memory_infos(self) -> list[OrtMemoryInfo]:
        """Where each output is written."""
        return [memory for _, _, _, memory in self._native().io(1)]

    def get_input_epdevices(self) -> list[OrtEpDevice | None]:
        """The device that reads each input."""
        devices = {(int(device.device.type), device.device.device_id): device for device in get_ep_devices()}
        return [devices.get((1, memory.device_id) if memory.name.startswith("Cuda") else (0, 0)) for _, _, _, memory in self._native().io(0)]

    def get_providers(self) -> list[str]:
        """Names of the providers in order of priority."""
        return self._native().get_providers()

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """{provider: {option: value}}, options that were not given with their defaults."""
        return {name: dict(options) for name, options in self._provider_options.items()}

    def get_session_options(self) -> SessionOptions:
        """The options that the session was made with; changing them changes nothing."""
        return self._options

    def get_provider_graph_assignment_info(self) -> list[OrtEpAssignedSubgraph]:
        """Which provider runs which nodes. Needs the config entry session.record_ep_graph_assignment_info = '1'."""
        if self._options._get("session.record_ep_graph_assignment_info") != "1":
            raise make_error(1, "set the config entry 'session.record_ep_graph_assignment_info' to '1' before making the session")
        return assigned_subgraphs(self._native().nodes())

    def explain(self) -> list[PlacedNode]:
        """The nodes that a run executes, in order: which provider runs each, and in a session on CUDA why one does not run there. Copies between
        host and device are nodes MemcpyFromHost and MemcpyToHost. Bytes, and the library that computes a node, are those of the latest run's shapes."""
        return [PlacedNode(*node) for node in self._native().nodes()]

    def stats(self) -> dict[str, dict[str, int]]:
        """Counters of what runs have cost: {"total": {...}, "latest": {...}} with runs, bytes_copied, bytes_reordered, allocations,
        kernel_launches (steps), host_to_device_copies, device_to_host_copies, planned_bytes (memory for activations), and of CUDA graphs
        graph_captures, graph_updates and graph_launches."""
        total, latest = self._native().stats()
        return {"total": total, "latest": latest}

    def memory_stats(self, device: str = "cpu") -> dict[str, int]:
        """Counters of the session's allocator on "cpu" or "cuda": bytes_in_use, peak_bytes_in_use, bytes_reserved, max_bytes, allocations, ... What
        the weights and each stream of a session on CUDA have taken counts as in use there."""
        if device not in ("cpu", "cuda"):
            raise make_error(2, f"device must be 'cpu' or 'cuda', not {device!r}")
        stats = self._native().memory_stats(device == "cuda")
        if stats is None:
            raise make_error(2, "this session has no memory on 'cuda': it runs on the CPU only")
        return stats

    def trim(self) -> int:
        """Gives memory that idle runs keep back to the system; returns the number of bytes."""
        return self._native().trim()

    def end_profiling(self) -> str:
        """Writes the trace and returns its path, '' if profiling was off or has ended."""
        return self._native().end_profiling()

    def get_profiling_start_time_ns(self) -> int:
        """When profiling began, in ns of the monotonic clock; 0 if it is off."""
        return self._native().profiling_start_ns()

    def get_tuning_results(self) -> list[dict[str, Any]]:
        """Always empty: kernels are not tuned."""
        return []

    def set_tuning_results(self, results: list[dict[str, Any]], *, error_on_invalid: bool = False) -> None:
        """Accepted for compatibility: kernels are not tuned."""
        for result in results:
            result["ep"]

    def set_ep_dynamic_options(self, options: Mapping[str, str]) -> None:
        """Accepted for compatibility; no provider has any."""
        if not options:
            raise make_error(2, "no options were given")

    def release_captured_graph(self, gpu_graph_id: int = 0) -> None:
        """Forgets a captured CUDA graph. On the CPU there is none."""

    # ---- Values and runs

    def create_ortvalue_from_shape_and_type(self, shape: Sequence[int], element_type: Any, device_type: str | OrtDevice, device_id: int = 0,
                                            vendor_id: int = -1) -> OrtValue:
        """A tensor, not initialised, from the session's allocator. It can be used with this session only."""
        device = device_type if isinstance(device_type, OrtDevice) else OrtDevice.make(device_type, device_id, vendor_id)
        number, native = element_type_of(element_type), self._native()
        if number == STRING:
            raise RuntimeError("the session's allocator makes numeric tensors only; OrtValue.ortvalue_from_numpy() takes strings")
        if device.device_type() == 0:
            return native.create_value(shape, number)
        if device.device_id() != native.device_id:
            raise RuntimeError(f"No session allocator found for {device!r}: this session runs on "
                               f"{f'cuda:{native.device_id}' if native.device_id >= 0 else 'the CPU only'}")
        value = OrtValue.ortvalue_from_shape_and_type(shape, number, device)
        value._session = native
        return value

    def run_with_ortvaluevector(self, run_options: RunOptions, feed_names: Sequence[str], feeds: OrtValueVector, fetch_names: Sequence[str],
                                fetches: OrtValueVector, fetch_devices: Sequence[OrtDevice]) -> None:
        """Runs on an OrtValueVector and appends the results to another."""
        if not isinstance(run_options, RunOptions):
            raise WrongClass(f"run_options must be a RunOptions, not {type(run_options).__name__}")
        if not isinstance(feeds, OrtValueVector) or not isinstance(fetches, OrtValueVector):
            raise WrongClass(f"feeds and fetches must be OrtValueVectors, not {type(feeds).__name__} and {type(fetches).__name__}")
        feed_names, fetch_names = list_of(feed_names, "feed_names"), list_of(fetch_names, "fetch_names")
        fetch_devices = list_of(fetch_devices, "fetch_devices")
        if len(feed_names) != len(feeds) or len(fetch_names) != len(fetch_devices):
            raise make_error(2, f"{len(feed_names)} names of inputs for {len(feeds)} values, {len(fetch_names)} names of outputs for "
                                f"{len(fetch_devices)} devices; there must be as many of each")
        results = self.run_with_ort_values(fetch_names, dict(zip(feed_names, feeds, strict=True)), run_options)
        fetches._own[:] = results

    def run_async(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], callback: Callback | None, user_data: Any,
                  run_options: RunOptions | None = None) -> None:
        """Runs as run() does, on another thread, and calls callback(results, user_data, error) there; `error` is '' if all went well.

        What is fed must not be written before that. Required inputs that are missing raise here.
        """
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be callable or None, not {type(callback).__name__}")
        missing = self._native().missing_inputs(input_feed)
        if missing:
            raise InvalidInput(f"Required inputs ({missing}) are missing from input feed ({list(input_feed)}).")
        _get_workers().submit(self._run_and_call, output_names, dict(input_feed), callback, user_data, run_options)

    def _run_and_call(self, output_names: Sequence[str] | None, feed: dict[str, Any], callback: Callback | None, user_data: Any,
                      run_options: RunOptions | None) -> None:
        results, message = [], ""
        try:
            results = self.run(output_names, feed, run_options)
        except Exception as error:
            message = str(error).split(" : ", 3)[-1]
        try:
            if callback is not None:
                callback(results, user_data, message)
            elif message:
                print(f"run_async: {message}", file=sys.stderr)
        except Exception:
            traceback.print_exc()
