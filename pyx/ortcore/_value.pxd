from libc.stdint cimport int64_t
from ortcore._capi cimport ortc_stream, ortc_value

cdef class OrtValue:
    cdef ortc_value *pointer
    cdef public object _numpy_obj
    cdef public object _session
    cdef object producer                       # the binding whose stream still computes it, or None
    cdef object __weakref__
    cdef int require_tensor(self, str what) except -1
    cdef int require_value(self, str what) except -1
    cdef int wait(self) except -1
    cdef int order_before(self, object stream, bint read_now) except -1

# What a model says of a value, as far as Python objects are converted to it.
cdef class TypeInfo:
    cdef readonly str text
    cdef readonly int kind                     # an ortc_value_kind; sequences of maps have key_type
    cdef readonly int element_type, key_type
    cdef readonly bint optional

# Takes over the reference.
cdef OrtValue wrap(ortc_value *value)
# A new reference. `wanted` decides what lists, dicts and None mean; without it only tensors can be made. `consumer` as in tensor_of().
cdef ortc_value *value_of(object source, TypeInfo wanted, int64_t *copied, ortc_stream *consumer=*) except NULL
# Takes over the reference.
cdef object object_of(ortc_value *value)
