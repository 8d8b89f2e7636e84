"""InferenceSession and IOBinding."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ortcore import _dtypes, _session, _value
from ortcore._device import OrtMemoryInfo, device_of
from ortcore._enums import OrtAllocatorType, OrtMemType
from ortcore._exceptions import CLASSES
from ortcore._options import RunOptions, SessionOptions
from ortcore._ortvalue import OrtValue, OrtValueVector
from ortcore._session import NativeBinding, NativeSession
from ortcore._value import Value

ALL_PROVIDERS = [
    f"{name}ExecutionProvider"
    for name in (
        "Tensorrt", "CUDA", "MIGraphX", "OpenVINO", "Dnnl", "VitisAI", "QNN", "Nnapi", "VSINPU", "Js", "CoreML", "Dml", "Rknpu", "WebNN", "WebGpu",
        "Xnnpack", "CANN", "Azure", "CPU",
    )
]  # fmt: skip
CPU = "CPUExecutionProvider"


def get_all_providers() -> list[str]:
    """Every execution provider that onnxruntime knows by name, in its order of priority."""
    return list(ALL_PROVIDERS)


def get_available_providers() -> list[str]:
    """Execution providers that can run here and now, in order of priority; CPUExecutionProvider last."""
    return _session.available_providers()  # type: ignore[no-any-return]


def _error(code: int, message: str) -> Exception:
    from ortcore._exceptions import from_status

    return from_status(code, message, "")


class NodeArg:
    """What a model says of one of its inputs or outputs. shape: int where fixed, str where symbolic, None where unknown; [] for a scalar, for an
    unknown rank (`has_rank` tells) and for what is no tensor."""

    __slots__ = ("_has_rank", "_name", "_shape", "_type")

    def __init__(self, info: tuple[Any, ...]) -> None:
        self._name, self._type, self._shape, self._has_rank = info[0], info[1], info[2], info[6]

    @property
    def name(self) -> str:
        return self._name  # type: ignore[no-any-return]

    @property
    def type(self) -> str:
        return self._type  # type: ignore[no-any-return]

    @property
    def shape(self) -> list[int | str | None]:
        return self._shape  # type: ignore[no-any-return]

    @property
    def has_rank(self) -> bool:
        return self._has_rank  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"NodeArg(name='{self._name}', type='{self._type}', shape={self._shape})"


class ModelMetadata:
    """What a model says of itself. version is 2**63 - 1 if it does not say."""

    def __init__(self, parts: tuple[Any, ...]) -> None:
        (self.producer_name, self.graph_name, self.domain, self.description, self.graph_description, self.version, self.custom_metadata_map) = parts


class _AssignedNode:
    def __init__(self, node: tuple[str, str, str, str]) -> None:
        self.name, self.op_type, self.domain = node[:3]


class _AssignedSubgraph:
    def __init__(self, ep_name: str, nodes: list[_AssignedNode]) -> None:
        self.ep_name, self._nodes = ep_name, nodes

    def get_nodes(self) -> list[_AssignedNode]:
        return list(self._nodes)


def _parse_providers(providers: Any, options: Any) -> list[tuple[str, dict[str, str]]]:
    """(name, options) of the providers that can be used, in order; CPU last if nobody named it."""
    providers = list(providers) if providers else []
    if options is not None:
        if len(options) != len(providers):
            raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
        if not all(isinstance(name, str) for name in providers) or not all(isinstance(o, dict) for o in options):
            raise ValueError("with 'provider_options', 'providers' must be strings and the options dicts")
        providers = list(zip(providers, options, strict=True))
    available, chosen = get_available_providers(), {}
    for item in providers:
        if isinstance(item, str):
            name, settings = item, {}
        elif isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], dict):
            name, settings = item
        else:
            raise ValueError(f"'providers' values must be either strings or (string, dict) tuples, not {item!r}")
        if name not in available:
            warnings.warn(f"Specified provider '{name}' is not in available provider names. Available providers: '{', '.join(available)}'", UserWarning, stacklevel=4)
        elif name in chosen:
            warnings.warn(f"Duplicate provider '{name}' encountered, ignoring.", UserWarning, stacklevel=4)
        else:
            chosen[name] = {str(key): str(value) for key, value in settings.items()}
    if {"TensorrtExecutionProvider", "NvTensorRTRTXExecutionProvider"} <= {item if isinstance(item, str) else item[0] for item in providers}:
        raise ValueError("TensorrtExecutionProvider and NvTensorRTRTXExecutionProvider cannot be used together")
    chosen.setdefault(CPU, {})
    return list(chosen.items())


class InferenceSession:
    """A model ready to run. path_or_bytes: a path, or the model as bytes-like object (used in place and kept alive). Any number of threads may
    run one session at once. Errors of the model are exceptions of `ortcore.capi.onnxruntime_pybind11_state`; all derive from RuntimeError."""

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: SessionOptions | None = None,
        providers: Sequence[str | tuple[str, dict[Any, Any]]] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        if isinstance(path_or_bytes, (str, os.PathLike)):
            self._source: Any = os.fspath(path_or_bytes)
            self._model_path: str | None = self._source
        elif isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            self._source, self._model_path = path_or_bytes, None
            self._model_bytes = path_or_bytes
        else:
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}': give a path or the model's bytes")
        if self._source == "":
            raise TypeError("Unable to load from an empty path: give a path or the model's bytes")
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise AttributeError(f"sess_options must be a SessionOptions, not {type(sess_options).__name__}")
        self._options = sess_options._clone() if sess_options is not None else SessionOptions()
        self._caller_options = sess_options
        self._fallback = int(kwargs.get("enable_fallback", 1)) == 1
        disabled = kwargs.get("disabled_optimizers")
        self._disabled = ";".join(iter(disabled)) if disabled is not None else ""
        if self._options.has_providers() and providers:
            warnings.warn("The session options have providers already; the argument 'providers' replaces them", UserWarning, stacklevel=2)
        elif self._options.has_providers():
            providers = list(self._options._providers)
        try:
            self._create(providers, provider_options)
        except (ValueError, RuntimeError) as error:
            if not self._fallback or isinstance(error, tuple(CLASSES.values())):
                raise
            print("*************** EP Error ***************")
            print(f"EP Error {error} when using {providers}")
            print(f"Falling back to {[CPU]} and retrying.")
            print("****************************************")
            self._create([CPU], None)
            self._fallback = False

    def _create(self, providers: Any, provider_options: Any) -> None:
        chosen = _parse_providers(providers, provider_options)
        extra = {"disabled_optimizers": self._disabled} if self._disabled else {}
        options = self._options._to_native(extra)
        holder = self._caller_options._native if self._caller_options is not None else []
        holder.append(options)
        try:
            native = NativeSession(self._source, options)
        finally:
            holder.remove(options)
        self._sess = native
        self._providers, self._provider_options = [name for name, _ in chosen], dict(chosen)
        self._inputs, self._outputs = [NodeArg(io) for io in native.inputs], [NodeArg(io) for io in native.outputs]
        self._overridable = [NodeArg(io) for io in native.overridable]
        self._metadata = ModelMetadata(native.metadata())
        self._required = frozenset(io[0] for io in native.inputs if not io[4])
        self._output_names = native.output_names

    # ---- What it is -------------------------------------------------------------------------------------------------

    def get_inputs(self) -> list[NodeArg]:
        """The inputs that must be fed."""
        return self._inputs

    def get_outputs(self) -> list[NodeArg]:
        return self._outputs

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Inputs with a default, which may be fed."""
        return self._overridable

    def get_modelmeta(self) -> ModelMetadata:
        return self._metadata

    def get_session_options(self) -> SessionOptions:
        """A copy of the options that the session was made with."""
        return self._options

    def get_providers(self) -> list[str]:
        return list(self._providers)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {name: dict(options) for name, options in self._provider_options.items()}

    def _memory_infos(self, infos: tuple[Any, ...]) -> list[OrtMemoryInfo]:
        return [OrtMemoryInfo(name, OrtAllocatorType(kind), number, OrtMemType(mem)) for name, kind, number, mem in (io[7] for io in infos)]

    def get_input_memory_infos(self) -> list[OrtMemoryInfo]:
        """Where the session reads each input."""
        return self._memory_infos(self._sess.inputs)

    def get_output_memory_infos(self) -> list[OrtMemoryInfo]:
        """Where the session leaves each output that it allocates."""
        return self._memory_infos(self._sess.outputs)

    def get_input_epdevices(self) -> list[Any]:
        from ortcore._hardware import get_ep_devices

        return get_ep_devices()[:1] * len(self._inputs)

    def get_provider_graph_assignment_info(self) -> list[Any]:
        """Which provider runs which nodes. Needs the config entry session.record_ep_graph_assignment_info = '1'."""
        if self._options._config.get("session.record_ep_graph_assignment_info") != "1":
            raise _error(1, "the assignment of nodes was not recorded: set session.record_ep_graph_assignment_info to '1' before the session is made")
        return [_AssignedSubgraph(CPU, [_AssignedNode(node)]) for node in self._sess.nodes()]

    def set_providers(self, providers: Any = None, provider_options: Any = None) -> None:
        """Makes the session anew with other providers. If that fails, the session stays as it was."""
        names = [item if isinstance(item, str) else item[0] for item in providers or []]
        unknown = [name for name in names if name not in get_available_providers()]
        if unknown:
            warnings.warn(f"Specified provider '{unknown[0]}' is not in available provider names.", UserWarning, stacklevel=2)
            raise RuntimeError(f"Unknown Provider Type: {unknown[0]}; available are {', '.join(get_available_providers())}")
        self._create(providers, provider_options)

    def enable_fallback(self) -> None:
        """Accepted: the CPU provider, which fallback would choose, is always there."""
        self._fallback = True

    def disable_fallback(self) -> None:
        self._fallback = False

    # ---- Runs -----------------------------------------------------------------------------------------------------------

    def _check_feed(self, input_feed: Mapping[str, Any]) -> None:
        missing = self._required.difference(input_feed)
        if missing:
            raise ValueError(f"Required inputs ({sorted(missing)}) are missing from input feed ({list(input_feed)}).")

    def _names(self, output_names: Sequence[str] | None) -> Sequence[str]:
        if not output_names:
            return self._output_names  # type: ignore[no-any-return]
        if isinstance(output_names, str):
            raise TypeError(f"output_names must be a sequence of names, not the str {output_names!r}; write [{output_names!r}]")
        return output_names

    def _convert(self, name: str, value: Any) -> Any:
        """Feeds that are no array: lists and dicts become what the input's type says."""
        if isinstance(value, OrtValue):
            return value._ortvalue
        if not isinstance(value, (list, dict)):
            return value
        kind = next((io.type for io in self._inputs + self._overridable if io.name == name), "")
        return _convert_object(name, kind, value)

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None) -> list[Any]:
        """Computes outputs from arrays. output_names None or empty: all, in the model's order. Feeds may be arrays (also of ml_dtypes, or anything
        with __dlpack__, the buffer protocol or __array_interface__), OrtValues, lists for sequences, dicts for maps; None means absent. Contiguous
        arrays are read in place. Returns new arrays, lists for sequences, dicts for maps, None for empty optionals."""
        self._check_feed(input_feed)
        feeds = input_feed
        for value in input_feed.values():
            if type(value) is not np.ndarray:
                feeds = {name: self._convert(name, item) for name, item in input_feed.items() if item is not None}
                break
        return self._sess.run_objects(self._names(output_names), feeds, run_options)  # type: ignore[no-any-return]

    def run_with_ort_values(
        self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, OrtValue], run_options: RunOptions | None = None
    ) -> list[OrtValue]:
        """As run, from OrtValues to OrtValues."""
        self._check_feed(input_dict_ort_values)
        feeds = {name: self._own(value) for name, value in input_dict_ort_values.items()}
        return [OrtValue(value) for value in self._sess.run(self._names(output_names), feeds, run_options)]

    def _own(self, value: OrtValue) -> Value:
        if not isinstance(value, OrtValue):
            raise AttributeError(f"an OrtValue is expected, not {type(value).__name__}; use run() for arrays")
        if value._session is not None and value._session is not self._sess:
            raise ValueError("this OrtValue was made by another session (create_ortvalue_from_shape_and_type) and cannot be used with this one")
        return value._ortvalue

    def run_with_ortvaluevector(
        self, run_options: RunOptions, feed_names: Sequence[str], feeds: OrtValueVector, fetch_names: Sequence[str], fetches: OrtValueVector, fetch_devices: Sequence[Any]
    ) -> None:
        """As run, on vectors of native values; `fetches` is filled."""
        if not isinstance(run_options, RunOptions):
            raise TypeError(f"run_options must be a RunOptions, not {type(run_options).__name__}")
        if len(feed_names) != len(feeds):
            raise _error(2, f"{len(feed_names)} feed names were given, but {len(feeds)} feeds")
        results = self._sess.run(list(fetch_names), dict(zip(feed_names, feeds, strict=True)), run_options)
        fetches._items[:] = results

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None] | None,
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Runs on a thread of its own and returns at once. callback(results, user_data, error) is called there; error is '' on success."""
        self._check_feed(input_feed)
        if self._options.intra_op_num_threads == 1:  # type: ignore[attr-defined]
            raise _error(2, "run_async needs a session whose intra_op_num_threads is not 1")
        threading.Thread(target=self._run_async, args=(output_names, dict(input_feed), callback, user_data, run_options), daemon=False).start()

    def _run_async(self, output_names: Any, input_feed: Any, callback: Any, user_data: Any, run_options: Any) -> None:
        error = ""
        results: list[Any] = []
        try:
            results = self.run(output_names, input_feed, run_options)
        except Exception as caught:
            error = str(caught)
        if callback is not None:
            callback(results, user_data, error)
        elif error:
            import sys

            print(f"run_async failed: {error}", file=sys.stderr)

    def io_binding(self) -> IOBinding:
        """A new binding of this session."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Reads the bound inputs and writes the bound outputs; nothing is copied. Complete when it returns."""
        native = iobinding._iobinding
        if native.session is not self._sess:
            raise ValueError("this IOBinding was made by another session, or before set_providers; make one with session.io_binding()")
        native.run(run_options)

    def create_ortvalue_from_shape_and_type(
        self, shape: Any, element_type: Any, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """An uninitialised tensor in memory of the session's allocator, for use with this session."""
        if device_of(device_type) != "cpu":
            raise RuntimeError(f"this session has no allocator for {device_type!r}")
        number = _dtypes.parse(element_type, numbers=False)
        if number == _dtypes.STRING:
            raise RuntimeError("string tensors cannot be made uninitialised")
        return OrtValue(self._sess.empty(shape, number), session=self._sess)

    # ---- Measuring ----------------------------------------------------------------------------------------------------------

    def end_profiling(self) -> str:
        """Ends profiling and returns the path of the trace, '' if profiling was off."""
        return self._sess.end_profiling()  # type: ignore[no-any-return]

    def get_profiling_start_time_ns(self) -> int:
        return self._sess.profiling_start_ns()  # type: ignore[no-any-return]

    def stats(self) -> dict[str, dict[str, int]]:
        """Counters of runs, {'total': ..., 'latest': ...}: copies, allocations, launches, planned bytes."""
        total, latest = self._sess.stats()
        return {"total": total, "latest": latest}

    def memory_stats(self) -> dict[str, int]:
        """What the session's allocator holds, in bytes, and how often it was asked."""
        return self._sess.allocator_stats()  # type: ignore[no-any-return]

    def trim(self) -> int:
        """Frees what idle runs keep; returns the bytes given back to the system."""
        return self._sess.trim()  # type: ignore[no-any-return]

    def get_tuning_results(self) -> list[Any]:
        """Empty: no provider here tunes."""
        return []

    def set_tuning_results(self, results: list[dict[str, Any]], *, error_on_invalid: bool = False) -> None:
        for result in results:
            if result["ep"] not in self._providers and error_on_invalid:
                raise RuntimeError(f"tuning results for {result['ep']!r}, which this session does not use")

    def set_ep_dynamic_options(self, options: dict[str, str]) -> None:
        if not options:
            raise RuntimeError("set_ep_dynamic_options needs at least one option")

    def release_captured_graph(self, id: int = 0) -> None:
        """No-op on providers that capture no graphs."""

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle 'InferenceSession' object: make it anew from the model")


def _convert_object(name: str, kind: str, value: Any) -> Any:
    if isinstance(value, dict):
        return _convert_map(name, kind, value)
    if kind.removeprefix("optional(").startswith("seq("):
        if "map(" in kind:
            return _value.sequence([_convert_map(name, kind, item) for item in value])
        element = kind.removeprefix("optional(").removeprefix("seq(tensor(").split(")")[0]
        items = [item._ortvalue if isinstance(item, OrtValue) else _value.from_object(np.asarray(item) if not isinstance(item, np.ndarray) else item)[0] for item in value]
        return _value.sequence(items, _dtypes.NUMBERS.get(element, 1))
    element = kind.removeprefix("optional(").removeprefix("tensor(").split(")")[0]
    number = _dtypes.NUMBERS.get(element)
    if number is None:
        raise RuntimeError(f"input {name!r} is {kind or 'unknown'}; a list cannot be made into that")
    return np.array(value, dtype=_dtypes.to_dtype(number))


def _convert_map(name: str, kind: str, value: dict[Any, Any]) -> Value:
    if not value:
        raise RuntimeError(f"input {name!r} was given an empty dict; a map must have at least one item")
    inner = kind[kind.index("map(") + 4 :] if "map(" in kind else ""
    key, _, rest = inner.partition(",")
    number = _dtypes.NUMBERS.get(rest.removeprefix("tensor(").split(")")[0], 1)
    if key == "string" and not all(isinstance(k, str) for k in value):
        raise _error(2, f"the keys of the map for input {name!r} must be str")
    if key == "int64" and not all(isinstance(k, (int, np.integer)) for k in value):
        raise _error(2, f"the keys of the map for input {name!r} must be int")
    keys = np.array(list(value), dtype=object if key == "string" else np.int64)
    return _value.mapping(_value.from_object(keys)[0], _value.from_object(np.array(list(value.values()), dtype=_dtypes.to_dtype(number)))[0])


class IOBinding:
    """Which memory a session's inputs are read from and its outputs are written to. Keeps what is bound alive until it is bound anew, cleared, or
    the binding dies. Belongs to one thread at a time. A mistake found before the first step leaves every bound buffer untouched; after a failed
    run the contents of bound output buffers are undefined."""

    __slots__ = ("__weakref__", "_iobinding", "_session")

    def __init__(self, session: InferenceSession) -> None:
        self._iobinding = NativeBinding(session._sess)
        self._session = session._sess

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Binds an array. A contiguous one is used in place: later writes to it are seen by the next run. Others are copied now."""
        self._iobinding.bind_input(name, arr_on_cpu)

    def bind_input(self, name: str, device_type: Any, device_id: int = 0, element_type: Any = None, shape: Any = None, buffer_ptr: Any = None) -> None:
        """Binds memory at an address, which the caller keeps alive; or, called as bind_input(name, array), anything like an array.
        device_type: 'cpu'. element_type: dtype, ONNX number, name. buffer_ptr: an address, or an object over whose memory it is (kept alive)."""
        if not isinstance(device_type, str):
            self._iobinding.bind_input(name, device_type)
            return
        if device_of(device_type) != "cpu":
            raise RuntimeError(f"input {name!r} cannot be bound to {device_type!r}: this session runs on the CPU and cannot read there")
        self._iobinding.bind_input(name, _tensor_at(name, element_type, shape, buffer_ptr))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Binds an OrtValue of any kind."""
        self._iobinding.bind_input(name, self._own(ortvalue))

    def bind_output(
        self,
        name: str,
        device_type: Any = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Any = None,
        buffer_ptr: Any = None,
        *,
        allocator: Callable[[tuple[int, ...], np.dtype[Any]], Any] | None = None,
        capacity: int | None = None,
    ) -> None:
        """Binds an output, in one of these forms:

        bind_output(name)                                the engine allocates; the address stays while the shape does
        bind_output(name, 'cpu', 0, type, shape, ptr)    memory at an address, which the caller keeps alive
        bind_output(name, array)                         anything like an array, written in place and kept alive
        bind_output(name, allocator=function)            function(shape, dtype) returns the array to write, once a run
        bind_output(name, buffer_ptr=p, capacity=n)      at most n bytes at p; get_outputs() tells the true shape
        """
        if allocator is not None:
            self._iobinding.bind_output_allocator(name, allocator)
        elif capacity is not None:
            address, owner = _address(name, buffer_ptr)
            self._iobinding.bind_output_capacity(name, address, capacity, owner)
        elif not isinstance(device_type, str):
            self._iobinding.bind_output(name, device_type)
        elif buffer_ptr is None:
            if device_of(device_type) != "cpu":
                warnings.warn(f"output {name!r} is bound to {device_type!r}, which this session does not have: it will be on the CPU", UserWarning, stacklevel=2)
            self._iobinding.bind_output_device(name, device_type, device_id)
        elif device_of(device_type) != "cpu":
            raise RuntimeError(f"output {name!r} cannot be bound to memory on {device_type!r}: this session runs on the CPU and cannot write there")
        elif element_type is None or shape is None:
            raise ValueError("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
        else:
            self._iobinding.bind_output(name, _tensor_at(name, element_type, shape, buffer_ptr, output=True))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """The run writes into the OrtValue's memory."""
        self._iobinding.bind_output(name, self._own(ortvalue))

    def _own(self, ortvalue: OrtValue) -> Value:
        if not isinstance(ortvalue, OrtValue):
            raise AttributeError(f"an OrtValue is expected, not {type(ortvalue).__name__}; use bind_cpu_input for arrays")
        if ortvalue._session is not None and ortvalue._session is not self._session:
            raise ValueError("this OrtValue was made by another session (create_ortvalue_from_shape_and_type) and cannot be used with this one")
        return ortvalue._ortvalue

    def __setitem__(self, name: str, source: Any) -> None:
        """binding['x'] = array: binds an input or an output, whichever has that name."""
        native = self._session
        if name in native.output_names and name not in native.input_names:
            self._iobinding.bind_output(name, source)
        else:
            self._iobinding.bind_input(name, source)

    def synchronize_inputs(self) -> None:
        """Waits until bound inputs can be read. Runs on the CPU have nothing to wait for."""
        self._iobinding.synchronize_inputs()

    def synchronize_outputs(self) -> None:
        """Waits until the latest run's outputs are complete. Runs on the CPU are complete when they return."""
        self._iobinding.synchronize_outputs()

    def get_outputs(self) -> list[OrtValue]:
        """The outputs in the order in which they were bound; empty values before a run. An output that the engine allocated is overwritten by the
        next run if its shape is unchanged: bind it anew to keep it."""
        return [OrtValue(value) for value in self._iobinding.outputs()]

    def get_outputs_as_ortvaluevector(self) -> OrtValueVector:
        """The outputs as a vector of native values."""
        vector = OrtValueVector()
        for value in self._iobinding.outputs():
            vector.push_back(value)
        return vector

    def copy_outputs_to_cpu(self) -> list[Any]:
        """Fresh copies of the outputs: arrays, lists for sequences, dicts for maps, None for empty optionals."""
        return [_copied(value) for value in self._iobinding.outputs()]

    def clear_binding_inputs(self) -> None:
        self._iobinding.clear_inputs()

    def clear_binding_outputs(self) -> None:
        self._iobinding.clear_outputs()

    def __deepcopy__(self, memo: Any) -> IOBinding:
        raise TypeError("cannot pickle 'IOBinding' object: make one with session.io_binding()")

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle 'IOBinding' object: make one with session.io_binding()")


def _copied(value: Value) -> Any:
    if not value.has_value():
        raise RuntimeError("an output has no value yet: run the model before copying its outputs")
    return _copy_object(value.to_object())


def _copy_object(item: Any) -> Any:
    if isinstance(item, list):
        return [_copy_object(part) for part in item]
    return item.copy() if isinstance(item, np.ndarray) else item


def _address(name: str, pointer: Any) -> tuple[int, Any]:
    """(address, object to keep alive) of a number, or of an object with memory."""
    if isinstance(pointer, (int, np.integer)) and not isinstance(pointer, bool):
        if not 0 <= pointer < 2**63:
            raise TypeError(f"buffer_ptr of {name!r} must be an address, not {pointer}")
        return int(pointer), None
    if isinstance(pointer, OrtValue):
        return pointer.data_ptr(), pointer
    if hasattr(pointer, "data_ptr"):
        return pointer.data_ptr(), pointer
    if isinstance(pointer, np.ndarray):
        return pointer.__array_interface__["data"][0], pointer
    raise TypeError(f"buffer_ptr of {name!r} must be an address (int), not {type(pointer).__name__}")


def _tensor_at(name: str, element_type: Any, shape: Any, pointer: Any, output: bool = False) -> Value:
    number = _dtypes.parse(element_type)
    if number == _dtypes.STRING:
        raise RuntimeError(f"{name!r}: strings cannot be bound by address; bind an OrtValue")
    try:
        dims = [d.__index__() for d in (shape.tolist() if isinstance(shape, np.ndarray) else shape)]
    except (AttributeError, TypeError):
        raise TypeError(f"the shape of {name!r} must be a sequence of integers, not {shape!r}") from None
    if any(d < 0 for d in dims):
        raise RuntimeError(f"the shape of {name!r} has a negative dim: {dims}")
    address, owner = _address(name, pointer)
    count = int(np.prod(dims, dtype=object)) if dims else 1
    if address == 0 and (count or output):
        raise RuntimeError(f"buffer_ptr of {name!r} is null; it must be the address of {count} elements")
    from ortcore._ortvalue import _value_bits

    bits = _dtypes.PACKED_BITS.get(number) or _value_bits(number)
    return _value.borrow(address, (count * bits + 7) // 8, number, dims, owner)


def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: Any = None) -> None:
    """Copies tensors into tensors of the same types and sizes. stream: None."""
    if not isinstance(src, Sequence) or not isinstance(dst, Sequence):
        raise TypeError("copy_tensors takes two sequences of OrtValues")
    if len(src) != len(dst) or not src:
        raise RuntimeError(f"copy_tensors needs as many sources as destinations and at least one, not {len(src)} and {len(dst)}")
    if stream is not None:
        raise RuntimeError("copies on the CPU take no stream")
    for source, destination in zip(src, dst, strict=True):
        if not isinstance(source, OrtValue) or not isinstance(destination, OrtValue):
            raise AttributeError("copy_tensors takes OrtValues")
        destination._ortvalue.copy_from(source._ortvalue)
