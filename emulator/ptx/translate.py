#!/usr/bin/env python3
"""OBJECT -o FILE.cpp: the kernels of an object file that nvcc made, from their embedded PTX, as C++ for the emulated GPU."""
import argparse
import sys

from emit import emit_file
from extract import NoPtx, ptx_modules
from parse import PtxError, parse_module


def translate(data, path, root=None):
    """The C++ text for an object file's bytes, or for PTX text."""
    texts = [data] if isinstance(data, str) else ptx_modules(data, path)
    return emit_file([parse_module(text) for text in texts], path, root)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", help="an object file from nvcc, or PTX text in a file that ends in .ptx")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--root", help="the directory to which source paths in messages are relative")
    arguments = parser.parse_args()
    with open(arguments.input, "rb") as file:
        data = file.read()
    try:
        text = translate(data.decode() if arguments.input.endswith(".ptx") else data, arguments.input, arguments.root)
    except (NoPtx, PtxError) as error:
        sys.exit(str(error))
    with open(arguments.output, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
