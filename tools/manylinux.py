"""The manylinux tag of a wheel: what its libraries need of the system, and how the tag gets into the file.

    python tools/manylinux.py WHEEL...           prints what the libraries in it need, and the tag that follows; needs readelf

The tag names the oldest glibc on which every library of the wheel loads: the highest version of a glibc, libstdc++ or libgcc symbol that any
of them asks for decides. A library that neither the wheel nor every Linux system has rules a tag out. libgomp is left to the system on
purpose: a second copy in one process would be a second thread pool.
"""
import base64
import csv
import hashlib
import io
import os
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
UNTAGGED = re.compile(r"\blinux_(\w+)")


class NoPlatform(Exception):
    """There is no manylinux tag that the wheel would keep."""


# ---- What the libraries need ---------------------------------------------------------------------------------------------------------


def readelf(option, path):
    try:
        return subprocess.run(["readelf", "--wide", option, path], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoPlatform(f"readelf, which says what a library needs, does not run: {error}") from None


def needed_libraries(path):
    return set(re.findall(r"\(NEEDED\).*\[(.+?)\]", readelf("--dynamic", path)))


def needed_versions(path):
    """{("GLIBC", (2, 17)), ("GLIBCXX", (3, 4, 21)), ...}"""
    text = readelf("--version-info", path)
    needs = text[text.find("Version needs section"):]
    return {(kind, tuple(map(int, number.split(".")))) for kind, number in re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)", needs)}


def needs(wheel):
    """{library of the wheel: (libraries, symbol versions)}"""
    found = {}
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if re.search(r"\.so(\.[\d.]+)?$", member):
                path = archive.extract(member, folder)
                found[member] = needed_libraries(path), needed_versions(path)
    return found


def own_glibc():
    """(2, 36), or nothing to compare with where the system's C library is another."""
    try:
        return tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")))
    except (AttributeError, ValueError, OSError):
        return None


def platform_of(wheel):
    """(2, 34) for manylinux_2_34; NoPlatform if none is kept, or none that this machine itself has."""
    libraries = needs(wheel)
    inside, versions = {Path(member).name for member in libraries}, set().union(*(v for _, v in libraries.values()))
    for member, (needed, _) in libraries.items():
        if strangers := needed - inside - SYSTEM:
            raise NoPlatform(f"{member} needs {', '.join(sorted(strangers))}, which neither the wheel nor every system has")
    for glibc, most in PLATFORMS.items():
        limits = {**most, "GLIBC": glibc}
        if all(version <= limits[kind] for kind, version in versions):
            if own_glibc() and glibc > own_glibc():
                raise NoPlatform(f"its compiler's libraries belong to glibc {dotted(glibc)}, which is newer than this system's")
            return glibc
    raise NoPlatform(f"no manylinux platform has all of {', '.join(sorted(f'{kind}_{dotted(number)}' for kind, number in versions))}")


def dotted(version):
    return ".".join(map(str, version))


# ---- The tag in the file -------------------------------------------------------------------------------------------------------------


def retag(wheel, glibc):
    """Writes the wheel anew with the tag of that platform in its name, its WHEEL file and the hash of that in its RECORD; removes the old one."""
    tag = rf"manylinux_{glibc[0]}_{glibc[1]}_\1"
    renamed = wheel.with_name(UNTAGGED.sub(tag, wheel.name))
    if renamed == wheel:
        return wheel
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(renamed, "w", zipfile.ZIP_DEFLATED) as new:
        described = next(m for m in old.namelist() if re.fullmatch(r"[^/]+\.dist-info/WHEEL", m))
        description = UNTAGGED.sub(tag, old.read(described).decode()).encode()
        for member in old.infolist():
            content = old.read(member)
            if member.filename == described:
                content = description
            elif member.filename == described.replace("/WHEEL", "/RECORD"):
                content = rehashed(content, described, description)
            new.writestr(member, content)
    wheel.unlink()
    return renamed


def rehashed(record, member, content):
    rows = list(csv.reader(io.StringIO(record.decode())))
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([member, f"sha256={digest}", len(content)] if row[0] == member else row for row in rows)
    return text.getvalue().encode()


def main(wheels):
    for wheel in map(Path, wheels):
        for member, (libraries, versions) in needs(wheel).items():
            newest = {kind: max(v for k, v in versions if k == kind) for kind, _ in versions}
            print(f"{member}: {', '.join([*sorted(libraries), *(f'{kind}_{dotted(v)}' for kind, v in sorted(newest.items()))])}")
        try:
            print(f"{wheel.name}: manylinux_{'_'.join(map(str, platform_of(wheel)))}")
        except NoPlatform as reason:
            sys.exit(f"{wheel.name}: {reason}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
