"""If, Loop and Scan: bodies that use outer values, counts and conditions of every kind, results that are sequences."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from conformance.case import Seq, boolean, case, data, f32, ints

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


def batched_sums(directions):
    """What the specification's loops over items and elements compute; behind a sequence's end stand zeros."""
    def expected(lengths, start, x):
        states, sums = start.copy(), np.zeros_like(x)
        for item, n in enumerate(np.full(len(x), x.shape[1]) if lengths is None else lengths):
            for t in range(n):
                states[item] += x[item, n - 1 - t if directions == [1] else t]
                sums[item, t] = states[item]
        return states, sums
    return expected


JOIN = body([helper.make_node("Concat", ["a", "b"], ["y"], axis=0)], [value("a", FLOAT, [2]), value("b", FLOAT, [2])], [value("y", FLOAT, [4])])
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
    *[case("Scan", 8, [lengths, data((3, 2)), data((3, 4, 2), seed=1)], batched_sums(directions), id=name,
           attrs={"body": sum_scan(), "num_scan_inputs": 1, **({"directions": directions} if directions else {})})
      for name, lengths, directions in (("whole sequences", None, None), ("backwards", None, [1]), ("lengths", ints(4, 1, 3), None),
                                        ("the first is empty", ints(0, 2, 0), [0]), ("all are empty", ints(0, 0, 0), None),
                                        ("from each one's end", ints(2, 4, 3), [1]))],
    case("Scan", 8, [None, data((2, 3, 2)), data((2, 3, 2), seed=1)], np.concatenate([data((2, 3, 2)), data((2, 3, 2), seed=1)[:, ::-1]], axis=2),
         attrs={"body": JOIN, "num_scan_inputs": 2, "directions": [0, 1]}, id="both ways, no state"),
    case("Scan", 8, [None, data((0, 2)), data((0, 4, 2))], (np.zeros((0, 2), f32), np.zeros((0, 4, 2), f32)), id="no sequence",
         attrs={"body": sum_scan(), "num_scan_inputs": 1}),
    *[case("Scan", 8, [lengths, data((3, 2)), data(shape)], error=error, outputs=2, peer=False, id=f"refused: {error}",
           attrs={"body": sum_scan(), "num_scan_inputs": 1})
      for lengths, shape, error in ((ints(4, 1), (3, 4, 2), "one int64 for each of the 3"), (ints(4, 5, 1), (3, 4, 2), r"sequence_lens\[1\] is 5"),
                                    (ints(4, -1, 1), (3, 4, 2), r"sequence_lens\[1\] is -1"), (None, (2, 4, 2), "first axis of 2"),
                                    (None, (3,), r"\[batch, length"))],
    *[case("Scan", opset, [START, X], sums, attrs={"body": sum_scan(), "num_scan_inputs": 1}, id="sums") for opset in (9, 11, 16, 19, 21, 23, 25)],
    *[case("Scan", opset, [None, START, X] if opset == 8 else [START, X], error=f"2 outputs, which does not fit a Scan with 2 inputs.* of which {scans} are scanned",
           outputs=2, peer=False, id=f"refused: {scans} scan inputs", attrs={"body": sum_scan(), "num_scan_inputs": scans})
      for opset in (8, 11) for scans in (2**32 + 1, -(2**32) + 1, 0, 3)],
    case("Scan", 11, [START, X], lambda s, x: sums(s, x[::-1]), id="backwards",
         attrs={"body": sum_scan(), "num_scan_inputs": 1, "scan_input_directions": [1]}),
    case("Scan", 11, [START, X.T.copy()], lambda s, x: (sums(s, x.T)[0], sums(s, x.T)[1].T), id="along the second axis",
         attrs={"body": sum_scan(), "num_scan_inputs": 1, "scan_input_axes": [1], "scan_output_axes": [-1]}),
    case("If", 13, [np.zeros(2, boolean)], error="condition|one element|scalar", attrs=branches(constant_branch(np.float32(1)), constant_branch(np.float32(0))),
         id="condition of two elements"),
]
