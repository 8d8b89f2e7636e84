"""Devices, memory infos and arenas, as onnxruntime names them."""

from __future__ import annotations

from typing import Any

from ortcore import _session
from ortcore._enums import ArenaExtendStrategy, OrtAllocatorType, OrtDeviceMemoryType, OrtMemoryInfoDeviceType, OrtMemType

# name -> (device type, vendor), of the devices that can be named.
DEVICES = {"cpu": (0, 0), "cuda": (1, 0x10DE), "gpu": (1, 0), "dml": (1, 0x1414), "webgpu": (1, 0), "npu": (3, 0), "cann": (3, 0x19E5)}
# Allocator name -> (device type, host accessible, vendor).
_MEMORY_NAMES = {
    "Cpu": (0, False, 0),
    "Cuda": (1, False, 0x10DE),
    "CudaPinned": (1, True, 0x10DE),
    "Cann": (3, False, 0x19E5),
    "CannPinned": (3, True, 0x19E5),
    "DML": (1, False, 0x1414),
    "OpenVINO_CPU": (0, False, 0),
    "OpenVINO_GPU": (1, False, 0x8086),
    "WebGPU_Buffer": (1, False, 0),
    "WebGPU_Buf": (1, False, 0),
}


def device_of(name: str, device_id: int = 0) -> str:
    """The device's name, checked. Raises for a name that is none."""
    if not isinstance(name, str):
        raise TypeError(f"a device's name must be a str, not {type(name).__name__}")
    if name not in DEVICES:
        raise Exception(f"Unsupported device type: {name!r}; known are {', '.join(sorted(DEVICES))}")
    return name


class OrtDevice:
    """A device: kind, number, vendor. Made by `OrtDevice.make`."""

    def __init__(self, name: str, device_id: int, vendor_id: int) -> None:
        self._name, self._id, self._vendor = name, device_id, vendor_id

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        """name: 'cpu', 'cuda', 'gpu', 'dml', 'webgpu', 'npu' or 'cann'. vendor_id: -1 takes the name's usual vendor."""
        device_of(ort_device_name)
        if not isinstance(device_id, int) or not -32768 <= device_id <= 32767:
            raise TypeError(f"device_id must be an integer in [-32768, 32767], not {device_id!r}")
        vendor = int(vendor_id)
        return OrtDevice(ort_device_name, device_id, vendor if vendor >= 0 else DEVICES[ort_device_name][1])

    def device_type(self) -> int:
        return DEVICES[self._name][0]

    def device_id(self) -> int:
        return self._id

    def device_mem_type(self) -> int:
        return 0

    def device_vendor_id(self) -> int:
        return self._vendor

    def device_name(self) -> str:
        return self._name

    def _get_c_device(self) -> OrtDevice:
        return self

    def __repr__(self) -> str:
        return f"OrtDevice({self._name!r}, {self._id})"


class OrtMemoryInfo:
    """Where memory is, and what allocates it. Immutable."""

    def __init__(self, name: str, allocator_type: Any, id: int, mem_type: Any, /) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of memory must be a str, not {type(name).__name__}")
        if name not in _MEMORY_NAMES:
            known = ", ".join(_MEMORY_NAMES)
            raise RuntimeError(f"Specified device is not supported: {name!r}; known are {known}. OrtMemoryInfo.create_v2 takes any name")
        if not isinstance(allocator_type, OrtAllocatorType) or not isinstance(mem_type, OrtMemType):
            raise TypeError("OrtMemoryInfo takes a name, an OrtAllocatorType, a device number and an OrtMemType")
        device, pinned, vendor = _MEMORY_NAMES[name]
        self._fill("WebGPU_Buf" if name == "WebGPU_Buffer" else name, device, vendor, int(id), 5 if pinned else 0, allocator_type, mem_type)

    def _fill(self, name: str, device: int, vendor: int, number: int, memory: int, allocator_type: Any, mem_type: Any) -> None:
        self._name, self._device, self._vendor, self._id = name, device, vendor, number
        self._memory, self._allocator_type, self._mem_type = memory, allocator_type, mem_type

    @classmethod
    def create_v2(
        cls,
        name: str,
        device_type: Any,
        vendor_id: int,
        device_id: int,
        device_mem_type: Any,
        alignment: int,
        allocator_type: Any,
    ) -> OrtMemoryInfo:
        """As the constructor, for any name and device."""
        if not isinstance(name, str):
            raise TypeError(f"the name of memory must be a str, not {type(name).__name__}")
        info = cls.__new__(cls)
        kind = int(device_mem_type)
        info._fill(name, int(device_type), int(vendor_id), int(device_id), kind, allocator_type, OrtMemType(-1 if kind == 5 else 0))
        return info

    @property
    def name(self) -> str:
        return self._name

    @property
    def device_id(self) -> int:
        return self._id

    @property
    def mem_type(self) -> OrtMemType:
        return self._mem_type  # type: ignore[no-any-return]

    @property
    def allocator_type(self) -> OrtAllocatorType:
        return self._allocator_type  # type: ignore[no-any-return]

    @property
    def device_mem_type(self) -> OrtDeviceMemoryType:
        return OrtDeviceMemoryType(self._memory)

    @property
    def device_type(self) -> OrtMemoryInfoDeviceType:
        return OrtMemoryInfoDeviceType(self._device)

    @property
    def device_vendor_id(self) -> int:
        return self._vendor

    def __repr__(self) -> str:
        return f"OrtMemoryInfo({self._name!r}, device {self._id}, {self._allocator_type})"


