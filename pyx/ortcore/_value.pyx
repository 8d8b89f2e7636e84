# cython: language_level=3, freethreading_compatible=True, auto_pickle=False
"""OrtValue: values of any kind, and their contents as Python objects."""
import warnings

import numpy as np

from libc.stdint cimport SIZE_MAX
from ortcore._arrays cimport (
    array_of, clone, copy_into, count_bytes, cuda_array_interface_of, dlpack_capsule, element_type_of, host_copy, on_host, read_dims, shape_of, tensor_at,
    tensor_of, tensor_of_dlpack, tensor_over
)
from ortcore._capi cimport *
from ortcore._device cimport device_name_of, fill_device, registered_allocator
from ortcore._errors cimport check
from ortcore._owners cimport hold, owner_release, owners_enter, owners_leave, release_value
from ortcore._stream cimport OrtSyncStream, handle_of_protocol

from ortcore._errors import InvalidType, list_of, make_error, pair_of_ints, whole_number

cdef object KIND_NAMES = {ORTC_VALUE_NONE: "no value (not computed yet, or an empty optional)", ORTC_VALUE_SPARSE: "a sparse tensor",
                          ORTC_VALUE_SEQUENCE: "a sequence", ORTC_VALUE_MAP: "a map"}


cdef OrtValue wrap(ortc_value *value):
    cdef OrtValue result = OrtValue.__new__(OrtValue)
    result.pointer = value
    return result


cdef str type_text(const ortc_value *value):
    cdef char[128] text
    ortc_value_format_type(value, text, sizeof(text))
    return (<bytes>text).decode()


cdef ortc_value *tensor_on(const ortc_memory_info *info, int element_type, size_t rank, const int64_t *dims) except NULL:
    """A tensor in memory of its own on that device, not initialised."""
    cdef ortc_allocator *allocator = NULL
    cdef ortc_value *value = NULL
    cdef ortc_status *status = NULL
    with nogil:
        if info.device_type != ORTC_DEVICE_CPU:
            status = ortc_allocator_create(info, NULL, &allocator)
        if status is NULL:
            status = ortc_value_create_tensor(allocator, <ortc_element_type>element_type, rank, dims, &value)
        ortc_allocator_release(allocator)
    check(status)
    return value


