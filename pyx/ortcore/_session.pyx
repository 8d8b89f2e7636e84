"""Sessions, bindings and run options of the core as Python objects. The GIL is released while models load, runs run and memory is freed."""
from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset, strncpy

from ortcore._capi cimport *
from ortcore._errors cimport check
from ortcore._value cimport Value, object_from_value, read_shape, value_from_object

import sys

from ortcore import _dtypes

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL


cdef const char *utf8(object text, str what) except NULL:
    """The text as the core takes it; lives as long as the object."""
    cdef Py_ssize_t size
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a str, not {type(text).__name__}")
    return PyUnicode_AsUTF8AndSize(text, &size)


cdef void drop_owner(void *owner) noexcept with gil:
    if not sys.is_finalizing():
        Py_DECREF(<object>owner)


cdef object text_or_none(const char *text):
    return None if text is NULL else text.decode("utf-8", "replace")


# ---- Options ---------------------------------------------------------------------------------------------------------------

cdef class NativeOptions:
    """What a session is made with."""
    cdef ortc_session_options *handle

    def __cinit__(self):
        self.handle = ortc_session_options_create()
        if self.handle is NULL:
            raise MemoryError()

    def __dealloc__(self):
        ortc_session_options_release(self.handle)

    def set(self, key, value):
        check(ortc_session_options_set(self.handle, utf8(key, "a settings key"), utf8(value, "a settings value")))

    def get(self, key):
        return text_or_none(ortc_session_options_get(self.handle, utf8(key, "a settings key")))

    def override_dim(self, name, int64_t dim, bint denotation):
        if denotation:
            check(ortc_session_options_override_denotation(self.handle, utf8(name, "a denotation"), dim))
        else:
            check(ortc_session_options_override_dim(self.handle, utf8(name, "the name of a dim"), dim))

    def add_initializer(self, name, Value value not None, bint external):
        check(ortc_session_options_add_initializer(self.handle, utf8(name, "the name of an initializer"), value.handle, external))

    def add_external_file(self, name, source):
        """The buffer is kept alive as long as a session needs it."""
        cdef Py_buffer view
        PyObject_GetBuffer(source, &view, PyBUF_SIMPLE)
        try:
            check(ortc_session_options_add_external_file(self.handle, utf8(name, "the name of a file"), view.buf, view.len, drop_owner, <void *>source))
            Py_INCREF(source)
        finally:
            PyBuffer_Release(&view)

    def add_provider(self, name, options):
        cdef size_t n = len(options), i = 0
        cdef const char **texts = <const char **>calloc(2 * n + 1, sizeof(char *))
        if texts is NULL:
            raise MemoryError()
        try:
            for key, value in options.items():
                texts[i] = utf8(key, "a provider option")
                texts[n + i] = utf8(value, "a provider option's value")
                i += 1
            check(ortc_session_options_add_provider(self.handle, utf8(name, "a provider's name"), texts, texts + n, n))
        finally:
            free(texts)

    def cancel_load(self, bint cancel):
        ortc_session_options_cancel_load(self.handle, cancel)


cdef class NativeRunOptions:
    """What a run is made with. `terminate` may be set from another thread while a run uses it."""
    cdef ortc_run_options *handle
    cdef bint _terminate

    def __cinit__(self):
        self.handle = ortc_run_options_create()
        if self.handle is NULL:
            raise MemoryError()

    def __dealloc__(self):
        ortc_run_options_release(self.handle)

    @property
    def terminate(self):
        return self._terminate

    @terminate.setter
    def terminate(self, value):
        self._terminate = bool(value)
        ortc_run_options_set_terminate(self.handle, self._terminate)

    def set(self, key, value):
        check(ortc_run_options_set(self.handle, utf8(key, "a settings key"), utf8(value, "a settings value")))

    def get(self, key):
        return text_or_none(ortc_run_options_get(self.handle, utf8(key, "a settings key")))


cdef const ortc_run_options *run_options(object options) except? NULL:
    if options is None:
        return NULL
    if not isinstance(options, NativeRunOptions):
        raise TypeError(f"run_options must be a RunOptions, not {type(options).__name__}")
    return (<NativeRunOptions>options).handle


# ---- Sessions --------------------------------------------------------------------------------------------------------------

cdef struct arguments:
    size_t count
    const char **names
    ortc_value **values

cdef int arguments_init(arguments *a, size_t count) except -1:
    a.count = count
    a.names = <const char **>calloc(2 * count + 1, sizeof(void *))
    if a.names is NULL:
        raise MemoryError()
    a.values = <ortc_value **>(a.names + count)
    return 0


