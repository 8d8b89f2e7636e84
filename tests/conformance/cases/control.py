"""If, Loop and Scan: bodies that use outer values, counts and conditions of every kind, results that are sequences."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from conformance.case import Seq, boolean, case, data, f32

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name, kind, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, array):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(array)))


def branches(first, second):
    return {"then_branch": first, "else_branch": second}


def constant_branch(array, kind=FLOAT):
    return helper.make_graph([constant("r", array)], "constant", [], [value("r", kind)])


def body(nodes, inputs, outputs):
    return helper.make_graph(nodes, "body", inputs, outputs)


# Loop: (iteration, condition, carried...) -> (condition, carried..., scanned...)
def loop(nodes, carried=("a",), results=("a1",), kinds=(FLOAT,), condition="c", scanned=()):
    inputs = [value("i", INT64, []), value("c", BOOL, []), *(value(n, k) for n, k in zip(carried, kinds, strict=True))]
    outputs = [value("go", BOOL, []), *(value(n, k) for n, k in zip(results, kinds, strict=True)), *(value(n, FLOAT) for n in scanned)]
    return {"body": body([*nodes, helper.make_node("Identity", [condition], ["go"])], inputs, outputs)}


ADD_OUTER = [helper.make_node("Add", ["a", "a"], ["a1"])]
DOUBLE_AND_KEEP = [helper.make_node("Add", ["a", "a"], ["a1"]), helper.make_node("Identity", ["a1"], ["s"])]
UNTIL_LARGE = [helper.make_node("Add", ["a", "a"], ["a1"]), constant("limit", np.float32(100)),
               helper.make_node("ReduceMax", ["a1"], ["most"], keepdims=0), helper.make_node("Less", ["most", "limit"], ["small"])]
COUNT = [helper.make_node("Cast", ["i"], ["f"], to=FLOAT), helper.make_node("Add", ["a", "f"], ["a1"])]


def sum_scan():
    """Running sums: state + element -> state, and each state."""
    nodes = [helper.make_node("Add", ["s", "x"], ["s1"]), helper.make_node("Identity", ["s1"], ["y"])]
    return body(nodes, [value("s", FLOAT, [2]), value("x", FLOAT, [2])], [value("s1", FLOAT, [2]), value("y", FLOAT, [2])])


YES, NO = np.array(True), np.array(False)
X, START = data((3, 2)), data((2,), seed=1)


def sums(start, x):
    states = start + np.cumsum(x, axis=0)
    return states[-1], states


CASES = [
    *[case("If", opset, [c], lambda c: np.float32([1, 2]) if c else np.float32([3, 4]), id=f"constants {bool(c)}",
           attrs=branches(constant_branch(np.float32([1, 2])), constant_branch(np.float32([3, 4]))))
      for opset in (7, 11, 13, 16, 19, 21, 23, 25) for c in (YES, NO)],
    *[case("If", 16, [np.array([c])], np.float32(c), id=f"condition of one element {c}",
           attrs=branches(constant_branch(np.float32(1)), constant_branch(np.float32(0)))) for c in (True, False)],
    *[case("Loop", opset, [np.int64(n), YES, data((2, 2))], lambda n, c, a: (a * 2 ** n, (np.stack([a * 2 ** (k + 1) for k in range(n)]))),
           id=f"{n} turns", attrs=loop(DOUBLE_AND_KEEP, scanned=("s",))) for opset in (7, 11, 13, 16, 19, 21, 23, 25) for n in (1, 3)],
    case("Loop", 13, [np.int64(0), YES, data((2, 2))], lambda n, c, a: a, attrs=loop(ADD_OUTER), id="no turn"),
    case("Loop", 13, [np.int64(5), NO, data((2, 2))], lambda n, c, a: a, attrs=loop(ADD_OUTER), id="condition false at first"),
    case("Loop", 13, [None, YES, np.float32([1, 3])], np.float32([64, 192]), attrs=loop(UNTIL_LARGE, condition="small"), id="until a condition"),
    case("Loop", 13, [np.int64(4), None, np.float32([1])], np.float32([7]), attrs=loop(COUNT), id="no condition"),
    case("Loop", 16, [np.int64(3), YES, Seq([], f32)], Seq([np.float32(k) for k in range(3)]), id="a sequence grows", attrs={
        "body": body([helper.make_node("Identity", ["c"], ["go"]), helper.make_node("Cast", ["i"], ["f"], to=FLOAT),
                      helper.make_node("SequenceInsert", ["q", "f"], ["q1"])],
                     [value("i", INT64, []), value("c", BOOL, []), helper.make_tensor_sequence_value_info("q", FLOAT, None)],
                     [value("go", BOOL, []), helper.make_tensor_sequence_value_info("q1", FLOAT, None)])}),
    case("Scan", 8, [None, data((1, 2)), data((1, 3, 2))], error="Scan of opset 8.* is not supported", outputs=2, id="with a batch dimension",
         attrs={"body": sum_scan(), "num_scan_inputs": 1}),
    *[case("Scan", opset, [START, X], sums, attrs={"body": sum_scan(), "num_scan_inputs": 1}, id="sums") for opset in (9, 11, 16, 19, 21, 23, 25)],
    case("Scan", 11, [START, X], lambda s, x: sums(s, x[::-1]), id="backwards",
         attrs={"body": sum_scan(), "num_scan_inputs": 1, "scan_input_directions": [1]}),
    case("Scan", 11, [START, X.T.copy()], lambda s, x: (sums(s, x.T)[0], sums(s, x.T)[1].T), id="along the second axis",
         attrs={"body": sum_scan(), "num_scan_inputs": 1, "scan_input_axes": [1], "scan_output_axes": [-1]}),
    case("If", 13, [np.zeros(2, boolean)], error="condition|one element|scalar", attrs=branches(constant_branch(np.float32(1)), constant_branch(np.float32(0))),
         id="condition of two elements"),
]