cdef class OrtValue:
    """A value that a model takes or gives: a tensor, a sequence, a map, a sparse tensor, or none at all.

    Made by the static methods `ortvalue_from_*`, by `from_dlpack`, and by runs. It holds what it was made from, so that an array may be
    forgotten once it has become an OrtValue. Contents may be read from any number of threads, as long as none writes.
    """

    def __cinit__(self):
        self.pointer = NULL

    def __dealloc__(self):
        release_value(self.pointer)

    def __init__(self, ortvalue, numpy_obj=None, session=None):
        if not isinstance(ortvalue, OrtValue):
            raise ValueError(f"an OrtValue is made from an array by OrtValue.ortvalue_from_numpy(), not from {type(ortvalue).__name__} directly")
        if self.pointer is not NULL:
            raise RuntimeError("an OrtValue cannot be initialised twice")
        self.pointer = ortc_value_retain((<OrtValue>ortvalue).pointer)
        self._numpy_obj = numpy_obj
        self._session = session

    # ---- Making values

    @staticmethod
    def ortvalue_from_numpy(numpy_obj, /, device_type="cpu", device_id=0, vendor_id=-1):
        """A tensor over an array's memory, which it keeps alive and shares: writes through either are seen by the other.

        Arrays that are strided or have the other byte order are copied, and so are strings. Any object with `__dlpack__`, the buffer protocol
        or `__array_interface__` may stand for an array; ml_dtypes' arrays are welcome. A read-only array makes a read-only value. With
        device_type='cuda' the contents are copied to that device, completely when this returns, and the array is not kept.
        """
        cdef int64_t copied = 0
        cdef ortc_memory_info info
        fill_device(device_type, device_id, vendor_id, &info)
        cdef OrtValue result = wrap(tensor_of(numpy_obj, &copied))
        if info.device_type != ORTC_DEVICE_CPU:
            return result._copied_to(device_type, device_id, vendor_id)
        result._numpy_obj = numpy_obj
        return result

    def _copied_to(self, device_type, device_id, vendor_id):
        cdef ortc_memory_info info
        fill_device(device_type, device_id, vendor_id, &info)
        cdef OrtValue result = wrap(tensor_on(&info, ortc_value_get_element_type(self.pointer), ortc_value_get_rank(self.pointer),
                                              ortc_value_get_dims(self.pointer)))
        check(copy_into(self.pointer, result.pointer))
        return result

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data, /, onnx_element_type):
        """A tensor over an array's memory whose items are taken as elements of another type of the same size, by ONNX's number.

        For types that numpy lacks: float8 as uint8, bfloat16 as uint16. Types narrower than a byte are taken as packed already.
        """
        cdef int64_t copied = 0
        cdef int number = whole_number(onnx_element_type, "onnx_element_type", 1, ORTC_ELEMENT_TYPE_COUNT - 1)
        cdef int bits = ortc_element_type_bits(<ortc_element_type>number)
        if not isinstance(data, np.ndarray) or data.dtype.kind in "OSUTMmV":
            raise InvalidType("ortvalue_from_numpy_with_onnx_type takes a numpy array of numbers")
        if data.itemsize != max(1, bits // 8) or number == ORTC_STRING:
            raise make_error(2, f"items of {data.itemsize} bytes cannot be elements of type {ortc_element_type_name(<ortc_element_type>number).decode()}, "
                                f"which have {bits} bits")
        cdef OrtValue result = wrap(tensor_over(data, number, data.shape, &copied))
        result._numpy_obj = data
        return result

    @staticmethod
    def ortvalue_from_shape_and_type(shape, element_type, device_type="cpu", device_id=0, vendor_id=-1, memory_info=None):
        """A tensor in memory of its own, not initialised (strings are empty).

        `element_type` is a dtype, a name such as 'float16' or 'tensor(float)', or a number of ONNX's TensorProto.DataType. With `memory_info`
        the memory comes from the allocator that was registered for it.
        """
        cdef ortc_allocator *allocator
        cdef ortc_memory_info info
        cdef ortc_value *value = NULL
        cdef int64_t[ORTC_MAX_RANK] dims
        cdef size_t rank
        cdef int number = element_type_of(element_type)
        rank = read_dims(shape, dims)
        if memory_info is not None:
            if device_type != "cpu" or device_id != 0 or vendor_id != -1:
                warnings.warn("device_type, device_id, and vendor_id are ignored when memory_info is provided.", stacklevel=2)
            allocator = registered_allocator(memory_info)
            check(ortc_value_create_tensor(allocator, <ortc_element_type>number, rank, dims, &value))
            return wrap(value)
        fill_device(device_type, device_id, vendor_id, &info)
        return wrap(tensor_on(&info, number, rank, dims))

    @staticmethod
    def ort_value_from_sparse_tensor(sparse_tensor):
        """The value that a SparseTensor holds."""
        return OrtValue(sparse_tensor._value)

    @staticmethod
    def from_dlpack(data, /, is_bool_tensor=False):
        """A tensor over the memory of any object that has `__dlpack__`, or of a DLPack capsule, which is used up.

        The producer stays alive as long as the memory is needed. Strided tensors are copied; read-only ones make read-only values. Work of a
        producer on a CUDA device is complete when this returns; binding the object itself orders it on the device instead.
        """
        cdef int64_t copied = 0
        return wrap(tensor_of_dlpack(data, &copied))

    @staticmethod
    def _at(owner, address, element_type, shape):
        """A tensor at an address inside memory of `owner`, which it holds."""
        cdef int64_t[ORTC_MAX_RANK] dims
        cdef size_t data = whole_number(address, "an address", 0, SIZE_MAX)
        cdef int number = element_type_of(element_type)
        cdef size_t rank = read_dims(shape, dims)
        return wrap(tensor_at(NULL, number, rank, dims, <void *>data, count_bytes(number, rank, dims), owner))

    @staticmethod
    def _sparse(int format, dense_shape, values, indices, outer=None):
        cdef int64_t[ORTC_MAX_RANK] dims
        cdef size_t rank
        cdef int64_t copied = 0
        cdef ortc_value *parts[3]
        cdef ortc_value *value = NULL
        rank = read_dims(dense_shape, dims)
        parts[0] = parts[1] = parts[2] = NULL
        try:
            parts[0] = tensor_of(values, &copied)
            parts[1] = tensor_of(indices, &copied)
            if outer is not None:
                parts[2] = tensor_of(outer, &copied)
            check(ortc_value_create_sparse(<ortc_sparse_format>format, rank, dims, parts[0], parts[1], parts[2], &value))
        finally:
            for i in range(3):
                release_value(parts[i])
        return wrap(value)

    def _sparse_parts(self):
        """(format, values, indices, outer or None), each an OrtValue."""
        cdef ortc_sparse_format format
        cdef ortc_value *values = NULL
        cdef ortc_value *indices = NULL
        cdef ortc_value *outer = NULL
        check(ortc_value_get_sparse(self.pointer, &format, &values, &indices, &outer))
        return <int>format, wrap(values), wrap(indices), wrap(outer) if outer is not NULL else None

    # ---- Questions

    cdef int require_tensor(self, str what) except -1:
        cdef int kind = ortc_value_get_kind(self.pointer)
        if kind != ORTC_VALUE_TENSOR:
            raise make_error(2, f"only tensors have {what}; this OrtValue is {KIND_NAMES[kind]}")
        return 0

    cdef int require_value(self, str what) except -1:
        if ortc_value_get_kind(self.pointer) == ORTC_VALUE_NONE:
            raise make_error(2, f"this OrtValue has no {what}: it was not computed yet, or is an optional without a value")
        return 0

    def data_type(self):
        """"tensor(float)", "seq(tensor(int64))", "map(string,tensor(float))", "sparse_tensor(float)"."""
        self.require_value("type")
        return type_text(self.pointer)

    def element_type(self):
        """ONNX's number of the elements' type; of a sequence, its items'."""
        self.require_value("element type")
        return <int>ortc_value_get_element_type(self.pointer)

    def shape(self):
        """The dims of a tensor or sparse tensor, a list of ints."""
        if ortc_value_get_kind(self.pointer) != ORTC_VALUE_SPARSE:
            self.require_tensor("a shape")
        return list(shape_of(self.pointer))

    def device_name(self):
        """'cpu' or 'cuda'."""
        cdef ortc_memory_info info
        if ortc_value_get_kind(self.pointer) != ORTC_VALUE_SPARSE:
            self.require_tensor("a device")
        ortc_value_get_memory_info(self.pointer, &info)
        return device_name_of(&info)

    def data_ptr(self):
        """Address of the first element; 0 of a tensor without elements, and of strings."""
        self.require_tensor("an address")
        return <size_t>ortc_value_get_data(self.pointer)

    def tensor_size_in_bytes(self):
        """Bytes of a tensor's elements; 0 for strings."""
        self.require_tensor("a size in bytes")
        return ortc_value_get_bytes(self.pointer)

    def has_value(self):
        """False of an output that was not computed yet and of an empty optional."""
        return ortc_value_get_kind(self.pointer) != ORTC_VALUE_NONE

    def is_tensor(self):
        """Whether this is a dense tensor."""
        return ortc_value_get_kind(self.pointer) == ORTC_VALUE_TENSOR

    def is_sparse_tensor(self):
        """Whether this is a sparse tensor."""
        return ortc_value_get_kind(self.pointer) == ORTC_VALUE_SPARSE

    def is_tensor_sequence(self):
        """Whether this is a sequence of tensors."""
        return ortc_value_get_kind(self.pointer) == ORTC_VALUE_SEQUENCE and not type_text(self.pointer).startswith("seq(map")

    @property
    def _ortvalue(self):
        return self

    def _get_c_value(self):
        return self

    # ---- Contents

    cdef int wait(self) except -1:
        """The host waits for the run that computes this value, if it may still be in progress."""
        producer, self.producer = self.producer, None
        if producer is not None:
            producer.synchronize_outputs()
        return 0

    def numpy(self):
        """The tensor as an array over the same memory, which stays alive with it. Strings, types narrower than a byte, and tensors on a device are
        copied.

        Read-only values give read-only arrays. Types that numpy lacks come as ml_dtypes' if that package is installed.
        """
        self.require_tensor("an array")
        self.wait()
        return array_of(ortc_value_retain(self.pointer))

    def contents(self):
        """What run() would give for this value: an array over its memory, a list for a sequence, a dict for a map, a SparseTensor, or None."""
        self.wait()
        return object_of(ortc_value_retain(self.pointer))

    def __array__(self, dtype=None, copy=None):
        if copy is False and ortc_value_get_kind(self.pointer) == ORTC_VALUE_TENSOR and not on_host(self.pointer):
            raise ValueError("a tensor on a device cannot become an array without a copy")
        array = self.numpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"{array.dtype} cannot become {np.dtype(dtype)} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def as_sparse_tensor(self):
        """The SparseTensor that this value is."""
        from ortcore.sparse import SparseTensor
        if ortc_value_get_kind(self.pointer) != ORTC_VALUE_SPARSE:
            raise make_error(2, f"this OrtValue is no sparse tensor, but {type_text(self.pointer)}")
        return SparseTensor(self)

    def update_inplace(self, data):
        """Copies an array or another OrtValue over this tensor's elements; the address stays.

        Element types must be equal, and so must the number of elements; shapes may differ.
        """
        cdef ortc_value *source
        cdef int64_t copied = 0
        self.require_tensor("elements to update")
        self.wait()
        if isinstance(data, OrtValue):
            (<OrtValue>data).wait()
            source = ortc_value_retain((<OrtValue>data).pointer)
        elif isinstance(data, (str, bytes, list, tuple, dict)) or np.isscalar(data) or data is None:
            raise TypeError(f"update_inplace takes an array or an OrtValue, not {type(data).__name__}")
        else:
            source = tensor_of(data, &copied)
        owners_enter()
        status = copy_into(source, self.pointer)
        ortc_value_release(source)
        owners_leave()
        check(status)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A DLPack capsule over this tensor's memory, of version 1.x if `max_version` allows.

        On a CUDA device `stream` is the consumer's: 1 (or None) the legacy default stream, 2 that of the thread, -1 none that needs to wait, else a
        cudaStream_t. It waits on the device for the run that computes the tensor. On the CPU it means nothing. `copy=True` exports a copy.
        `dl_device` must be None, the device where the tensor is, or (1, 0) for a copy on the CPU.
        """
        cdef ortc_value *shared
        self.require_tensor("a DLPack form")
        if dl_device is not None:
            dl_device = pair_of_ints(dl_device, "dl_device")
        to_host = dl_device == (1, 0) and not on_host(self.pointer)
        if dl_device is not None and dl_device != self.__dlpack_device__() and (not to_host or copy is False):
            raise BufferError(f"this tensor is on DLPack device {self.__dlpack_device__()} and cannot be exported to {dl_device}"
                              f"{' without a copy' if to_host else ''}")
        versioned = max_version is not None and pair_of_ints(max_version, "max_version")[0] >= 1
        if not versioned and not copy and not to_host and ortc_value_is_read_only(self.pointer):
            raise BufferError("this tensor is read-only, which DLPack cannot say before version 1; ask with max_version=(1, 0)")
        self.order_before(stream, bool(copy) or to_host)
        shared = host_copy(self.pointer) if to_host else clone(self.pointer) if copy else ortc_value_retain(self.pointer)
        try:
            return dlpack_capsule(shared, versioned)
        finally:
            release_value(shared)

    cdef int order_before(self, object stream, bint read_now) except -1:
        """The consumer's stream, as DLPack numbers streams, waits for the run that computes this tensor; the host does if it is read at once."""
        if self.producer is None or on_host(self.pointer):
            return 0
        if read_now:
            return self.wait()
        if stream is None or stream != -1:
            self.producer.make_wait(handle_of_protocol(stream))
        return 0

    @property
    def __cuda_array_interface__(self):
        """Version 3, of tensors on a CUDA device; others have no such attribute."""
        cdef ortc_memory_info info
        if ortc_value_get_kind(self.pointer) != ORTC_VALUE_TENSOR or on_host(self.pointer) or self.__dlpack_device__()[0] != 2:
            raise AttributeError("only tensors on a CUDA device have __cuda_array_interface__")
        return cuda_array_interface_of(self.pointer, None if self.producer is None else self.producer.__cuda_stream__()[1] or 1)

    def __dlpack_device__(self):
        """(1, 0) on the CPU, (2, n) on CUDA device n, (3, n) in memory of the host that is page-locked for it."""
        cdef ortc_memory_info info
        self.require_tensor("a DLPack form")
        ortc_value_get_memory_info(self.pointer, &info)
        if info.device_type == ORTC_DEVICE_CPU:
            return (1, 0)
        return (3 if info.device_mem_type == ORTC_DEVICE_MEM_HOST_ACCESSIBLE else 2, info.device_id)

    def to_dlpack(self):
        """A DLPack capsule over this tensor's memory."""
        return self.__dlpack__()

    def __copy__(self):
        result = wrap(ortc_value_retain(self.pointer))
        result._numpy_obj, result._session = self._numpy_obj, self._session
        (<OrtValue>result).producer = self.producer
        return result

    def __reduce__(self):
        raise TypeError("an OrtValue cannot be pickled; pickle its numpy()")


# ---- Values as Python objects -----------------------------------------------------------------------------------------

cdef list elements_of(ortc_value *tensor):
    """The elements of a tensor of rank 1, as Python objects. Takes over the reference."""
    cdef const int64_t *data = <const int64_t *>ortc_value_get_data(tensor)
    cdef int64_t i
    cdef list elements
    if ortc_value_get_element_type(tensor) != ORTC_INT64 or not on_host(tensor):
        return array_of(tensor).tolist()
    elements = [data[i] for i in range(ortc_value_get_count(tensor))]
    release_value(tensor)
    return elements


cdef dict zipped(list names, ortc_value *values):
    """{name: element}. Takes over the reference. Classifiers give a map of two or three scores a row: an array for each would take longer than the
    model."""
    cdef const float *data = <const float *>ortc_value_get_data(values)
    cdef int64_t i
    cdef dict result = {}
    if ortc_value_get_element_type(values) != ORTC_FLOAT or not on_host(values):
        return dict(zip(names, elements_of(values)))
    for i in range(ortc_value_get_count(values)):
        result[names[i]] = data[i]
    release_value(values)
    return result


cdef dict dict_of(const ortc_value *mapping, const ortc_value **known, list names):
    """A map as a dict; `names` are the keys of the map that was turned before, if it had the keys `known`."""
    cdef ortc_value *keys = NULL
    cdef ortc_value *values = NULL
    check(ortc_value_get_map(mapping, &keys, &values))
    if keys == known[0]:
        release_value(keys)
    else:
        known[0] = keys
        names[:] = elements_of(keys)
    return zipped(names, values)


cdef list items_of(const ortc_value *sequence):
    """The items of a sequence. Maps that one node made share their keys, which are turned once."""
    cdef ortc_value *item = NULL
    cdef const ortc_value *known = NULL
    cdef int64_t i
    cdef list items = [], names = []
    for i in range(ortc_value_get_count(sequence)):
        check(ortc_value_get_item(sequence, i, &item))
        if ortc_value_get_kind(item) != ORTC_VALUE_MAP:
            items.append(object_of(item))
            continue
        try:
            items.append(dict_of(item, &known, names))
        finally:
            release_value(item)
    return items


cdef object object_of(ortc_value *value):
    """Takes over the reference."""
    cdef int kind = ortc_value_get_kind(value)
    cdef const ortc_value *no_keys = NULL
    if kind == ORTC_VALUE_TENSOR:
        return array_of(value)
    holder = wrap(value)
    if kind == ORTC_VALUE_SEQUENCE:
        return items_of(value)
    if kind == ORTC_VALUE_MAP:
        return dict_of(value, &no_keys, [])
    return holder.as_sparse_tensor() if kind == ORTC_VALUE_SPARSE else None


def copy_tensors(src, dst, stream=None):
    """Copies each tensor of `src` over the one of `dst` at the same place. Types and sizes in bytes must agree.

    With an OrtSyncStream the copies are only enqueued on it; all tensors must stay until they are done.
    """
    cdef OrtSyncStream on = None
    cdef OrtValue source, destination
    cdef ortc_status *status
    sources, destinations = list_of(src, "src"), list_of(dst, "dst")
    if stream is not None:
        if not isinstance(stream, OrtSyncStream):
            raise InvalidType(f"stream must be an OrtSyncStream or None, not {type(stream).__name__}")
        on = stream
    if not sources or len(sources) != len(destinations):
        raise make_error(2, f"copy_tensors takes two lists of equal length, at least one tensor each; these have {len(sources)} and {len(destinations)}")
    if not all(isinstance(value, OrtValue) for value in sources + destinations):
        raise InvalidType("copy_tensors takes lists of OrtValues")
    for source, destination in zip(sources, destinations):
        source.wait()
        destination.wait()
        if on is None:
            check(copy_into(source.pointer, destination.pointer))
            continue
        with nogil:
            status = ortc_value_copy_on_stream(source.pointer, destination.pointer, on.pointer)
        check(status)
