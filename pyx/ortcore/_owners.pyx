# cython: language_level=3, freethreading_compatible=True, auto_pickle=False
"""Python objects that own memory lent to the C library: held while it needs them, dropped under the GIL."""
from ortcore._capi cimport ortc_value, ortc_value_release

cdef extern from "owners.h":
    void *owner_create(object object)
    void owner_release_(void *user) noexcept nogil
    void owners_enter_()
    void owners_leave_()


cdef void *hold(object object) except NULL:
    cdef void *owner = owner_create(object)
    if owner is NULL:
        raise MemoryError()
    return owner


cdef void owner_release(void *owner) noexcept nogil:
    owner_release_(owner)


cdef void owners_enter() noexcept:
    owners_enter_()


cdef void owners_leave() noexcept:
    owners_leave_()


cdef void release_value(ortc_value *value) noexcept:
    owners_enter_()
    ortc_value_release(value)
    owners_leave_()
