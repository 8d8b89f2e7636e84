# cython: language_level=3, freethreading_compatible=True, auto_pickle=False, boundscheck=False, wraparound=False
"""A loaded model: what it says of itself, and plain runs of it."""
from cpython.bytes cimport PyBytes_AsString
from libc.stdlib cimport free, malloc
from ortcore._arrays cimport read_dims
from ortcore._capi cimport *
from ortcore._convert cimport TypeInfo, value_of
from ortcore._device cimport wrap_memory_info
from ortcore._errors cimport check, check_run
from ortcore._options cimport NativeSessionOptions, run_options_of, text_of
from ortcore._owners cimport hold, owner_release, owners_enter, owners_leave, release_value
from ortcore._value cimport OrtValue, object_of, wrap

from ortcore._errors import InvalidInput, InvalidType, WrongClass, list_of, make_error


cdef class InputInfo(TypeInfo):
    pass


cdef class NativeSession:
    """The session of the C library, shared by the InferenceSession and its bindings."""

    def __cinit__(self):
        self.pointer = NULL
        self.output_names = NULL

    def __dealloc__(self):
        free(self.output_names)
        owners_enter()
        ortc_session_release(self.pointer)
        owners_leave()

    @staticmethod
    def load(path, bytes data, NativeSessionOptions options not None):
        """From a file, or from bytes, which the session holds."""
        cdef NativeSession self = NativeSession.__new__(NativeSession)
        cdef ortc_status *status
        cdef const char *file_name
        cdef const char *bytes_
        cdef size_t size
        cdef void *owner
        if data is None:
            encoded = path.encode("utf-8", "surrogateescape")
            file_name = PyBytes_AsString(encoded)
            with nogil:
                status = ortc_session_create_from_file(file_name, options.pointer, &self.pointer)
        else:
            owner = hold(data)
            bytes_ = PyBytes_AsString(data)
            size = len(data)
            owners_enter()
            with nogil:
                status = ortc_session_create_from_memory(bytes_, size, owner_release, owner, options.pointer, &self.pointer)
            if status is not NULL:
                owner_release(owner)
            owners_leave()
        check(status)
        self.describe_io()
        cuda = self.provider_options().get("CUDAExecutionProvider")
        self.device_id = int(cuda["device_id"]) if cuda else -1
        self.on_callers_stream = bool(cuda) and (int(cuda["user_compute_stream"], 0) != 0 or cuda["has_user_compute_stream"] == "1")
        return self

    cdef int describe_io(self) except -1:
        cdef const ortc_io_info *info
        cdef InputInfo described
        self.inputs = {}
        for which in (ORTC_IO_INPUT, ORTC_IO_OVERRIDABLE):
            for i in range(ortc_session_get_io_count(self.pointer, <ortc_io>which)):
                info = ortc_session_get_io(self.pointer, <ortc_io>which, i)
                described = InputInfo(info.type.decode(), <int>info.element_type)
                described.name = info.name
                described.required = which == ORTC_IO_INPUT and not info.is_optional
                self.required_count += described.required
                self.inputs[info.name.decode()] = described
        self.output_count = ortc_session_get_io_count(self.pointer, ORTC_IO_OUTPUT)
        self.output_names = <const char **>malloc((self.output_count + 1) * sizeof(char *))
        if self.output_names is NULL:
            raise MemoryError()
        for i in range(self.output_count):
            self.output_names[i] = ortc_session_get_io(self.pointer, ORTC_IO_OUTPUT, i).name
        return 0

    # ---- What the model says

    def io(self, int which):
        """[(name, type, dims, OrtMemoryInfo)] of the inputs (0), outputs (1) or overridable initializers (2). A dim is an int, a symbol or None;
        dims is None for values whose rank is unknown, and [] for what is no tensor."""
        cdef const ortc_io_info *info
        result = []
        for i in range(ortc_session_get_io_count(self.pointer, <ortc_io>which)):
            info = ortc_session_get_io(self.pointer, <ortc_io>which, i)
            dims = None
            if info.has_rank:
                dims = []
                for d in range(info.rank):
                    if info.symbols[d] is not NULL:
                        dims.append(info.symbols[d].decode())
                    else:
                        dims.append(<object>info.dims[d] if info.dims[d] >= 0 else None)
            result.append((info.name.decode(), info.type.decode(), dims, wrap_memory_info(&info.memory)))
        return result

    def metadata(self):
        """The model's metadata as a dict."""
        cdef const ortc_model_metadata *m = ortc_session_get_metadata(self.pointer)
        custom = {readable(m.custom_keys[i]): readable(m.custom_values[i]) for i in range(m.custom_count)}
        return {"producer_name": readable(m.producer_name), "graph_name": readable(m.graph_name), "domain": readable(m.domain),
                "description": readable(m.description), "graph_description": readable(m.graph_description), "version": m.version,
                "custom_metadata_map": custom}

    def get_providers(self):
        """Names of the providers in order of priority."""
        names = []
        while ortc_session_get_provider(self.pointer, len(names)) is not NULL:
            names.append(ortc_session_get_provider(self.pointer, len(names)).decode())
        return names

    def provider_options(self):
        """{provider: {option: value}} with defaults, in order of priority."""
        cdef const char *key
        cdef const char *value
        result = {}
        for provider in self.get_providers():
            name, options = provider.encode(), {}
            while ortc_session_get_provider_option(self.pointer, name, len(options), &key, &value):
                options[key.decode()] = value.decode()
            result[provider] = options
        return result

    def nodes(self):
        """[(name, operator, domain, provider, reason, bytes, computed by, subgraph)] of the nodes that a run executes."""
        cdef ortc_node_info node
        result = []
        while ortc_session_get_node(self.pointer, len(result), &node):
            result.append((node.name.decode(), node.op_type.decode(), node.domain.decode(), node.provider.decode(),
                           node.reason.decode() if node.reason is not NULL else None, None if node.bytes < 0 else node.bytes,
                           node.computed_by.decode() if node.computed_by is not NULL else None,
                           node.subgraph.decode() if node.subgraph is not NULL else None))
        return result

    def end_profiling(self):
        """Path of the trace, "" if profiling was off or has ended."""
        cdef const char *path = NULL
        cdef ortc_status *status
        with nogil:
            status = ortc_session_end_profiling(self.pointer, &path)
        check(status)
        return path.decode()

    def profiling_start_ns(self):
        """When profiling began, in ns of the monotonic clock; 0 if it is off."""
        return ortc_session_get_profiling_start_ns(self.pointer)

    def stats(self):
        """({counter: number} of all runs, the same of the latest run)."""
        cdef ortc_run_stats[2] both
        ortc_session_get_stats(self.pointer, &both[0], &both[1])
        return stats_dict(&both[0]), stats_dict(&both[1])

    def memory_stats(self, bint on_device):
        """{counter: number} of the session's allocator on the CPU or on its GPU; None where it has none."""
        cdef ortc_allocator_stats s
        cdef ortc_allocator *allocator = ortc_session_get_device_allocator(self.pointer) if on_device else ortc_session_get_allocator(self.pointer)
        if allocator is NULL:
            return None
        ortc_allocator_get_stats(allocator, &s)
        return {"bytes_in_use": s.bytes_in_use, "peak_bytes_in_use": s.peak_bytes_in_use, "bytes_reserved": s.bytes_reserved, "max_bytes": s.max_bytes,
                "allocations": s.allocations, "frees": s.frees, "extensions": s.extensions, "shrinks": s.shrinks,
                "largest_allocation": s.largest_allocation}

    def trim(self):
        """Frees what idle runs keep; the bytes given back."""
        cdef uint64_t bytes_
        with nogil:
            bytes_ = ortc_session_trim(self.pointer)
        return bytes_

    def create_value(self, shape, int element_type):
        """A tensor from the session's allocator."""
        cdef int64_t[ORTC_MAX_RANK] dims
        cdef ortc_value *value = NULL
        cdef size_t rank = read_dims(shape, dims)
        check(ortc_value_create_tensor(ortc_session_get_allocator(self.pointer), <ortc_element_type>element_type, rank, dims, &value))
        cdef OrtValue result = wrap(value)
        result._session = self
        return result

    # ---- Plain runs

    def missing_inputs(self, input_feed):
        """Names of the required inputs that a feed lacks."""
        cdef InputInfo info
        cdef dict feed = feed_dict(input_feed)
        return [name for name, info in self.inputs.items() if info.required and feed.get(name) is None]

    def run(self, output_names, input_feed, run_options=None):
        """As InferenceSession.run()."""
        return self.run_feed(output_names, input_feed, run_options, False)

    def run_with_iobinding(self, iobinding, run_options=None):
        """As InferenceSession.run_with_iobinding()."""
        return iobinding._run(self, run_options)

    cdef object run_feed(self, object output_names, object input_feed, object run_options, bint as_values):
        """Runs the model on the values of a mapping. `as_values`: the results as OrtValues, otherwise as Python objects."""
        cdef ortc_run_options *options
        cdef dict feed = feed_dict(input_feed)
        cdef list items = list(feed.items())               # of our own: what turns a source into a value may change the caller's dict
        cdef InputInfo info
        cdef size_t input_count = 0, output_count = self.output_count, i, feed_count = len(items), seen = 0
        cdef const char **names = self.output_names
        cdef void **block
        cdef const char **input_names
        cdef ortc_value **inputs
        cdef ortc_value **outputs
        cdef ortc_status *status
        cdef int64_t copied = 0
        run_options_of(run_options, &options)
        if output_names:
            output_names = list(output_names) if type(output_names) is list else list_of(output_names, "output_names")
            output_count = len(output_names)
        block = <void **>malloc((2 * feed_count + 2 * output_count + 1) * sizeof(void *))
        if block is NULL:
            raise MemoryError()
        input_names, inputs, outputs = <const char **>block, <ortc_value **>(block + feed_count), <ortc_value **>(block + 2 * feed_count)
        name = None
        try:
            if output_names:
                names = <const char **>(block + 2 * feed_count + output_count)
                for i in range(output_count):
                    names[i] = text_of(output_names[i], "an output's name")
            for name, source in items:
                info = self.inputs.get(name)
                if info is None:
                    if source is None:
                        continue
                    if not isinstance(name, str):
                        raise TypeError(f"the names of inputs must be str; {name!r} is {type(name).__name__}")
                    raise make_error(2, f"Invalid input name: '{name}' is no input of this model; its inputs are {', '.join(map(repr, self.inputs))}")
                if source is None and not info.optional:
                    continue                               # an initializer keeps its value; a required input is found missing below
                if isinstance(source, OrtValue) and (<OrtValue>source)._session is not None and (<OrtValue>source)._session is not self:
                    raise ValueError(f"input '{name}' is an OrtValue that another session created; it can be used with that session only")
                inputs[input_count] = value_of(source, info, &copied)
                input_names[input_count] = info.name
                input_count += 1
                seen += info.required
            if seen < self.required_count:
                raise InvalidInput(missing_message(self, feed))
            for i in range(output_count):
                outputs[i] = NULL
            owners_enter()
            with nogil:
                status = ortc_session_run(self.pointer, options, input_count, input_names, inputs, output_count, names, outputs)
            owners_leave()
            check_run(status)
            return self.results(output_names, output_count, <void **>outputs, as_values)
        except InvalidType as error:
            error.args = (f"input '{name}': {error}",)
            raise
        finally:
            owners_enter()
            for i in range(input_count):
                ortc_value_release(inputs[i])
            owners_leave()
            free(block)

    cdef list results(self, object names, size_t count, void **outputs, bint as_values):
        """The outputs of a run as a list; takes over the references."""
        cdef size_t i, done = 0
        result = []
        try:
            for i in range(count):
                done = i + 1
                if as_values:
                    result.append(wrap(<ortc_value *>outputs[i]))
                else:
                    result.append(object_of(<ortc_value *>outputs[i]))
        finally:
            for i in range(done, count):
                release_value(<ortc_value *>outputs[i])
        return result


