from libc.stdint cimport int64_t
from ortcore._capi cimport ortc_session
from ortcore._convert cimport TypeInfo

# An input or overridable initializer.
cdef class InputInfo(TypeInfo):
    cdef const char *name                      # lent by the session
    cdef readonly bint required

cdef class NativeSession:
    cdef ortc_session *pointer
    cdef dict inputs                           # {name: InputInfo}, overridable initializers included
    cdef const char **output_names             # all of them, lent by the session
    cdef size_t output_count, required_count
    cdef readonly int device_id                # of its CUDA device; -1: runs on the CPU alone
    cdef readonly bint on_callers_stream       # user_compute_stream: runs return when they are enqueued
    cdef object __weakref__
    cdef object run_feed(self, object output_names, object input_feed, object run_options, bint as_values)
    cdef int describe_io(self) except -1
    cdef list results(self, object names, size_t count, void **outputs, bint as_values)
