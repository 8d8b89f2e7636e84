from ortcore._capi cimport ortc_allocator, ortc_memory_info

cdef class OrtDevice:
    cdef readonly int _type, _mem_type, _id
    cdef readonly unsigned int _vendor
    cdef void fill(self, ortc_memory_info *info) noexcept

cdef class OrtMemoryInfo:
    cdef ortc_memory_info info

cdef object handle_number(object source)
# Memory on a device given by name or as an OrtDevice.
cdef int fill_device(object device_type, object device_id, object vendor_id, ortc_memory_info *info) except -1
cdef OrtMemoryInfo wrap_memory_info(const ortc_memory_info *info)
cdef str device_name_of(const ortc_memory_info *info)
cdef bint is_host(const ortc_memory_info *info) noexcept
# The allocator registered for `info`, lent; raises if there is none.
cdef ortc_allocator *registered_allocator(object info) except NULL
