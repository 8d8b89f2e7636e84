#!/usr/bin/env bash
# Builds ortcore in an environment of its own and runs every test: those in C, then those in Python. Arguments go to pytest.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. tools/environment.sh
environment "$root/.venv-test"
export PATH="$root/.venv-test/bin:$PATH"
# The build's requirements go into the environment itself, so that one compilation serves the installed package and the tests in C.
requirements=$("$python" -c 'import tomllib; print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"]))')
"$python" -m pip install --quiet -r <(echo "$requirements")
"$python" -m pip install --quiet --no-build-isolation -Cbuild-dir=build/test -Csetup-args=-Dwerror=true ".[test]"
meson test -C build/test --print-errorlogs
"$python" -m pytest "$@"
