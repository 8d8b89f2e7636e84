"""Tensors of models: every way in which ONNX stores them, external data and its bounds; weights are found where they lie."""
import os
import subprocess
import sys
import textwrap

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ortcore as ort
from ortcore.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, InvalidGraph, InvalidProtobuf, NotImplemented

from .small_models import BOOL, FLOAT, INT64, STRING, X, info, load, model, node, run

# ---- Tensors


TYPED = {
    FLOAT: [1.5, -2.5, 3], TensorProto.DOUBLE: [1.5, -2.5, 3], TensorProto.FLOAT16: [1.5, -2.5, 3], INT64: [1, -2, 2**62], TensorProto.INT32: [1, -2, 3],
    TensorProto.INT16: [1, -2, 3], TensorProto.INT8: [1, -2, 3], TensorProto.UINT8: [1, 200, 3], TensorProto.UINT16: [1, 60000, 3],
    TensorProto.UINT32: [1, 4_000_000_000, 3], TensorProto.UINT64: [1, 2**63, 3], BOOL: [True, False, True], STRING: ["a", "", "\u00e4\0b"],
}


@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("raw", [False, True])
def test_typed_fields_and_raw_data(kind, raw):
    values = np.array(TYPED[kind], object if kind == STRING else helper.tensor_dtype_to_np_dtype(kind))
    if kind == STRING:
        t = helper.make_tensor("w", STRING, [3], [v.encode() for v in values])
    elif raw:
        t = numpy_helper.from_array(values, "w")
    else:
        t = helper.make_tensor("w", kind, [3], values)
    (result,) = run(model([node("Identity", "w", "y")], inputs=[], outputs=[info("y", None, kind)], initializers=[t]), {})
    assert result.tolist() == values.tolist()


@pytest.mark.parametrize("offset", range(4))
def test_raw_data_need_not_be_aligned(offset):
    w = numpy_helper.from_array(np.arange(4096, dtype=np.float64), "w" + "x" * offset)
    (result,) = run(model([node("Identity", w.name, "y")], inputs=[], outputs=[info("y", None, TensorProto.DOUBLE)], initializers=[w]), {})
    np.testing.assert_array_equal(result, np.arange(4096))


def tensor(**fields):
    t = onnx.TensorProto(name="w", data_type=FLOAT, dims=[2])
    for name, value in fields.items():
        if name in ("data_type", "raw_data"):
            setattr(t, name, value)
        else:
            del getattr(t, name)[:]
            getattr(t, name).extend(value)
    return t


@pytest.mark.parametrize("t", [
    tensor(raw_data=bytes(7)), tensor(raw_data=bytes(12)), tensor(), tensor(float_data=[1]), tensor(float_data=[1, 2, 3]),
    tensor(dims=[2**62, 8], raw_data=bytes(8)),
    tensor(dims=[-1], raw_data=b""), tensor(data_type=99, raw_data=bytes(8)), tensor(data_type=0, raw_data=bytes(8)), tensor(dims=[2**40], float_data=[1]),
    tensor(data_type=STRING, raw_data=bytes(16)), tensor(data_type=STRING, string_data=[b"a"]), tensor(int32_data=[1, 2]),
    tensor(dims=[1] * 17, raw_data=bytes(4)),
])
def test_tensors_that_contradict_themselves(t):
    with pytest.raises((InvalidProtobuf, InvalidArgument, InvalidGraph, Fail, NotImplemented), match="w|rank"):
        load(model([node("Identity", "w", "y")], inputs=[], initializers=[t]))


def test_constants_of_every_kind():
    sparse = helper.make_sparse_tensor(helper.make_tensor("v", FLOAT, [2], [1, 2]), helper.make_tensor("i", INT64, [2], [0, 3]), [2, 2])
    kinds = [("value_float", 1.5, FLOAT), ("value_int", 2, INT64), ("value_floats", [1.0, 2.0], FLOAT), ("value_ints", [1, 2], INT64),
             ("value_string", "s", STRING), ("value_strings", ["a", "b"], STRING), ("value", numpy_helper.from_array(X), FLOAT),
             ("sparse_value", sparse, FLOAT)]
    nodes = [helper.make_node("Constant", [], [f"y{i}"], **{name: value}) for i, (name, value, _) in enumerate(kinds)]
    results = run(model(nodes, inputs=[], outputs=[info(f"y{i}", None, kind) for i, (_, _, kind) in enumerate(kinds)]), {})
    expected = [1.5, 2, [1, 2], [1, 2], "s", ["a", "b"], X.tolist(), [[1, 0], [0, 2]]]
    assert [r.tolist() for r in results] == expected


