"""Models that the tests of the Python API run, as bytes."""
import numpy as np
from onnx import TensorProto as P
from onnx import helper as h
from onnx import numpy_helper as nh


def value(name, kind, shape):
    return h.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, initializers=(), opset=18, ir=10, **fields):
    """Serialized; `initializers` are {name: array} or a list of TensorProtos."""
    if isinstance(initializers, dict):
        initializers = [nh.from_array(np.asarray(v), k) for k, v in initializers.items()]
    graph = h.make_graph(nodes, fields.pop("name", "graph"), inputs, outputs, initializers)
    properties = fields.pop("properties", {})
    proto = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=ir, producer_name="tests", **fields)
    h.set_model_props(proto, properties)
    return proto.SerializeToString()


def add(shape=("N", 2), kind=P.FLOAT, **fields):
    """c = a + b"""
    return model([h.make_node("Add", ["a", "b"], ["c"], name="add")], [value(n, kind, shape) for n in "ab"], [value("c", kind, shape)], **fields)


def identity(kind=P.FLOAT, shape=("N",), **fields):
    """y = x"""
    return model([h.make_node("Identity", ["x"], ["y"])], [value("x", kind, shape)], [value("y", kind, shape)], **fields)


def two_outputs():
    """total = a + b, product = a * b, shape = Shape(a)"""
    nodes = [h.make_node("Add", ["a", "b"], ["total"]), h.make_node("Mul", ["a", "b"], ["product"]), h.make_node("Shape", ["a"], ["shape"])]
    return model(nodes, [value(n, P.FLOAT, ["N", 2]) for n in "ab"],
                 [value("total", P.FLOAT, ["N", 2]), value("product", P.FLOAT, ["N", 2]), value("shape", P.INT64, [2])])


def overridable():
    """y = x + W, where W = [10, 20] may be fed"""
    return model([h.make_node("Add", ["x", "W"], ["y"])], [value("x", P.FLOAT, ["N", 2]), value("W", P.FLOAT, [2])], [value("y", P.FLOAT, ["N", 2])],
                 {"W": np.array([10, 20], np.float32)})


def weighted(weights):
    """y = x + W, where W is fixed"""
    return model([h.make_node("Add", ["x", "W"], ["y"])], [value("x", P.FLOAT, None)], [value("y", P.FLOAT, None)], {"W": weights})


def passthrough():
    """The output is the input."""
    return model([], [value("x", P.FLOAT, ["N"])], [value("x", P.FLOAT, ["N"])])


def nonzero():
    """y = NonZero(x), whose size depends on the data"""
    return model([h.make_node("NonZero", ["x"], ["y"])], [value("x", P.FLOAT, ["N"])], [value("y", P.INT64, [1, "K"])])


def matmul_chain(n=12, size="N"):
    nodes = [h.make_node("MatMul", ["x", "x"], ["y1"])] + [h.make_node("MatMul", [f"y{i}", "x"], [f"y{i + 1}"]) for i in range(1, n)]
    return model(nodes, [value("x", P.FLOAT, [size, size])], [value(f"y{n}", P.FLOAT, [size, size])])


def sequence_type(kind=P.FLOAT):
    return h.make_sequence_type_proto(h.make_tensor_type_proto(kind, None))


def sequence_identity(kind=P.FLOAT):
    return model([h.make_node("Identity", ["x"], ["y"])], [h.make_value_info("x", sequence_type(kind))], [h.make_value_info("y", sequence_type(kind))])


def maps_identity(kind=P.FLOAT, key=P.INT64):
    """y = x, lists of dicts"""
    items = h.make_sequence_type_proto(h.make_map_type_proto(key, h.make_tensor_type_proto(kind, [])))
    return model([h.make_node("Identity", ["x"], ["y"])], [h.make_value_info("x", items)], [h.make_value_info("y", items)])


def sequence_construct():
    return model([h.make_node("SequenceConstruct", ["a", "b"], ["y"])], [value("a", P.FLOAT, ["N"]), value("b", P.FLOAT, ["M"])],
                 [h.make_value_info("y", sequence_type())])


def optional_has_element():
    kind = h.make_optional_type_proto(h.make_tensor_type_proto(P.FLOAT, ["N"]))
    return model([h.make_node("OptionalHasElement", ["x"], ["y"])], [h.make_value_info("x", kind)], [value("y", P.BOOL, [])])


def optional_identity():
    kind = h.make_optional_type_proto(h.make_tensor_type_proto(P.FLOAT, ["N"]))
    return model([h.make_node("Identity", ["x"], ["y"])], [h.make_value_info("x", kind)], [h.make_value_info("y", kind)])


def gather():
    """Fails when run, if an index is out of range."""
    return model([h.make_node("Gather", ["x", "i"], ["y"], name="pick")], [value("x", P.FLOAT, ["N"]), value("i", P.INT64, ["M"])],
                 [value("y", P.FLOAT, ["M"])])


def gather_constant():
    """y = [0, 1, 2, 3][i], int64 i of any length"""
    return model([h.make_node("Gather", ["table", "i"], ["y"])], [value("i", P.INT64, ["N"])], [value("y", P.FLOAT, ["N"])],
                 [h.make_tensor("table", P.FLOAT, [4], [0, 1, 2, 3])])
