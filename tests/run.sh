#!/usr/bin/env bash
# Builds ortcore in an environment of its own and runs every test: those in C, then those in Python. Arguments go to pytest.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. tools/environment.sh
environment "$root/.venv-test"
export PATH="$root/.venv-test/bin:$PATH"
# The build's requirements go into the environment itself, so that one compilation serves the installed package and the tests in C.
"$python" -m pip install --quiet -r <(requirements build; requirements test)
"$python" -m pip install --quiet --no-build-isolation --config-settings=build-dir=build/test ${CI:+--config-settings=setup-args=-Dwerror=true} .
meson test -C build/test --print-errorlogs
"$python" -m pytest "$@"
# CUDA is found once a process, so what needs it has a process of its own: here on two emulated GPUs.
ORTCORE_CUDA=emulated ORTCORE_EMULATION_DEVICES=2 "$python" -m pytest tests/python/cuda tests/conformance -k cuda
ORTCORE_CUDA=emulated ORTCORE_TEST_PROVIDER=CUDAExecutionProvider "$python" -m pytest \
  tests/python/test_{aliasing,binding,binding_memory,dlpack,documented_use,dtypes,errors,lifetimes,load,networks,run}.py
