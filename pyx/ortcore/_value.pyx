"""Values of the core as Python objects, and the ways in and out: arrays, DLPack, strings, sequences, maps."""
from cpython.buffer cimport (PyBUF_FORMAT, PyBUF_C_CONTIGUOUS, PyBUF_SIMPLE, PyBUF_WRITABLE, Py_buffer, PyBuffer_FillInfo, PyBuffer_Release,
                             PyObject_CheckBuffer, PyObject_GetBuffer)
from cpython.exc cimport PyErr_Clear
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New, PyCapsule_SetName
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from ortcore._capi cimport *
from ortcore._errors cimport check

import sys

import numpy as np

from ortcore import _dtypes

cdef enum:
    MAX_RANK = 16

cdef object ndarray = np.ndarray


cdef void drop_owner(void *owner) noexcept with gil:
    """Drops the reference that a value held to the Python object whose memory it used. At interpreter shutdown it leaks instead."""
    if not sys.is_finalizing():
        Py_DECREF(<object>owner)


cdef int read_shape(object shape, int64_t *dims) except -1:
    """The rank; dims are non-negative integers."""
    cdef int rank = 0
    for d in shape:
        if rank == MAX_RANK:
            raise ValueError(f"shape {tuple(shape)} has more than {MAX_RANK} dims, the most that is supported")
        if not isinstance(d, (int, np.integer)):
            raise TypeError(f"dims must be integers, not {type(d).__name__}: {d!r}")
        if d < 0:
            raise RuntimeError(f"dims must not be negative, but shape is {tuple(shape)}")
        dims[rank] = d
        rank += 1
    return rank


cdef class Value:
    """A tensor, sequence, map, sparse tensor or empty optional of the core. Counted: whoever uses it keeps it alive."""

    def __dealloc__(self):
        cdef ortc_value *handle = self.handle
        self.handle = NULL
        if handle is not NULL:
            with nogil:
                ortc_value_release(handle)

    @staticmethod
    cdef Value wrap(ortc_value *handle):
        cdef Value value = Value.__new__(Value)
        value.handle = handle
        return value

    # ---- What it is ------------------------------------------------------------------------------------------------

    def has_value(self):
        return ortc_value_get_kind(self.handle) != ORTC_VALUE_NONE

    def is_tensor(self):
        return ortc_value_get_kind(self.handle) == ORTC_VALUE_TENSOR

    def is_sparse_tensor(self):
        return ortc_value_get_kind(self.handle) == ORTC_VALUE_SPARSE

    def is_tensor_sequence(self):
        return ortc_value_get_kind(self.handle) == ORTC_VALUE_SEQUENCE

    cdef int need_tensor(self, str what) except -1:
        kind = ortc_value_get_kind(self.handle)
        if kind == ORTC_VALUE_TENSOR:
            return 0
        if kind == ORTC_VALUE_NONE:
            raise RuntimeError(f"{what}: the value is empty; run the model first, or give it a value")
        raise RuntimeError(f"{what}: only tensors have one, but this is {self.data_type()}")

    def data_type(self):
        cdef char text[256]
        if ortc_value_get_kind(self.handle) == ORTC_VALUE_NONE:
            raise RuntimeError("data_type: the value is empty; run the model first, or give it a value")
        ortc_value_format_type(self.handle, text, sizeof(text))
        return (<bytes>text).decode()

    def element_type(self):
        if ortc_value_get_kind(self.handle) == ORTC_VALUE_NONE:
            raise RuntimeError("element_type: the value is empty; run the model first, or give it a value")
        return <int>ortc_value_get_element_type(self.handle)

    def shape(self):
        if ortc_value_get_kind(self.handle) != ORTC_VALUE_SPARSE:
            self.need_tensor("shape")
        cdef const int64_t *dims = ortc_value_get_dims(self.handle)
        return [dims[i] for i in range(ortc_value_get_rank(self.handle))]

    def device_name(self):
        cdef ortc_memory_info info
        if ortc_value_get_kind(self.handle) != ORTC_VALUE_SPARSE:
            self.need_tensor("device_name")
        ortc_value_get_memory_info(self.handle, &info)
        return "cpu" if info.device_type == ORTC_DEVICE_CPU else (<bytes>info.name).decode().lower()

    def data_ptr(self):
        self.need_tensor("data_ptr")
        return <size_t>ortc_value_get_data(self.handle)

    def tensor_size_in_bytes(self):
        self.need_tensor("tensor_size_in_bytes")
        return ortc_value_get_bytes(self.handle)

    def is_read_only(self):
        return ortc_value_is_read_only(self.handle)

    def count(self):
        return ortc_value_get_count(self.handle)

    def memory_info(self):
        """(name, device type, memory type, device id) of the memory it lies in."""
        cdef ortc_memory_info info
        ortc_value_get_memory_info(self.handle, &info)
        return (<bytes>info.name).decode(), <int>info.device_type, <int>info.mem_type, info.device_id

    # ---- Python objects ---------------------------------------------------------------------------------------------

    def to_object(self):
        return object_from_value(self)

    def numpy(self):
        self.need_tensor("numpy")
        return object_from_value(self)

    def __getbuffer__(self, Py_buffer *view, int flags):
        """The bytes of the tensor. The exporter keeps the memory alive, and says if it must not be written."""
        self.need_tensor("the buffer protocol")
        PyBuffer_FillInfo(view, self, ortc_value_get_data(self.handle), <Py_ssize_t>ortc_value_get_bytes(self.handle),
                          ortc_value_is_read_only(self.handle), flags)

    def __releasebuffer__(self, Py_buffer *view):
        pass

    # ---- DLPack -------------------------------------------------------------------------------------------------------

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        cdef void *managed
        cdef bint versioned = max_version is not None and tuple(max_version) >= (1, 0)
        self.need_tensor("__dlpack__")
        if dl_device is not None and tuple(dl_device) != (1, 0):
            raise BufferError(f"the tensor is on the CPU; it cannot be exported to device {tuple(dl_device)}")
        source = self.clone() if copy else self
        check(ortc_value_to_dlpack((<Value>source).handle, versioned, &managed))
        return PyCapsule_New(managed, "dltensor_versioned" if versioned else "dltensor", forget_versioned if versioned else forget_plain)

    def __dlpack_device__(self):
        return (1, 0)

    def clone(self):
        cdef ortc_value *copy
        cdef ortc_status *status
        with nogil:
            status = ortc_value_clone(self.handle, &copy)
        check(status)
        return Value.wrap(copy)

    def copy_from(self, Value source not None):
        """Overwrites the elements with those of a tensor of the same type and size."""
        cdef ortc_status *status
        with nogil:
            status = ortc_value_copy_into(source.handle, self.handle)
        check(status)

    def items(self):
        """The items of a sequence."""
        cdef ortc_value *item
        result = []
        for i in range(ortc_value_get_count(self.handle)):
            check(ortc_value_get_item(self.handle, i, &item))
            result.append(Value.wrap(item))
        return result

    def sparse_parts(self):
        """(format number, values, indices, outer indices or None)."""
        cdef ortc_sparse_format format
        cdef ortc_value *values
        cdef ortc_value *indices
        cdef ortc_value *outer
        check(ortc_value_get_sparse(self.handle, &format, &values, &indices, &outer))
        return <int>format, Value.wrap(values), Value.wrap(indices), Value.wrap(outer) if outer is not NULL else None


