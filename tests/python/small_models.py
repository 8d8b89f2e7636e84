"""Small models for tests, in few words."""
import numpy as np
from onnx import TensorProto, helper

import ortcore as ort

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
