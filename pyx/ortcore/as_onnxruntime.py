"""Programs written for onnxruntime, run on ortcore unchanged.

    python -m ortcore.as_onnxruntime program.py ARGUMENTS...
    python -m ortcore.as_onnxruntime -m module ARGUMENTS...

or, inside a program and before it imports onnxruntime:  import ortcore; ortcore.install_as_onnxruntime()
"""
from __future__ import annotations

import runpy
import sys
from pathlib import Path

from ortcore.process import install_as_onnxruntime


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
