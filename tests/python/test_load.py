"""Reading models: what is accepted, what is refused and with which words, and that weights are found where they lie."""
import os
import subprocess
import sys
import textwrap

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ortcore as ort
from ortcore.capi.onnxruntime_pybind11_state import (
    Fail, InvalidArgument, InvalidGraph, InvalidProtobuf, ModelLoadCanceled, NoSuchFile, NotImplemented)

FLOAT, INT64, BOOL, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.STRING
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def info(name, shape=(2, 3), kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs, outputs, **attrs):
    return helper.make_node(op, inputs.split(), outputs.split(), **attrs)


def model(nodes, inputs=None, outputs=None, initializers=(), opset=17, ir=9, functions=(), imports=None, **fields):
    inputs = [info("x")] if inputs is None else inputs
    graph = helper.make_graph(nodes, "g", inputs, outputs or [info("y", None)], list(initializers), **fields)
    return helper.make_model(graph, opset_imports=imports or [helper.make_opsetid("", opset)], ir_version=ir, functions=list(functions))


def load(m, options=None):
    return ort.InferenceSession(m if isinstance(m, bytes) else m.SerializeToString(), options)


def run(m, feeds=None, options=None):
    return load(m, options).run(None, {"x": X} if feeds is None else feeds)


IDENTITY = [node("Identity", "x", "y")]


# ---- Files and bytes


def test_missing_file():
    with pytest.raises(NoSuchFile, match="no_such.onnx"):
        ort.InferenceSession("no_such.onnx")


def test_directory(tmp_path):
    with pytest.raises(InvalidProtobuf, match="not a regular file"):
        ort.InferenceSession(str(tmp_path))


def test_a_fifo_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InvalidProtobuf):
        ort.InferenceSession(str(tmp_path / "fifo"))


@pytest.mark.parametrize("data", [b"\xff" * 100, b"this is no model at all", b"\x08"])
def test_garbage(data):
    with pytest.raises(InvalidProtobuf):
        load(data)


def test_empty(tmp_path):
    (tmp_path / "empty.onnx").write_bytes(b"")
    for source in b"", str(tmp_path / "empty.onnx"), onnx.ModelProto(ir_version=9).SerializeToString():
        with pytest.raises(InvalidArgument, match="no graph"):
            ort.InferenceSession(source)


def test_ort_format():
    with pytest.raises(Fail, match=r"\.ort"):
        load(b"\x20\0\0\0ORTM" + bytes(64))


def test_every_truncation_is_refused():
    data = model([node("MatMul", "x w", "y")], initializers=[numpy_helper.from_array(np.ones((3, 2), np.float32), "w")]).SerializeToString()
    for length in range(len(data)):
        with pytest.raises((InvalidProtobuf, InvalidArgument, InvalidGraph, Fail)):
            load(data[:length])


def test_from_bytes_the_source_may_go():
    session = load(model([node("MatMul", "x w", "y")], initializers=[numpy_helper.from_array(np.ones((3, 2), np.float32), "w")]))
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], X @ np.ones((3, 2)))


# ---- Versions and operators


@pytest.mark.parametrize("ir", range(3, 15))
def test_ir_versions(ir):
    np.testing.assert_array_equal(run(model(IDENTITY, ir=ir))[0], X)


@pytest.mark.parametrize("ir", [0, 1, 2, 15, 99])
def test_ir_versions_beyond(ir):
    with pytest.raises((Fail, InvalidProtobuf), match="IR version"):
        load(model(IDENTITY, ir=ir))


@pytest.mark.parametrize("opset", range(7, 29))
def test_opsets(opset):
    np.testing.assert_array_equal(run(model(IDENTITY, opset=opset))[0], X)


@pytest.mark.parametrize("opset", [0, 29, 2**40])
def test_opsets_beyond(opset):
    with pytest.raises(Fail, match=f"opset {opset} .* are supported"):
        load(model(IDENTITY, opset=opset))


def test_the_default_domain_by_its_name():
    nodes = [helper.make_node("Identity", ["x"], ["y"], domain="ai.onnx")]
    np.testing.assert_array_equal(run(model(nodes, imports=[helper.make_opsetid("ai.onnx", 17)]))[0], X)


