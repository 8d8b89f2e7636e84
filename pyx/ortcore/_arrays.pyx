# cython: language_level=3, freethreading_compatible=True, auto_pickle=False, boundscheck=False, wraparound=False
"""Arrays as tensors of the C library and back, sharing memory wherever that can be."""
import operator

import numpy as np

from cpython.buffer cimport PyBuffer_FillInfo, PyBuffer_IsContiguous, PyBuffer_Release, PyObject_GetBuffer, PyBUF_RECORDS_RO, PyBUF_SIMPLE
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New, PyCapsule_SetName
from libc.string cimport memcpy
from ortcore._capi cimport *
from ortcore._device cimport is_host
from ortcore._errors cimport check
from ortcore._owners cimport hold, owner_release, owners_enter, owners_leave, release_value
from ortcore._stream cimport OrtSyncStream, cuda_device, handle_of_protocol, protocol_number, wait_for_handle

from ortcore._element_types import element_type, element_type_of_dtype, numpy_dtype
from ortcore._errors import Error, InvalidArgument, InvalidType, pair_of_ints, refuse_shape

cdef extern from "Python.h":
    int get_buffer "PyObject_GetBuffer" (object source, Py_buffer *view, int flags)      # an error is set on -1
    void clear_error "PyErr_Clear" ()
    bint PyObject_CheckBuffer(object source)
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    int PyBytes_AsStringAndSize(object text, char **data, Py_ssize_t *size) except -1
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t size, const char *errors)

cdef object ndarray = np.ndarray
cdef object empty = np.empty
cdef dict element_types = {}
cdef list dtypes = [None] * ORTC_ELEMENT_TYPE_COUNT
# Element types by the letter of the buffer protocol; integers also depend on the item's size.
cdef int[128] LETTERS
LETTERS[:] = [0] * 128
for letter, number in {"?": 9, "b": 3, "B": 2, "h": 5, "H": 4, "e": 10, "f": 1, "d": 11, "O": 8, "w": 8, "s": 8}.items():
    LETTERS[<int>ord(letter)] = number


cdef int read_dims(object shape, int64_t *dims) except -1:
    cdef int rank = 0
    try:
        for dim in shape:
            if rank == ORTC_MAX_RANK:
                raise OverflowError
            dims[rank] = operator.index(dim)
            rank += 1
    except (OverflowError, TypeError):
        refuse_shape(shape, ORTC_MAX_RANK)
        raise
    return rank


cdef size_t count_bytes(int element_type, int rank, const int64_t *dims) noexcept:
    cdef size_t most = <size_t>1 << 60, count = 1
    cdef int i
    for i in range(rank):
        if dims[i] <= 0:
            return 0
        if count > most // <size_t>dims[i]:
            return most
        count *= dims[i]
    return (count * ortc_element_type_bits(<ortc_element_type>element_type) + 7) // 8


cdef int element_type_of(object spec) except -1:
    if type(spec) not in (type, int, str) and not isinstance(spec, np.dtype):
        return element_type(spec)
    known = element_types.get(spec)
    if known is None:
        known = element_type(spec)
        if len(element_types) < 1000:
            element_types[spec] = known
    return known


# ---- From arrays -----------------------------------------------------------------------------------------------------

cdef int element_type_of_format(const char *format, Py_ssize_t item_bytes, bint *swapped) noexcept:
    """ONNX's number of a format of the buffer protocol, 0 if there is none."""
    swapped[0] = False
    if format is NULL:
        return 2
    if format[0] in (b"@", b"=", b"<", b"^", b"|"):
        format += 1
    elif format[0] in (b">", b"!"):
        swapped[0] = item_bytes > 1
        format += 1
    if format[0] == b"Z":
        return 14 if item_bytes == 8 else 15 if item_bytes == 16 else 0
    while b"0" <= format[0] <= b"9":                       # the width of text
        format += 1
    if format[0] == 0 or format[1] != 0 or format[0] < 0:
        return 0
    if format[0] in (b"i", b"l", b"q", b"n"):
        return 6 if item_bytes == 4 else 7
    if format[0] in (b"I", b"L", b"Q", b"N"):
        return 12 if item_bytes == 4 else 13
    return LETTERS[<int>format[0]]