@pytest.mark.parametrize("indices", [[0, 4], [[0, 0], [1, 1]]])
def test_sparse_initializers(indices):
    indices = np.array(indices)
    linear = [0, 4] if indices.ndim == 1 else [0, 3]
    sparse = helper.make_sparse_tensor(helper.make_tensor("w", FLOAT, [2], [5, 6]), helper.make_tensor("i", INT64, indices.shape, indices.flatten()), [2, 3])
    expected = np.zeros(6)
    expected[[0, 4]] = 5, 6
    (result,) = run(model([node("Identity", "w", "y")], inputs=[], sparse_initializer=[sparse]), {})
    np.testing.assert_array_equal(result.flatten(), expected, err_msg=str(linear))


def test_sparse_indices_out_of_range():
    for indices in [6], [-1], [2**62]:
        sparse = helper.make_sparse_tensor(helper.make_tensor("w", FLOAT, [1], [5]), helper.make_tensor("i", INT64, [1], indices), [2, 3])
        with pytest.raises(InvalidProtobuf, match="outside"):
            load(model([node("Identity", "w", "y")], inputs=[], sparse_initializer=[sparse]))


# ---- External data


def external(name, location, shape=(3, 2), offset=None, length=None, kind=FLOAT):
    t = onnx.TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
    for key, value in ("location", location), ("offset", offset), ("length", length):
        if value is not None:
            t.external_data.add(key=key, value=str(value))
    return t


def external_model(*args, **kwargs):
    return model([node("MatMul", "x w", "y")], initializers=[external("w", *args, **kwargs)])


W = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "models"
    (inside / "sub").mkdir(parents=True)
    for name in "models/w.bin", "models/sub/w.bin", "outside.bin":
        (tmp_path / name).write_bytes(b"\x55" * 5 + W.tobytes() + b"\xaa" * 3)
    return inside


def load_in(folder, m, options=None):
    path = folder / "model.onnx"
    path.write_bytes(m.SerializeToString())
    return ort.InferenceSession(str(path), options)


@pytest.mark.parametrize("location", ["w.bin", "sub/w.bin", "./sub/../w.bin"])
@pytest.mark.parametrize("length", [24, None])
def test_external_data(folder, location, length):
    session = load_in(folder, external_model(location, offset=5, length=length))
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], X @ W)


def test_external_data_of_a_relative_path(folder, monkeypatch):
    (folder / "model.onnx").write_bytes(external_model("w.bin", offset=5).SerializeToString())
    monkeypatch.chdir(folder)
    np.testing.assert_array_equal(ort.InferenceSession("model.onnx").run(None, {"x": X})[0], X @ W)


@pytest.mark.parametrize("location", ["../outside.bin", "sub/../../outside.bin", "link.bin", "linked/outside.bin", "nothing.bin", "sub", "", "fifo"])
def test_external_data_stays_in_its_folder(folder, location):
    (folder / "link.bin").symlink_to(folder.parent / "outside.bin")
    (folder / "linked").symlink_to(folder.parent)
    os.mkfifo(folder / "fifo")
    with pytest.raises(Fail):
        load_in(folder, external_model(location, offset=5))


@pytest.mark.parametrize("fields", [{"location": "w.bin\0x"}, {"location": "\0"}, {"location": "w.bin", "length": "24\0"}])
def test_external_data_with_a_nul_byte(folder, fields):
    with pytest.raises(Fail, match=r"external data of a tensor has (location|length) '.*\\0...'.* NUL byte"):
        load_in(folder, external_model(**fields))


