from libc.stdint cimport int64_t
from ortcore._capi cimport ortc_value

# A counted reference to a value of the core; `handle` is never NULL once the object has been made.
cdef class Value:
    cdef ortc_value *handle

    cdef int need_tensor(self, str what) except -1

    @staticmethod
    cdef Value wrap(ortc_value *handle)                     # takes the reference over

# A value over anything that looks like an array. *copied grows by the bytes that a snapshot had to copy.
cdef Value value_from_object(object source, int64_t *copied)
# The object whose contents the value has: an array, a list for a sequence, a dict for a map, None for an empty optional.
cdef object object_from_value(Value value)
cdef int read_shape(object shape, int64_t *dims) except -1