def test_unknown_operator():
    with pytest.raises(InvalidGraph, match="(?s)'first'.*Matmul.*opset 17.*did you mean MatMul"):
        load(model([node("Matmul", "x x", "y", name="first")]))


def test_unknown_domain():
    nodes = [helper.make_node("Thing", ["x"], ["y"], domain="my.own")]
    with pytest.raises(Fail, match="my.own"):
        load(model(nodes, imports=[helper.make_opsetid("", 17), helper.make_opsetid("my.own", 1)]))


def test_operator_of_a_later_opset():
    with pytest.raises(InvalidGraph, match="since opset 18"):
        load(model([node("CenterCropPad", "x s", "y")], initializers=[numpy_helper.from_array(np.array([2, 2]), "s")], opset=17))


# ---- Graphs


def test_nodes_in_any_order():
    nodes = [node("Transpose", "b", "y"), node("Identity", "a", "b"), node("Identity", "x", "a")]
    np.testing.assert_array_equal(run(model(nodes))[0], X.T)


def test_cycle():
    with pytest.raises(InvalidGraph, match="cycle"):
        load(model([node("Concat", "x b", "a", axis=0), node("Identity", "a", "b"), node("Identity", "a", "y")]))


def test_undefined_input():
    with pytest.raises(InvalidArgument, match="(?s)'lonely'.*'nothing'"):
        load(model([node("Identity", "nothing", "y", name="lonely")]))


def test_undefined_output():
    with pytest.raises(InvalidGraph, match="'z'"):
        load(model(IDENTITY, outputs=[info("z")]))


def test_names_given_twice():
    twice = [node("Identity", "x", "y"), node("Transpose", "x", "y")]
    with pytest.raises(Fail, match="'y'"):
        load(model(twice))
    with pytest.raises(Fail, match="'x'"):
        load(model(IDENTITY, inputs=[info("x"), info("x")]))
    w = numpy_helper.from_array(X, "w")
    with pytest.raises(Fail, match="'w'"):
        load(model(IDENTITY, initializers=[w, w]))


def test_an_input_without_type():
    with pytest.raises(InvalidGraph, match="'x'"):
        load(model(IDENTITY, inputs=[onnx.ValueInfoProto(name="x")]))


def test_declared_type_that_is_wrong():
    with pytest.raises(Fail, match="Type Error.*y"):
        load(model(IDENTITY, outputs=[info("y", None, INT64)]))


def test_declared_shape_that_is_wrong(capfd):
    session = load(model(IDENTITY, outputs=[info("y", (2, 4))]))
    assert session.get_outputs()[0].shape == [2, None]
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], X)
    assert "declared with shape [2,4]" in capfd.readouterr().err


def test_value_infos_of_intermediate_values():
    nodes = [node("Identity", "x", "a"), node("Identity", "a", "y")]
    np.testing.assert_array_equal(run(model(nodes, value_info=[info("a"), info("unused", None)]))[0], X)
    with pytest.raises(Fail, match="Type Error.*a"):
        load(model(nodes, value_info=[info("a", None, INT64)]))


def test_initializers_that_are_inputs():
    w = numpy_helper.from_array(X * 2, "w")
    nodes = [node("Concat", "x w", "y", axis=0)]
    session = load(model(nodes, inputs=[info("x"), info("w")], initializers=[w]))
    assert [i.name for i in session.get_inputs()] == ["x"]
    assert [i.name for i in session.get_overridable_initializers()] == ["w"]
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], np.concatenate([X, X * 2]))
    np.testing.assert_array_equal(session.run(None, {"x": X, "w": X})[0], np.concatenate([X, X]))
    old = load(model(nodes, inputs=[info("w"), info("x")], initializers=[w], ir=3))
    assert [i.name for i in old.get_inputs()] == ["x"]
    assert old.get_overridable_initializers() == []
    np.testing.assert_array_equal(old.run(None, {"x": X})[0], np.concatenate([X, X * 2]))


def test_an_initializer_as_output():
    np.testing.assert_array_equal(run(model([], outputs=[info("w")], initializers=[numpy_helper.from_array(X, "w")]))[0], X)


