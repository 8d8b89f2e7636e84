"""Makes the model files of this folder, which tests in C read. Needs the `onnx` package; the files are committed."""
import pathlib

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name, type_, shape):
    return helper.make_tensor_value_info(name, type_, shape)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def write(name, nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initializers))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="ortcore tests")
    checker.check_model(made)
    save(made, pathlib.Path(__file__).parent / f"{name}.onnx")


def identity():
    write("identity", [helper.make_node("Identity", ["x"], ["y"], name="copy")], [info("x", FLOAT, ["batch", 4])], [info("y", FLOAT, ["batch", 4])])


def dense():
    """A bit of everything that a small network has: y = softmax(relu(x w + b) v), and the shape of x."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["xw"]),
        helper.make_node("Add", ["xw", "b"], ["biased"]),
        helper.make_node("Relu", ["biased"], ["hidden"]),
        helper.make_node("Gemm", ["hidden", "v"], ["logits"], transB=1),
        helper.make_node("Softmax", ["logits"], ["y"], axis=-1),
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Concat", ["x", "x"], ["twice"], axis=1),
        helper.make_node("Reshape", ["twice", "flat"], ["pairs"]),
        helper.make_node("Transpose", ["pairs"], ["turned"], perm=[1, 0]),
    ]
    random = np.random.default_rng(1)
    weights = [constant("w", random.standard_normal((4, 8), dtype=np.float32)), constant("b", random.standard_normal(8, dtype=np.float32)),
               constant("v", random.standard_normal((3, 8), dtype=np.float32)), constant("flat", np.array([-1, 2], np.int64))]
    write("dense", nodes, [info("x", FLOAT, ["batch", 4])],
          [info("y", FLOAT, ["batch", 3]), info("shape", INT64, [2]), info("turned", FLOAT, [2, None])], weights)


def products():
    """Products whose weights are packed at load: a chain of MatMul, Gemm and two convolutions over x seen as images of 2 by 2."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["xw"]),
        helper.make_node("Gemm", ["xw", "v", "b"], ["xwv"], transB=1, alpha=0.5),
        helper.make_node("Reshape", ["xwv", "image"], ["images"]),
        helper.make_node("Conv", ["images", "k", "kb"], ["wide"], kernel_shape=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["wide", "l"], ["y"], kernel_shape=[1, 1]),
        helper.make_node("ConvTranspose", ["wide", "t"], ["z"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    random = np.random.default_rng(2)

    def weight(name, *shape):
        return constant(name, random.standard_normal(shape, dtype=np.float32))

    write("products", nodes, [info("x", FLOAT, ["batch", 4])], [info("y", FLOAT, ["batch", 2, 3, 3]), info("z", FLOAT, ["batch", 2, 6, 6])],
          [weight("w", 4, 8), weight("v", 4, 8), weight("b", 4), weight("k", 5, 1, 2, 2), weight("kb", 5), weight("l", 2, 5, 1, 1), weight("t", 5, 2, 2, 2),
           constant("image", np.array([-1, 1, 2, 2], np.int64))])


def control():
    """A loop that appends x * i to a sequence, and a branch on the number of rows: y = concat(x * 0, x * 1, x * 2), sign = +-x."""
    body = helper.make_graph(
        [helper.make_node("Cast", ["i"], ["factor"], to=FLOAT), helper.make_node("Mul", ["x", "factor"], ["scaled"]),
         helper.make_node("SequenceInsert", ["so_far", "scaled"], ["longer"]), helper.make_node("Identity", ["go"], ["go_on"])],
        "body",
        [info("i", INT64, []), info("go", BOOL, []), helper.make_tensor_sequence_value_info("so_far", FLOAT, None)],
        [info("go_on", BOOL, []), helper.make_tensor_sequence_value_info("longer", FLOAT, None)])
    plus = helper.make_graph([helper.make_node("Identity", ["x"], ["p"])], "plus", [], [info("p", FLOAT, ["batch", 4])])
    minus = helper.make_graph([helper.make_node("Neg", ["x"], ["m"])], "minus", [], [info("m", FLOAT, ["batch", 4])])
    nodes = [
        helper.make_node("SequenceEmpty", [], ["empty"]),
        helper.make_node("Loop", ["three", "", "empty"], ["all"], body=body),
        helper.make_node("ConcatFromSequence", ["all"], ["y"], axis=0),
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "first"], ["rows"]),
        helper.make_node("Less", ["rows", "three"], ["few"]),
        helper.make_node("If", ["few"], ["sign"], then_branch=plus, else_branch=minus),
    ]
    write("control", nodes, [info("x", FLOAT, ["batch", 4])], [info("y", FLOAT, [None, 4]), info("sign", FLOAT, ["batch", 4])],
          [constant("three", np.int64(3)), constant("first", np.int64(0))])


def moves():
    """Operators that only move elements, some folded at load, and a loop that builds a sequence: y = (x twice) turned, z = x three times."""
    body = helper.make_graph(
        [helper.make_node("SequenceInsert", ["so_far", "x"], ["longer"]), helper.make_node("Identity", ["go"], ["go_on"])], "body",
        [info("i", INT64, []), info("go", BOOL, []), helper.make_tensor_sequence_value_info("so_far", FLOAT, None)],
        [info("go_on", BOOL, []), helper.make_tensor_sequence_value_info("longer", FLOAT, None)])
    nodes = [
        helper.make_node("Concat", ["x", "x"], ["twice"], axis=1),
        helper.make_node("Concat", ["minus_one", "two"], ["flat"], axis=0),
        helper.make_node("Reshape", ["twice", "flat"], ["pairs"]),
        helper.make_node("Transpose", ["pairs"], ["turned"], perm=[1, 0]),
        helper.make_node("Pad", ["turned", "pads"], ["y"]),
        helper.make_node("SequenceEmpty", [], ["empty"]),
        helper.make_node("Loop", ["three", "", "empty"], ["all"], body=body),
        helper.make_node("ConcatFromSequence", ["all"], ["z"], axis=0),
        helper.make_node("Shape", ["z"], ["shape"]),
    ]
    write("moves", nodes, [info("x", FLOAT, ["batch", 4])], [info("y", FLOAT, [3, None]), info("z", FLOAT, [None, 4]), info("shape", INT64, [2])],
          [constant("minus_one", np.array([-1], np.int64)), constant("two", np.array([2], np.int64)), constant("pads", np.array([0, 0, 1, 0], np.int64)),
           constant("three", np.int64(3))])


identity()
moves()
products()
dense()
control()