cdef object io_info(const ortc_io_info *io):
    shape = []
    for d in range(io.rank):
        shape.append(io.dims[d] if io.dims[d] >= 0 else text_or_none(io.symbols[d]))
    return (io.name.decode(), io.type.decode(), shape, bool(io.is_tensor), bool(io.is_optional), <int>io.element_type, bool(io.has_rank),
            ((<bytes>io.memory.name).decode(), <int>io.memory.allocator_type, io.memory.device_id, <int>io.memory.mem_type))


cdef object stats_dict(const ortc_run_stats *s):
    return {"runs": s.runs, "bytes_copied": s.bytes_copied, "bytes_reordered": s.bytes_reordered, "allocations": s.allocations,
            "kernel_launches": s.kernel_launches, "host_to_device_copies": s.host_to_device_copies, "device_to_host_copies": s.device_to_host_copies,
            "planned_bytes": s.planned_bytes}


cdef class NativeSession:
    """A model ready to run. Any number of threads may use it at once."""
    cdef ortc_session *handle
    cdef readonly tuple inputs, outputs, overridable      # io_info of each
    cdef readonly tuple input_names, output_names

    def __init__(self, source, NativeOptions options not None):
        """source: a path (str), or an object whose buffer holds the model, which is kept alive."""
        cdef Py_buffer view
        cdef const char *path
        cdef ortc_status *status
        if isinstance(source, str):
            path = utf8(source, "the path")
            with nogil:
                status = ortc_session_create_from_file(path, options.handle, &self.handle)
        else:
            PyObject_GetBuffer(source, &view, PyBUF_SIMPLE)
            with nogil:
                status = ortc_session_create_from_memory(view.buf, view.len, drop_owner, <void *>source, options.handle, &self.handle)
            if status is NULL:
                Py_INCREF(source)
            PyBuffer_Release(&view)
        check(status)
        self.inputs = self.list_io(ORTC_IO_INPUT)
        self.outputs = self.list_io(ORTC_IO_OUTPUT)
        self.overridable = self.list_io(ORTC_IO_OVERRIDABLE)
        self.input_names = tuple([io[0] for io in self.inputs])
        self.output_names = tuple([io[0] for io in self.outputs])

    def __dealloc__(self):
        cdef ortc_session *handle = self.handle
        if handle is not NULL:
            with nogil:
                ortc_session_release(handle)

    cdef tuple list_io(self, ortc_io which):
        return tuple([io_info(ortc_session_get_io(self.handle, which, i)) for i in range(ortc_session_get_io_count(self.handle, which))])

    def run(self, names, feeds, options=None):
        """names: outputs in the order wanted. feeds: name -> anything that a value can be made from. Returns Values."""
        cdef arguments ins, outs
        cdef const ortc_run_options *native_options = run_options(options)
        cdef ortc_status *status
        cdef int64_t copied = 0
        cdef size_t i = 0
        cdef Value value
        keep = []
        arguments_init(&ins, len(feeds))
        try:
            arguments_init(&outs, len(names))
        except MemoryError:
            free(ins.names)
            raise
        try:
            for name, source in feeds.items():
                ins.names[i] = utf8(name, "an input's name")
                value = value_from_object(source, &copied)
                keep.append(value)
                ins.values[i] = value.handle
                i += 1
            i = 0
            for name in names:
                outs.names[i] = utf8(name, "an output's name")
                i += 1
            with nogil:
                status = ortc_session_run(self.handle, native_options, ins.count, ins.names, ins.values, outs.count, outs.names, outs.values)
            check(status)
            return [Value.wrap(outs.values[i]) for i in range(outs.count)]
        finally:
            free(ins.names)
            free(outs.names)

    def run_objects(self, names, feeds, options=None):
        """As run, but arrays, lists and dicts come out."""
        return [object_from_value(value) for value in self.run(names, feeds, options)]

    def metadata(self):
        cdef const ortc_model_metadata *m = ortc_session_get_metadata(self.handle)
        custom = {m.custom_keys[i].decode("utf-8", "replace"): m.custom_values[i].decode("utf-8", "replace") for i in range(m.custom_count)}
        return (text_or_none(m.producer_name), text_or_none(m.graph_name), text_or_none(m.domain), text_or_none(m.description),
                text_or_none(m.graph_description), m.version, custom)

    def providers(self):
        result = []
        while ortc_session_get_provider(self.handle, len(result)) is not NULL:
            result.append(ortc_session_get_provider(self.handle, len(result)).decode())
        return result

    def nodes(self):
        """(name, operator, domain, provider) of the nodes as they will run."""
        cdef ortc_node_info info
        result = []
        while ortc_session_get_node(self.handle, len(result), &info):
            result.append((info.name.decode("utf-8", "replace"), info.op_type.decode(), info.domain.decode(), info.provider.decode()))
        return result

    def end_profiling(self):
        cdef const char *path
        check(ortc_session_end_profiling(self.handle, &path))
        return path.decode()

    def profiling_start_ns(self):
        return ortc_session_get_profiling_start_ns(self.handle)

    def stats(self):
        """(totals, latest run) as dicts of the counters of ortc_run_stats."""
        cdef ortc_run_stats total, latest
        ortc_session_get_stats(self.handle, &total, &latest)
        return stats_dict(&total), stats_dict(&latest)

    def allocator_stats(self):
        cdef ortc_allocator_stats s
        ortc_allocator_get_stats(ortc_session_get_allocator(self.handle), &s)
        return {"bytes_in_use": s.bytes_in_use, "peak_bytes_in_use": s.peak_bytes_in_use, "bytes_reserved": s.bytes_reserved, "max_bytes": s.max_bytes,
                "allocations": s.allocations, "frees": s.frees, "extensions": s.extensions, "shrinks": s.shrinks, "largest_allocation": s.largest_allocation}

    def trim(self):
        cdef uint64_t released
        with nogil:
            released = ortc_session_trim(self.handle)
        return released

    def empty(self, shape, int element_type):
        """A tensor in memory of the session's allocator."""
        cdef int64_t dims[16]
        cdef ortc_value *handle
        cdef int rank = read_shape(shape, dims)
        check(ortc_value_create_tensor(ortc_session_get_allocator(self.handle), <ortc_element_type>element_type, rank, dims, &handle))
        return Value.wrap(handle)