_ARENA_DEFAULTS = {
    "max_mem": 0,
    "arena_extend_strategy": -1,
    "initial_chunk_size_bytes": -1,
    "max_dead_bytes_per_chunk": -1,
    "initial_growth_chunk_size_bytes": -1,
    "max_power_of_two_extend_bytes": -1,
}


class OrtArenaCfg:
    """Settings of an arena: `OrtArenaCfg(max_mem, strategy, initial_chunk_size_bytes, max_dead_bytes_per_chunk)`, or a dict of the names.
    max_mem 0 is unlimited; -1 elsewhere is the default."""

    max_mem: int
    arena_extend_strategy: int
    initial_chunk_size_bytes: int
    max_dead_bytes_per_chunk: int
    initial_growth_chunk_size_bytes: int
    max_power_of_two_extend_bytes: int

    def __init__(self, *args: Any) -> None:
        given = args[0] if len(args) == 1 and isinstance(args[0], dict) else dict(zip(_ARENA_DEFAULTS, args, strict=False))
        if not (len(args) == 1 and isinstance(args[0], dict)) and len(args) != 4:
            raise TypeError("OrtArenaCfg takes four integers (max_mem, strategy, initial chunk, max dead bytes) or one dict")
        unknown = set(given) - set(_ARENA_DEFAULTS)
        if unknown:
            raise RuntimeError(f"Invalid OrtArenaCfg option: {sorted(unknown)[0]!r}; known are {', '.join(_ARENA_DEFAULTS)}")
        for name, default in _ARENA_DEFAULTS.items():
            setattr(self, name, int(given.get(name, default)))


def create_and_register_allocator(mem_info: OrtMemoryInfo, arena_cfg: OrtArenaCfg | None = None) -> None:
    """Makes an allocator that all sessions with `session.use_env_allocators` = '1' share. CPU memory only."""
    if not isinstance(mem_info, OrtMemoryInfo) or not (arena_cfg is None or isinstance(arena_cfg, OrtArenaCfg)):
        raise TypeError("create_and_register_allocator takes an OrtMemoryInfo and an OrtArenaCfg or None")
    if mem_info._device != 0:
        raise RuntimeError(f"allocators can be registered for CPU memory only, not for {mem_info.name!r}")
    arena = {name: getattr(arena_cfg, name) for name in _ARENA_DEFAULTS} if arena_cfg is not None else None
    if arena is None and mem_info.allocator_type == OrtAllocatorType.ORT_ARENA_ALLOCATOR:  # type: ignore[attr-defined]
        arena = dict(_ARENA_DEFAULTS)
    _session.register_allocator("Cpu", int(mem_info.allocator_type), mem_info.device_id, int(mem_info.mem_type), arena)


def create_and_register_allocator_v2(
    provider_type: str, mem_info: OrtMemoryInfo, options: dict[str, str], arena_cfg: OrtArenaCfg | None = None
) -> None:
    """As create_and_register_allocator, for a provider by name."""
    if provider_type != "CPUExecutionProvider":
        raise RuntimeError(f"allocators of {provider_type!r} are not implemented in this build; use CPUExecutionProvider")
    create_and_register_allocator(mem_info, arena_cfg)


__all__ = [
    "ArenaExtendStrategy",
    "OrtArenaCfg",
    "OrtDevice",
    "OrtMemoryInfo",
    "create_and_register_allocator",
    "create_and_register_allocator_v2",
]
