"""What the emulated GPU did and found, and what it shall do wrong. For tests; see docs/testing_without_a_gpu.md.

    ortcore.cuda.use_emulation(race_check=True)
    ...                                      # anything that uses CUDA through ortcore
    assert not ortcore.cuda.emulation.findings()
"""
from __future__ import annotations

import ctypes
from typing import NamedTuple

from ortcore._errors import make_error
from ortcore._process import get_provider_library
from ortcore.cuda import POLICIES, PROVIDER, is_emulated, why_not

COUNTERS = ("launches", "graph_launches", "copies_host_to_device", "copies_device_to_host", "copies_device_to_device", "copies_host_to_host",
            "bytes_host_to_device", "bytes_device_to_host", "bytes_device_to_device", "bytes_host_to_host", "memsets", "allocations",
            "pinned_allocations", "live_allocations", "live_bytes", "peak_bytes", "synchronisations", "pending", "races", "findings")


class Finding(NamedTuple):
    """Something that would be wrong on a GPU too: its kind ("race", "use_after_free", "stale_graph", ...), and a text that names who did it."""

    kind: str
    text: str


_library: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """The emulated device. Beside the functions used here it has the CUDA runtime's own (`library().cudaMalloc`), on the same memory and streams."""
    global _library
    if _library is not None:
        return _library
    if not is_emulated():
        raise make_error(1, f"CUDA is not emulated in this process ({why_not() or 'it is a real one'}); call ortcore.cuda.use_emulation() first")
    lib = ctypes.CDLL(get_provider_library(PROVIDER))
    lib.ortcore_emulator_configure.argtypes = (ctypes.c_char_p, ctypes.c_int64)
    lib.ortcore_emulator_counter.argtypes = (ctypes.c_char_p,)
    lib.ortcore_emulator_counter.restype = ctypes.c_int64
    lib.ortcore_emulator_finding.argtypes = (ctypes.c_size_t, ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_char_p))
    lib.ortcore_emulator_clear.restype = None
    lib.ortcore_emulator_name.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    _library = lib
    return lib


def configure(**settings: int | str) -> None:
    """Changes settings: seed, policy, race_check, verbose, step_limit, quarantine_bytes, poison_bytes; and the failures of inject()."""
    for key, value in settings.items():
        number = POLICIES.index(value) if key == "policy" and value in POLICIES else value
        if not isinstance(number, int) or library().ortcore_emulator_configure(key.encode(), number) != 0:
            raise ValueError(f"{key}={value!r} is no setting of the emulated GPU, or out of its range")


def inject(*, fail_allocation: int = 0, fail_allocations_after: int = -1, sticky_error: int = 0, sticky_error_at_launch: int = 0,
           device_lost: bool = False, driver_error: int = 0) -> None:
    """Makes CUDA fail.

    Args:
        fail_allocation: the n-th allocation from now on fails, once; 0: none.
        fail_allocations_after: all allocations after the next n fail; -1: none.
        sticky_error: the current device fails with this cudaError_t from now on (700, 719, ...); 0: none.
        sticky_error_at_launch: the n-th kernel from now on fails as if it touched memory that is not there.
        device_lost: the current device is gone.
        driver_error: every function fails with this cudaError_t; 0: none.
    """
    configure(fail_allocation=fail_allocation, fail_allocations_after=fail_allocations_after, sticky_error_at_launch=sticky_error_at_launch,
              driver_error=driver_error)
    if sticky_error:
        configure(sticky_error=sticky_error)
    if device_lost:
        configure(device_lost=1)


def recover() -> None:
    """Takes all injected failures back, brings lost devices back, drops what is enqueued, and clears findings and counters."""
    configure(driver_error=0, device_lost=0, reset=1)


def counters() -> dict[str, int]:
    """How often things were done since the last clear(): launches, copies_host_to_device, allocations, synchronisations, ..."""
    return {name: library().ortcore_emulator_counter(name.encode()) for name in COUNTERS}


def findings() -> list[Finding]:
    """What was found since the last clear(), in order."""
    found: list[Finding] = []
    kind, text = ctypes.c_char_p(), ctypes.c_char_p()
    while library().ortcore_emulator_finding(len(found), ctypes.byref(kind), ctypes.byref(text)) == 0:
        found.append(Finding((kind.value or b"").decode(), (text.value or b"").decode("utf-8", "replace")))
    return found


def clear() -> None:
    """Forgets findings and counters."""
    library().ortcore_emulator_clear()


def name_memory(pointer: int, name: str) -> None:
    """Gives the allocation that holds `pointer` a name, by which findings call it."""
    if library().ortcore_emulator_name(pointer, name.encode()) != 0:
        raise ValueError(f"{pointer:#x} is in no allocation of the emulated GPU")
