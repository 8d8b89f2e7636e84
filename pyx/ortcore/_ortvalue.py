"""OrtValue, SparseTensor and OrtValueVector."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ortcore import _dtypes, _value
from ortcore._device import OrtDevice, OrtMemoryInfo, device_of
from ortcore._enums import OrtSparseFormat
from ortcore._value import Value


def _need_cpu(device_type: str) -> None:
    if device_of(device_type) != "cpu":
        raise RuntimeError(f"Can't allocate memory on the {device_type} device using this package: it runs on the CPU only, or no such device is there")


class OrtValue:
    """A tensor, sparse tensor, sequence, map or optional. Tensors made from arrays use the array's memory and keep the array alive; whatever
    is made from an OrtValue (arrays, DLPack exports, bindings) keeps its memory alive in turn. Contents are not locked: one writer at a time."""

    __slots__ = ("__weakref__", "_numpy_obj", "_ortvalue", "_session")

    def __init__(self, ortvalue: Any, numpy_obj: Any = None, session: Any = None) -> None:
        if isinstance(ortvalue, OrtValue):
            ortvalue = ortvalue._ortvalue
        if not isinstance(ortvalue, Value):
            raise ValueError(f"`Provided ortvalue` needs to be of type `C.OrtValue`, not {type(ortvalue).__name__}")
        self._ortvalue = ortvalue
        self._numpy_obj = numpy_obj
        self._session = session

    def _get_c_value(self) -> Value:
        return self._ortvalue

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj: Any, /, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1) -> OrtValue:
        """A tensor over the array's memory, shared in both directions. Arrays that are not contiguous or not of native byte order are copied
        (a snapshot); read-only arrays give a value that cannot be an output. numpy_obj: an ndarray (strings and ml_dtypes too), or an object with
        __dlpack__, the buffer protocol or __array_interface__."""
        _need_cpu(device_type)
        if isinstance(numpy_obj, OrtValue) or not _is_array_like(numpy_obj):
            raise RuntimeError(f"ortvalue_from_numpy takes a numpy array or something like one, not {type(numpy_obj).__name__}")
        return cls(_value.from_object(numpy_obj)[0], numpy_obj)

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: Any, /, onnx_element_type: int) -> OrtValue:
        """A tensor over the array's memory whose elements are taken to be of an ONNX type of the same size: bfloat16 held in uint16, say. For the
        packed types the array holds ONNX's packed bytes, and its shape is the tensor's shape unless it is the packed size's."""
        number = _dtypes.parse(onnx_element_type)
        array = np.asarray(data)
        if number == _dtypes.STRING:
            raise RuntimeError("strings cannot be reinterpreted; use ortvalue_from_numpy with an array of str")
        bits = _dtypes.PACKED_BITS.get(number)
        if bits is None and array.itemsize * 8 != _value_bits(number):
            raise RuntimeError(
                f"elements of {_dtypes.NAMES[number]} have {_value_bits(number)} bits, but those of the array have {array.itemsize * 8}"
            )
        contiguous = array if array.flags.c_contiguous else array.copy(order="C")
        address = contiguous.__array_interface__["data"][0]
        native = _value.borrow(address, contiguous.nbytes, number, array.shape, contiguous, not contiguous.flags.writeable)
        return cls(native, data)

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Any,
        element_type: Any,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
        memory_info: OrtMemoryInfo | None = None,
    ) -> OrtValue:
        """A tensor with uninitialised memory. element_type: a numpy dtype, an ONNX number, an ml_dtypes or torch type, or a name."""
        if memory_info is not None:
            if device_type != "cpu" or device_id != 0 or vendor_id != -1:
                warnings.warn("memory_info is given: device_type, device_id and vendor_id are ignored", UserWarning, stacklevel=2)
            if memory_info._device != 0:
                raise RuntimeError(f"there is no shared allocator for the memory {memory_info.name!r}")
        else:
            _need_cpu(device_type)
        number = _dtypes.parse(element_type, numbers=False)
        if number == _dtypes.STRING:
            raise RuntimeError("string tensors cannot be made uninitialised; use ortvalue_from_numpy with an array of str")
        try:
            dims = [d.__index__() for d in (shape.tolist() if isinstance(shape, np.ndarray) else shape)]
        except AttributeError:
            raise TypeError(f"shape must be a sequence of integers, not {shape!r}") from None
        return cls(_value.empty(dims, number))

    @classmethod
    def ort_value_from_sparse_tensor(cls, sparse_tensor: SparseTensor) -> OrtValue:
        """The sparse tensor as an OrtValue; shares its memory."""
        return cls(sparse_tensor._get_c_tensor())

    @classmethod
    def from_dlpack(cls, data: Any, /) -> OrtValue:
        """A tensor over the memory of a DLPack producer, which is kept alive. Strided tensors are copied."""
        return cls(_value.from_dlpack(data))

    def as_sparse_tensor(self) -> SparseTensor:
        """This value as a SparseTensor. RuntimeError if it is not one."""
        if not self.is_sparse_tensor():
            raise RuntimeError("this value is not a sparse tensor")
        return SparseTensor(self._ortvalue)

    def data_ptr(self) -> int:
        """Address of the first element, 0 if there are none."""
        return self._ortvalue.data_ptr()  # type: ignore[no-any-return]

    def device_name(self) -> str:
        """'cpu' or 'cuda'."""
        return self._ortvalue.device_name()  # type: ignore[no-any-return]

    def shape(self) -> list[int]:
        """Dims, outermost first."""
        return self._ortvalue.shape()  # type: ignore[no-any-return]

    def data_type(self) -> str:
        """'tensor(float)', 'seq(tensor(int64))', 'map(string,tensor(float))', ..."""
        return self._ortvalue.data_type()  # type: ignore[no-any-return]

    def element_type(self) -> int:
        """ONNX's number of the elements' type."""
        return self._ortvalue.element_type()  # type: ignore[no-any-return]

    def tensor_size_in_bytes(self) -> int:
        return self._ortvalue.tensor_size_in_bytes()  # type: ignore[no-any-return]

    def has_value(self) -> bool:
        """False for an empty optional, and for an output before the run."""
        return self._ortvalue.has_value()  # type: ignore[no-any-return]

    def is_tensor(self) -> bool:
        return self._ortvalue.is_tensor()  # type: ignore[no-any-return]

    def is_sparse_tensor(self) -> bool:
        return self._ortvalue.is_sparse_tensor()  # type: ignore[no-any-return]

    def is_tensor_sequence(self) -> bool:
        return self._ortvalue.is_tensor_sequence()  # type: ignore[no-any-return]

    def numpy(self) -> np.ndarray[Any, Any]:
        """An array over the tensor's memory (strings and packed types: a copy)."""
        return self._ortvalue.numpy()  # type: ignore[no-any-return]

    def to_object(self) -> Any:
        """An array; a list for a sequence; a dict for a map; None for an empty optional."""
        return self._ortvalue.to_object()

    def update_inplace(self, data: Any) -> None:
        """Overwrites the elements and keeps the address. data: an array or OrtValue of the same element type and number of elements."""
        source = data._ortvalue if isinstance(data, OrtValue) else _value.from_object(data)[0]
        if not self.is_tensor() or not source.is_tensor():
            raise RuntimeError(f"update_inplace works between tensors, not with {source.data_type()}")
        if source.element_type() != self.element_type():
            raise TypeError(f"update_inplace: the value is {self.data_type()}, but {source.data_type()} was given; convert it first")
        if source.count() != self._ortvalue.count():
            raise RuntimeError(f"update_inplace: the value has {self._ortvalue.count()} elements, but {source.count()} were given")
        self._ortvalue.copy_from(source)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"an array of {dtype} needs a copy of this {array.dtype} tensor")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        return self._ortvalue.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._ortvalue.__dlpack_device__()  # type: ignore[no-any-return]

    def __deepcopy__(self, memo: Any) -> OrtValue:
        raise TypeError("cannot pickle 'OrtValue' object: copy its numpy() array instead")

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle 'OrtValue' object: pickle its numpy() array instead")

    def __repr__(self) -> str:
        if not self.has_value():
            return "OrtValue(empty)"
        return f"OrtValue({self.data_type()}, shape {self.shape()})" if self.is_tensor() else f"OrtValue({self.data_type()})"


