#!/usr/bin/env bash
# From a checkout to a real model on your own files: makes an environment, builds and installs ortcore in it, fetches the model, runs.
#   bash examples/run.sh [FOLDER]          (default: the current folder)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/tools/environment.sh"
environment "$root/.venv"
echo "Building and installing ortcore into $root/.venv; a few minutes the first time ..."
"$python" -m pip install --quiet "$root"
"$python" -m pip install --quiet --no-deps magika==1.0.3   # for its model; its dependencies are not needed
exec "$python" "$root/examples/file_types.py" "${1:-$PWD}"
