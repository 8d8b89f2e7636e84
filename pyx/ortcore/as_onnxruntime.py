"""`python -m ortcore.as_onnxruntime program.py ...`: runs a program that imports onnxruntime with ortcore in its place."""

import runpy
import sys

import ortcore


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit("usage: python -m ortcore.as_onnxruntime [-m module | program.py] [arguments]")
    ortcore.install_as_onnxruntime()
    sys.argv = sys.argv[1:]
    if sys.argv[0] == "-m":
        sys.argv = sys.argv[1:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
