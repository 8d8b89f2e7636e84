"""The architecture as the directory listing tells it, proved by reading the sources: who may include whom, and in which language."""
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "ortcore"
# A layer includes itself and the layers before it.
LAYERS = ["base", "device", "value", "kernels", "ir", "ops", "provider", "onnx", "passes", "plan", "exec", "session", "api"]
# Narrower still than the order: what a layer must not know although it comes earlier.
FORBIDDEN = {"kernels": {"device"}, "onnx": {"kernels", "ops", "provider"}}
# Parameter structs that the kernels of every device read.
SHARED = re.compile(r"ortcore/ops/params/\w+\.h$")
MOST_LINES = 500

SOURCES = sorted(p for p in CORE.rglob("*") if p.suffix in {".c", ".h", ".cu", ".cuh", ".in"})
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)


def included(path):
    """Paths of the project's own headers, relative to the root."""
    for bracket, target in INCLUDE.findall(path.read_text()):
        if bracket == "<" and target.startswith("ortcore/"):
            yield target
        elif bracket == '"' and (path.parent / target).exists():
            yield str((path.parent / target).resolve().relative_to(ROOT))


def layer_of(path):
    parts = Path(path).parts
    return parts[1] if len(parts) > 2 else None


def test_every_layer_is_in_the_table():
    assert {p.name for p in CORE.iterdir() if p.is_dir()} == set(LAYERS)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_includes_only_earlier_ones(layer):
    allowed = set(LAYERS[: LAYERS.index(layer) + 1]) - FORBIDDEN.get(layer, set())
    wrong = [f"{path.relative_to(ROOT)} includes {target}"
             for path in SOURCES if layer_of(path.relative_to(ROOT)) == layer
             for target in included(path) if layer_of(target) not in allowed and not SHARED.search(target)]
    assert not wrong, "\n".join(wrong)


def test_every_project_include_exists():
    missing = [f"{path.relative_to(ROOT)}: {target}" for path in SOURCES for target in included(path)
               if not (ROOT / target).exists() and not target.endswith("_families.h")]
    assert not missing, "\n".join(missing)


def test_every_source_is_built():
    """Its name stands in a meson.build of its folder or of one above; families stand without the ending."""
    texts = {p.parent: p.read_text() for p in CORE.rglob("meson.build")}
    named = lambda p: any(re.search(rf"[/']{re.escape(p.stem)}(\.c|\.cu)?'", text) for folder, text in texts.items() if p.is_relative_to(folder))
    orphans = [str(p.relative_to(ROOT)) for p in SOURCES if p.suffix in {".c", ".cu"} and not named(p)]
    assert not orphans, "\n".join(orphans)


def test_languages():
    """C in the core; CUDA C++ in kernels/cuda; C++ only where the outside world is C++."""
    places = {".cu": ["ortcore/kernels/cuda"], ".cuh": ["ortcore/kernels/cuda"]}
    for suffix in (".cpp", ".cc", ".cxx", ".hpp", ".hh"):
        places[suffix] = ["emulator", "examples", "tests"]
    wrong = [str(p.relative_to(ROOT)) for suffix, folders in places.items() for p in ROOT.rglob(f"*{suffix}")
             if not any(p.is_relative_to(ROOT / f) for f in folders) and not p.relative_to(ROOT).parts[0].startswith(("build", "."))]
    assert not wrong, wrong


def test_the_binding_sees_the_public_header_only():
    pattern = re.compile(r'cdef extern from\s+[<"]([^>"]+)[>"]')
    wrong = [f"{path.relative_to(ROOT)}: {header}" for path in (ROOT / "pyx").rglob("*.p[xy][dx]")
             for header in pattern.findall(path.read_text()) if "ortcore" in header and header != "ortcore.h"]
    assert not wrong, wrong


def test_files_stay_readable():
    files = [*SOURCES, *(ROOT / "pyx").rglob("*.py*"), *(ROOT / "tests").rglob("*.py"), *(ROOT / "tests").rglob("*.c")]
    long = [f"{p.relative_to(ROOT)}: {n} lines" for p in files if (n := len(p.read_text().splitlines())) > MOST_LINES]
    assert not long, "\n".join(long)


def test_files_say_what_they_are_for():
    """A header comment stands at the top of each file, or of the header that a .c file implements."""
    told = {p.stem for p in SOURCES if p.suffix == ".h" and p.read_text().startswith("/*")}
    silent = [str(p.relative_to(ROOT)) for p in SOURCES if not p.read_text().startswith("/*") and (p.suffix != ".c" or p.stem not in told)]
    assert not silent, "\n".join(silent)
