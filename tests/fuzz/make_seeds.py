"""Makes the small models in seeds/ that the fuzz driver mutates: between them they use every message that the reader knows. Needs `onnx`.

    make_seeds.py              the files that are committed
    make_seeds.py FOLDER       models of every operator, from the conformance suite, for longer runs: fuzz_load_model FOLDER 3600
"""
import importlib
import pathlib
import pkgutil
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
FOLDER = pathlib.Path(__file__).parent / "seeds"


def info(name, shape=("n", 3), kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def write(name, nodes, inputs, outputs, initializers=(), functions=(), **graph_fields):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initializers), **graph_fields)
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=9, functions=list(functions), producer_name="seeds")
    helper.set_model_props(model, {"key": "value"})
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString())


def tensors():
    """Typed fields of every kind, raw data, strings, sparse and external tensors."""
    typed = [(FLOAT, [1.5, 2.5]), (TensorProto.DOUBLE, [1.5, 2.5]), (INT64, [1, -2]), (TensorProto.INT32, [1, -2]), (TensorProto.UINT8, [1, 2]), (BOOL, [1, 0]),
             (TensorProto.UINT64, [1, 2]), (TensorProto.FLOAT16, [1.5, 2.5]), (TensorProto.BFLOAT16, [1.5, 2.5]), (TensorProto.INT4, [1, -2]),
             (TensorProto.STRING, [b"a", b"bc"]), (TensorProto.COMPLEX64, [1 + 2j, 3j])]
    initializers = [helper.make_tensor(f"t{i}", kind, [2], values) for i, (kind, values) in enumerate(typed)]
    initializers.append(numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "raw"))
    external = numpy_helper.from_array(np.zeros(2, np.float32), "external")
    onnx.external_data_helper.set_external_data(external, "missing.bin", 0, 8)
    external.data_location = TensorProto.EXTERNAL
    sparse = helper.make_sparse_tensor(helper.make_tensor("sparse", FLOAT, [2], [1, 2]), helper.make_tensor("i", INT64, [2, 2], [0, 1, 2, 0]), [3, 2])
    nodes = [helper.make_node("MatMul", ["x", "sparse"], ["y"]), helper.make_node("Concat", ["t3", "t3"], ["z"], axis=0)]
    write("tensors", nodes, [info("x"), info("t0", [2])], [info("y", None), info("z", [4], TensorProto.INT32)], initializers, sparse_initializer=[sparse])
    write("external", [helper.make_node("Concat", ["external", "x"], ["y"], axis=0)], [info("x", [2])], [info("y", None)], [external])


def attributes():
    constants = {
        "value_float": 1.5, "value_int": 3, "value_floats": [1.0, 2.0], "value_ints": [1, 2], "value_string": "s", "value_strings": ["a", "b"],
        "value": numpy_helper.from_array(np.ones((3, 2), np.float32)),
        "sparse_value": helper.make_sparse_tensor(helper.make_tensor("v", FLOAT, [1], [1]), helper.make_tensor("i", INT64, [1], [2]), [4]),
    }
    nodes = [helper.make_node("Constant", [], [f"k_{name}"], **{name: value}) for name, value in constants.items()]
    nodes += [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0], name="turn"), helper.make_node("Gather", ["t", "k_value_ints"], ["g"], axis=0),
        helper.make_node("Optional", [], ["o"], type=helper.make_optional_type_proto(helper.make_tensor_type_proto(FLOAT, [2]))),
        helper.make_node("OptionalHasElement", ["o"], ["has"]),
        helper.make_node("SequenceConstruct", ["t", "t"], ["s"]), helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0),
        helper.make_node("Split", ["x"], ["p", "", "q"], axis=0, num_outputs=3),
    ]
    write("attributes", nodes, [info("x")], [info("y", None), info("has", [], BOOL)], value_info=[info("t", [3, "n"]), info("g", None)])


def control():
    """If in Loop in Scan, each with captures of all graphs around it."""
    deep = helper.make_graph([helper.make_node("Concat", ["row", "w", "state"], ["d"], axis=0)], "then", [], [info("d", None)])
    other = helper.make_graph([helper.make_node("Identity", ["w"], ["e"])], "else", [], [info("e", None)])
    loop_body = helper.make_graph(
        [helper.make_node("If", ["go_on"], ["picked"], then_branch=deep, else_branch=other),
         helper.make_node("Identity", ["go_on"], ["again"]),
         helper.make_node("Concat", ["carried", "picked"], ["grown"], axis=0)],
        "loop", [info("step", [], INT64), info("go_on", [], BOOL), info("carried", None)],
        [info("again", [], BOOL), info("grown", None), info("picked", None)])
    scan_body = helper.make_graph(
        [helper.make_node("Loop", ["trips", "yes", "row"], ["long", "stacked"], body=loop_body), helper.make_node("Identity", ["state"], ["next"])],
        "scan", [info("state", [3]), info("row", [3])], [info("next", [3]), info("long", None)])
    constants = {"w": np.ones(3, np.float32), "trips": np.array(2), "yes": np.array(True)}
    scan = helper.make_node("Scan", ["w", "x"], ["last", "y"], body=scan_body, num_scan_inputs=1)
    write("control", [scan], [info("x")], [info("y", None), info("last", [3])], [numpy_helper.from_array(x, name) for name, x in constants.items()])


