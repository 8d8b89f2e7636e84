from ortcore._capi cimport ortc_status

cdef object raise_status(ortc_status *status, str binding_step, bint fed)

# Raises what a status says and releases it; NULL is success. The GIL is held.
cdef inline int check(ortc_status *status) except -1:
    if status is not NULL:
        raise_status(status, None, False)
    return 0

# The same for a binding, whose messages say which step failed instead of the code.
cdef inline int check_step(ortc_status *status, str binding_step) except -1:
    if status is not NULL:
        raise_status(status, binding_step, False)
    return 0

# The same for a run, whose invalid arguments are what was fed.
cdef inline int check_run(ortc_status *status) except -1:
    if status is not NULL:
        raise_status(status, None, True)
    return 0