def _is_array_like(source: Any) -> bool:
    if isinstance(source, (np.ndarray, memoryview, bytearray)) or hasattr(source, "__dlpack__") or hasattr(source, "__array_interface__"):
        return not isinstance(source, np.generic)
    return hasattr(source, "__buffer__") and not isinstance(source, bytes)


def _value_bits(number: int) -> int:
    widths = {"8": 8, "16": 16, "32": 32, "64": 64}
    name = _dtypes.NAMES[number]
    if name in ("float", "double", "bool", "complex64", "complex128"):
        return {"float": 32, "double": 64, "bool": 8, "complex64": 64, "complex128": 128}[name]
    if name.startswith("float8"):
        return 8
    return widths[name.lstrip("bfuloaint")]


class SparseTensor:
    """A sparse tensor: values, their indices, and the dense shape."""

    def __init__(self, sparse_tensor: Any) -> None:
        if not isinstance(sparse_tensor, Value):
            raise ValueError(f"`Provided object` needs to be of type `C.SparseTensor`, not {type(sparse_tensor).__name__}")
        self._tensor = sparse_tensor

    def _get_c_tensor(self) -> Value:
        return self._tensor

    @staticmethod
    def sparse_coo_from_numpy(dense_shape: Any, values: Any, coo_indices: Any, ort_device: OrtDevice) -> SparseTensor:
        """COO: values [n]; coo_indices int64 [n] (linear) or [n, rank], checked against dense_shape. The arrays' memory is used."""
        return SparseTensor(_sparse(OrtSparseFormat.ORT_SPARSE_COO, dense_shape, values, coo_indices))  # type: ignore[attr-defined]

    @staticmethod
    def sparse_csr_from_numpy(dense_shape: Any, values: Any, inner_indices: Any, outer_indices: Any, ort_device: OrtDevice) -> SparseTensor:
        """CSR of a matrix: values and inner (column) indices [n], outer indices [rows + 1]."""
        return SparseTensor(_sparse(OrtSparseFormat.ORT_SPARSE_CSRC, dense_shape, values, inner_indices, outer_indices))  # type: ignore[attr-defined]

    def values(self) -> np.ndarray[Any, Any]:
        array = self._tensor.sparse_parts()[1].numpy()
        array.flags.writeable = False
        return array  # type: ignore[no-any-return]

    def dense_shape(self) -> list[int]:
        return self._tensor.shape()  # type: ignore[no-any-return]

    def format(self) -> OrtSparseFormat:
        return OrtSparseFormat(self._tensor.sparse_parts()[0])

    def data_type(self) -> str:
        return self._tensor.data_type()  # type: ignore[no-any-return]

    def device_name(self) -> str:
        return "cpu"

    def as_coo_view(self) -> _CooView:
        self._need(1, "COO")
        return _CooView(self._tensor)

    def as_csrc_view(self) -> _CsrView:
        self._need(2, "CSR")
        return _CsrView(self._tensor)

    def as_blocksparse_view(self) -> Any:
        self._need(4, "block sparse")
        return None

    def to_cuda(self, ort_device: OrtDevice) -> SparseTensor:
        raise RuntimeError("sparse tensors can be on the CPU only in this build")

    def _need(self, number: int, name: str) -> None:
        if int(self.format()) != number:
            raise RuntimeError(f"this sparse tensor is not {name}, but {self.format()}")