cdef void forget_plain(object capsule) noexcept:
    if PyCapsule_IsValid(capsule, "dltensor"):
        ortc_dlpack_release(PyCapsule_GetPointer(capsule, "dltensor"), False)


cdef void forget_versioned(object capsule) noexcept:
    if PyCapsule_IsValid(capsule, "dltensor_versioned"):
        ortc_dlpack_release(PyCapsule_GetPointer(capsule, "dltensor_versioned"), True)


# ---- Making values ------------------------------------------------------------------------------------------------------

def empty(shape, int element_type):
    """A new tensor with uninitialised memory of its own."""
    cdef int64_t dims[MAX_RANK]
    cdef ortc_value *handle
    cdef int rank = read_shape(shape, dims)
    check(ortc_value_create_tensor(NULL, <ortc_element_type>element_type, rank, dims, &handle))
    return Value.wrap(handle)


def none():
    """The value of an empty optional."""
    cdef ortc_value *handle = ortc_value_create_none()
    if handle is NULL:
        raise MemoryError()
    return Value.wrap(handle)


def borrow(size_t address, size_t nbytes, int element_type, shape, owner=None, bint read_only=False):
    """A tensor over memory at an address. `owner` is kept alive as long as the value or anything made from it needs the memory."""
    cdef int64_t dims[MAX_RANK]
    cdef ortc_value *handle
    cdef int rank = read_shape(shape, dims)
    # None is an owner too: holding it costs nothing and spares a case.
    check(ortc_value_create_borrowed(NULL, <ortc_element_type>element_type, rank, dims, <void *>address, nbytes, drop_owner, <void *>owner, &handle))
    Py_INCREF(owner)
    if read_only:
        ortc_value_set_read_only(handle)
    return Value.wrap(handle)


