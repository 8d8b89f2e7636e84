"""`python -m ortcore --cflags --libs`: what a C or C++ program needs to be built against this installation."""

import argparse
from pathlib import Path

import ortcore


def main() -> None:
    here = Path(ortcore.__file__).parent
    parser = argparse.ArgumentParser(prog="python -m ortcore", description="Flags for programs that link libortcore.")
    parser.add_argument("--cflags", action="store_true", help="compiler flags")
    parser.add_argument("--libs", action="store_true", help="linker flags")
    parser.add_argument("--version", action="store_true", help="version of ortcore")
    options = parser.parse_args()
    flags = []
    if options.version or not (options.cflags or options.libs):
        flags.append(ortcore.__version__)
    if options.cflags:
        flags.append(f"-I{here / 'include'}")
    if options.libs:
        flags += [f"-L{here / 'lib'}", "-lortcore", f"-Wl,-rpath,{here / 'lib'}"]
    print(" ".join(flags))


if __name__ == "__main__":
    main()