def _sparse(kind: Any, shape: Any, values: Any, indices: Any, outer: Any = None) -> Value:
    parts = [np.ascontiguousarray(part, np.int64) for part in (indices, outer) if part is not None]
    if not isinstance(values, np.ndarray) or values.dtype.kind in "OUS" or values.ndim != 1:
        raise RuntimeError("the values of a sparse tensor must be a 1-D numeric array")
    natives = [_value.from_object(part)[0] for part in parts]
    return _value.sparse(int(kind), [int(d) for d in shape], _value.from_object(values)[0], *natives)


class _CooView:
    def __init__(self, tensor: Value) -> None:
        self._tensor = tensor

    def indices(self) -> np.ndarray[Any, Any]:
        array = self._tensor.sparse_parts()[2].numpy()
        array.flags.writeable = False
        return array  # type: ignore[no-any-return]


class _CsrView:
    def __init__(self, tensor: Value) -> None:
        self._tensor = tensor

    def inner(self) -> np.ndarray[Any, Any]:
        array = self._tensor.sparse_parts()[2].numpy()
        array.flags.writeable = False
        return array  # type: ignore[no-any-return]

    def outer(self) -> np.ndarray[Any, Any]:
        array = self._tensor.sparse_parts()[3].numpy()
        array.flags.writeable = False
        return array  # type: ignore[no-any-return]


class OrtValueVector:
    """A list of native values, which it keeps alive."""

    def __init__(self) -> None:
        self._items: list[Value] = []

    def push_back(self, value: Any, is_bool_tensor: bool = False) -> None:
        """Appends a native value, an OrtValue or a DLPack capsule."""
        if isinstance(value, OrtValue):
            value = value._ortvalue
        self._items.append(value if isinstance(value, Value) else _value.from_dlpack(value))

    def push_back_batch(self, objects: Sequence[Any], pointers: Sequence[int], types: Sequence[Any], shapes: Sequence[Any], devices: Sequence[Any]) -> None:
        """Appends tensors over memory at addresses; `objects` are kept alive for them."""
        for owner, pointer, kind, shape, _device in zip(objects, pointers, types, shapes, devices, strict=True):
            number = _dtypes.parse(kind)
            count = int(np.prod(shape)) if len(shape) else 1
            self._items.append(_value.borrow(pointer, count * _value_bits(number) // 8, number, shape, owner))

    def reserve(self, n: int) -> None:
        """Accepted: the list grows by itself."""

    def shrink_to_fit(self) -> None:
        """Accepted: the list is never larger than it needs to be."""

    def element_type_at(self, index: int) -> int:
        return self[index].element_type()  # type: ignore[no-any-return]

    def bool_tensor_indices(self) -> list[int]:
        return [i for i, value in enumerate(self._items) if value.is_tensor() and value.element_type() == _dtypes.NUMBERS["bool"]]

    def dlpack_at(self, index: int) -> Any:
        return self[index].__dlpack__()

    def to_dlpacks(self, function: Any = None) -> list[Any]:
        capsules = [value.__dlpack__() for value in self._items]
        return capsules if function is None else [function(capsule) for capsule in capsules]

    def __getitem__(self, index: int) -> Value:
        if not isinstance(index, int) or index < 0:
            raise TypeError(f"an index must be a non-negative int, not {index!r}")
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Value]:
        return iter(list(self._items))
