"""Statuses of the core become exceptions, here and nowhere else."""
from ortcore._capi cimport ortc_status, ortc_status_get_code, ortc_status_get_message, ortc_status_get_node, ortc_status_release
from ortcore._exceptions import from_status


cdef int check(ortc_status *status) except -1:
    if status is NULL:
        return 0
    code = ortc_status_get_code(status)
    message = ortc_status_get_message(status).decode("utf-8", "replace")
    node = ortc_status_get_node(status).decode("utf-8", "replace")
    ortc_status_release(status)
    raise from_status(code, message, node)
