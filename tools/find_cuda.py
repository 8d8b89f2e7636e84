"""Prints where a CUDA toolkit is, one path a line: nvcc, the directory of libcudart_static.a, the headers, the licence.

The wheels of the running interpreter's environment come first (pip's isolated build has them), then $CUDA_PATH, $CUDA_HOME and PATH.
Exit status 1 with a reason if there is none.
"""
import importlib.util
import os
import shutil
import sys
from pathlib import Path

LIBRARY_DIRECTORIES = ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib")


def candidates():
    wheels = importlib.util.find_spec("nvidia")
    for location in wheels.submodule_search_locations if wheels else ():
        yield from sorted(Path(location).glob("cu1*"), reverse=True)
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    nvcc = shutil.which("nvcc")
    if nvcc:
        yield Path(nvcc).resolve().parent.parent


def licence(root):
    """The CUDA EULA: in the wheel's metadata, or at the toolkit's root."""
    found = [*root.parent.parent.glob("nvidia_cuda_runtime-*/licenses/*"), *root.glob("EULA.txt"), *root.glob("LICENSE*")]
    return str(found[0]) if found else ""


def main():
    tried = []
    for root in candidates():
        nvcc, tried = root / "bin" / "nvcc", [*tried, str(root)]
        libraries = [root / d for d in LIBRARY_DIRECTORIES if (root / d / "libcudart_static.a").is_file()]
        if os.access(nvcc, os.X_OK) and libraries:
            print(nvcc, libraries[0], root / "include", licence(root), sep="\n")
            return 0
    print(f"no nvcc with libcudart_static.a (looked in: {', '.join(tried) or 'nothing to look in'})", file=sys.stderr)
    return 1


sys.exit(main())