def test_metadata():
    m = model(IDENTITY)
    m.producer_name, m.domain, m.doc_string, m.model_version, m.graph.doc_string = "p", "d", "words", 7, "graph words"
    helper.set_model_props(m, {"a": "1", "b": "2"})
    meta = load(m).get_modelmeta()
    assert (meta.producer_name, meta.domain, meta.description, meta.version, meta.graph_description) == ("p", "d", "words", 7, "graph words")
    assert meta.custom_metadata_map == {"a": "1", "b": "2"}


def test_free_dimensions():
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("n", 2)
    options.add_free_dimension_override_by_denotation("BATCH", 5)
    x, z = info("x", ["n", 3]), info("z", ["other", 3])
    z.type.tensor_type.shape.dim[0].denotation = "BATCH"
    session = load(model([node("Identity", "x", "y"), node("Identity", "z", "u")], inputs=[x, z], outputs=[info("y", ["n", 3]), info("u", None)]), options)
    assert [i.shape for i in session.get_inputs()] == [[2, 3], [5, 3]]
    assert session.get_outputs()[0].shape == [2, 3]
    with pytest.raises(InvalidArgument):
        session.run(None, {"x": np.zeros((3, 3), np.float32), "z": np.zeros((5, 3), np.float32)})


def test_load_is_cancelled():
    options = ort.SessionOptions()
    options.set_load_cancellation_flag(True)
    with pytest.raises(ModelLoadCanceled):
        load(model(IDENTITY), options)


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
    tensor(raw_data=bytes(7)), tensor(raw_data=bytes(12)), tensor(), tensor(float_data=[1]), tensor(float_data=[1, 2, 3]), tensor(dims=[2**62, 8], raw_data=bytes(8)),
    tensor(dims=[-1], raw_data=b""), tensor(data_type=99, raw_data=bytes(8)), tensor(data_type=0, raw_data=bytes(8)), tensor(dims=[2**40], float_data=[1]),
    tensor(data_type=STRING, raw_data=bytes(16)), tensor(data_type=STRING, string_data=[b"a"]), tensor(int32_data=[1, 2]), tensor(dims=[1] * 17, raw_data=bytes(4)),
])
def test_tensors_that_contradict_themselves(t):
    with pytest.raises((InvalidProtobuf, InvalidArgument, InvalidGraph, Fail, NotImplemented), match="w|rank"):
        load(model([node("Identity", "w", "y")], inputs=[], initializers=[t]))


def test_constants_of_every_kind():
    sparse = helper.make_sparse_tensor(helper.make_tensor("v", FLOAT, [2], [1, 2]), helper.make_tensor("i", INT64, [2], [0, 3]), [2, 2])
    kinds = [("value_float", 1.5, FLOAT), ("value_int", 2, INT64), ("value_floats", [1.0, 2.0], FLOAT), ("value_ints", [1, 2], INT64), ("value_string", "s", STRING),
             ("value_strings", ["a", "b"], STRING), ("value", numpy_helper.from_array(X), FLOAT), ("sparse_value", sparse, FLOAT)]
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


