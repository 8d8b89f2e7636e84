from ortcore._capi cimport ortc_value

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

# Takes over the reference.
cdef OrtValue wrap(ortc_value *value)
# Takes over the reference.
cdef object object_of(ortc_value *value)
