"""Chains of elementwise nodes become one launch on a GPU, and compute what the nodes would have: on the GPU, and on the CPU, which interprets the
same program."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ortcore as ort

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
pytestmark = pytest.mark.skipif(CUDA not in ort.get_available_providers(), reason="no GPU, and ORTCORE_CUDA is not 'emulated'")

F32, F16 = np.float32, np.float16
RNG = np.random.default_rng(11)


def randn(*shape, dtype=F32):
    return RNG.standard_normal(shape).astype(dtype)


def make(nodes, inputs, constants=(), outputs=("y",), element=TensorProto.FLOAT):
    """A model from lines "y = Op a b", inputs being arrays by name."""
    made = []
    for line in nodes:
        target, call = line.split(" = ")
        op, *names = call.split()
        attributes = dict(pair.split("=") for pair in names if "=" in pair)
        made.append(helper.make_node(op, [n for n in names if "=" not in n], [target], **{k: float(v) for k, v in attributes.items()}))
    info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in inputs.items()]
    results = [helper.make_value_info(n, helper.make_tensor_type_proto(element, None)) for n in outputs]
    graph = helper.make_graph(made, "chain", info, results, [numpy_helper.from_array(np.asarray(a), n) for n, a in dict(constants).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9).SerializeToString()


def check(model, feeds, tmp_path, nodes, rtol=1e-5):
    """The GPU runs `nodes` nodes, and the results are those of the unoptimised model on the CPU, as are those of the fused model on the CPU."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    plain = ort.InferenceSession(model, options, providers=[CPU]).run(None, feeds)
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "fused.onnx")
    fused = ort.InferenceSession(model, options, providers=[CUDA, CPU])
    on_cpu = ort.InferenceSession(options.optimized_model_filepath, providers=[CPU])
    for got in fused.run(None, feeds), on_cpu.run(None, feeds):
        for a, b in zip(got, plain, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol, rtol, equal_nan=True)
    import onnx

    saved = onnx.load(options.optimized_model_filepath).graph
    left = [n.op_type for n in saved.node if not n.op_type.startswith("Memcpy")]
    assert len(left) == nodes, left


def test_a_chain_with_a_row_and_numbers(tmp_path):
    x, bias = randn(3, 5, 7), randn(7)
    model = make(["a = Add x bias", "b = Mul a half", "c = Tanh b", "d = Sub one c", "y = Div d x"], {"x": x}, {"bias": bias, "half": F32(0.5), "one": F32(1)})
    check(model, {"x": x}, tmp_path, 1)


def test_a_value_read_twice_is_kept(tmp_path):
    x = randn(4, 9)
    model = make(["a = Mul x two", "s = Sigmoid a", "t = Tanh a", "u = Mul s t", "y = Add u a"], {"x": x}, {"two": F32(2)})
    check(model, {"x": x}, tmp_path, 1)


def test_channels_and_rows_broadcast(tmp_path):
    x, scale, shift, z = randn(2, 3, 5, 7), randn(3, 1, 1), randn(1, 3, 1, 1), randn(2, 1, 5, 1)
    model = make(["a = Mul x scale", "b = Add a shift", "c = LeakyRelu b alpha=0.2", "y = Max c z"], {"x": x, "z": z}, {"scale": scale, "shift": shift})
    check(model, {"x": x, "z": z}, tmp_path, 1)


def test_truths_choose(tmp_path):
    x, z = randn(6, 11), randn(6, 11)
    x[0, 0], z[1, 1] = np.nan, np.inf
    nodes = ["p = Less x z", "q = IsNaN x", "r = Or p q", "s = Not r", "a = Where s x z", "y = Clip a low high"]
    model = make(nodes, {"x": x, "z": z}, {"low": F32(-1), "high": F32(1)})
    check(model, {"x": x, "z": z}, tmp_path, 1)


def test_halves_are_computed_in_float(tmp_path):
    x, bias = randn(5, 33, dtype=F16), randn(33, dtype=F16)
    model = make(["a = Add x bias", "b = Exp a", "y = Neg b"], {"x": x}, {"bias": bias}, element=TensorProto.FLOAT16)
    check(model, {"x": x}, tmp_path, 1, rtol=4e-3)                 # the nodes, each by itself, round more often


def test_what_others_read_stays(tmp_path):
    x = randn(4, 6)
    model = make(["a = Exp x", "b = Neg a", "y = Abs b", "z = Sqrt a"], {"x": x}, outputs=("y", "z"))
    check(model, {"x": x}, tmp_path, 3)


def test_smaller_operands_are_not_computed_again_and_again(tmp_path):
    x, row = randn(4, 6), randn(6)
    model = make(["a = Exp row", "b = Add x a", "y = Abs b"], {"x": x, "row": row})
    check(model, {"x": x, "row": row}, tmp_path, 2)


def test_more_inputs_than_a_program_has(tmp_path):
    inputs = {f"x{i}": randn(3, 4) for i in range(14)}
    lines = ["s0 = Add x0 x1"] + [f"s{i} = Add s{i - 1} x{i + 1}" for i in range(1, 12)] + ["y = Add s11 x13"]
    check(make(lines, inputs), inputs, tmp_path, 2)


def test_switched_off(tmp_path):
    x = randn(3, 3)
    session = ort.InferenceSession(make(["a = Exp x", "y = Neg a"], {"x": x}), providers=[CUDA, CPU], disabled_optimizers=["ElementwiseFusion"])
    np.testing.assert_allclose(session.run(None, {"x": x})[0], -np.exp(x), 1e-5)