# ---- Bindings --------------------------------------------------------------------------------------------------------------

cdef int allocate_output(void *user, const char *name, ortc_element_type type, size_t rank, const int64_t *dims, size_t nbytes,
                         void **out_data) noexcept with gil:
    """Asks the Python callable of an output for memory; its exception is kept for the run to raise."""
    allocator = <OutputAllocator>user
    try:
        shape = tuple([dims[i] for i in range(rank)])
        out_data[0] = <void *><size_t>allocator.allocate(shape, <int>type, nbytes)
        return 0
    except BaseException as error:
        allocator.error = error
        return 1


cdef class OutputAllocator:
    """Calls `function(shape, dtype)` once a run, which returns an array to write into (or any object with a writable buffer)."""
    cdef object function
    cdef public object error
    cdef public object memory                               # what the function returned last; the output lies in it

    def __init__(self, function):
        self.function = function

    def allocate(self, shape, int number, size_t nbytes):
        cdef int64_t copied = 0
        cdef Value value
        self.memory = self.function(shape, _dtypes.to_dtype(number))
        value = value_from_object(self.memory, &copied)
        if copied or ortc_value_is_read_only(value.handle):
            raise ValueError("an output allocator must return contiguous, writable memory of a native type")
        if ortc_value_get_bytes(value.handle) < nbytes:
            raise ValueError(f"an output allocator was asked for {nbytes} bytes but returned {ortc_value_get_bytes(value.handle)}")
        return <size_t>ortc_value_get_data(value.handle)


