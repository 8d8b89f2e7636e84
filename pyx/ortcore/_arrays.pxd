from libc.stdint cimport int64_t
from ortcore._capi cimport ortc_status, ortc_value

# A new reference to a tensor over the memory of an array, or of anything that exports memory. What had to be copied is added to `copied`.
cdef ortc_value *tensor_of(object source, int64_t *copied) except NULL
# The same over a plain contiguous array whose bytes are elements of `element_type`, in the shape given.
cdef ortc_value *tensor_over(object plain, int element_type, object shape, int64_t *copied) except NULL
# An array over a tensor's memory (strings and packed types: a copy). Takes over the reference to `tensor`.
cdef object array_of(ortc_value *tensor)
# The dims of a shape given as any iterable of ints, in room for 64; their number.
cdef int read_dims(object shape, int64_t *dims) except -1
# Bytes of the elements of such a shape, packed; as many as fit no memory if they cannot be counted.
cdef size_t count_bytes(int element_type, int rank, const int64_t *dims) noexcept
# _element_types.element_type(), remembering answers.
cdef int element_type_of(object spec) except -1
cdef object shape_of(const ortc_value *tensor)
# Calls of the library that copy data, made without the GIL.
cdef ortc_status *copy_into(const ortc_value *source, ortc_value *destination) noexcept
cdef ortc_value *clone(const ortc_value *source) except NULL
# A strided tensor is copied and counted, or refused if `copied` is NULL.
cdef ortc_value *tensor_of_dlpack(object source, int64_t *copied) except NULL
# A tensor that a run may write into: over the memory of `memory` itself, writable. Errors begin with `whose`.
cdef ortc_value *writable_tensor_of(object memory, str whose) except NULL
cdef object dlpack_capsule(ortc_value *tensor, bint versioned)
