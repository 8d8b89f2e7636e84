# cython: language_level=3, freethreading_compatible=True, auto_pickle=False
"""Streams of devices, ortcore's and those of other libraries, and how their work is ordered."""

from libc.stdint cimport SIZE_MAX
from libc.string cimport memset, strcpy
from ortcore._capi cimport *
from ortcore._device cimport OrtDevice, fill_device, handle_number
from ortcore._errors cimport check

from ortcore._errors import InvalidType, make_error, whole_number

cdef enum:
    NVIDIA = 0x10DE
    LEGACY_STREAM = 1                                      # cudaStreamLegacy: what a handle of 0 means
    THREAD_STREAM = 2                                      # cudaStreamPerThread


cdef ortc_memory_info cuda_device(int device_id) noexcept:
    cdef ortc_memory_info info
    memset(&info, 0, sizeof(info))
    strcpy(info.name, b"Cuda")
    info.device_type = <ortc_device_type>1
    info.device_id = device_id
    info.vendor_id = NVIDIA
    return info


# ---- Streams and events of any library --------------------------------------------------------------------------------

cdef bint is_event(object source):
    """Streams and events have attributes of the same names; their classes tell them apart."""
    return "event" in type(source).__name__.lower()


cdef object stream_handle_of(object source):
    """The handle of a stream object: ortcore's, cuda.core's and whatever has `__cuda_stream__`, torch's, cupy's, a cudaStream_t or CUstream of
    cuda.bindings, or an int. None if it is none."""
    if is_event(source):
        return None
    number = handle_number(source)
    if isinstance(number, int):
        return whole_number(number, "the handle of a stream", 0, SIZE_MAX)
    protocol = getattr(source, "__cuda_stream__", None)
    if protocol is not None:
        version, handle = protocol() if callable(protocol) else protocol
        if version != 0:
            raise InvalidType(f"{type(source).__name__}.__cuda_stream__ is of version {version}; version 0 is known")
        return handle
    for name in ("cuda_stream", "ptr"):                    # torch, cupy
        handle = getattr(source, name, None)
        if isinstance(handle, int):
            return handle
    return None


cdef object event_handle_of(object source):
    """The handle of an event object of cuda.core, cuda.bindings, torch or cupy. None if it is none."""
    if not is_event(source):
        return None
    if hasattr(source, "getPtr"):
        return int(source)
    for name in ("cuda_event", "handle", "ptr"):
        handle = getattr(source, name, None)
        if handle is not None:
            return int(handle)
    return None


cdef int order(ortc_stream *stream, const ortc_memory_info *device, size_t handle, bint stream_first) except -1:
    """Lets the library's stream of that handle wait for `stream`, or `stream` for it. A stream does not wait for itself."""
    cdef ortc_stream *other = NULL
    cdef ortc_status *status
    if <size_t>ortc_stream_get_handle(stream) == handle and handle:
        return 0
    check(ortc_stream_wrap(device, <void *>handle, &other))
    with nogil:
        status = ortc_stream_wait(other, stream) if stream_first else ortc_stream_wait(stream, other)
        ortc_stream_release(other)
    check(status)
    return 0


cdef int wait_for_handle(ortc_stream *stream, const ortc_memory_info *device, size_t handle) except -1:
    return order(stream, device, handle, False)


cdef int make_handle_wait(size_t handle, const ortc_memory_info *device, ortc_stream *stream) except -1:
    return order(stream, device, handle, True)


cdef int wait_for(ortc_stream *stream, const ortc_memory_info *device, object producer) except -1:
    cdef ortc_status *status
    cdef size_t event
    if isinstance(producer, OrtSyncStream):
        with nogil:
            status = ortc_stream_wait(stream, (<OrtSyncStream>producer).pointer)
        return check(status)
    handle = stream_handle_of(producer)
    if handle is not None:
        return wait_for_handle(stream, device, int(handle))
    handle = event_handle_of(producer)
    if handle is None:
        raise InvalidType(f"{type(producer).__name__} is no stream or event; give an OrtSyncStream, an object with __cuda_stream__, a stream or event of "
                          "cuda.core, cuda.bindings, torch or cupy, or a cudaStream_t as an int")
    event = handle
    with nogil:
        status = ortc_stream_wait_event(stream, <void *>event)
    return check(status)


cdef int make_wait(object consumer, const ortc_memory_info *device, ortc_stream *stream) except -1:
    cdef ortc_status *status
    if isinstance(consumer, OrtSyncStream):
        with nogil:
            status = ortc_stream_wait((<OrtSyncStream>consumer).pointer, stream)
        return check(status)
    handle = stream_handle_of(consumer)
    if handle is None:
        raise InvalidType(f"{type(consumer).__name__} is no stream; give an OrtSyncStream, an object with __cuda_stream__, a stream of torch or cupy, or a "
                          "cudaStream_t, of cuda.bindings or as an int")
    return make_handle_wait(int(handle), device, stream)


cdef size_t protocol_number(const ortc_stream *stream) noexcept:
    cdef size_t handle = <size_t>ortc_stream_get_handle(stream)
    return handle if handle else LEGACY_STREAM


cdef size_t handle_of_protocol(object number) except? 0:
    cdef size_t handle
    if number is None:
        return LEGACY_STREAM
    handle = whole_number(number, "stream", 0, SIZE_MAX)
    if handle == 0:
        raise make_error(2, "stream 0 means two things in CUDA; give 1 for the legacy default stream, 2 for the default stream of the thread, or a stream's handle")
    return handle


# ---- Streams of ortcore -------------------------------------------------------------------------------------------------

cdef class OrtSyncStream:
    """Work in order on a device: OrtSyncStream(device), with an OrtDevice or ("cuda", id). It has `__cuda_stream__`, so that other libraries take it.

    Copies may be enqueued on it (copy_tensors), and bindings may wait for it. One thread at a time may use it.
    """

    def __cinit__(self, device="cuda", device_id=0):
        fill_device(device, device_id, -1, &self.device)
        check(ortc_stream_create(&self.device, &self.pointer))

    def __dealloc__(self):
        with nogil:
            ortc_stream_release(self.pointer)

    def get_handle(self):
        """The device's own stream object: a cudaStream_t as an int, 0 on the CPU."""
        return <size_t>ortc_stream_get_handle(self.pointer)

    def __cuda_stream__(self):
        """(0, cudaStream_t)."""
        return 0, self.get_handle()

    def synchronize(self):
        """The host waits until all that was enqueued is done."""
        cdef ortc_status *status
        with nogil:
            status = ortc_stream_synchronize(self.pointer)
        check(status)

    def wait_for(self, producer):
        """What is enqueued from now on waits for what was enqueued on `producer` until now: a stream or event of ortcore or another library."""
        wait_for(self.pointer, &self.device, producer)

    def __reduce__(self):
        raise TypeError("a stream cannot be pickled")
