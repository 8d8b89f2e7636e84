"""Enumerations of the API, with the behaviour that onnxruntime's have: equal to their number, printed as `Class.NAME`, without an order."""
from __future__ import annotations

import enum
from typing import Any


class Enumeration(enum.Enum):
    """A member equals its number and nothing else. A number without a member makes one called '???'."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Enumeration):
            return type(self) is type(other) and self._value_ == other._value_
        return bool(self._value_ == other)

    def __hash__(self) -> int:
        return hash(self._value_)

    def __int__(self) -> int:
        return int(self._value_)

    __index__ = __int__

    def __repr__(self) -> str:
        return f"<{self}: {self._value_}>"

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self._name_}"

    @classmethod
    def _missing_(cls, value: object) -> Any:
        if not isinstance(value, int):
            return None
        member = object.__new__(cls)
        member._name_ = "???"
        member._value_ = int(value)
        return member


class GraphOptimizationLevel(Enumeration):
    """How far the model is rewritten when it is loaded."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(Enumeration):
    """Accepted for compatibility: steps always run in order, each on as many threads as pay."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(Enumeration):
    """Accepted for compatibility: the order is the one that needs the least memory."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class OrtAllocatorType(Enumeration):
    """Kind of an allocator: one that asks the device each time, or one that keeps what was freed."""

    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemType(Enumeration):
    """Whose memory: the device's own (DEFAULT), or host memory that a device reads or writes."""

    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0


class OrtDeviceMemoryType(Enumeration):
    """Whether the host can read a device's memory."""

    DEFAULT = 0
    HOST_ACCESSIBLE = 5


class OrtMemoryInfoDeviceType(Enumeration):
    """Kinds of devices that memory lies on."""

    CPU = 0
    GPU = 1
    FPGA = 2
    NPU = 3


class OrtHardwareDeviceType(Enumeration):
    """Kinds of hardware."""

    CPU = 0
    GPU = 1
    NPU = 2


class OrtSparseFormat(Enumeration):
    """How a sparse tensor stores its indices."""

    ORT_SPARSE_UNDEFINED = 0
    ORT_SPARSE_COO = 1
    ORT_SPARSE_CSRC = 2
    ORT_SPARSE_BLOCK_SPARSE = 4


class OrtExecutionProviderDevicePolicy(Enumeration):
    """Wishes for the choice of a device. Here the order of the providers decides."""

    DEFAULT = 0
    PREFER_CPU = 1
    PREFER_NPU = 2
    PREFER_GPU = 3
    MAX_PERFORMANCE = 4
    MAX_EFFICIENCY = 5
    MIN_OVERALL_POWER = 6


class ArenaExtendStrategy(Enumeration):
    """How much an arena asks for when it grows."""

    kNextPowerOfTwo = 0
    kSameAsRequested = 1


class OrtCompileApiFlags(enum.IntFlag):
    """Flags of ModelCompiler."""

    NONE = 0
    ERROR_IF_NO_NODES_COMPILED = 1
    ERROR_IF_OUTPUT_FILE_EXISTS = 2


class OrtDeviceVendorId(enum.IntEnum):
    """PCI numbers of makers of devices."""

    NONE = 0x0000
    AMD = 0x1002
    NVIDIA = 0x10DE
    ARM = 0x13B5
    MICROSOFT = 0x1414
    HUAWEI = 0x19E5
    QUALCOMM = 0x5143
    INTEL = 0x8086
