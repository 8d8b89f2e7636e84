"""PTX text or CUDA source as a library of kernels that run in this process, on numpy arrays."""
import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EMULATOR = ROOT / "emulator"
sys.path.insert(0, str(EMULATOR / "ptx"))
import translate  # noqa: E402

FAULTS = ["none", "illegal_address", "misaligned_address", "barrier", "warp", "step_limit", "stack", "unsupported"]
HOST_ARGS = ["-std=c++17", "-fPIC", "-fvisibility=hidden", f"-I{ROOT}"]
TRANSLATED_ARGS = ["-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing", "-fno-math-errno", "-w"]
if os.uname().machine == "x86_64":
    TRANSLATED_ARGS.append("-march=x86-64-v3")
WITH_AVX = {"matrix.cpp"}
PTX_HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"
folder = Path(tempfile.mkdtemp(prefix="ortcore-emulator-"))


class KernelFault(Exception):
    """run_grid's fault: .kind and its message."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = FAULTS[kind]


def compiler():
    found = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if not found:
        pytest.skip("translated code needs a C++ compiler")
    return found


def run(command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}"
    return result.stdout


def executor_objects(flags=()):
    """The executor and the shim, compiled once a process for each set of flags."""
    made = folder / ("executor" + "".join(flags).replace("-", "_").replace("=", "_"))
    if not made.exists():
        made.mkdir()
        sources = [*(EMULATOR / "executor").glob("*.cpp"), *(EMULATOR / "ptx").glob("*.cpp"), Path(__file__).parent / "shim.cpp"]
        for source in sources:
            extra = TRANSLATED_ARGS if source.name in WITH_AVX else []
            run([compiler(), *HOST_ARGS, "-O1", *extra, *flags, "-c", source, "-o", made / f"{source.stem}.o"])
    return sorted(made.glob("*.o"))


class Library:
    """Kernels by name: library.launch("name", array, 5, blocks=2, threads=64)."""

    def __init__(self, cxx_texts, flags=()):
        key = hashlib.sha256("".join(cxx_texts).encode()).hexdigest()[:16]
        objects = []
        for number, text in enumerate(cxx_texts):
            source = folder / f"{key}_{number}.cpp"
            source.write_text(text)
            objects.append(source.with_suffix(".o"))
            run([compiler(), *HOST_ARGS, *TRANSLATED_ARGS, *flags, "-O1", "-c", source, "-o", objects[-1]])
        path = folder / f"lib{key}{len(flags)}.so"
        run([compiler(), "-shared", "-o", path, *objects, *executor_objects(flags), "-lm", "-lpthread"])
        self.lib = ctypes.CDLL(str(path))
        self.lib.variable_address.restype = ctypes.c_void_p
        self.lib.count_switches.restype = ctypes.c_ulonglong
        for function in (self.lib.seen_accesses, self.lib.seen_races):
            function.restype = ctypes.c_char_p

    def launch(self, name, *arguments, blocks=1, threads=1, shared=0):
        pairs, size = (ctypes.c_uint * 128)(), ctypes.c_uint()
        count = self.lib.kernel_params(name.encode(), pairs, ctypes.byref(size))
        assert count == len(arguments), f"{name} has {count} parameters"
        params = bytearray(size.value)
        for k, value in enumerate(arguments):
            at, width = pairs[2 * k], pairs[2 * k + 1]
            params[at:at + width] = as_bytes(value, width)
        message = ctypes.create_string_buffer(700)
        extents = [(ctypes.c_uint * 3)(*((n, 1, 1) if isinstance(n, int) else (*n, 1, 1)[:3])) for n in (blocks, threads)]
        kind = self.lib.run_kernel(name.encode(), bytes(params), *extents, shared, message, len(message))
        if kind:
            raise KernelFault(kind, message.value.decode())

    def watched(self, *arguments, **options):
        """Launches; gives the lines of accesses and of races."""
        self.lib.watch(1)
        try:
            self.launch(*arguments, **options)
        finally:
            seen = self.lib.seen_accesses().decode().splitlines(), self.lib.seen_races().decode().splitlines()
            self.lib.watch(0)
        return seen


def as_bytes(value, width):
    if isinstance(value, np.ndarray):
        return value.ctypes.data.to_bytes(8, "little")
    if isinstance(value, np.generic):
        return value.tobytes()
    if isinstance(value, bytes):
        return value
    return (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")


def library_from_ptx(*bodies, flags=()):
    return Library([translate.translate(PTX_HEADER + body, "test.ptx") for body in bodies], flags)


def nvcc():
    """The compiler and its headers, as the build finds them."""
    result = subprocess.run([sys.executable, ROOT / "tools/find_cuda.py"], capture_output=True, text=True, check=False)
    if result.returncode:
        pytest.skip("no nvcc: " + result.stderr.strip())
    return result.stdout.split("\n")


def library_from_cuda(text, flags=()):
    program, _, headers, *_ = nvcc()
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    source = folder / f"{key}.cu"
    source.write_text(text)
    made = source.with_suffix(".o")
    run([program, "-std=c++17", "-O3", "-gencode=arch=compute_80,code=[sm_80,compute_80]", "-lineinfo", "--compress-mode=size",
         f"-I{headers}/cccl", f"-I{ROOT}", f"-I{ROOT}/include", "-c", source, "-o", made])
    return Library([translate.translate(made.read_bytes(), str(made), str(folder))], flags)
