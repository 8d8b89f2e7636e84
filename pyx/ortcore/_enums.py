"""Enumerations, with onnxruntime's names, numbers and manners: equal to their number, hashable by it, not ordered."""

from __future__ import annotations

import enum
from typing import Any, ClassVar


class _EnumType(type):
    """Makes the members that `members` names, as class attributes and in `__members__`."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], members: dict[str, int] | None = None) -> _EnumType:
        cls = super().__new__(mcs, name, bases, namespace)
        cls.__members__ = {}  # type: ignore[attr-defined]
        for member, value in (members or {}).items():
            instance = cls(value)
            cls.__members__[member] = instance  # type: ignore[attr-defined]
            setattr(cls, member, instance)
        return cls

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], members: dict[str, int] | None = None) -> None:
        super().__init__(name, bases, namespace)


class Enum(metaclass=_EnumType):
    """One value of an enumeration."""

    __slots__ = ("value",)
    __members__: ClassVar[dict[str, Any]]
    value: int

    def __init__(self, value: int) -> None:
        self.value = int(value)

    @property
    def name(self) -> str:
        """The member's name, '???' if the number has none."""
        return next((name for name, member in type(self).__members__.items() if member.value == self.value), "???")

    def __int__(self) -> int:
        return self.value

    __index__ = __int__

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Enum):
            return type(other) is type(self) and self.value == other.value
        return isinstance(other, int) and self.value == other

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class GraphOptimizationLevel(
    Enum, members={"ORT_DISABLE_ALL": 0, "ORT_ENABLE_BASIC": 1, "ORT_ENABLE_EXTENDED": 2, "ORT_ENABLE_LAYOUT": 3, "ORT_ENABLE_ALL": 99}
):
    """How far the graph is rewritten before it runs."""


class ExecutionMode(Enum, members={"ORT_SEQUENTIAL": 0, "ORT_PARALLEL": 1}):
    """Accepted for compatibility: steps run one after the other, and share the threads within."""


class ExecutionOrder(Enum, members={"DEFAULT": 0, "PRIORITY_BASED": 1, "MEMORY_EFFICIENT": 2}):
    """Accepted for compatibility: nodes run in topological order."""


class OrtAllocatorType(Enum, members={"INVALID": -1, "ORT_DEVICE_ALLOCATOR": 0, "ORT_ARENA_ALLOCATOR": 1}):
    """Kind of an allocator."""


class OrtMemType(Enum, members={"CPU_INPUT": -2, "CPU_OUTPUT": -1, "CPU": -1, "DEFAULT": 0}):
    """What memory of an allocator is for."""


class OrtSparseFormat(Enum, members={"ORT_SPARSE_UNDEFINED": 0, "ORT_SPARSE_COO": 1, "ORT_SPARSE_CSRC": 2, "ORT_SPARSE_BLOCK_SPARSE": 4}):
    """Layout of a sparse tensor's indices."""


class OrtDeviceMemoryType(Enum, members={"DEFAULT": 0, "HOST_ACCESSIBLE": 5}):
    """Whether the host reaches a device's memory."""


class OrtMemoryInfoDeviceType(Enum, members={"CPU": 0, "GPU": 1, "FPGA": 2, "NPU": 3}):
    """Kind of device that memory belongs to."""


class OrtHardwareDeviceType(Enum, members={"CPU": 0, "GPU": 1, "NPU": 2}):
    """Kind of hardware."""


class OrtExecutionProviderDevicePolicy(
    Enum,
    members={
        "DEFAULT": 0,
        "PREFER_CPU": 1,
        "PREFER_NPU": 2,
        "PREFER_GPU": 3,
        "MAX_PERFORMANCE": 4,
        "MAX_EFFICIENCY": 5,
        "MIN_OVERALL_POWER": 6,
    },
):
    """How a provider would be chosen among devices."""


class OrtCompileApiFlags(Enum, members={"NONE": 0, "ERROR_IF_NO_NODES_COMPILED": 1, "ERROR_IF_OUTPUT_FILE_EXISTS": 2}):
    """Flags of ModelCompiler; they combine with |."""

    def __or__(self, other: OrtCompileApiFlags) -> OrtCompileApiFlags:
        return OrtCompileApiFlags(self.value | int(other))


class ArenaExtendStrategy(Enum, members={"kNextPowerOfTwo": 0, "kSameAsRequested": 1}):
    """How an arena grows."""


class OrtDeviceVendorId(enum.IntEnum):
    """PCI vendor numbers."""

    NONE = 0
    AMD = 0x1002
    NVIDIA = 0x10DE
    ARM = 0x13B5
    MICROSOFT = 0x1414
    HUAWEI = 0x19E5
    QUALCOMM = 0x5143
    INTEL = 0x8086