def functions():
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    turn = helper.make_node("Transpose", ["a"], ["b"])
    reference = turn.attribute.add()
    reference.name, reference.ref_attr_name, reference.type = "perm", "order", onnx.AttributeProto.INTS
    inner = helper.make_function("local", "Inner", ["a"], ["b"], [turn], imports, ["order"])
    default = helper.make_attribute("times", 2)
    outer = helper.make_function(
        "local", "Outer", ["a", "missing"], ["c", "unused"],
        [helper.make_node("Inner", ["a"], ["t"], domain="local", order=[1, 0]), helper.make_node("Identity", ["t"], ["c"]),
         helper.make_node("Shape", ["t"], ["unused"])],
        imports, [], attribute_protos=[default])
    write("functions", [helper.make_node("Outer", ["x"], ["y"], domain="local", name="call"), helper.make_node("Outer", ["y", ""], ["z"], domain="local")],
          [info("x")], [info("y", None), info("z", None)], functions=[inner, outer])


def network():
    weights = {"conv": (4, 3, 3, 3), "gemm": (36, 5), "scale": (4,), "bias": (5,)}
    initializers = [numpy_helper.from_array(np.full(shape, 0.5, np.float32), name) for name, shape in weights.items()]
    initializers += [numpy_helper.from_array(np.array([0, -1]), "flat")]
    nodes = [
        helper.make_node("Conv", ["x", "conv"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "scale", "scale", "scale", "scale"], ["n"], epsilon=0.1), helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), helper.make_node("Reshape", ["p", "flat"], ["f"]),
        helper.make_node("Gemm", ["f", "gemm", "bias"], ["g"], alpha=0.5), helper.make_node("Softmax", ["g"], ["y"], axis=-1),
        helper.make_node("TopK", ["y", "k"], ["best", "index"]), helper.make_node("Shape", ["f"], ["shape"]),
    ]
    initializers.append(numpy_helper.from_array(np.array([2]), "k"))
    outputs = [info("y", None), info("best", None), info("index", None, INT64), info("shape", [2], INT64)]
    write("network", nodes, [info("x", ["n", 3, 6, 6])], outputs, initializers)


def types():
    sequence = helper.make_tensor_sequence_value_info("s", FLOAT, ["n"])
    mapping = helper.make_value_info("m", helper.make_map_type_proto(INT64, helper.make_tensor_type_proto(FLOAT, [])))
    optional = helper.make_value_info("o", helper.make_optional_type_proto(helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))))
    strings = info("t", ["n"], TensorProto.STRING)
    strings.type.denotation = "TEXT"
    strings.type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    outputs = [helper.make_tensor_sequence_value_info("s2", FLOAT, None), helper.make_value_info("o2", optional.type), info("t2", ["n"], TensorProto.STRING)]
    write("types", [helper.make_node("Identity", [name], [name + "2"]) for name in "sot"], [sequence, mapping, optional, strings], outputs)


def operators(folder):
    """Two cases of each operator and opset, their inputs fed and constant."""
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
    from conformance import cases
    from conformance.model import Shapes, build

    folder.mkdir(parents=True, exist_ok=True)
    seen, count = {}, 0
    for module in sorted(m.name for m in pkgutil.iter_modules(cases.__path__)):
        for case in importlib.import_module(f"{cases.__name__}.{module}").CASES:
            key = case.domain, case.op, case.opset
            seen[key] = seen.get(key, 0) + 1
            if seen[key] > 2 or case.error or case.output_types:
                continue
            for shapes in Shapes.FIXED, Shapes.CONSTANT:
                (folder / f"{count}.onnx").write_bytes(build(case, case.expected(), shapes)[0])
                count += 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        operators(pathlib.Path(sys.argv[1]))
        sys.exit()
    FOLDER.mkdir(exist_ok=True)
    for make in tensors, attributes, control, functions, network, types:
        make()