cdef ortc_value *tensor_of(object source, int64_t *copied, ortc_stream *consumer=NULL) except NULL:
    if isinstance(source, ndarray):
        if type(source) is not ndarray and isinstance(source, np.ma.MaskedArray):
            raise InvalidType("a masked array has no values under its mask; give array.filled(value), or array.data if the mask does not matter")
        return tensor_of_array(source, copied)
    if hasattr(source, "__dlpack__"):
        return tensor_of_dlpack(source, copied, consumer)
    if hasattr(source, "__cuda_array_interface__"):
        return tensor_of_cuda_array(source, consumer)
    if not isinstance(source, (str, bytes)):
        if PyObject_CheckBuffer(source):
            return tensor_of_array(np.asarray(memoryview(source)), copied)
        if hasattr(source, "__array_interface__") or hasattr(source, "__array__"):
            return tensor_of_array(np.asarray(source), copied)
    raise InvalidType(f"{type(source).__name__} cannot be used as a tensor; give a numpy array, or an object that has __dlpack__, the buffer protocol, "
                      "__array_interface__ or __cuda_array_interface__")


cdef ortc_value *tensor_of_array(object array, int64_t *copied) except NULL:
    cdef Py_buffer view
    cdef bint swapped
    cdef int element_type
    if get_buffer(array, &view, PyBUF_RECORDS_RO) < 0:
        clear_error()                                      # dtypes without a letter: those of ml_dtypes, and those that cannot be tensors
        return tensor_of_extension(array, copied)
    try:
        element_type = element_type_of_format(view.format, view.itemsize, &swapped)
        if element_type != 0 and element_type != ORTC_STRING and not swapped and PyBuffer_IsContiguous(&view, b"C"):
            return borrow(array, &view, element_type, view.ndim, <const int64_t *>view.shape)
    finally:
        PyBuffer_Release(&view)
    if element_type == ORTC_STRING:
        return tensor_of_strings(array)
    if element_type == 0:
        raise InvalidType(f"dtype {array.dtype} is no element type of ONNX; convert the array first, for example with array.astype(numpy.float32)")
    snapshot = array.astype(array.dtype.newbyteorder("="), order="C", copy=True, subok=False)
    copied[0] += <int64_t>snapshot.nbytes
    return tensor_of_array(snapshot, copied)


cdef ortc_value *tensor_at(const ortc_memory_info *info, int element_type, size_t rank, const int64_t *dims, void *data, size_t size,
                           object holder) except NULL:
    cdef ortc_value *value = NULL
    cdef void *owner = hold(holder)
    cdef ortc_status *status = ortc_value_create_borrowed(info, <ortc_element_type>element_type, rank, dims, data, size, owner_release, owner, &value)
    if status is not NULL:
        owners_enter()
        owner_release(owner)
        owners_leave()
        check(status)
    return value


cdef ortc_value *borrow(object array, Py_buffer *view, int element_type, int rank, const int64_t *dims) except NULL:
    cdef ortc_value *value = tensor_at(NULL, element_type, rank, dims, view.buf, view.len, array)
    if view.readonly:
        ortc_value_set_read_only(value)
    return value


cdef ortc_value *tensor_over(object plain, int element_type, object shape, int64_t *copied) except NULL:
    cdef Py_buffer view
    cdef int64_t[ORTC_MAX_RANK] dims
    cdef int rank = read_dims(shape, dims)
    if not plain.flags.c_contiguous:
        plain = plain.copy(order="C")
        copied[0] += <int64_t>plain.nbytes
    if get_buffer(plain, &view, PyBUF_RECORDS_RO) < 0:
        clear_error()
        raise InvalidType(f"dtype {plain.dtype} has no plain bytes")
    try:
        return borrow(plain, &view, element_type, rank, dims)
    finally:
        PyBuffer_Release(&view)


