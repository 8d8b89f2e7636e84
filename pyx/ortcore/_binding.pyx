# cython: language_level=3, freethreading_compatible=True, auto_pickle=False, boundscheck=False, wraparound=False
"""IOBinding: which memory a session's inputs are read from and its outputs are written to."""

from libc.stdint cimport SIZE_MAX
from libc.string cimport strcmp
from ortcore._arrays cimport clone, copied_array, count_bytes, element_type_of, on_host, read_dims, tensor_at, writable_tensor_of
from ortcore._capi cimport *
from ortcore._convert cimport value_of
from ortcore._device cimport OrtDevice, fill_device, handle_number, is_host
from ortcore._errors cimport check_step
from ortcore._options cimport run_options_of, text_of
from ortcore._owners cimport hold, owner_release, owners_enter, owners_leave
from ortcore._session cimport InputInfo, NativeSession
from ortcore._stream cimport cuda_device, make_wait, wait_for
from ortcore._value cimport OrtValue, object_of, wrap

from ortcore._element_types import numpy_dtype
from ortcore._errors import InvalidType, WrongClass, make_error, whole_number

cdef str INPUT = "Error when binding input"
cdef str OUTPUT = "Error when binding output"


cdef size_t address_of(object buffer_ptr) except? 0:
    return whole_number(handle_number(buffer_ptr), "buffer_ptr", 0, SIZE_MAX)


cdef ortc_value *value_at(str step, object name, object device_type, object device_id, object element_type, object shape, object buffer_ptr) except NULL:
    """A tensor over memory that the caller looks after."""
    cdef ortc_memory_info info
    cdef ortc_value *value = NULL
    cdef int64_t[ORTC_MAX_RANK] dims
    cdef size_t rank
    cdef int number = element_type_of(element_type)
    cdef size_t address = address_of(buffer_ptr)
    fill_device(device_type, device_id, -1, &info)
    rank = read_dims(shape, dims)
    cdef ortc_status *status = ortc_value_create_borrowed(&info, <ortc_element_type>number, rank, dims, <void *>address, count_bytes(number, rank, dims),
                                                          NULL, NULL, &value)
    if status is not NULL:
        check_step(status, f"{step}: '{name}'")
    return value


# ---- Outputs that a callable allocates --------------------------------------------------------------------------------

cdef class Allocator:
    """A callable that makes the memory of an output, the memory that it made last, and what it raised. The binding in Python holds it, the one in C
    knows its address only: so the garbage collector sees every reference to it, and a callable may refer to its binding."""

    cdef str output
    cdef object function
    cdef ortc_memory_info place
    cdef OrtValue memory
    cdef object error


cdef bint fits_type(const ortc_value *memory, int element_type) noexcept:
    """Memory of that type, or bytes."""
    return ortc_value_get_element_type(memory) in (element_type, ORTC_UINT8, ORTC_INT8)


cdef int allocate_output(void *user, const char *name, ortc_element_type type, size_t rank, const int64_t *dims, size_t size, void **out_data) noexcept nogil:
    with gil:
        return ask_allocator(<Allocator>user, type, rank, dims, size, out_data)


cdef int ask_allocator(Allocator allocator, int type, size_t rank, const int64_t *dims, size_t size, void **out_data) noexcept:
    cdef OrtValue memory
    try:
        shape, dtype = tuple([dims[i] for i in range(rank)]), numpy_dtype(type)
        given = allocator.function(shape, dtype, size)
        memory = wrap(writable_tensor_of(given, f"what the allocator of output '{allocator.output}' returned"))
        if on_host(memory.pointer) != is_host(&allocator.place):
            raise make_error(2, f"the allocator of output '{allocator.output}' returned memory of {memory.device_name()} where memory of "
                                f"{'the host' if is_host(&allocator.place) else 'the GPU'} is needed, since the output is bound so; return that, or bind the "
                                f"output with device_type '{memory.device_name()}'")
        if not fits_type(memory.pointer, type):
            raise make_error(2, f"the allocator of output '{allocator.output}' returned memory of {memory.data_type()} where {dtype} is needed; return that, or bytes")
        if ortc_value_get_bytes(memory.pointer) < size:
            raise make_error(2, f"the allocator of output '{allocator.output}' returned {ortc_value_get_bytes(memory.pointer)} bytes where shape {shape} of "
                                f"{dtype} needs {size}")
        allocator.memory = memory
        out_data[0] = ortc_value_get_data(memory.pointer)
        return 0
    except BaseException as error:                         # raised when the run has ended
        error.add_note(f"in the allocator of output '{allocator.output}'")
        allocator.error = error
        return 1