cdef str missing_message(NativeSession session, dict feed):
    """Why a feed is not complete."""
    missing = session.missing_inputs(feed)
    text = f"Required inputs ({missing}) are missing from input feed ({[name for name in feed if feed[name] is not None]})."
    nothing = [name for name in missing if name in feed]
    return f"{text} None was given for {', '.join(map(repr, nothing))}; only optional inputs and initializers may be None." if nothing else text


cdef str readable(const char *text):
    """Text that is only shown: bytes that are not UTF-8 are replaced."""
    return (<bytes>text).decode("utf-8", "replace")


cdef dict feed_dict(object input_feed):
    if type(input_feed) is dict:
        return input_feed
    if not hasattr(input_feed, "items"):
        raise WrongClass(f"input_feed must be a mapping of inputs' names to values, as {{'x': array}}, not {type(input_feed).__name__}")
    return dict(input_feed.items())


cdef dict stats_dict(const ortc_run_stats *s):
    return {"runs": s.runs, "bytes_copied": s.bytes_copied, "bytes_reordered": s.bytes_reordered, "allocations": s.allocations,
            "kernel_launches": s.kernel_launches, "host_to_device_copies": s.host_to_device_copies, "device_to_host_copies": s.device_to_host_copies,
            "planned_bytes": s.planned_bytes, "graph_captures": s.graph_captures, "graph_updates": s.graph_updates,
            "graph_launches": s.graph_launches}