def test_external_data_of_an_absolute_path(folder):
    with pytest.raises(Fail, match="absolute"):
        load_in(folder, external_model(str(folder / "w.bin"), offset=5))


def test_external_data_by_a_link_within(folder):
    (folder / "link.bin").symlink_to("sub/w.bin")
    np.testing.assert_array_equal(load_in(folder, external_model("link.bin", offset=5)).run(None, {"x": X})[0], X @ W)


def test_a_linked_model_finds_its_data_where_it_really_lies(folder, tmp_path):
    """Caches of downloads hold files elsewhere, and show them through links."""
    (folder / "real.onnx").write_bytes(external_model("data.bin", offset=5).SerializeToString())
    shown = tmp_path / "shown"
    shown.mkdir()
    (shown / "model.onnx").symlink_to(folder / "real.onnx")
    (shown / "data.bin").symlink_to(folder / "w.bin")
    np.testing.assert_array_equal(ort.InferenceSession(str(shown / "model.onnx")).run(None, {"x": X})[0], X @ W)


@pytest.mark.parametrize("fields", [
    {"offset": 9}, {"offset": 100}, {"offset": -1}, {"offset": 2**63 - 1}, {"offset": "x"}, {"length": 23}, {"length": 25}, {"length": -24},
    {"shape": (2**40, 2)}])
def test_external_data_that_does_not_fit(folder, fields):
    with pytest.raises((Fail, InvalidProtobuf), match="'w'|external data"):
        load_in(folder, external_model("w.bin", **fields))


def test_external_strings(folder):
    with pytest.raises(InvalidProtobuf, match="strings"):
        load_in(folder, model([node("Identity", "w", "y")], outputs=[info("y", None, STRING)], initializers=[external("w", "w.bin", (2,), kind=STRING)]))


def test_a_model_from_bytes_looks_in_the_current_directory(folder, monkeypatch):
    m = external_model("w.bin", offset=5)
    with pytest.raises(Fail):
        load(m)
    monkeypatch.chdir(folder)
    np.testing.assert_array_equal(run(m)[0], X @ W)


def test_external_files_in_memory(folder):
    options = ort.SessionOptions()
    data = (folder / "w.bin").read_bytes()
    options.add_external_initializers_from_files_in_memory(["anywhere.bin"], [data], [len(data)])
    np.testing.assert_array_equal(run(external_model("anywhere.bin", offset=5), options=options)[0], X @ W)


def test_external_initializers_need_no_file():
    options = ort.SessionOptions()
    options.add_external_initializers(["w"], [ort.OrtValue.ortvalue_from_numpy(W)])
    np.testing.assert_array_equal(run(external_model("nothing.bin"), options=options)[0], X @ W)
    options = ort.SessionOptions()
    options.add_external_initializers(["w"], [ort.OrtValue.ortvalue_from_numpy(W.T.copy())])
    with pytest.raises((Fail, InvalidArgument), match="'w'"):
        run(external_model("nothing.bin"), options=options)


def test_an_external_file_beyond_4_gib(tmp_path):
    """The file is sparse: it takes no room."""
    with open(tmp_path / "big.bin", "wb") as file:
        file.truncate(5 << 30)
        file.seek((5 << 30) - 24)
        file.write(W.tobytes())
    session = load_in(tmp_path, external_model("big.bin", offset=(5 << 30) - 24, length=24))
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], X @ W)


# ---- Size


def test_weights_stay_in_the_file(tmp_path):
    """A model of 400 MB loads in the memory of a small one: its weights are mapped, not copied."""
    path = tmp_path / "large.onnx"
    rows = np.zeros((1000, 100_000), np.float32)
    m = model([node("Gather", "w x", "y")], inputs=[info("x", ["n"], INT64)], initializers=[numpy_helper.from_array(rows, "w")])
    path.write_bytes(m.SerializeToString())
    del rows
    script = textwrap.dedent(f"""
        import resource, time
        import numpy as np
        import ortcore as ort
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        session = ort.InferenceSession({str(path)!r})
        assert session.run(None, {{"x": np.array([999])}})[0].shape == (1, 100_000)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """)
    grown = int(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout)
    assert grown < 100_000, f"{grown} KiB"
