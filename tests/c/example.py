"""An example program runs a model whose output is its input, says so, and fails cleanly where it must.

    example.py <program> <identity.onnx>

Built for another machine, it runs under what meson says: MESON_EXE_WRAPPER.
"""
import os
import shlex
import subprocess
import sys


def run(*command):
    return subprocess.run([*shlex.split(os.environ.get("MESON_EXE_WRAPPER", "")), *command], capture_output=True, text=True, timeout=60)


def main(program, model):
    good = run(program, model, "2")
    assert good.returncode == 0, good.stderr
    assert good.stdout.split() == "y: tensor(float) [2,4] 0 0.25 0.5 0.75 1 1.25 1.5 1.75".split(), good.stdout
    for arguments, expected in {("/no/such/model.onnx",): "NO_SUCHFILE", (model, "-3"): "-3", (): "usage"}.items():
        bad = run(program, *arguments)
        assert bad.returncode in (1, 2) and expected in bad.stderr, (arguments, bad.returncode, bad.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