cdef ortc_value *tensor_of_extension(object array, int64_t *copied) except NULL:
    """Arrays of ml_dtypes: they have no letter in the buffer protocol, and hold the types narrower than a byte one to a byte."""
    cdef int element_type = element_type_of_dtype(array.dtype)
    cdef int bits = ortc_element_type_bits(<ortc_element_type>element_type)
    if element_type == ORTC_STRING:
        return tensor_of_strings(array)
    if element_type == 0:
        raise InvalidType(f"dtype {array.dtype} is no element type of ONNX; convert the array first, for example with array.astype(numpy.float32)")
    if bits >= 8:
        return tensor_over(array.view(np.uint8 if bits == 8 else np.uint16), element_type, array.shape, copied)
    packed = np.zeros((array.size * bits + 7) // 8, np.uint8)
    copied[0] += <int64_t>packed.nbytes
    if array.size:
        from ortcore._packed import pack
        pack(np.ascontiguousarray(array).reshape(-1).view(np.uint8), packed, bits)
    return tensor_over(packed, element_type, array.shape, copied)


cdef ortc_value *tensor_of_strings(object array) except NULL:
    cdef ortc_value *value = NULL
    cdef int64_t index = 0
    cdef const char *data
    cdef Py_ssize_t size
    cdef int64_t[ORTC_MAX_RANK] dims
    check(ortc_value_create_tensor(NULL, ORTC_STRING, read_dims(array.shape, dims), dims, &value))
    try:
        for item in array.reshape(-1).tolist():
            if isinstance(item, str):
                data = PyUnicode_AsUTF8AndSize(item, &size)
            elif isinstance(item, bytes):
                PyBytes_AsStringAndSize(item, <char **>&data, &size)
            else:
                raise InvalidType(f"element {index} of an array of strings is {item!r}, a {type(item).__name__}; every element must be str or bytes "
                                  "(array.astype(str) makes it so)")
            check(ortc_value_set_string(value, index, data, size))
            index += 1
    except BaseException:
        release_value(value)
        raise
    return value


# ---- To arrays -------------------------------------------------------------------------------------------------------

cdef class Memory:
    """The memory of a tensor as a buffer of bytes: the base of the arrays over it, which keeps it alive."""

    cdef ortc_value *tensor

    def __dealloc__(self):
        release_value(self.tensor)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, ortc_value_get_data(self.tensor), ortc_value_get_bytes(self.tensor), ortc_value_is_read_only(self.tensor), flags)


cdef object shape_of(const ortc_value *tensor):
    cdef const int64_t *dims = ortc_value_get_dims(tensor)
    cdef int rank = ortc_value_get_rank(tensor), i
    if rank == 1:
        return (dims[0],)
    if rank == 2:
        return (dims[0], dims[1])
    return tuple([dims[i] for i in range(rank)])


cdef object dtype_of(int element_type):
    dtype = dtypes[element_type]
    if dtype is None:
        dtype = dtypes[element_type] = numpy_dtype(element_type)
    return dtype


cdef object array_of(ortc_value *tensor):
    cdef Memory memory = Memory.__new__(Memory)
    cdef int element_type = ortc_value_get_element_type(tensor)
    memory.tensor = tensor
    if not on_host(tensor):
        memory.tensor = host_copy(tensor)
        release_value(tensor)
        tensor = memory.tensor
    if element_type == ORTC_STRING:
        return strings_of(tensor)
    dtype = dtype_of(element_type)
    if ortc_element_type_bits(<ortc_element_type>element_type) >= 8:
        return ndarray(shape_of(tensor), dtype, memory)
    from ortcore._packed import unpack
    return unpack(np.frombuffer(memory, np.uint8), element_type, shape_of(tensor)).view(dtype)


cdef object copied_array(ortc_value *tensor):
    """An array of its own with the contents of a tensor, which is lent."""
    cdef Py_buffer view
    cdef int element_type = ortc_value_get_element_type(tensor)
    if not on_host(tensor):
        return array_of(host_copy(tensor))
    if element_type == ORTC_STRING:
        return array_of(ortc_value_retain(tensor))
    if element_type > 15:                                  # numpy exports no buffer of ml_dtypes' types
        return array_of(clone(tensor))
    array = empty(shape_of(tensor), dtype_of(element_type))
    PyObject_GetBuffer(array, &view, PyBUF_SIMPLE)
    if view.len > 1 << 16:
        with nogil:
            memcpy(view.buf, ortc_value_get_data(tensor), view.len)
    elif view.len:                                         # done before another thread could have begun
        memcpy(view.buf, ortc_value_get_data(tensor), view.len)
    PyBuffer_Release(&view)
    return array


cdef object strings_of(ortc_value *tensor):
    cdef const char *data
    cdef size_t size
    cdef int64_t i, count = ortc_value_get_count(tensor)
    items = np.empty(count, object)
    for i in range(count):
        check(ortc_value_get_string(tensor, i, &data, &size))
        items[i] = PyUnicode_DecodeUTF8(data, size, NULL)
    return items.reshape(shape_of(tensor))


# ---- Copies and DLPack ------------------------------------------------------------------------------------------------

cdef ortc_status *copy_into(const ortc_value *source, ortc_value *destination) noexcept:
    cdef ortc_status *status
    with nogil:
        status = ortc_value_copy_into(source, destination)
    return status


