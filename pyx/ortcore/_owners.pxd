from ortcore._capi cimport ortc_value

# A reference to `object` for the C library; owner_release (an ortc_release_fn) gives it back from any thread.
cdef void *hold(object object) except NULL
cdef void owner_release(void *owner) noexcept nogil
# Around a call of the library that may release: objects released meanwhile are dropped by owners_leave. The GIL is held at both.
cdef void owners_enter() noexcept
cdef void owners_leave() noexcept
cdef void release_value(ortc_value *value) noexcept
