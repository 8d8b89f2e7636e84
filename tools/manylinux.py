"""Gives a wheel the manylinux tag that its libraries really keep.

    python -m build && python tools/manylinux.py dist/ortcore-*.whl          needs the `wheel` package and readelf

The tag names the oldest glibc on which every library of the wheel loads: the highest version of a glibc, libstdc++ or libgcc symbol that any
of them asks for decides. A library that neither the wheel nor every Linux system has is an error. libgomp is left to the system on
purpose: a second copy in one process would be a second thread pool.
"""
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1",
          "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# glibc of a manylinux platform: the newest symbol versions that its toolchain's other libraries have.
PLATFORMS = {
    (2, 17): {"GLIBCXX": (3, 4, 19), "CXXABI": (1, 3, 7), "GCC": (4, 8, 0)},
    (2, 27): {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)},
    (2, 28): {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)},
    (2, 31): {"GLIBCXX": (3, 4, 28), "CXXABI": (1, 3, 12), "GCC": (9, 0, 0)},
    (2, 34): {"GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (11, 0, 0)},
    (2, 35): {"GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)},
    (2, 39): {"GLIBCXX": (3, 4, 33), "CXXABI": (1, 3, 15), "GCC": (14, 0, 0)},
}


def readelf(option, path):
    return subprocess.run(["readelf", "--wide", option, path], check=True, capture_output=True, text=True).stdout


def needed_libraries(path):
    return set(re.findall(r"\(NEEDED\).*\[(.+?)\]", readelf("--dynamic", path)))


def needed_versions(path):
    """{("GLIBC", (2, 17)), ("GLIBCXX", (3, 4, 21)), ...}"""
    text = readelf("--version-info", path)
    needs = text[text.find("Version needs section"):]
    return {(kind, tuple(map(int, number.split(".")))) for kind, number in re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)", needs)}


def platform_for(versions):
    for glibc, most in PLATFORMS.items():
        limits = {**most, "GLIBC": glibc}
        if all(version <= limits[kind] for kind, version in versions):
            return glibc
    sys.exit(f"no manylinux platform has all of {sorted(versions)}")


def main(wheel):
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(wheel).extractall(folder)
        libraries = [p for p in Path(folder).rglob("*.so*") if p.read_bytes()[:4] == b"\x7fELF"]
        inside, versions = {p.name for p in libraries}, set()
        for library in libraries:
            strangers = needed_libraries(library) - inside - SYSTEM
            if strangers:
                sys.exit(f"{library.relative_to(folder)} needs {', '.join(sorted(strangers))}, which neither the wheel nor every system has")
            versions |= needed_versions(library)
            print(f"{library.relative_to(folder)}: {', '.join(sorted(inside & needed_libraries(library))) or 'system libraries only'}")
    major, minor = platform_for(versions)
    machine = re.search(r"linux_(\w+)\.whl$", wheel).group(1)
    machine = re.sub(r"^\d+_\d+_", "", machine)
    tag = f"manylinux_{major}_{minor}_{machine}"
    subprocess.run([sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", tag, wheel], check=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
