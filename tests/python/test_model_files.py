"""Model files that are written, cut, moved or removed while sessions use them."""
import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto as P

import ortcore as ort

from . import models

SMALL, LARGE = 16, 2_000_000                                # weights: 64 bytes, 8 MB


def model(size, content):
    """y = x + w"""
    weights = np.full(size, content, np.float32)
    node = onnx.helper.make_node("Add", ["x", "w"], ["y"])
    return models.model([node], [models.value("x", P.FLOAT, [1])], [models.value("y", P.FLOAT, [size])], {"w": weights})


def save(path, size, content, external=False):
    if not external:
        path.write_bytes(model(size, content))
        return path
    proto = onnx.load_from_string(model(size, content))
    onnx.save_model(proto, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path.with_name("weights.bin")


def session(path, **settings):
    options = ort.SessionOptions()
    for key, value in settings.items():
        options.add_session_config_entry(key, value)
    return ort.InferenceSession(path, options)


def answer(s):
    results = s.run(None, {"x": np.zeros(1, np.float32)})[0]
    assert (results == results[0]).all()
    return results[0]


def rewrite(path):
    """In place, as `open(path, "wb")` does, with a file of the same size: only the time of writing tells."""
    data = bytearray(path.read_bytes())
    at = data.rfind(np.float32(1).tobytes() * 4)
    data[at - 16:at + 16] = np.float32(2).tobytes() * 8
    path.write_bytes(data)
    os.utime(path, (1, 1))


CHANGES = {
    "written again": rewrite,
    "cut": lambda path: os.truncate(path, 100),
    "emptied": lambda path: path.write_bytes(b""),
    "longer": lambda path: path.open("ab").write(b"more"),
}


@pytest.mark.parametrize("external", [False, True], ids=["model", "external data"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_mapped_file_that_is_written_ends_the_session_but_not_the_process(tmp_path, change, external):
    file = save(tmp_path / "m.onnx", LARGE, 1, external)
    s = session(tmp_path / "m.onnx")
    binding = s.io_binding()
    binding["x"] = np.zeros(1, np.float32)
    binding.bind_output("y")
    assert answer(s) == 1
    CHANGES[change](file)
    for run in (lambda: answer(s), lambda: s.run_with_iobinding(binding)):
        with pytest.raises(RuntimeError, match=f"the model file '.*{file.name}' was written while a session uses it.*make a new one"):
            run()
    save(tmp_path / "m.onnx", LARGE, 3, external)
    assert answer(session(tmp_path / "m.onnx")) == 3


@pytest.mark.parametrize("external", [False, True], ids=["model", "external data"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("size", "settings"), [(SMALL, {}), (LARGE, {"map_model_files": "0"})], ids=["small", "map_model_files=0"])
def test_a_file_that_was_read_may_change(tmp_path, change, size, settings, external):
    file = save(tmp_path / "m.onnx", size, 1, external)
    s = session(tmp_path / "m.onnx", **settings)
    CHANGES[change](file)
    assert answer(s) == 1


@pytest.mark.parametrize("external", [False, True], ids=["model", "external data"])
def test_a_file_that_is_replaced_or_removed_stays_with_its_sessions(tmp_path, external, monkeypatch):
    file = save(tmp_path / "m.onnx", LARGE, 1, external)
    monkeypatch.chdir(tmp_path)
    s = session("m.onnx")
    monkeypatch.chdir("/")                                 # the file is found again from anywhere
    other = tmp_path / "other"
    other.mkdir()
    save(other / "m.onnx", LARGE, 2, external).rename(file)
    assert answer(s) == 1 and answer(session(tmp_path / "m.onnx")) == 2
    file.unlink()
    assert answer(s) == 1


def test_the_optimised_model_may_take_the_place_of_its_own_source(tmp_path):
    path = save(tmp_path / "m.onnx", LARGE, 1)
    s = session(path, optimized_model_filepath=str(path))
    assert answer(s) == 1 and answer(session(path)) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


def test_the_setting_is_a_flag():
    with pytest.raises(RuntimeError, match="'map_model_files' is 'yes'; it must be 0 or 1"):
        ort.SessionOptions().add_session_config_entry("map_model_files", "yes")


def mapped_bytes(path):
    """Of the file, what counts as this process's memory."""
    size, inside = 0, False
    for line in open("/proc/self/smaps", encoding="utf-8"):
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            inside = words[-1] == str(path)
        elif inside and words[0] == "Rss:":
            size += 1024 * int(words[1])
    return size


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps"), reason="needs /proc to see memory")
@pytest.mark.parametrize("external", [False, True], ids=["model", "external data"])
@pytest.mark.parametrize(("op", "shape", "x"), [("MatMul", (2048, 1024), (1, 7, 2048)), ("MatMul", (1024, 1024), (7, 1024)),
                                                ("Gemm", (1024, 1024), (7, 1024)), ("Conv", (512, 512, 3, 3), (1, 512, 9, 9)),
                                                ("ConvTranspose", (512, 256, 3, 3), (1, 512, 9, 9))])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pages_of_packed_weights_are_let_go(tmp_path, op, shape, x, dtype, external):
    weights, kind = np.random.default_rng(0).standard_normal(shape).astype(dtype), onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    node = onnx.helper.make_node(op, ["x", "w"], ["y"])
    data = models.model([node], [models.value("x", kind, x)], [models.value("y", kind, None)], {"w": weights})
    path = file = tmp_path / "m.onnx"
    path.write_bytes(data)
    if external:
        onnx.save_model(onnx.load_from_string(data), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
        file = tmp_path / "weights.bin"
    feed = {"x": np.random.default_rng(1).standard_normal(x).astype(dtype)}
    want = session(path, map_model_files="0").run(None, feed)[0]
    s = session(path)
    for _ in range(2):
        assert np.array_equal(s.run(None, feed)[0], want)
    if op == "Conv" and not any(step.computed_by == "oneDNN" for step in s.explain()):
        return                                             # the portable convolution reads the weights where they are
    packed = mapped_bytes(file)
    assert packed < weights.nbytes / 4, f"{packed} of {weights.nbytes} bytes are in memory twice"