cdef class NativeBinding:
    """Which memory a session reads and writes. One thread at a time."""
    cdef ortc_binding *handle
    cdef readonly NativeSession session
    cdef dict allocators

    def __init__(self, NativeSession session not None):
        check(ortc_binding_create(session.handle, &self.handle))
        self.session = session
        self.allocators = {}

    def __dealloc__(self):
        cdef ortc_binding *handle = self.handle
        if handle is not NULL:
            with nogil:
                ortc_binding_release(handle)

    cpdef bind_input(self, name, source):
        """source: a Value, an array, or anything that a value can be made from."""
        cdef int64_t copied = 0
        cdef Value value = value_from_object(source, &copied)
        check(ortc_binding_bind_input(self.handle, utf8(name, "an input's name"), value.handle))
        if copied:
            ortc_binding_count_copied(self.handle, copied)

    cpdef bind_output(self, name, source):
        cdef int64_t copied = 0
        cdef Value value = value_from_object(source, &copied)
        if copied:
            raise ValueError(f"output {name!r} must be bound to contiguous memory in native byte order; this array would need a copy")
        check(ortc_binding_bind_output(self.handle, utf8(name, "an output's name"), value.handle))
        self.allocators.pop(name, None)

    def bind_output_device(self, name, str device, int device_id):
        cdef ortc_memory_info info
        memset(&info, 0, sizeof(info))
        encoded = {"cpu": b"Cpu", "cuda": b"Cuda", "gpu": b"Gpu", "dml": b"DML", "npu": b"Npu"}.get(device, device.encode())
        strncpy(info.name, encoded, sizeof(info.name) - 1)
        info.device_type = <ortc_device_type>(0 if device == "cpu" else 3 if device in ("npu", "cann") else 1)
        info.device_id = device_id
        check(ortc_binding_bind_output_device(self.handle, utf8(name, "an output's name"), &info))
        self.allocators.pop(name, None)

    def bind_output_allocator(self, name, function):
        allocator = OutputAllocator(function)
        check(ortc_binding_bind_output_allocator(self.handle, utf8(name, "an output's name"), NULL, allocate_output, drop_owner, <void *>allocator))
        Py_INCREF(allocator)
        self.allocators[name] = allocator

    def bind_output_capacity(self, name, size_t address, size_t capacity, owner=None):
        # None is an owner too: holding it costs nothing and spares a case.
        check(ortc_binding_bind_output_capacity(self.handle, utf8(name, "an output's name"), NULL, <void *>address, capacity, drop_owner, <void *>owner))
        Py_INCREF(owner)
        self.allocators.pop(name, None)

    def clear_inputs(self):
        with nogil:
            ortc_binding_clear_inputs(self.handle)

    def clear_outputs(self):
        with nogil:
            ortc_binding_clear_outputs(self.handle)
        self.allocators.clear()

    def synchronize_inputs(self):
        cdef ortc_status *status
        with nogil:
            status = ortc_binding_synchronize_inputs(self.handle)
        check(status)

    def synchronize_outputs(self):
        cdef ortc_status *status
        with nogil:
            status = ortc_binding_synchronize_outputs(self.handle)
        check(status)

    cpdef run(self, options=None):
        cdef const ortc_run_options *native = run_options(options) if options is not None else NULL
        cdef ortc_status *status
        with nogil:
            status = ortc_session_run_binding(self.session.handle, self.handle, native)
        if status is not NULL:
            for allocator in self.allocators.values():
                if allocator.error is not None:
                    error, allocator.error = allocator.error, None
                    ortc_status_release(status)
                    raise error
            check(status)

    def output_names(self):
        return [ortc_binding_get_output_name(self.handle, i).decode() for i in range(ortc_binding_get_output_count(self.handle))]

    def outputs(self):
        cdef ortc_value *handle
        result = []
        for i in range(ortc_binding_get_output_count(self.handle)):
            check(ortc_binding_get_output(self.handle, i, &handle))
            result.append(Value.wrap(handle))
        return result


# ---- The process -------------------------------------------------------------------------------------------------------------

def version():
    return ortc_version_string().decode()


def build_info():
    return ortc_build_info().decode()


def available_providers():
    result = []
    while ortc_available_provider(len(result)) is not NULL:
        result.append(ortc_available_provider(len(result)).decode())
    return result


def set_seed(int64_t seed):
    ortc_set_seed(seed)


def set_thread_budget(int threads):
    ortc_set_thread_budget(threads)


def get_thread_budget():
    return ortc_get_thread_budget()


def set_log_severity(int severity):
    check(ortc_set_log_severity(severity))


cdef object log_callback = None

cdef void call_log_callback(void *user, ortc_severity severity, const char *category, const char *logid, const char *location,
                            const char *message) noexcept with gil:
    callback = log_callback
    if callback is None:
        return
    try:
        callback(<int>severity, category.decode(), logid.decode("utf-8", "replace"), location.decode(), message.decode("utf-8", "replace"))
    except BaseException:
        sys.excepthook(*sys.exc_info())


def set_log_callback(callback):
    global log_callback
    log_callback = callback
    if callback is None:
        ortc_set_log_callback(NULL, NULL)
    else:
        ortc_set_log_callback(call_log_callback, NULL)


def register_allocator(str name, int allocator_type, int device_id, int mem_type, arena):
    """arena: None, or the five numbers of ortc_arena_config after the strategy and limit, as a dict."""
    cdef ortc_memory_info info
    cdef ortc_arena_config config
    cdef ortc_allocator *allocator
    check(ortc_memory_info_init(utf8(name, "the memory's name"), <ortc_allocator_type>allocator_type, device_id, <ortc_mem_type>mem_type, &info))
    if arena is not None:
        config.size = sizeof(config)
        config.max_bytes = arena["max_mem"]
        config.extend_strategy = arena["arena_extend_strategy"]
        config.initial_chunk_bytes = arena["initial_chunk_size_bytes"]
        config.max_dead_bytes_per_chunk = arena["max_dead_bytes_per_chunk"]
        config.initial_growth_chunk_bytes = arena["initial_growth_chunk_size_bytes"]
        config.max_power_of_two_extend_bytes = arena["max_power_of_two_extend_bytes"]
    if arena is None:
        check(ortc_allocator_create(&info, NULL, &allocator))
    else:
        check(ortc_allocator_create(&info, &config, &allocator))
    status = ortc_allocator_register(allocator)
    ortc_allocator_release(allocator)
    check(status)