def sequence(items, int element_type=1):
    cdef ortc_value *handle
    cdef size_t n = len(items)
    cdef ortc_value **handles = <ortc_value **>malloc((n + 1) * sizeof(ortc_value *))
    if handles is NULL:
        raise MemoryError()
    try:
        for i, item in enumerate(items):
            handles[i] = (<Value?>item).handle
        check(ortc_value_create_sequence(<ortc_element_type>element_type, n, handles, &handle))
    finally:
        free(handles)
    return Value.wrap(handle)


def mapping(Value keys not None, Value values not None):
    cdef ortc_value *handle
    check(ortc_value_create_map(keys.handle, values.handle, &handle))
    return Value.wrap(handle)


def sparse(int format, shape, Value values not None, Value indices not None, Value outer=None):
    cdef int64_t dims[MAX_RANK]
    cdef ortc_value *handle
    cdef int rank = read_shape(shape, dims)
    check(ortc_value_create_sparse(<ortc_sparse_format>format, rank, dims, values.handle, indices.handle,
                                   outer.handle if outer is not None else NULL, &handle))
    return Value.wrap(handle)


def strings(array):
    """A string tensor from an array of str, bytes or anything that str() takes."""
    cdef ortc_value *handle
    cdef int64_t dims[MAX_RANK]
    cdef bytes text
    cdef int64_t i = 0
    cdef int rank = read_shape(array.shape, dims)
    check(ortc_value_create_tensor(NULL, ORTC_STRING, rank, dims, &handle))
    value = Value.wrap(handle)
    for item in array.ravel().tolist():
        text = item if isinstance(item, bytes) else (item if isinstance(item, str) else str(item)).encode("utf-8", "surrogateescape")
        check(ortc_value_set_string(handle, i, text, len(text)))
        i += 1
    return value


cdef object string_array(Value value):
    cdef const char *data
    cdef size_t n
    cdef int64_t count = ortc_value_get_count(value.handle)
    result = np.empty(count, dtype=object)
    for i in range(count):
        check(ortc_value_get_string(value.handle, i, &data, &n))
        result[i] = (<bytes>data[:n]).decode("utf-8")
    return result.reshape(value.shape())


def from_dlpack(source):
    """A value over the memory of a DLPack producer (an object with __dlpack__, or a capsule), which stays alive with it."""
    cdef ortc_value *handle
    cdef ortc_status *status
    cdef bint versioned
    if hasattr(source, "__dlpack__"):
        try:
            source = source.__dlpack__(max_version=(1, 0))
        except TypeError:
            source = source.__dlpack__()
    versioned = PyCapsule_IsValid(source, "dltensor_versioned")
    if not versioned and not PyCapsule_IsValid(source, "dltensor"):
        raise TypeError("from_dlpack takes an object with __dlpack__, or a DLPack capsule that nobody has consumed yet")
    name = b"dltensor_versioned" if versioned else b"dltensor"
    status = ortc_value_from_dlpack(PyCapsule_GetPointer(source, name), versioned, True, &handle)
    check(status)
    PyCapsule_SetName(source, "used_dltensor_versioned" if versioned else "used_dltensor")
    return Value.wrap(handle)


# ---- Arrays -----------------------------------------------------------------------------------------------------------------

cdef int buffer_type(const char *format, Py_ssize_t itemsize):
    """ONNX's number of a buffer's format in native byte order, 0 for any other."""
    cdef char c
    if format is NULL:
        return 2
    c = format[0]
    if format[1] != 0:
        return (14 if format[1] == b'f' else 15 if format[1] == b'd' else 0) if c == b'Z' and format[2] == 0 else 0
    if c == b'f': return 1
    if c == b'd': return 11
    if c == b'e': return 10
    if c == b'?': return 9
    if c in (b'b', b'h', b'i', b'l', b'q'):
        return 3 if itemsize == 1 else 5 if itemsize == 2 else 6 if itemsize == 4 else 7 if itemsize == 8 else 0
    if c in (b'B', b'H', b'I', b'L', b'Q'):
        return 2 if itemsize == 1 else 4 if itemsize == 2 else 12 if itemsize == 4 else 13 if itemsize == 8 else 0
    return 0


