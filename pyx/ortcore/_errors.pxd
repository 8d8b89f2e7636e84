from ortcore._capi cimport ortc_status

# Returns 0, or raises what the status says and releases it. The one place that turns a status into an exception.
cdef int check(ortc_status *status) except -1