@pytest.mark.parametrize("fields", [{"offset": 9}, {"offset": 100}, {"offset": -1}, {"offset": 2**63 - 1}, {"offset": "x"}, {"length": 23}, {"length": 25}, {"length": -24},
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


# ---- Functions


def function(name, inputs, outputs, nodes, attributes=(), defaults=(), domain="local", opset=17):
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
    return helper.make_function(domain, name, inputs, outputs, nodes, imports, list(attributes), attribute_protos=list(defaults))


def referring(n, name, to, kind):
    a = n.attribute.add()
    a.name, a.ref_attr_name, a.type = name, to, kind
    return n


def call(name, inputs, outputs, **attrs):
    return helper.make_node(name, inputs.split(), outputs.split(), domain="local", **attrs)


WITH_LOCAL = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]


def test_functions_within_functions():
    turn = function("Turn", ["a"], ["b"], [referring(node("Transpose", "a", "b"), "perm", "order", onnx.AttributeProto.INTS)], ["order"])
    twice = function("Twice", ["a"], ["c"], [call("Turn", "a", "b", order=[1, 0]), node("Concat", "b b", "c", axis=0)])
    m = model([call("Twice", "x", "t"), call("Turn", "t", "y", order=[1, 0])], functions=[turn, twice], imports=WITH_LOCAL)
    np.testing.assert_array_equal(run(m)[0], np.concatenate([X.T, X.T]).T)


def test_attributes_with_defaults():
    default = helper.make_attribute("order", [1, 0])
    turn = function("Turn", ["a"], ["b"], [referring(node("Transpose", "a", "b"), "perm", "order", onnx.AttributeProto.INTS)], defaults=[default])
    m = model([call("Turn", "x", "y"), call("Turn", "x", "z", order=[0, 1])], outputs=[info("y", None), info("z", None)], functions=[turn], imports=WITH_LOCAL)
    y, z = run(m)
    np.testing.assert_array_equal(y, X.T)
    np.testing.assert_array_equal(z, X)


def test_optional_parameters_of_functions():
    crop = function("Crop", ["a", "starts", "ends", "axes"], ["b", "unused"],
                    [node("Slice", "a starts ends axes", "b"), node("Shape", "b", "unused")])
    initializers = [numpy_helper.from_array(np.array([0, 1]), "s"), numpy_helper.from_array(np.array([1, 3]), "e")]
    m = model([call("Crop", "x s e", "y")], initializers=initializers, functions=[crop], imports=WITH_LOCAL)
    np.testing.assert_array_equal(run(m)[0], X[0:1, 1:3])


def test_functions_have_opsets_of_their_own():
    """Squeeze takes its axes as an attribute before opset 13."""
    old = function("Old", ["a"], ["b"], [node("Squeeze", "a", "b", axes=[0])], opset=11)
    m = model([call("Old", "x", "y")], inputs=[info("x", (1, 3))], functions=[old], imports=WITH_LOCAL)
    assert run(m, {"x": X[:1]})[0].shape == (3,)


def test_subgraphs_in_functions():
    branches = [helper.make_graph([node(op, "a", "r")], op, [], [info("r", None)]) for op in ("Identity", "Transpose")]
    choose = function("Choose", ["a", "yes"], ["b"], [node("If", "yes", "b", then_branch=branches[0], else_branch=branches[1])])
    m = model([call("Choose", "x flag", "y")], inputs=[info("x"), info("flag", (), BOOL)], functions=[choose], imports=WITH_LOCAL)
    session = load(m)
    np.testing.assert_array_equal(session.run(None, {"x": X, "flag": np.array(True)})[0], X)
    np.testing.assert_array_equal(session.run(None, {"x": X, "flag": np.array(False)})[0], X.T)


def test_recursive_functions():
    one = function("One", ["a"], ["b"], [call("Two", "a", "b")])
    two = function("Two", ["a"], ["b"], [call("One", "a", "b")])
    with pytest.raises(InvalidGraph, match="calls itself"):
        load(model([call("One", "x", "y")], functions=[one, two], imports=WITH_LOCAL))


def test_functions_that_multiply():
    """Twenty functions, each calling the next four times: 4^20 nodes in a few hundred bytes."""
    functions = [function(f"F{i}", ["a"], ["b"], [call(f"F{i + 1}", "a" if j == 0 else f"t{j - 1}", "b" if j == 3 else f"t{j}") for j in range(4)]) for i in range(20)]
    functions.append(function("F20", ["a"], ["b"], [node("Identity", "a", "b")]))
    with pytest.raises(InvalidGraph, match="functions"):
        load(model([call("F0", "x", "y")], functions=functions, imports=WITH_LOCAL))


def test_a_default_that_refers_to_itself():
    default = onnx.AttributeProto(name="order", ref_attr_name="order", type=onnx.AttributeProto.INTS)
    turn = function("Turn", ["a"], ["b"], [referring(node("Transpose", "a", "b"), "perm", "order", onnx.AttributeProto.INTS)], defaults=[default])
    with pytest.raises(InvalidArgument, match="perm"):
        load(model([call("Turn", "x", "y")], functions=[turn], imports=WITH_LOCAL))


def test_a_function_that_forgets_its_output():
    nothing = function("Nothing", ["a"], ["b"], [node("Identity", "a", "c")])
    with pytest.raises(InvalidGraph, match="Nothing"):
        load(model([call("Nothing", "x", "y")], functions=[nothing], imports=WITH_LOCAL))


def test_a_function_that_overwrites_its_input():
    bad = function("Bad", ["a"], ["b"], [node("Identity", "a", "a"), node("Identity", "a", "b")])
    with pytest.raises(Fail, match="two values"):
        load(model([call("Bad", "x", "y")], functions=[bad], imports=WITH_LOCAL))


# ---- Subgraphs


def branch(name, nodes, output="r"):
    return helper.make_graph(nodes, name, [], [info(output, None)])


def test_captures_three_deep():
    """The innermost graph reads a value of each graph around it, and one of the outermost by way of all of them."""
    third = branch("third", [node("Concat", "x a b", "r", axis=0)])
    other = branch("other", [node("Identity", "x", "r")])
    second = branch("second", [node("Transpose", "a", "b0"), node("Transpose", "b0", "b"), node("If", "f", "r", then_branch=third, else_branch=other)])
    first = branch("first", [node("Identity", "x", "a"), node("If", "f", "r", then_branch=second, else_branch=other)])
    m = model([node("If", "f", "y", then_branch=first, else_branch=other)], inputs=[info("x"), info("f", (), BOOL)])
    session = load(m)
    np.testing.assert_array_equal(session.run(None, {"x": X, "f": np.array(True)})[0], np.concatenate([X, X, X]))
    np.testing.assert_array_equal(session.run(None, {"x": X, "f": np.array(False)})[0], X)


def test_a_branch_may_return_an_outer_value():
    m = model([node("If", "f", "y", then_branch=branch("then", [], "x"), else_branch=branch("else", [], "w"))],
              inputs=[info("x"), info("f", (), BOOL)], initializers=[numpy_helper.from_array(X * 2, "w")])
    session = load(m)
    for flag, expected in (True, X), (False, X * 2):
        np.testing.assert_array_equal(session.run(None, {"x": X, "f": np.array(flag)})[0], expected)


def test_a_subgraph_reads_what_a_later_node_computes():
    """The file may hold nodes in any order: the If stands before the node whose value its branches read."""
    m = model([node("If", "f", "y", then_branch=branch("then", [node("Identity", "t", "r")]), else_branch=branch("else", [node("Identity", "x", "r")])),
               node("Transpose", "x", "t")], inputs=[info("x"), info("f", (), BOOL)])
    np.testing.assert_array_equal(run(m, {"x": X, "f": np.array(True)})[0], X.T)


def test_unknown_names_in_subgraphs():
    m = model([node("If", "f", "y", then_branch=branch("then", [node("Identity", "ghost", "r")]), else_branch=branch("else", [], "x"))],
              inputs=[info("x"), info("f", (), BOOL)])
    with pytest.raises(InvalidArgument, match="ghost"):
        load(m)


def test_subgraphs_nested_too_deep():
    inner = branch("inner", [node("Identity", "x", "r")])
    for _ in range(27):
        inner = branch("b", [node("If", "f", "r", then_branch=inner, else_branch=branch("e", [], "x"))])
    m = model([node("If", "f", "y", then_branch=inner, else_branch=branch("e", [], "x"))], inputs=[info("x"), info("f", (), BOOL)])
    with pytest.raises(InvalidGraph, match="deep"):
        load(m)


# ---- Types


def test_types_that_are_not_supported():
    nested = helper.make_sequence_type_proto(helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None)))
    with pytest.raises(NotImplemented, match="sequences"):
        load(model(IDENTITY, inputs=[helper.make_value_info("x", nested)]))
    with pytest.raises(NotImplemented, match="rank"):
        load(model(IDENTITY, inputs=[info("x", [1] * 17)]))


# ---- Size and time


def test_weights_stay_in_the_file(tmp_path):
    """A model of 400 MB loads in the memory of a small one: its weights are mapped, not copied."""
    path = tmp_path / "large.onnx"
    rows = np.zeros((1000, 100_000), np.float32)
    path.write_bytes(model([node("Gather", "w x", "y")], inputs=[info("x", ["n"], INT64)], initializers=[numpy_helper.from_array(rows, "w")]).SerializeToString())
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


def test_many_nodes_take_little_time():
    count = 20_000
    nodes = [node("Identity" if i % 2 else "Transpose", f"v{i}", f"v{i + 1}") for i in range(count)]
    np.testing.assert_array_equal(run(model(nodes, inputs=[info("v0")], outputs=[info(f"v{count}", None)]), {"v0": X})[0], X)
