"""SparseTensor: values of a tensor that is mostly zero, with their indices."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ortcore._device import OrtDevice
from ortcore._errors import InvalidType, make_error
from ortcore._value import OrtValue
from ortcore.enums import OrtSparseFormat


def _read_only(value: OrtValue) -> npt.NDArray[Any]:
    array = value.numpy().view()
    array.flags.writeable = False
    return array


class SparseCooView:
    """The indices of a sparse tensor in COO format."""

    def __init__(self, indices: OrtValue):
        self._indices = indices

    def indices(self) -> npt.NDArray[np.int64]:
        """int64, [n] linear or [n, rank]; read-only, over the tensor's memory."""
        return _read_only(self._indices)


class SparseCsrView:
    """The indices of a sparse tensor in CSR format."""

    def __init__(self, inner: OrtValue, outer: OrtValue):
        self._inner, self._outer = inner, outer

    def inner(self) -> npt.NDArray[np.int64]:
        """Column of each value."""
        return _read_only(self._inner)

    def outer(self) -> npt.NDArray[np.int64]:
        """Where each row begins among the values, and their number at the end."""
        return _read_only(self._outer)


def _indices(given: object, what: str) -> npt.NDArray[np.int64]:
    try:
        return np.asarray(given, np.int64)
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidType(f"{what} must be an array of int64: {error}") from None


class SparseTensor:
    """A sparse tensor over the caller's arrays, which it holds. Indices are checked against the shape."""

    def __init__(self, sparse_tensor: OrtValue | SparseTensor):
        value = sparse_tensor._value if isinstance(sparse_tensor, SparseTensor) else sparse_tensor
        if not isinstance(value, OrtValue) or not value.is_sparse_tensor():
            raise ValueError("a SparseTensor is made from arrays by sparse_coo_from_numpy() or sparse_csr_from_numpy()")
        self._value: OrtValue = value

    @staticmethod
    def _check(values: object, ort_device: OrtDevice) -> None:
        if not isinstance(values, np.ndarray):
            raise TypeError(f"values must be a numpy array, not {type(values).__name__}")
        if values.ndim != 1:
            raise make_error(2, f"the values of a sparse tensor are an array of rank 1, not {values.ndim}")
        if not isinstance(ort_device, OrtDevice):
            raise InvalidType(f"ort_device must be an OrtDevice, not {type(ort_device).__name__}; OrtDevice.make('cpu', 0) makes one")
        if ort_device.device_type() != 0:
            raise make_error(2, f"sparse tensors can be made on the CPU only, not on {ort_device!r}")

    @staticmethod
    def sparse_coo_from_numpy(dense_shape: Sequence[int], values: npt.NDArray[Any], coo_indices: npt.NDArray[Any], ort_device: OrtDevice) -> SparseTensor:
        """From n values and their indices, [n] into the flattened tensor or [n, 2]."""
        SparseTensor._check(values, ort_device)
        return SparseTensor(OrtValue._sparse(1, dense_shape, values, _indices(coo_indices, "coo_indices")))

    @staticmethod
    def sparse_csr_from_numpy(dense_shape: Sequence[int], values: npt.NDArray[Any], inner_indices: npt.NDArray[Any], outer_indices: npt.NDArray[Any],
                              ort_device: OrtDevice) -> SparseTensor:
        """From n values, the column of each, and the rows' beginnings."""
        SparseTensor._check(values, ort_device)
        return SparseTensor(OrtValue._sparse(2, dense_shape, values, _indices(inner_indices, "inner_indices"), _indices(outer_indices, "outer_indices")))

    def values(self) -> npt.NDArray[Any]:
        """The values, read-only, over the tensor's memory; a copy of strings."""
        return _read_only(self._value._sparse_parts()[1])

    def dense_shape(self) -> list[int]:
        """The dims of the whole tensor."""
        return self._value.shape()

    def format(self) -> OrtSparseFormat:
        """How the indices are stored."""
        return OrtSparseFormat(self._value._sparse_parts()[0])

    def data_type(self) -> str:
        """"sparse_tensor(float)"."""
        return self._value.data_type()

    def device_name(self) -> str:
        """'cpu'."""
        return self._value.device_name()

    def _require(self, wanted: OrtSparseFormat) -> None:
        if self.format() != wanted:
            raise make_error(2, f"this sparse tensor has format {self.format()}, not {wanted}")

    def as_coo_view(self) -> SparseCooView:
        """The indices, if the format is COO."""
        self._require(OrtSparseFormat.ORT_SPARSE_COO)
        return SparseCooView(self._value._sparse_parts()[2])

    def as_csrc_view(self) -> SparseCsrView:
        """The indices, if the format is CSR."""
        self._require(OrtSparseFormat.ORT_SPARSE_CSRC)
        _, _, inner, outer = self._value._sparse_parts()
        assert outer is not None
        return SparseCsrView(inner, outer)

    def as_blocksparse_view(self) -> Any:
        """Not supported."""
        self._require(OrtSparseFormat.ORT_SPARSE_BLOCK_SPARSE)

    def to_cuda(self, ort_device: OrtDevice) -> SparseTensor:
        """Not supported: an error."""
        raise make_error(9, f"sparse tensors cannot be copied to {ort_device!r}")

    def _get_c_tensor(self) -> SparseTensor:
        return self
