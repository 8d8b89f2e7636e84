"""Reading models: what is accepted, what is refused and with which words."""
import os

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ortcore as ort
from ortcore.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, InvalidGraph, InvalidProtobuf, ModelLoadCanceled, NoSuchFile, NotImplemented

from . import models
from .small_models import BOOL, FLOAT, IDENTITY, INT64, X, info, load, model, node, run

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
    def four_calls(of):
        return [call(of, "a" if j == 0 else f"t{j - 1}", "b" if j == 3 else f"t{j}") for j in range(4)]

    functions = [function(f"F{i}", ["a"], ["b"], four_calls(f"F{i + 1}")) for i in range(20)]
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


def test_many_nodes_take_little_time():
    count = 20_000
    nodes = [node("Identity" if i % 2 else "Transpose", f"v{i}", f"v{i + 1}") for i in range(count)]
    np.testing.assert_array_equal(run(model(nodes, inputs=[info("v0")], outputs=[info(f"v{count}", None)]), {"v0": X})[0], X)


def test_outputs_that_nobody_names():
    """A node without named outputs has no effect; of several outputs the first may be left out."""
    nodes = [helper.make_node("SequenceEmpty", [], [""]), helper.make_node("TopK", ["x", "k"], ["", "y"]), helper.make_node("Split", ["x"], ["", "z"], axis=0)]
    session = load(model(nodes, outputs=[info("y", None, INT64), info("z", None)], initializers=[numpy_helper.from_array(np.array([1]), "k")]))
    y, z = session.run(None, {"x": X})
    assert y.tolist() == [[2], [2]]
    np.testing.assert_array_equal(z, X[1:])


@pytest.mark.parametrize("old, where", [(b"the_node", "node"), (b"the_value", "value"), (b"the_dim", "dim"), (b"the_domain", "node")])
@pytest.mark.parametrize("bad", [b"\xff\xfe", b"\xc0\x80", b"\xed\xa0\x80", b"\xe2\x82"], ids=["no lead byte", "overlong", "surrogate", "cut"])
def test_names_are_utf8(old, where, bad):
    """They go through APIs that take UTF-8 only."""
    node = helper.make_node("Identity", ["x"], ["the_value"], name="the_node")
    more = helper.make_node("Twice", ["the_value"], ["y"], domain="the_domain")
    data = models.model([node, more], [models.value("x", FLOAT, ["the_dim"])], [models.value("y", FLOAT, None)])
    with pytest.raises(InvalidProtobuf, match=f"{where}.* is not valid UTF-8: the model is damaged"):
        ort.InferenceSession(data.replace(old, bad.ljust(len(old), b"_")))


def test_descriptions_that_are_not_utf8_are_shown_as_far_as_they_go():
    data = models.model([helper.make_node("Identity", ["x"], ["y"])], [models.value("x", FLOAT, [1])], [models.value("y", FLOAT, [1])],
                        properties={"key_1": "value_1"}, doc_string="a text")
    session = ort.InferenceSession(data.replace(b"a text", b"\xff text").replace(b"value_1", b"\xffalue_1"))
    assert session.get_modelmeta().description == "\ufffd text" and session.get_modelmeta().custom_metadata_map == {"key_1": "\ufffdalue_1"}
