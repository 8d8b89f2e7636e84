"""The tag that a wheel gets when it is built: honest, and in every place where it stands."""
import base64
import csv
import hashlib
import importlib.metadata
import re
import subprocess
import sys
import zipfile

import pytest

import manylinux
import ortcore

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="manylinux is for Linux")


def library(path, *flags, source="int f(void) { return 1; }"):
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, "-x", "c", "-", "-x", "none", *flags], input=source, text=True, check=True)
    return path


def wheel(folder, *libraries):
    """A wheel with these files in it, as a build leaves it."""
    path, info = folder / "p-1-cp311-abi3-linux_x86_64.whl", "p-1.dist-info"
    contents = {f"p/{lib.name}": lib.read_bytes() for lib in libraries} | {f"{info}/WHEEL": b"Wheel-Version: 1.0\nTag: cp311-abi3-linux_x86_64\n"}
    digest = lambda data: "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
        archive.writestr(f"{info}/RECORD", "".join(f"{n},{digest(d)},{len(d)}\n" for n, d in contents.items()) + f"{info}/RECORD,,\n")
    return path


def test_the_tag_is_written_everywhere(tmp_path):
    built = wheel(tmp_path, library(tmp_path / "a.so"))
    tagged = manylinux.retag(built, manylinux.platform_of(built))
    assert tagged.name == "p-1-cp311-abi3-manylinux_2_17_x86_64.whl" and not built.exists()
    with zipfile.ZipFile(tagged) as archive:
        assert archive.testzip() is None and len(archive.namelist()) == 3
        assert b"Tag: cp311-abi3-manylinux_2_17_x86_64\n" in archive.read("p-1.dist-info/WHEEL")
        for name, recorded, size in csv.reader(archive.read("p-1.dist-info/RECORD").decode().splitlines()):
            if recorded:
                digest = base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest()).rstrip(b"=").decode()
                assert recorded == f"sha256={digest}" and int(size) == len(archive.read(name))
    assert manylinux.retag(tagged, (2, 17)) == tagged and tagged.exists()


def test_symbols_decide(tmp_path):
    """pthread_create moved in glibc 2.34, and is taken in that version where the compiler's glibc has it."""
    source = "#include <pthread.h>\nvoid *f(void *x) { return x; }\nint g(void) { pthread_t t; return pthread_create(&t, 0, f, 0); }"
    built = wheel(tmp_path, library(tmp_path / "a.so"), library(tmp_path / "b.so", "-pthread", source=source))
    assert manylinux.platform_of(built) == ((2, 34) if manylinux.own_glibc() >= (2, 34) else (2, 17))


def test_a_tag_that_would_not_hold_is_not_given(tmp_path, monkeypatch):
    stranger = library(tmp_path / "libstranger.so.1", "-Wl,-soname,libstranger.so.1")
    user = library(tmp_path / "user.so", "-Wl,--no-as-needed", str(stranger))
    with pytest.raises(manylinux.NoPlatform, match="user.so needs libstranger.so.1"):
        manylinux.platform_of(wheel(tmp_path, user))
    assert manylinux.platform_of(wheel(tmp_path, user, stranger))            # it is in the wheel
    plain = wheel(tmp_path, library(tmp_path / "a.so"))
    monkeypatch.setattr(manylinux, "own_glibc", lambda: (2, 12))
    with pytest.raises(manylinux.NoPlatform, match="newer than this system's"):
        manylinux.platform_of(plain)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(manylinux.NoPlatform, match="readelf"):
        manylinux.platform_of(plain)


def test_what_is_installed_came_tagged():
    """The installation under test was built by `pip install`, so its wheel went through the build backend."""
    try:
        installed = importlib.metadata.distribution("ortcore")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("ortcore runs from its build directory")
    if not any(str(f) == "ortcore/__init__.py" for f in installed.files):
        pytest.skip("an editable installation")
    tag = re.search(r"^Tag: (\S+)$", installed.read_text("WHEEL"), re.MULTILINE).group(1)
    system_library = "libdnnl" not in "".join(map(str, installed.files)) and "oneDNN" in ortcore.get_build_info()
    assert re.fullmatch(r"cp311-abi3-linux_\w+" if system_library else r"cp311-abi3-manylinux_2_\d+_\w+", tag)
