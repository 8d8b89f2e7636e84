"""NVIDIA GPUs, real or emulated: are there any, and what are they called?

Importing this looks for nothing. The first question opens the driver, and decides once and for all in a process whether CUDA is the real one or
the emulated one (`use_emulation()`, or ORTCORE_CUDA=emulated in the environment). `ortcore.cuda.emulation` tells what the emulated one found.
"""
from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ortcore._errors import make_error
from ortcore._process import get_available_providers, get_device_count, get_device_name, get_provider_library, get_why_not, set_cuda_library_folders
from ortcore._process import use_emulated_cuda as _use_emulated_cuda

PROVIDER = "CUDAExecutionProvider"
POLICIES = ("starve", "random", "eager")
_LIBRARY_FOLDERS = ("cu13/lib", "cublas/lib", "cudnn/lib")   # of the packages nvidia-cublas and nvidia-cudnn-cu13


def is_available() -> bool:
    """Whether sessions can run on CUDA here and now."""
    return PROVIDER in get_available_providers()


def why_not() -> str:
    """Why CUDA is not available; '' if it is."""
    return get_why_not(PROVIDER)


def device_count() -> int:
    """How many GPUs there are."""
    return get_device_count(PROVIDER)


def device_name(device_id: int = 0) -> str:
    """What a GPU is called, such as "GPU 0 (NVIDIA H200)"; the name of an emulated one says so."""
    name = get_device_name(PROVIDER, device_id)
    if name is None:
        raise make_error(2, f"there is no GPU {device_id}: {f'{device_count()} can be used here, counted from 0' if is_available() else why_not()}")
    return name


def is_emulated() -> bool:
    """Whether CUDA is the emulated one in this process."""
    return is_available() and "emulated" in os.path.basename(get_provider_library(PROVIDER))


@contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def use_emulation(*, seed: int | None = None, policy: str | None = None, race_check: bool | None = None, devices: int | None = None,
                  memory: int | None = None) -> None:
    """Makes CUDA the emulated GPU in this process. Call it before anything else uses CUDA.

    Args:
        seed: of the order in which work that may overlap runs; the same seed gives the same order.
        policy: 'starve' runs only what a synchronisation strictly needs, and so brings out missing waits; 'random' any work that may run; 'eager'
            everything at once.
        race_check: watch every access, and report those that nothing orders.
        devices: how many GPUs there are (1), up to 8.
        memory: bytes of memory of each (4 GiB).
    """
    if policy is not None and policy not in POLICIES:
        raise ValueError(f"policy is {policy!r}; it must be one of {', '.join(POLICIES)}")
    if devices is not None and not 1 <= devices <= 8:
        raise ValueError(f"devices is {devices}; there may be 1 to 8")
    given = {"SEED": seed, "POLICY": policy, "RACE_CHECK": None if race_check is None else int(race_check), "DEVICES": devices, "MEMORY": memory}
    with _environment({f"ORTCORE_EMULATION_{name}": str(value) for name, value in given.items() if value is not None}):
        _use_emulated_cuda()
        if not is_available():
            raise make_error(11, f"CUDA cannot be emulated here: {why_not()}")


def library_folders() -> list[str]:
    """Folders of cuBLAS and cuDNN as the `cuda` extra installs them (`pip install ortcore[cuda]`)."""
    spec = importlib.util.find_spec("nvidia")
    roots = spec.submodule_search_locations if spec is not None and spec.submodule_search_locations else ()
    return [str(folder) for root in roots for name in _LIBRARY_FOLDERS if (folder := Path(root) / name).is_dir()]


def use_libraries(folders: list[str] | None = None) -> None:
    """Says where cuBLAS and cuDNN are; None: where the `cuda` extra puts them. Sessions do this by themselves. Of no effect once they were needed."""
    if is_available():
        set_cuda_library_folders(":".join(library_folders() if folders is None else folders))