cdef ortc_value *clone(const ortc_value *source) except NULL:
    cdef ortc_value *copy = NULL
    cdef ortc_status *status
    with nogil:
        status = ortc_value_clone(source, &copy)
    check(status)
    return copy


cdef bint on_host(const ortc_value *value) noexcept:
    cdef ortc_memory_info info
    ortc_value_get_memory_info(value, &info)
    return is_host(&info)


cdef ortc_value *host_copy(const ortc_value *source) except NULL:
    cdef ortc_value *copy = NULL
    cdef ortc_status *status
    with nogil:
        status = ortc_value_create_tensor(NULL, ortc_value_get_element_type(source), ortc_value_get_rank(source), ortc_value_get_dims(source), &copy)
        if status is NULL:
            status = ortc_value_copy_into(source, copy)
    if status is not NULL:
        release_value(copy)
    check(status)
    return copy


cdef OrtSyncStream stream_of_ours(int device_id):
    """A stream that a producer of device memory may be told of; None where CUDA is not available, and the memory can only be handed on."""
    try:
        return OrtSyncStream("cuda", device_id)
    except Error:
        return None


cdef object capsule_of(object source, ortc_stream *consumer):
    """Asks a producer for its memory. On a CUDA device it is told which stream will read it, and makes that one wait."""
    cdef OrtSyncStream ours = None
    cdef dict arguments = {}
    kind, device_id = pair_of_ints(source.__dlpack_device__(), "what __dlpack_device__() returns") if hasattr(source, "__dlpack_device__") else (1, 0)
    if kind in (2, 13):                                    # CUDA memory, and managed memory
        if consumer is NULL:
            ours = stream_of_ours(device_id)
            consumer = ours.pointer if ours is not None else NULL
        arguments["stream"] = protocol_number(consumer) if consumer is not NULL else None
    try:
        capsule = source.__dlpack__(max_version=(1, 1), **arguments)
    except TypeError:                                      # a producer that knows no versions
        capsule = source.__dlpack__(**arguments)
    if ours is not None:
        ours.synchronize()
    return capsule


cdef bint is_unused(object capsule) noexcept:
    return PyCapsule_IsValid(capsule, "dltensor") or PyCapsule_IsValid(capsule, "dltensor_versioned")


cdef ortc_value *tensor_of_dlpack(object source, int64_t *copied, ortc_stream *consumer=NULL) except NULL:
    """`source` has __dlpack__, or is a capsule made by it, which is used up."""
    cdef ortc_value *value = NULL
    cdef ortc_status *status
    cdef bint versioned
    cdef void *managed
    if not is_unused(source) and not hasattr(source, "__dlpack__"):
        raise InvalidType(f"from_dlpack takes an object that has __dlpack__, or a capsule named 'dltensor' that was not used yet, not {type(source).__name__}")
    capsule = source if is_unused(source) else capsule_of(source, consumer)
    if not is_unused(capsule):
        raise InvalidType(f"{type(source).__name__}.__dlpack__() returned {type(capsule).__name__}; it must be a capsule 'dltensor' that was not used yet")
    versioned = PyCapsule_IsValid(capsule, "dltensor_versioned")
    managed = PyCapsule_GetPointer(capsule, "dltensor_versioned" if versioned else "dltensor")
    status = ortc_value_from_dlpack(managed, versioned, False, &value)
    if status is not NULL and copied is not NULL:
        ortc_status_release(status)
        status = ortc_value_from_dlpack(managed, versioned, True, &value)
        copied[0] += ortc_value_get_bytes(value)
    check(status)
    PyCapsule_SetName(capsule, "used_dltensor_versioned" if versioned else "used_dltensor")
    return value


cdef ortc_value *writable_tensor_of(object memory, str whose, ortc_stream *consumer=NULL) except NULL:
    cdef int64_t copied = 0
    cdef ortc_value *value
    try:
        if hasattr(memory, "__dlpack__") and not isinstance(memory, ndarray):
            value = tensor_of_dlpack(memory, NULL, consumer)
        else:
            value = tensor_of(memory, &copied, consumer)
    except InvalidArgument as error:
        raise InvalidType(f"{whose} cannot be used: {error}") from None
    if copied or ortc_value_is_read_only(value):
        release_value(value)
        raise InvalidType(f"{whose} cannot be written into: {why_not_writable(memory)}")
    return value


