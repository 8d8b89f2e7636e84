"""`python -m ortcore --cflags --libs`: what a C or C++ program needs to be built against this installation."""

import argparse
from importlib.resources import as_file, files

import ortcore


def folder_of(*parts: str) -> str:
    """The directory of a file of the package; in an editable installation not all files lie in one place."""
    with as_file(files("ortcore").joinpath(*parts)) as path:
        return str(path.resolve().parent)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ortcore", description="Flags for programs that link libortcore.")
    parser.add_argument("--cflags", action="store_true", help="compiler flags")
    parser.add_argument("--libs", action="store_true", help="linker flags")
    parser.add_argument("--pkgconfigdir", action="store_true", help="directory of ortcore.pc, for PKG_CONFIG_PATH")
    parser.add_argument("--version", action="store_true", help="version of ortcore")
    options = parser.parse_args()
    flags = []
    if options.version or not (options.cflags or options.libs or options.pkgconfigdir):
        flags.append(ortcore.__version__)
    if options.cflags:
        flags.append(f"-I{folder_of('include', 'ortcore.h')}")
    if options.libs:
        libraries = folder_of("lib", "libortcore.so")
        flags += [f"-L{libraries}", "-lortcore", f"-Wl,-rpath,{libraries}"]
    if options.pkgconfigdir:
        flags.append(folder_of("lib", "pkgconfig", "ortcore.pc"))
    print(" ".join(flags))


if __name__ == "__main__":
    main()
