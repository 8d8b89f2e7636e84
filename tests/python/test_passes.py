"""Every rewrite proves itself here: small models give the same results with and without it, and the nodes that run are the expected ones."""
import json

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ortcore as ort

RNG = np.random.default_rng(7)
F32, FLOAT = np.float32, TensorProto.FLOAT

needs_onednn = pytest.mark.skipif("oneDNN" not in ort.get_build_info(), reason="without oneDNN nothing is turned to channels last")


def randn(*shape, dtype=F32):
    return RNG.standard_normal(shape).astype(dtype)


class Model:
    """Collects nodes; values that are arrays become initializers."""

    def __init__(self, opset=17, **inputs):
        self.opset, self.feeds, self.nodes, self.constants = opset, inputs, [], {}
        self.symbols = {}

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def __call__(self, op, *inputs, outputs=1, domain="", **attrs):
        names = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        made = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, names, made, name=made[0], domain=domain, **attrs))
        return made[0] if outputs == 1 else made

    def build(self, *outputs):
        def info(name, array):
            shape = self.symbols.get(name, list(array.shape))
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape)

        graph = helper.make_graph(
            self.nodes, "passes", [info(name, x) for name, x in self.feeds.items()],
            [helper.make_value_info(name, helper.make_tensor_type_proto(t, None)) for name, t in outputs],
            [numpy_helper.from_array(x, name) for name, x in self.constants.items()])
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=9).SerializeToString()


def run(model, feeds, tmp_path, level=ort.GraphOptimizationLevel.ORT_ENABLE_ALL, disabled=None):
    """Outputs, and the operators that ran, in order."""
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "trace")
    session = ort.InferenceSession(model, options, disabled_optimizers=disabled)
    results = session.run(None, feeds)
    with open(session.end_profiling(), encoding="utf-8") as file:
        events = json.load(file)
    return results, [e["args"]["op_name"] for e in events if e.get("args", {}).get("op_name")]


