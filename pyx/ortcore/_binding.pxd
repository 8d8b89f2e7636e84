from libc.stdint cimport int64_t
from ortcore._capi cimport ortc_binding, ortc_memory_info, ortc_status, ortc_stream, ortc_value
from ortcore._session cimport NativeSession

cdef class IOBinding:
    cdef ortc_binding *pointer
    cdef NativeSession session
    cdef dict allocators                       # {output's name: Allocator}
    cdef object proxy
    cdef int running                           # runs in progress; the library refuses a second one
    cdef int check_idle(self) except -1
    cdef ortc_stream *stream                   # of the session's device, lent; runs of the binding are enqueued on it
    cdef ortc_memory_info device               # on which that is
    cdef bint on_device, pending               # pending: the latest run may be in progress
    cdef object __weakref__
    cdef int run(self, NativeSession session, object run_options) except -1
    cdef int require_device(self) except -1
    cdef int run_failed(self, ortc_status *status) except -1
    cdef int put_input(self, const char *name, ortc_value *value) except -1
    cdef int put_output(self, const char *name, ortc_value *value) except -1
    cdef int bind_value(self, object name, object source) except -1
    cdef int bind_memory(self, object name, object memory) except -1