cdef Value value_from_buffer(object source):
    """The fast way: anything whose buffer is dense and of a native type. None if it is not."""
    cdef Py_buffer view
    cdef ortc_value *handle = NULL
    cdef ortc_status *status
    cdef int64_t dims[MAX_RANK]
    cdef int type, i
    try:
        PyObject_GetBuffer(source, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    except (BufferError, ValueError, TypeError):
        return None
    type = buffer_type(view.format, view.itemsize) if view.ndim <= MAX_RANK else 0
    if type == 0:
        PyBuffer_Release(&view)
        return None
    for i in range(view.ndim):
        dims[i] = view.shape[i]
    status = ortc_value_create_borrowed(NULL, <ortc_element_type>type, view.ndim, dims, view.buf, view.len, drop_owner, <void *>source, &handle)
    if status is NULL:
        Py_INCREF(source)
        if view.readonly:
            ortc_value_set_read_only(handle)
    PyBuffer_Release(&view)
    check(status)
    return Value.wrap(handle)


cdef object as_array(object source):
    """An ndarray over the object's memory where that is possible."""
    if isinstance(source, ndarray):
        return source
    if PyObject_CheckBuffer(source) or hasattr(source, "__array_interface__"):
        return np.asarray(source)
    return None


cdef Value value_from_array(object array, int64_t *copied):
    """The slow way: strings, narrow types, arrays that are strided or byte-swapped (of which a snapshot is taken)."""
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError("masked arrays have no place for their mask in a tensor; fill them first with .filled(value)")
    dtype = array.dtype
    number = _dtypes.of_dtype(dtype)
    if number == _dtypes.STRING:
        return strings(array)
    if number is None and not dtype.isnative:
        array = array.astype(dtype.newbyteorder("="))
        copied[0] += array.nbytes
        number = _dtypes.of_dtype(array.dtype)
    if number is None:
        raise RuntimeError(f"arrays of dtype {dtype} have no ONNX element type; convert them first with .astype()")
    shape = array.shape
    bits = _dtypes.PACKED_BITS.get(number)
    if bits is not None:
        array = _dtypes.pack(array, bits)
        copied[0] += array.nbytes
    elif not array.flags.c_contiguous:
        array = array.copy(order="C")
        copied[0] += array.nbytes
    return borrow(array.__array_interface__["data"][0], array.nbytes, number, shape, array, not array.flags.writeable)


cdef Value value_from_object(object source, int64_t *copied):
    cdef Value value
    if type(source) is ndarray:
        value = value_from_buffer(source)
        return value if value is not None else value_from_array(source, copied)
    if isinstance(source, Value):
        return source
    native = getattr(source, "_ortvalue", None)
    if native is not None:
        return native
    if isinstance(source, ndarray):
        return value_from_array(source, copied)
    if hasattr(source, "__dlpack__"):
        return from_dlpack(source)
    array = as_array(source)
    if array is None:
        raise TypeError(f"{type(source).__name__} is no array: pass a numpy array, or an object with __dlpack__, the buffer protocol or __array_interface__")
    return value_from_array(array, copied)


def from_object(source):
    """A value over an array, and the number of bytes that had to be copied for it (0 where the memory is used in place)."""
    cdef int64_t copied = 0
    value = value_from_object(source, &copied)
    return value, copied


cdef object object_from_value(Value value):
    kind = ortc_value_get_kind(value.handle)
    if kind == ORTC_VALUE_TENSOR:
        return array_from_tensor(value)
    if kind == ORTC_VALUE_SEQUENCE:
        return [object_from_value(item) for item in value.items()]
    if kind == ORTC_VALUE_MAP:
        return dict_from_map(value)
    if kind == ORTC_VALUE_SPARSE:
        return value
    return None


cdef object dict_from_map(Value value):
    cdef ortc_value *keys
    cdef ortc_value *values
    check(ortc_value_get_map(value.handle, &keys, &values))
    held_keys, held_values = Value.wrap(keys), Value.wrap(values)
    return dict(zip(object_from_value(held_keys).tolist(), object_from_value(held_values).tolist()))


cdef object array_from_tensor(Value value):
    cdef int number = <int>ortc_value_get_element_type(value.handle)
    if number == ORTC_STRING:
        return string_array(value)
    dtype = _dtypes.to_dtype(number)
    bits = _dtypes.PACKED_BITS.get(number)
    if bits is not None:
        data = np.frombuffer(value, np.uint8) if ortc_value_get_bytes(value.handle) else np.empty(0, np.uint8)
        codes = _dtypes.unpack(data, ortc_value_get_count(value.handle), bits, number in (22, 26))
        return codes.view(dtype).reshape(value.shape())
    if ortc_value_get_count(value.handle) == 0:
        return np.empty(value.shape(), dtype)
    return ndarray(value.shape(), dtype, value)