def check(m, output, tmp_path, expected, tolerance=1e-4, element=TensorProto.FLOAT):
    """Without and with passes, and with some of them switched off, results agree; before layouts are chosen, the nodes are `expected`."""
    model = m.build((output, element))
    plain, _ = run(model, m.feeds, tmp_path, ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    optimised, ops = run(model, m.feeds, tmp_path, ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED)
    np.testing.assert_allclose(optimised[0], plain[0], rtol=tolerance, atol=tolerance)
    arranged, _ = run(model, m.feeds, tmp_path)
    np.testing.assert_allclose(arranged[0], plain[0], rtol=tolerance, atol=tolerance)
    assert optimised[0].dtype == plain[0].dtype
    assert ops == expected
    for name in ["ConstantFolding", "NoopElimination", "ConvBNFusion", "ProductSumFusion", "ProductActivationFusion"]:
        partial, _ = run(model, m.feeds, tmp_path, disabled=[name])
        np.testing.assert_allclose(partial[0], plain[0], rtol=tolerance, atol=tolerance, err_msg=f"without {name}")


def conv(m, x="x", channels=4, out=6, dtype=F32, bias=True, **attrs):
    weights = randn(out, channels, 3, 3, dtype=dtype)
    return m("Conv", x, weights, *([randn(out, dtype=dtype)] if bias else []), pads=[1, 1, 1, 1], **attrs)


def image(dtype=F32):
    return randn(2, 4, 7, 5, dtype=dtype)


# ---- Folding and nodes that do nothing


def test_constants_are_folded(tmp_path):
    m = Model(x=randn(2, 3))
    folded = m("Transpose", m("Concat", randn(1, 3), randn(1, 3), axis=0), perm=[1, 0])
    check(m, m("MatMul", "x", folded), tmp_path, ["MatMul"])


def test_noops_go(tmp_path):
    m = Model(x=randn(2, 3))
    v = m("Identity", "x")
    v = m("Transpose", v, perm=[0, 1])
    v = m("Reshape", v, np.array([2, 3]))
    v = m("Dropout", v)
    v = m("Slice", v, np.array([0]), np.array([100]), np.array([0]))
    v = m("Pad", v, np.zeros(4, np.int64))
    v = m("Concat", v, axis=0)
    check(m, m("MatMul", v, randn(3, 2)), tmp_path, ["MatMul"])


def test_a_noop_may_be_all_there_is(tmp_path):
    m = Model(x=randn(2, 3))
    check(m, m("Identity", "x"), tmp_path, ["Identity"])


def test_symbolic_dims_prove_a_reshape_useless(tmp_path):
    m = Model(x=randn(5, 3))
    m.symbols["x"] = ["n", 3]
    v = m("Reshape", "x", np.array([-1, 3]))
    check(m, m("MatMul", v, randn(3, 2)), tmp_path, ["MatMul"])


@pytest.mark.parametrize("steps", [1, -1])
def test_a_slice_backwards_is_no_noop(tmp_path, steps):
    m = Model(x=randn(4, 3))
    start, end = (0, 100) if steps == 1 else (-1, -100)
    v = m("Slice", "x", np.array([start]), np.array([end]), np.array([0]), np.array([steps]))
    check(m, m("MatMul", v, randn(3, 2)), tmp_path, ["MatMul"] if steps == 1 else ["Slice", "MatMul"])


def test_negative_zero_survives(tmp_path):
    m = Model(x=np.array([-0.0, 0.0, np.nan, np.inf], F32))
    v = m("Add", "x", np.zeros(1, F32))
    for op, neutral in ("Mul", 1), ("Div", 1), ("Sub", 0):
        v = m(op, v, np.array([neutral], F32))
    model = m.build((v, TensorProto.FLOAT))
    (result,), ops = run(model, m.feeds, tmp_path)
    assert ops == ["Add"]
    assert list(np.signbit(result)[:2]) == [False, False]
    assert np.isnan(result[2]) and np.isinf(result[3])


def test_transposes_and_reshapes_join(tmp_path):
    m = Model(x=randn(2, 3, 4))
    v = m("Transpose", m("Transpose", "x", perm=[1, 2, 0]), perm=[0, 2, 1])
    v = m("Reshape", m("Reshape", v, np.array([6, 4])), np.array([3, -1]))
    check(m, v, tmp_path, ["Transpose", "Reshape"])


# ---- Convolutions


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_batch_norm_goes_into_the_convolution(tmp_path, bias, dtype):
    m = Model(x=image(dtype))
    v = conv(m, bias=bias, dtype=dtype)
    v = m("BatchNormalization", v, randn(6, dtype=dtype), randn(6, dtype=dtype), randn(6, dtype=dtype), abs(randn(6, dtype=dtype)), epsilon=1e-3)
    check(m, v, tmp_path, ["Conv"], 1e-4, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


@pytest.mark.parametrize("shape", [(6, 1, 1), (1, 6, 1, 1), (1,), ()])
@pytest.mark.parametrize("op", ["Mul", "Add"])
def test_channelwise_arithmetic_goes_into_the_convolution(tmp_path, op, shape):
    m = Model(x=image())
    check(m, m(op, randn(*shape), conv(m)), tmp_path, ["Conv"])


def test_arithmetic_along_other_axes_stays(tmp_path):
    m = Model(x=randn(1, 4, 6, 6))
    check(m, m("Mul", conv(m), randn(6, 1)), tmp_path, ["Conv", "Mul"])


def test_a_convolution_read_twice_stays(tmp_path):
    m = Model(x=image())
    v = conv(m)
    check(m, m("Concat", v, m("Mul", v, randn(6, 1, 1)), axis=1), tmp_path, ["Conv", "Mul", "Concat"])


ACTIVATIONS = {
    "Relu": {}, "Sigmoid": {}, "Tanh": {}, "LeakyRelu": {"alpha": 0.2}, "Elu": {"alpha": 0.5}, "HardSigmoid": {"alpha": 0.3}, "HardSwish": {},
}


@pytest.mark.parametrize("op", ACTIVATIONS)
@pytest.mark.parametrize("kind", ["Conv", "MatMul", "Gemm"])
def test_activations_follow_the_product(tmp_path, kind, op):
    m = Model(x=image() if kind == "Conv" else randn(3, 4))
    v = conv(m) if kind == "Conv" else m(kind, "x", randn(4, 5), *([randn(5)] if kind == "Gemm" else []))
    check(m, m(op, v, **ACTIVATIONS[op]), tmp_path, ["FusedConv" if kind == "Conv" else "FusedMatMul"])


def test_clip_needs_both_bounds(tmp_path):
    m = Model(x=image())
    check(m, m("Clip", conv(m), np.array(-0.5, F32), np.array(0.5, F32)), tmp_path, ["FusedConv"])
    m = Model(x=image())
    check(m, m("Clip", conv(m), np.array(-0.5, F32)), tmp_path, ["Conv", "Clip"])


def test_a_residual_and_its_activation(tmp_path):
    m = Model(x=image())
    check(m, m("Relu", m("Add", "x", conv(m, out=4))), tmp_path, ["FusedConv"])


def test_of_two_convolutions_the_later_one_takes_the_sum(tmp_path):
    m = Model(x=image())
    check(m, m("Relu", m("Add", conv(m), conv(m))), tmp_path, ["Conv", "FusedConv"])


def test_a_sum_that_broadcasts_stays(tmp_path):
    m = Model(x=image(), y=randn(1, 6, 1, 5))
    check(m, m("Add", "y", conv(m)), tmp_path, ["Conv", "Add"])


# ---- Matrix products


def test_a_bias_and_a_residual(tmp_path):
    m = Model(x=randn(2, 3, 4), y=randn(2, 3, 5))
    check(m, m("Add", m("Add", m("MatMul", "x", randn(4, 5)), randn(5)), "y"), tmp_path, ["FusedMatMul"])


def test_a_bias_of_a_symbolic_batch(tmp_path):
    m = Model(x=randn(2, 3, 4))
    m.symbols["x"] = ["batch", "length", 4]
    check(m, m("Add", randn(5), m("MatMul", "x", randn(4, 5))), tmp_path, ["FusedMatMul"])


@pytest.mark.parametrize("shape, fuses", [((1, 5), True), ((1, 1, 5), True), ((2, 1, 5), False), ((3, 5), False), ((1, 1), False), ((1, 1, 1, 5), False)])
def test_a_bias_may_have_leading_ones(tmp_path, shape, fuses):
    """As scikit-learn's converter writes it; but not more dims than the product has."""
    m = Model(x=randn(2, 3, 4))
    check(m, m("Relu", m("Add", m("MatMul", "x", randn(4, 5)), randn(*shape))), tmp_path, ["FusedMatMul"] if fuses else ["MatMul", "Add", "Relu"])


def test_a_scaled_bias_is_not_touched(tmp_path):
    m = Model(x=randn(3, 4), y=randn(3, 5))
    check(m, m("Add", m("Gemm", "x", randn(4, 5), randn(5), beta=0.5), "y"), tmp_path, ["Gemm", "Add"])


@pytest.mark.parametrize("op", ["Mul", "Div"])
def test_scales_become_alpha(tmp_path, op):
    m = Model(x=randn(2, 3, 4), y=randn(2, 4, 5))
    check(m, m(op, m("MatMul", "x", "y"), np.array(0.125, F32)), tmp_path, ["FusedMatMul"])


def test_integers_are_left_alone(tmp_path):
    m = Model(x=np.arange(6, dtype=np.int64).reshape(2, 3))
    v = m("Add", m("MatMul", "x", np.ones((3, 2), np.int64)), np.ones(2, np.int64))
    check(m, v, tmp_path, ["MatMul", "Add"], 0, TensorProto.INT64)


@pytest.mark.parametrize("side", [0, 1])
def test_transpositions_go_into_the_product(tmp_path, side):
    shapes = [(2, 4, 3), (2, 4, 5)] if side == 0 else [(2, 3, 4), (2, 5, 4)]
    m = Model(x=randn(*shapes[0]), y=randn(*shapes[1]))
    operands = ["x", "y"]
    operands[side] = m("Transpose", operands[side], perm=[0, 2, 1])
    check(m, m("MatMul", *operands), tmp_path, ["FusedMatMul"])


# ---- Functions written out


def test_gelu(tmp_path):
    for order in range(2):
        m = Model(x=randn(3, 4))
        term = m("Add", m("Erf", m("Div", "x", np.array(np.sqrt(2), F32))), np.array(1, F32))
        half = np.array(0.5, F32)
        v = m("Mul", m("Mul", "x", term), half) if order else m("Mul", m("Mul", "x", half), term)
        check(m, v, tmp_path, ["Gelu"], 1e-5)


def test_swish(tmp_path):
    m = Model(x=image())
    v = conv(m)
    check(m, m("Mul", v, m("Sigmoid", v)), tmp_path, ["FusedConv"])


@pytest.mark.parametrize("order", [0, 1])
def test_hard_swish(tmp_path, order):
    m = Model(x=randn(3, 4))
    clipped = m("Clip", m("Add", "x", np.array(3, F32)), np.array(0, F32), np.array(6, F32))
    six = np.array(6, F32)
    check(m, m("Div", m("Mul", "x", clipped), six) if order else m("Mul", "x", m("Div", clipped, six)), tmp_path, ["HardSwish"])


def layer_norm(m, x, square):
    axes = {"axes": [-1]} if m.opset < 18 else {}
    axis = [] if m.opset < 18 else [np.array([-1])]
    centred = m("Sub", x, m("ReduceMean", x, *axis, **axes))
    squared = m("Pow", centred, np.array(2, F32)) if square == "Pow" else m("Mul", centred, centred)
    variance = m("ReduceMean", squared, *axis, **axes)
    normal = m("Div", centred, m("Sqrt", m("Add", variance, np.array(1e-5, F32))))
    return m("Add", m("Mul", normal, randn(8)), randn(8))


@pytest.mark.parametrize("opset", [13, 18])
@pytest.mark.parametrize("square", ["Pow", "Mul"])
def test_layer_norm(tmp_path, square, opset):
    m = Model(opset, x=randn(2, 3, 8))
    check(m, layer_norm(m, "x", square), tmp_path, ["LayerNormalization"])


# ---- Affine arithmetic


def batch_norm(m, x, channels):
    return m("BatchNormalization", x, randn(channels), randn(channels), randn(channels), abs(randn(channels)) + F32(0.5))


@needs_onednn
def test_a_batch_norm_between_convolutions_lies_channels_last(tmp_path):
    """BatchNormalization, Mul and Add become one Mul and one Add, and no transpose stands between the convolutions."""
    m = Model(x=image())
    v = m("MaxPool", conv(m), kernel_shape=[2, 2])
    v = m("Relu", m("Add", m("Mul", batch_norm(m, v, 6), randn(6, 1, 1)), randn(6, 1, 1)))
    v = conv(m, v, channels=6)
    model = m.build((v, TensorProto.FLOAT))
    plain, _ = run(model, m.feeds, tmp_path, ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    arranged, ops = run(model, m.feeds, tmp_path)
    np.testing.assert_allclose(arranged[0], plain[0], rtol=1e-4, atol=1e-4)
    assert [op for op in ops if op != "Transpose"] == ["FusedConv", "MaxPool", "Mul", "Add", "Relu", "FusedConv"]


@needs_onednn
@pytest.mark.parametrize("scales", [1, 4])
def test_quantised_images_lie_channels_last(tmp_path, scales):
    m = Model(x=image())
    scale = np.full(scales if scales > 1 else (), 0.02, F32)
    zero = np.zeros(scale.shape, np.int8)
    v = conv(m, out=4)
    v = m("DequantizeLinear", m("QuantizeLinear", v, scale, zero, axis=1), scale, zero, axis=1)
    v = conv(m, v)
    model = m.build((v, TensorProto.FLOAT))
    plain, _ = run(model, m.feeds, tmp_path, ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    arranged, ops = run(model, m.feeds, tmp_path)
    np.testing.assert_allclose(arranged[0], plain[0], rtol=1e-4, atol=5e-2)
    assert [op for op in ops if op != "Transpose"] == ["FusedConv", "QuantizeLinear", "DequantizeLinear", "FusedConv"]
    assert ops.count("Transpose") <= 2


def test_chains_of_constants_join(tmp_path):
    m = Model(x=randn(2, 3))
    v = "x"
    for op in "Mul", "Mul", "Add", "Add", "Mul", "Add":
        v = m(op, v, randn(3))
    check(m, v, tmp_path, ["Mul", "Add"])


def test_integer_chains_stay(tmp_path):
    m = Model(x=np.arange(6, dtype=np.int64).reshape(2, 3))
    v = m("Mul", m("Mul", "x", np.array([3])), np.array([5]))
    check(m, v, tmp_path, ["Mul", "Mul"], 0, TensorProto.INT64)


# ---- Quantised products


def has_vnni():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return "avx512_vnni" in file.read()
    except OSError:
        return False


def int8(*shape):
    return RNG.integers(-127, 127, shape).astype(np.int8)


@pytest.mark.skipif(not has_vnni(), reason="bytes are multiplied where the processor has instructions for it")
@pytest.mark.parametrize("kind", ["MatMul", "Gemm"])
@pytest.mark.parametrize("scales", [(), (5,)])
def test_dequantised_operands_are_multiplied_as_bytes(tmp_path, kind, scales):
    m = Model(x=randn(3, 4))
    scale, zero = np.array(0.02, F32), np.array(3, np.uint8)
    a = m("DequantizeLinear", m("QuantizeLinear", "x", scale, zero), scale, zero)
    b = m("DequantizeLinear", int8(4, 5), np.full(scales, 0.01, F32), np.zeros(scales, np.int8), axis=1)
    v = m("Gemm", a, b, randn(5)) if kind == "Gemm" else m("Add", m("MatMul", a, b), randn(5))
    check(m, v, tmp_path, ["QuantizeLinear", "MatMulIntegerToFloat"])


@pytest.mark.skipif(not has_vnni(), reason="bytes are multiplied where the processor has instructions for it")
@pytest.mark.parametrize("order", [0, 1])
def test_dynamically_quantised_products(tmp_path, order):
    m = Model(x=randn(2, 3, 4))
    quantised, scale, zero = m("DynamicQuantizeLinear", "x", outputs=3)
    product = m("Cast", m("MatMulInteger", quantised, int8(4, 5), zero, np.array(0, np.int8)), to=FLOAT)
    weight_scale = np.array(0.01, F32)
    factor = m("Mul", weight_scale, scale) if order else m("Mul", scale, weight_scale)
    v = m("Mul", factor, product) if order else m("Mul", product, factor)
    check(m, m("Add", v, randn(5)), tmp_path, ["DynamicQuantizeLinear", "MatMulIntegerToFloat"])


def test_dequantised_rows_stay(tmp_path):
    """A scale for each row of the second matrix cannot be applied after the product."""
    m = Model(x=randn(3, 4))
    scale, zero = np.array(0.02, F32), np.array(3, np.uint8)
    a = m("DequantizeLinear", m("QuantizeLinear", "x", scale, zero), scale, zero)
    b = m("DequantizeLinear", int8(4, 4), np.full(4, 0.01, F32), np.zeros(4, np.int8), axis=0)
    check(m, m("MatMul", a, b), tmp_path, ["QuantizeLinear", "DequantizeLinear", "MatMul"])


# ---- Targets of Reshape -----------------------------------------------------------------------------------------------------------------


def dims_of(m, x, *places):
    """What exporters make of x.shape[i]."""
    shape = m("Shape", x)
    return [m("Unsqueeze", m("Gather", shape, np.int64(place), axis=0), np.array([0])) for place in places]


def check_shapes_read(m, output, tmp_path, count):
    """The result stays, and so many nodes ask for a shape. (Where dims are known, the plan has answered them: they do not run.)"""
    check(m, output, tmp_path, ["Reshape", "Relu"])
    session = ort.InferenceSession(m.build((output, FLOAT)))
    assert [op for _, op, *_ in session._sess.nodes()].count("Shape") == count


def test_dims_of_the_input_become_zeros(tmp_path):
    m = Model(x=randn(2, 5, 12))
    m.symbols = {"x": ["N", "L", 12]}
    target = m("Concat", *dims_of(m, "x", 0, -2), np.array([3, 4]), axis=0)
    check_shapes_read(m, m("Relu", m("Reshape", "x", target)), tmp_path, 0)


def test_dims_with_the_same_symbol_become_zeros(tmp_path):
    m = Model(x=randn(2, 5, 12), y=randn(5, 2))
    m.symbols = {"x": ["N", "L", 12], "y": ["L", "N"]}
    target = m("Concat", *dims_of(m, "y", 1), np.array([-1]), axis=0)
    check_shapes_read(m, m("Relu", m("Reshape", "x", target)), tmp_path, 0)


def test_dims_that_move_are_computed(tmp_path):
    m = Model(x=randn(2, 5, 12))
    m.symbols = {"x": ["N", "L", 12]}
    target = m("Concat", *dims_of(m, "x", 1, 0), np.array([12]), axis=0)
    check_shapes_read(m, m("Relu", m("Reshape", "x", target)), tmp_path, 1)


# ---- Twins


def twins(m, output, tmp_path, element=TensorProto.FLOAT):
    """Operators that run with all passes, and with twins left apart; both give what the model says."""
    model = m.build((output, element))
    plain, _ = run(model, m.feeds, tmp_path, ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    merged, ops = run(model, m.feeds, tmp_path)
    apart, all_ops = run(model, m.feeds, tmp_path, disabled=["CommonSubexpressionElimination"])
    for got in (merged, apart):
        np.testing.assert_allclose(got[0], plain[0], rtol=1e-6)
    return ops, all_ops


def test_what_is_computed_twice_is_computed_once(tmp_path):
    m = Model(x=randn(2, 3))
    a, b = (m("ReduceMean", m("Softmax", "x", axis=1), axes=[1], keepdims=1) for _ in range(2))
    ops, apart = twins(m, m("Concat", a, m("Neg", b), axis=0), tmp_path)
    assert ops == ["Softmax", "ReduceMean", "Neg", "Concat"] and len(apart) == 6


def test_twins_of_several_outputs_become_one(tmp_path):
    """The activations of query, key and value are quantised once."""
    m = Model(x=randn(4, 8))
    products = []
    for _ in range(3):
        q, scale, zero = m("DynamicQuantizeLinear", "x", outputs=3)
        sums = m("Cast", m("MatMulInteger", q, RNG.integers(-9, 9, (8, 5)).astype(np.int8), zero), to=FLOAT)
        products.append(m("Mul", sums, m("Mul", scale, np.float32(0.1))))
    ops, apart = twins(m, m("Concat", *products, axis=1), tmp_path)
    assert ops.count("DynamicQuantizeLinear") == 1 and apart.count("DynamicQuantizeLinear") == 3


def test_other_attributes_inputs_and_chance_are_no_twins(tmp_path):
    m = Model(x=randn(3, 3))
    parts = [m("Softmax", "x", axis=0), m("Softmax", "x", axis=1), m("Sub", "x", np.ones(3, F32)), m("Sub", np.ones(3, F32), "x")]
    ops, _ = twins(m, m("Concat", *parts, axis=0), tmp_path)
    assert len(ops) == 5
    m = Model(x=randn(64, 64))
    dropped = [m("RandomUniformLike", "x", seed=float(i)) for i in range(2)] + [m("RandomNormalLike", "x") for _ in range(2)]
    model = m.build((m("Concat", *dropped, axis=0), FLOAT))
    results, _ = run(model, m.feeds, tmp_path)
    chunks = np.split(results[0], 4)
    assert all(not np.array_equal(chunks[i], chunks[j]) for i in range(4) for j in range(i))


def test_outputs_of_the_graph_stay_two(tmp_path):
    m = Model(x=randn(2, 3))
    model = m.build((m("Exp", "x"), FLOAT), (m("Exp", "x"), FLOAT))
    results, _ = run(model, m.feeds, tmp_path)
    assert len(results) == 2 and np.array_equal(results[0], results[1])


def test_a_twin_that_a_subgraph_reads(tmp_path):
    m = Model(x=randn(2, 3), c=np.array(True))
    a, b = m("Exp", "x"), m("Exp", "x")
    branch = lambda name, op: helper.make_graph([helper.make_node(op, [b], [name])], name, [], [helper.make_tensor_value_info(name, FLOAT, None)])
    ops, apart = twins(m, m("Add", m("If", "c", then_branch=branch("t", "Neg"), else_branch=branch("e", "Abs")), m("Neg", a)), tmp_path)
    assert (ops.count("Exp"), apart.count("Exp")) == (1, 2)