cdef str why_not_writable(object memory):
    """Which condition for memory that a run writes into does not hold."""
    cdef int element_type
    if isinstance(memory, ndarray):
        element_type = element_type_of_dtype(memory.dtype.newbyteorder("="))
        if 0 < ortc_element_type_bits(<ortc_element_type>element_type) < 8:
            return f"elements of dtype {memory.dtype} are packed in a tensor, but take a byte each in an array; let ortcore allocate the output"
        if not memory.dtype.isnative:
            return f"its dtype {memory.dtype.str} is not in the machine's byte order"
        if not memory.flags.c_contiguous:
            return f"it is strided (shape {memory.shape}, strides {memory.strides}); an output needs C-contiguous memory"
    return "it is read-only"


cdef void release_unused_capsule(object capsule) noexcept:
    cdef bint versioned = PyCapsule_IsValid(capsule, "dltensor_versioned")
    if versioned or PyCapsule_IsValid(capsule, "dltensor"):
        owners_enter()
        ortc_dlpack_release(PyCapsule_GetPointer(capsule, "dltensor_versioned" if versioned else "dltensor"), versioned)
        owners_leave()


cdef object dlpack_capsule(ortc_value *tensor, bint versioned):
    cdef void *managed = NULL
    check(ortc_value_to_dlpack(tensor, versioned, &managed))
    return PyCapsule_New(managed, "dltensor_versioned" if versioned else "dltensor", <void (*)(object) noexcept>release_unused_capsule)


# ---- __cuda_array_interface__, version 3 --------------------------------------------------------------------------------

cdef int dense_strides(object strides, size_t rank, const int64_t *dims, Py_ssize_t item_bytes) except -1:
    """Are these the strides, in bytes, of a tensor without gaps?"""
    cdef Py_ssize_t step = item_bytes
    cdef size_t i
    if len(strides) != rank:
        raise InvalidType(f"__cuda_array_interface__ has {len(strides)} strides for {rank} dims")
    for i in range(rank):
        if dims[rank - 1 - i] != 1 and strides[rank - 1 - i] != step:
            return False
        step *= dims[rank - 1 - i]
    return True


cdef int wait_for_producer(object number, ortc_memory_info *info, ortc_stream *consumer) except -1:
    cdef OrtSyncStream ours
    cdef size_t handle = handle_of_protocol(number)
    if consumer is not NULL:
        return wait_for_handle(consumer, info, handle)
    ours = OrtSyncStream("cuda", info.device_id)
    wait_for_handle(ours.pointer, info, handle)
    ours.synchronize()
    return 0


cdef ortc_value *tensor_of_cuda_array(object source, ortc_stream *consumer) except NULL:
    """A tensor over the memory of an array on a CUDA device, which it holds."""
    cdef int64_t[ORTC_MAX_RANK] dims
    cdef ortc_memory_info info
    cdef ortc_value *value
    interface = source.__cuda_array_interface__
    dtype = np.dtype(interface["typestr"])
    cdef size_t address = interface["data"][0], size
    cdef size_t rank = read_dims(interface["shape"], dims)
    cdef int element_type = element_type_of_dtype(dtype) if dtype.isnative else 0
    if element_type == 0 or element_type == ORTC_STRING:
        raise InvalidType(f"elements of type {interface['typestr']!r} on a device cannot be a tensor's; convert the array there first")
    if interface.get("mask") is not None:
        raise InvalidType("a masked array has no values under its mask; fill it first")
    if interface.get("strides") is not None and not dense_strides(interface["strides"], rank, dims, dtype.itemsize):
        raise InvalidType("the array on the device is strided; make it contiguous there first (copies are never made behind your back on a device)")
    size = count_bytes(element_type, rank, dims)
    info = cuda_device(0)
    if size:
        check(ortc_memory_info_of(<void *>address, &info))
    if size and interface.get("stream") is not None:
        wait_for_producer(interface["stream"], &info, consumer)
    value = tensor_at(&info, element_type, rank, dims, <void *>address, size, source)
    if interface["data"][1]:
        ortc_value_set_read_only(value)
    return value


cdef dict cuda_array_interface_of(ortc_value *tensor, object stream):
    cdef int element_type = ortc_value_get_element_type(tensor)
    dtype = dtype_of(element_type)
    if dtype.kind not in "biufc" or ortc_element_type_bits(<ortc_element_type>element_type) < 8:
        raise AttributeError(f"elements of type {ortc_element_type_name(<ortc_element_type>element_type).decode()} have no typestr; use __dlpack__")
    return {"shape": shape_of(tensor), "typestr": dtype.str, "data": (<size_t>ortc_value_get_data(tensor), bool(ortc_value_is_read_only(tensor))),
            "version": 3, "strides": None, "stream": stream}
