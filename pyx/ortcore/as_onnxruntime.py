"""Programs written for onnxruntime, run on ortcore unchanged.

    python -m ortcore.as_onnxruntime program.py ARGUMENTS...
    python -m ortcore.as_onnxruntime -m module ARGUMENTS...

or, inside a program and before it imports onnxruntime:  import ortcore; ortcore.install_as_onnxruntime()
"""
from __future__ import annotations

import importlib
import runpy
import sys
from pathlib import Path

_MODULES = ("", ".capi", ".capi._pybind_state", ".capi.onnxruntime_pybind11_state", ".capi.onnxruntime_inference_collection")


def install_as_onnxruntime() -> None:
    """From here on `import onnxruntime`, and what programs import from onnxruntime.capi, gives ortcore.

    Raises ImportError if the real onnxruntime was imported already: names taken from it would be mixed with ours.
    """
    present = sys.modules.get("onnxruntime")
    if present is not None and present is not sys.modules["ortcore"]:
        raise ImportError("onnxruntime is imported already; call install_as_onnxruntime() before the first import of it")
    for name in _MODULES:
        sys.modules["onnxruntime" + name] = importlib.import_module("ortcore" + name)


def main() -> None:
    """Runs the program that the command line names."""
    arguments = sys.argv[1:]
    if not arguments or arguments == ["-m"]:
        sys.exit((__doc__ or "").strip())
    install_as_onnxruntime()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
