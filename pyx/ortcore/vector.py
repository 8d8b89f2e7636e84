"""OrtValueVector: a list of OrtValues with the methods that onnxruntime's has."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ortcore._binding import IOBinding
from ortcore._errors import make_error
from ortcore._value import OrtValue


class OrtValueVector:
    """OrtValues in order. One made by a binding follows the binding's outputs and cannot be added to."""

    def __init__(self) -> None:
        self._own: list[OrtValue] = []
        self._binding: IOBinding | None = None

    @classmethod
    def _of_binding(cls, binding: IOBinding) -> OrtValueVector:
        vector = cls()
        vector._binding = binding
        return vector

    def _values(self) -> list[OrtValue]:
        return self._own if self._binding is None else self._binding.get_outputs()

    def _append(self, value: OrtValue) -> None:
        if self._binding is not None:
            raise make_error(2, "this OrtValueVector shows the outputs of a binding; bind an output instead")
        self._own.append(value)

    def push_back(self, value: Any) -> None:
        """Appends an OrtValue, or a tensor from a DLPack capsule."""
        self._append(value if isinstance(value, OrtValue) else OrtValue.from_dlpack(value))

    def push_back_batch(self, objects: Sequence[Any], pointers: Sequence[int], element_types: Sequence[Any], shapes: Sequence[Sequence[int]],
                        devices: Sequence[Any]) -> None:
        """Appends tensors over the memory of objects, which are held. `pointers` must be the addresses of their memory."""
        for source, pointer, element_type, shape, _ in zip(objects, pointers, element_types, shapes, devices, strict=True):
            self._append(OrtValue._at(source, pointer, element_type, shape))

    def reserve(self, size: int) -> None:
        """Accepted for compatibility."""

    def shrink_to_fit(self) -> None:
        """Accepted for compatibility."""

    def element_type_at(self, index: int) -> int:
        """ONNX's number of the elements' type."""
        return self[index].element_type()

    def dlpack_at(self, index: int) -> Any:
        """A DLPack capsule over the tensor."""
        return self[index].__dlpack__()

    def to_dlpacks(self, to_tensor: Callable[[Any], Any] | None = None) -> list[Any]:
        """DLPack capsules over all tensors, or what `to_tensor` makes of them."""
        capsules = [value.__dlpack__() for value in self]
        return capsules if to_tensor is None else [to_tensor(capsule) for capsule in capsules]

    def __len__(self) -> int:
        return len(self._values())

    def __getitem__(self, index: int) -> OrtValue:
        if index < 0:
            raise TypeError(f"an index into an OrtValueVector is not negative; this one is {index}")
        return self._values()[index]

    def __iter__(self) -> Iterator[OrtValue]:
        return iter(self._values())
