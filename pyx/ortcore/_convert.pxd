from libc.stdint cimport int64_t
from ortcore._capi cimport ortc_stream, ortc_value

# What a model says of a value, as far as Python objects are converted to it.
cdef class TypeInfo:
    cdef readonly str text
    cdef readonly int kind                     # an ortc_value_kind; sequences of maps have key_type
    cdef readonly int element_type, key_type
    cdef readonly bint optional

# A new reference. `wanted` decides what lists, dicts and None mean; without it only tensors can be made. `consumer` as in tensor_of().
cdef ortc_value *value_of(object source, TypeInfo wanted, int64_t *copied, ortc_stream *consumer=*) except NULL
