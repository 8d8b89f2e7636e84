from libc.stdint cimport int64_t
from ortcore._capi cimport ortc_memory_info, ortc_status, ortc_stream, ortc_value

# A new reference to a tensor over the memory of an array, or of anything that exports memory. What had to be copied is added to `copied`.
# Where the producer of device memory says on which stream it works, `consumer` is made to wait for that on the device; without a consumer the
# host waits.
cdef ortc_value *tensor_of(object source, int64_t *copied, ortc_stream *consumer=*) except NULL
# The same over a plain contiguous array whose bytes are elements of `element_type`, in the shape given.
cdef ortc_value *tensor_over(object plain, int element_type, object shape, int64_t *copied) except NULL
# A tensor at an address, in memory of `holder`, which it keeps alive.
cdef ortc_value *tensor_at(const ortc_memory_info *info, int element_type, size_t rank, const int64_t *dims, void *data, size_t size,
                           object holder) except NULL
# An array over a tensor's memory (strings, packed types and what lies on a device: a copy). Takes over the reference to `tensor`.
cdef object array_of(ortc_value *tensor)
# The dims of a shape given as any iterable of ints, in room for ORTC_MAX_RANK; their number.
cdef int read_dims(object shape, int64_t *dims) except -1
# Bytes of the elements of such a shape, packed; as many as fit no memory if they cannot be counted.
cdef size_t count_bytes(int element_type, int rank, const int64_t *dims) noexcept
# _element_types.element_type(), remembering answers.
cdef int element_type_of(object spec) except -1
cdef object shape_of(const ortc_value *tensor)
# Calls of the library that copy data, made without the GIL.
cdef ortc_status *copy_into(const ortc_value *source, ortc_value *destination) noexcept
cdef ortc_value *clone(const ortc_value *source) except NULL
# A copy in host memory.
cdef object copied_array(ortc_value *tensor)
cdef ortc_value *host_copy(const ortc_value *source) except NULL
# Does the host reach the value's memory?
cdef bint on_host(const ortc_value *value) noexcept
# A strided tensor is copied and counted, or refused if `copied` is NULL.
cdef ortc_value *tensor_of_dlpack(object source, int64_t *copied, ortc_stream *consumer=*) except NULL
# A tensor that a run may write into: over the memory of `memory` itself, writable. Errors begin with `whose`.
cdef ortc_value *writable_tensor_of(object memory, str whose, ortc_stream *consumer=*) except NULL
cdef object dlpack_capsule(ortc_value *tensor, bint versioned)
# What __cuda_array_interface__ says of a tensor on a CUDA device.
cdef dict cuda_array_interface_of(ortc_value *tensor, object stream)