cdef OrtValue allocated_value(ortc_value *value, Allocator allocator):
    """The value of such an output, which must hold the memory that the callable gave. Takes over the reference to `value`."""
    cdef ortc_memory_info info
    cdef OrtValue plain = wrap(value)
    if allocator.memory is None or ortc_value_get_data(value) is NULL or ortc_value_get_data(value) != ortc_value_get_data(allocator.memory.pointer):
        return plain
    ortc_value_get_memory_info(value, &info)
    return wrap(tensor_at(&info, ortc_value_get_element_type(value), ortc_value_get_rank(value), ortc_value_get_dims(value), ortc_value_get_data(value),
                          ortc_value_get_bytes(value), allocator.memory))


cdef bint is_set(const ortc_run_options *options, const char *key) noexcept:
    cdef const char *value = ortc_run_options_get(options, key)
    return value is not NULL and strcmp(value, b"1") == 0


cdef class IOBinding:
    """Memory for the inputs and outputs of a session's runs; made by session.io_binding().

    Whatever is bound is held until it is bound anew, cleared, or the binding goes, so arrays may be temporaries. Names, element types, ranks and
    fixed dims are checked when something is bound; a refused bind changes nothing. `binding["x"] = array` binds inputs and outputs alike. One
    thread at a time may use a binding; any number of bindings of one session may run at once.
    """

    def __cinit__(self, session):
        if not isinstance(session, NativeSession):
            if not hasattr(session, "_native"):
                raise WrongClass(f"an IOBinding is made for an InferenceSession, not for {type(session).__name__}; session.io_binding() makes one")
            session = session._native()
        self.session = session
        self.allocators = {}
        check_step(ortc_binding_create(self.session.pointer, &self.pointer), "Error when making a binding")
        self.stream = ortc_binding_get_stream(self.pointer)
        self.on_device = self.session.device_id >= 0
        self.device = cuda_device(self.session.device_id)

    def __dealloc__(self):
        owners_enter()
        ortc_binding_release(self.pointer)
        owners_leave()

    @property
    def _session(self):
        return self.session

    @property
    def _iobinding(self):
        if self.proxy is None:
            from ortcore.binding import SessionIOBinding
            self.proxy = SessionIOBinding(self)
        return self.proxy

    # ---- Inputs

    cdef int put_input(self, const char *name, ortc_value *value) except -1:
        """Takes over the reference to `value`, whatever happens."""
        cdef ortc_status *status
        owners_enter()
        status = ortc_binding_bind_input(self.pointer, name, value)
        ortc_value_release(value)
        owners_leave()
        return check_step(status, INPUT)

    cdef int bind_value(self, object name, object source) except -1:
        cdef int64_t copied = 0
        cdef const char *c_name = text_of(name, "an input's name")
        cdef InputInfo info = self.session.inputs.get(name)
        if isinstance(source, OrtValue) and (<OrtValue>source)._session is not None and (<OrtValue>source)._session is not self.session:
            raise ValueError(f"input '{name}' is an OrtValue that another session created; it can be bound to that session only")
        try:
            self.put_input(c_name, value_of(source, info, &copied, self.stream))
        except InvalidType as error:
            error.args = (f"{INPUT}: '{name}': {error}",)
            raise
        if self.on_device and hasattr(source, "__cuda_stream__"):
            wait_for(self.stream, &self.device, source)
        if copied:
            ortc_binding_count_copied(self.pointer, copied)
        return 0

    def bind_cpu_input(self, name, arr_on_cpu):
        """Binds an input to an array's memory, read anew by each run.

        Strided and byte-swapped arrays are copied here and now, and counted in the session's stats(); so are strings. Any object with
        `__dlpack__`, the buffer protocol or `__array_interface__` may stand for an array.
        """
        if isinstance(arr_on_cpu, (list, dict)) or arr_on_cpu is None:
            raise make_error(2, f"Error when binding input: '{name}' is given as {type(arr_on_cpu).__name__}; bind_cpu_input takes an array")
        self.bind_value(name, arr_on_cpu)

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr, *, stream=None):
        """Binds an input to memory at an address, which the caller keeps alive and which holds at least the tensor's bytes.

        `device_type` 'cpu' or 'cuda', or an OrtDevice. `element_type` a dtype, a name, or a number of ONNX's TensorProto.DataType; types narrower
        than a byte are packed from the low bits up. `stream` is where memory on a device is being filled; the runs wait for it, see wait_for().
        """
        cdef const char *c_name = text_of(name, "an input's name")
        if stream is not None:
            self.wait_for(stream)
        self.put_input(c_name, value_at(INPUT, name, device_type, device_id, element_type, shape, buffer_ptr))

    def bind_ortvalue_input(self, name, ortvalue):
        """Binds an input to an OrtValue of any kind, which the binding holds."""
        if not isinstance(ortvalue, OrtValue):
            raise WrongClass(f"bind_ortvalue_input takes an OrtValue, not {type(ortvalue).__name__}; bind_cpu_input takes arrays")
        self.bind_value(name, ortvalue)

    # ---- Outputs

    cdef int put_output(self, const char *name, ortc_value *value) except -1:
        """Takes over the reference to `value`, whatever happens."""
        cdef ortc_status *status
        owners_enter()
        status = ortc_binding_bind_output(self.pointer, name, value)
        ortc_value_release(value)
        owners_leave()
        return check_step(status, OUTPUT)

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None, *, capacity=None, allocator=None):
        """Binds an output, in one of these ways.

        bind_output(name): ortcore allocates on the device; the address stays the same as long as the shape does.
        bind_output(name, device_type, device_id, element_type, shape, buffer_ptr): into memory of exactly that shape at an address.
        bind_output(name, array): into the memory of a writable array or DLPack object, which is held.
        bind_output(name, capacity=array): into memory that may be larger than the result, whose shape get_outputs() tells; with `buffer_ptr`,
            `capacity` is the number of bytes there.
        bind_output(name, allocator=f): into what f(shape, dtype, bytes) returns, an object with at least so many writable bytes, on the device
            named. It is called once a run, on the run's thread, with the final shape, before anything is written.
        """
        cdef ortc_memory_info info
        cdef const char *c_name = text_of(name, "an output's name")
        if allocator is not None:
            return self._bind_allocator(name, allocator, device_type, device_id)
        if capacity is not None:
            return self._bind_capacity(name, device_type, device_id, buffer_ptr, capacity)
        if buffer_ptr is not None:
            if element_type is None or shape is None:
                raise ValueError("`element_type` and `shape` are to be provided if a pre-allocated memory is provided")
            self.put_output(c_name, value_at(OUTPUT, name, device_type, device_id, element_type, shape, buffer_ptr))
        elif isinstance(device_type, (str, OrtDevice)) or device_type is None:
            fill_device(device_type, device_id, -1, &info)
            owners_enter()
            status = ortc_binding_bind_output_device(self.pointer, c_name, &info)
            owners_leave()
            check_step(status, OUTPUT)
        else:
            self.bind_memory(name, device_type)
        self.allocators.pop(name, None)

    def bind_ortvalue_output(self, name, ortvalue):
        """Binds an output to the memory of an OrtValue, which the binding holds."""
        if not isinstance(ortvalue, OrtValue):
            raise WrongClass(f"bind_ortvalue_output takes an OrtValue, not {type(ortvalue).__name__}; bind_output(name, array) takes arrays")
        self.bind_memory(name, ortvalue)

    cdef int bind_memory(self, object name, object memory) except -1:
        cdef const char *c_name = text_of(name, "an output's name")
        cdef ortc_value *value
        if not isinstance(memory, OrtValue):
            value = writable_tensor_of(memory, f"{OUTPUT}: the memory for output '{name}'", self.stream)
        elif (<OrtValue>memory)._session is not None and (<OrtValue>memory)._session is not self.session:
            raise ValueError(f"output '{name}' is an OrtValue that another session created; it can be bound to that session only")
        else:
            value = value_of(memory, None, NULL, self.stream)
        self.put_output(c_name, value)
        self.allocators.pop(name, None)
        return 0

    def _bind_capacity(self, name, device_type, device_id, buffer_ptr, capacity):
        cdef const char *c_name = text_of(name, "an output's name")
        cdef ortc_memory_info info
        cdef OrtValue memory
        cdef void *owner = NULL
        cdef void *data
        cdef size_t size
        if buffer_ptr is not None:
            fill_device(device_type, device_id, -1, &info)
            data, size = <void *>address_of(buffer_ptr), whole_number(capacity, "capacity", 0, SIZE_MAX)
            status = ortc_binding_bind_output_capacity(self.pointer, c_name, &info, data, size, NULL, NULL)
        else:
            memory = wrap(writable_tensor_of(capacity, f"{OUTPUT}: the capacity for output '{name}'", self.stream))
            ortc_value_get_memory_info(memory.pointer, &info)
            owner = hold(memory)
            owners_enter()
            status = ortc_binding_bind_output_capacity(self.pointer, c_name, &info, ortc_value_get_data(memory.pointer),
                                                       ortc_value_get_bytes(memory.pointer), owner_release, owner)
            if status is not NULL:
                owner_release(owner)
            owners_leave()
        check_step(status, OUTPUT)
        self.allocators.pop(name, None)

    def _bind_allocator(self, name, function, device_type="cpu", device_id=0):
        cdef const char *c_name = text_of(name, "an output's name")
        cdef Allocator allocator = Allocator()
        if not callable(function):
            raise TypeError(f"allocator must be callable, not {type(function).__name__}")
        allocator.output, allocator.function = name, function
        fill_device(device_type, device_id, -1, &allocator.place)
        owners_enter()
        status = ortc_binding_bind_output_allocator(self.pointer, c_name, &allocator.place, allocate_output, NULL, <void *>allocator)
        owners_leave()
        check_step(status, OUTPUT)
        self.allocators[name] = allocator

    # ---- Both

    def __setitem__(self, name, source, /):
        """Binds the input or output of that name. An output takes writable memory, a callable that allocates, or None for memory of ortcore's."""
        if name in self.session.inputs:
            self.bind_value(name, source)
        elif source is None:
            self.bind_output(name)
        elif callable(source):
            self._bind_allocator(name, source)
        else:
            self.bind_memory(name, source)

    def __getitem__(self, name, /):
        """The OrtValue of the bound output of that name."""
        for i in range(ortc_binding_get_output_count(self.pointer)):
            if ortc_binding_get_output_name(self.pointer, i).decode() == name:
                return self.get_outputs()[i]
        raise KeyError(f"no output named {name!r} is bound")

    cdef int check_idle(self) except -1:
        if self.running:
            raise make_error(2, "this binding is running and cannot be cleared: an output allocator must leave it as it is")
        return 0

    def clear_binding_inputs(self):
        """Forgets all inputs and lets go of what was bound."""
        self.check_idle()
        owners_enter()
        ortc_binding_clear_inputs(self.pointer)
        owners_leave()

    def clear_binding_outputs(self):
        """Forgets all outputs and lets go of what was bound; OrtValues that were got before stay valid."""
        self.check_idle()
        owners_enter()
        ortc_binding_clear_outputs(self.pointer)
        owners_leave()
        self.allocators.clear()

    # ---- Streams

    def __cuda_stream__(self):
        """(0, cudaStream_t): the stream on which all runs of this binding are enqueued, by the protocol that libraries share."""
        self.require_device()
        return 0, <size_t>ortc_stream_get_handle(self.stream)

    cdef int require_device(self) except -1:
        if not self.on_device:
            raise make_error(2, "this session runs on the CPU, which has no streams")
        return 0

    def wait_for(self, producer):
        """Later runs wait on the device for what was enqueued on `producer` until now: a stream or event of ortcore, cuda.core, torch or cupy, any
        object with `__cuda_stream__`, or a cudaStream_t as an int. The host does not wait.

        Objects bound as inputs that say on which stream they are filled (DLPack, `__cuda_array_interface__`, `__cuda_stream__`) are waited for when
        they are bound; who fills a buffer again later calls this, or binds it again.
        """
        self.require_device()
        wait_for(self.stream, &self.device, producer)

    def make_wait(self, consumer):
        """What is enqueued on `consumer`, a stream, from now on waits on the device for the runs of this binding until now."""
        self.require_device()
        make_wait(consumer, &self.device, self.stream)

    def synchronize_inputs(self):
        """The host waits until copies of inputs that were enqueued are done. Not needed for a right result: runs wait for them on the device."""
        cdef ortc_status *status
        with nogil:
            status = ortc_binding_synchronize_inputs(self.pointer)
        check_step(status, "Error when synchronizing bound inputs")

    def synchronize_outputs(self):
        """The host waits until the outputs of the latest run are complete. Runs return complete, unless they are on the caller's stream or
        with 'disable_synchronize_execution_providers'."""
        cdef ortc_status *status
        with nogil:
            status = ortc_binding_synchronize_outputs(self.pointer)
        self.pending = False
        check_step(status, "Error when synchronizing bound outputs")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.clear_binding_inputs()
        self.clear_binding_outputs()

    def __copy__(self):
        return self

    def __reduce__(self):
        raise TypeError("an IOBinding cannot be pickled: it holds addresses")

    # ---- Results

    def get_outputs(self):
        """The OrtValues of the bound outputs, in the order in which they were first bound; without a value before the first run.

        Their memory is the bound one: the next run writes it again, unless the output is bound anew before.
        """
        cdef ortc_value *value = NULL
        cdef OrtValue output
        outputs = []
        for i in range(ortc_binding_get_output_count(self.pointer)):
            check_step(ortc_binding_get_output(self.pointer, i, &value), "Error when getting an output")
            allocator = self.allocators.get(ortc_binding_get_output_name(self.pointer, i).decode()) if self.allocators else None
            output = wrap(value) if allocator is None else allocated_value(value, allocator)
            if self.pending:
                output.producer = self
            outputs.append(output)
        return outputs

    def get_outputs_as_ortvaluevector(self):
        """The bound outputs as an OrtValueVector that follows the binding."""
        from ortcore.vector import OrtValueVector
        return OrtValueVector._of_binding(self)

    def copy_outputs_to_cpu(self):
        """The contents of the outputs in memory of their own: arrays, lists, dicts."""
        cdef OrtValue output
        cdef int kind
        results = []
        if self.pending:
            self.synchronize_outputs()
        for output in self.get_outputs():
            kind = ortc_value_get_kind(output.pointer)
            if kind == ORTC_VALUE_TENSOR:
                results.append(copied_array(output.pointer))
            elif kind != ORTC_VALUE_NONE:
                results.append(object_of(clone(output.pointer)))
            elif self._may_be_none(len(results)):
                results.append(None)
            else:
                raise make_error(2, f"output {len(results)} has no value yet: run the binding first")
        return results

    def _may_be_none(self, index):
        name = ortc_binding_get_output_name(self.pointer, index).decode()
        return any(output == name and type.startswith("optional") for output, type, _, _ in self.session.io(1))

    # ---- Running

    def _run(self, NativeSession session not None, run_options=None):
        self.run(session, run_options)

    cdef int run(self, NativeSession session, object run_options) except -1:
        cdef ortc_run_options *options
        cdef ortc_status *status
        if session is not self.session:
            raise ValueError("this IOBinding was made for another session, or before set_providers(); make one with session.io_binding()")
        run_options_of(run_options, &options)
        owners_enter()
        self.running += 1
        with nogil:
            status = ortc_session_run_binding(session.pointer, self.pointer, options)
        self.running -= 1
        owners_leave()
        if self.on_device:
            self.pending = self.session.on_callers_stream or is_set(options, b"disable_synchronize_execution_providers")
        if status is not NULL:
            self.run_failed(status)
        return 0

    cdef int run_failed(self, ortc_status *status) except -1:
        cdef Allocator allocator
        for allocator in self.allocators.values():
            if allocator.error is not None:
                error, allocator.error = allocator.error, None
                ortc_status_release(status)
                raise error
        check_step(status, "Error in execution")
        return 0
