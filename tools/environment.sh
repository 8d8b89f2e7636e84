# Sourced by scripts that make a Python environment of their own: `environment DIRECTORY` makes it and sets $python to its interpreter.

fail() { echo "$*" >&2; exit 1; }

# The first interpreter that is new enough: $PYTHON, then what PATH has.
find_python() {
  local candidate
  for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
    if command -v "$candidate" >/dev/null && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  fail "ortcore needs Python 3.11 or newer; set PYTHON to one if it is not on PATH"
}

environment() {
  local base compiler
  base=$(find_python) || exit 1
  for compiler in gcc g++; do
    command -v "$compiler" >/dev/null || fail "building ortcore needs $compiler (Debian and Ubuntu: apt install build-essential)"
  done
  "$base" -c 'import pathlib, sys, sysconfig; sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' ||
    fail "building ortcore needs the headers of $base (Debian and Ubuntu: apt install python3-dev)"
  if [ ! -x "$1/bin/python" ]; then
    "$base" -m venv "$1" || fail "$base cannot make a virtual environment (Debian and Ubuntu: apt install python3-venv)"
  fi
  python=$1/bin/python
}

# What pyproject.toml asks for, one requirement a line: `requirements build`, or the name of an extra.
requirements() {
  "$python" - "$1" <<'PY'
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)
name = sys.argv[1]
print(*(project["build-system"]["requires"] if name == "build" else project["project"]["optional-dependencies"][name]), sep="\n")
PY
}
