from ortcore._capi cimport ortc_memory_info, ortc_stream

cdef class OrtSyncStream:
    cdef ortc_stream *pointer
    cdef ortc_memory_info device
    cdef object __weakref__

# CUDA device `device_id`, as memory infos say it.
cdef ortc_memory_info cuda_device(int device_id) noexcept
# Orders on the device, without the host: `stream` waits for what was enqueued on `producer` (a stream or event of any library), and the other way.
cdef int wait_for(ortc_stream *stream, const ortc_memory_info *device, object producer) except -1
cdef int make_wait(object consumer, const ortc_memory_info *device, ortc_stream *stream) except -1
cdef int wait_for_handle(ortc_stream *stream, const ortc_memory_info *device, size_t handle) except -1
cdef int make_handle_wait(size_t handle, const ortc_memory_info *device, ortc_stream *stream) except -1
# What DLPack and __cuda_array_interface__ call a stream: its handle, 1 for the legacy default stream, 2 for that of the thread.
cdef size_t protocol_number(const ortc_stream *stream) noexcept
cdef size_t handle_of_protocol(object number) except? 0
