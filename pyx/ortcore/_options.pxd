from ortcore._capi cimport ortc_run_options, ortc_session_options

cdef class NativeSessionOptions:
    cdef ortc_session_options *pointer
    cdef readonly list _providers              # [(name, {option: value})] that add_provider() gave

cdef class NativeRunOptions:
    cdef ortc_run_options *pointer

# The options of a run, NULL for None.
cdef int run_options_of(object options, ortc_run_options **out) except -1
cdef const char *text_of(object text, str what) except NULL
