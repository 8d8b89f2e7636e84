"""When CUDA is looked for, and what a process without it does. Each test has a process of its own: the answer is found once."""
import os
import subprocess
import sys
import textwrap

import pytest

from . import models


def run(program, tmp_path, **environment):
    (tmp_path / "add.onnx").write_bytes(models.add())
    variables = {name: value for name, value in os.environ.items() if not name.startswith("ORTCORE_")} | environment
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_importing_opens_nothing(tmp_path):
    run("""
        import ortcore, ortcore.cuda, ortcore.cuda.emulation
        maps = open("/proc/self/maps").read()
        assert "libcuda" not in maps and "libortcore_cuda" not in maps
        """, tmp_path)


def test_without_cuda_sessions_run_on_the_cpu(tmp_path):
    run("""
        import sys, warnings
        import numpy as np, ortcore as ort
        if ort.cuda.is_available():
            sys.exit()
        assert ort.cuda.why_not() and ort.cuda.device_count() == 0 and not ort.cuda.is_emulated()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            session = ort.InferenceSession("add.onnx", providers=["CUDAExecutionProvider"])
        assert "CUDAExecutionProvider" in str(caught[0].message) and session.get_providers() == ["CPUExecutionProvider"]
        x = np.ones((1, 2), np.float32)
        assert session.run(None, {"a": x, "b": x})[0][0, 0] == 2
        for make in (lambda: ort.OrtValue.ortvalue_from_numpy(x, "cuda"), lambda: ort.OrtValue.ortvalue_from_shape_and_type([1], np.float32, "cuda"),
                     lambda: ort.OrtSyncStream("cuda")):
            try:
                make()
            except RuntimeError as error:
                assert ort.cuda.why_not() in str(error), error
            else:
                raise AssertionError
        try:
            ort.cuda.use_emulation()
        except RuntimeError as error:
            assert "before CUDA is used" in str(error) or "has no CUDA provider" in str(error)
        else:
            raise AssertionError
        """, tmp_path)


def test_emulation(tmp_path):
    output = run("""
        import numpy as np, ortcore as ort
        from ortcore.cuda import emulation
        try:
            ort.cuda.use_emulation(seed=3, policy="random", devices=2, memory=1 << 26, race_check=True)
        except RuntimeError as error:
            print("no emulator:", error)
            raise SystemExit
        assert ort.cuda.is_available() and ort.cuda.is_emulated() and ort.cuda.device_count() == 2 and "emulated" in ort.cuda.device_name(1)
        session = ort.InferenceSession("add.onnx", providers=[("CUDAExecutionProvider", {"device_id": 1})])
        x = np.ones((1, 2), np.float32)
        assert session.get_providers()[0] == "CUDAExecutionProvider" and session.run(None, {"a": x, "b": x})[0][0, 0] == 2
        value = ort.OrtValue.ortvalue_from_numpy(x, "cuda", 1)
        assert value.__dlpack_device__() == (2, 1) and emulation.counters()["launches"] >= 1 and emulation.findings() == []
        try:
            ort.OrtValue.ortvalue_from_shape_and_type([1 << 26], np.float32, "cuda")
        except MemoryError as error:
            assert str(1 << 26) in str(error)
        else:
            raise AssertionError
        """, tmp_path)
    if output.startswith("no emulator"):
        pytest.skip(output.strip())


def test_wrong_settings_of_emulation():
    import ortcore.cuda

    for wrong in ({"policy": "often"}, {"devices": 0}, {"devices": 9}):
        with pytest.raises(ValueError):
            ortcore.cuda.use_emulation(**wrong)
