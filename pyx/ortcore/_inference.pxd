from ortcore._session cimport NativeSession

cdef class SessionBase:
    cdef public NativeSession _sess
    cdef object __weakref__
    cdef NativeSession native(self)
