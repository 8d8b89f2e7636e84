"""Nets of convolutions give the same result whatever the layout and the algorithm: each is run unoptimised, and optimised with and without the
passes that turn images to channels last and use Winograd's algorithm."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ortcore as ort


class Net:
    """Collects nodes and weights; each method returns the name of its result."""

    def __init__(self, shape, seed=0):
        self.nodes, self.weights, self.shape, self.random = [], {}, shape, np.random.default_rng(seed)

    def node(self, op, *inputs, outputs=1, **attrs):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attrs))
        return names[0] if outputs == 1 else names

    def constant(self, value):
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(value)
        return name

    def conv(self, x, ins, outs, kernel=3, rank=2, op="Conv", **attrs):
        shape = (outs, ins // attrs.get("group", 1), *[kernel] * rank) if op == "Conv" else (ins, outs, *[kernel] * rank)
        weights = self.random.uniform(-1, 1, shape).astype(np.float32) / (ins * kernel**rank) ** 0.5
        attrs.setdefault("pads", [kernel // 2] * 2 * rank)
        return self.node(op, x, self.constant(weights), self.constant(self.random.uniform(-1, 1, outs).astype(np.float32)), **attrs)

    def model(self, *outputs, opset=18):
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        initializers = [numpy_helper.from_array(value, name) for name, value in self.weights.items()]
        graph = helper.make_graph(self.nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)], infos, initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10).SerializeToString()


def chain():
    """Pools, activations, a residual, and channel constants of every rank that broadcasts."""
    net = Net((2, 3, 32, 30))
    a = net.node("Relu", net.conv("x", 3, 32))
    b = net.node("MaxPool", a, kernel_shape=[2, 2], strides=[2, 2])
    c = net.node("Add", net.conv(net.node("HardSwish", net.conv(b, 32, 32)), 32, 32), b)
    d = net.node("Mul", c, net.constant(net.random.uniform(0.5, 1, (32, 1, 1)).astype(np.float32)))
    e = net.node("Add", d, net.constant(net.random.uniform(0.5, 1, (1, 32, 1, 1)).astype(np.float32)))
    f = net.node("PRelu", e, net.constant(np.full((32, 1, 1), 0.2, np.float32)))
    return net.model(net.node("Flatten", net.node("GlobalAveragePool", f)), f)


def squeeze_and_excite():
    net = Net((1, 3, 26, 28))
    a = net.node("Clip", net.conv("x", 3, 16), net.constant(np.float32(0)), net.constant(np.float32(6)))
    depthwise = net.conv(a, 16, 16, group=16)
    gate = net.node("HardSigmoid", net.conv(net.node("GlobalAveragePool", depthwise), 16, 16, kernel=1), alpha=0.2, beta=0.5)
    return net.model(net.conv(net.node("Mul", depthwise, gate), 16, 24, kernel=1))


def joins_and_splits():
    net = Net((1, 16, 16, 16))
    a = net.conv("x", 16, 32)
    left, right = net.node("Split", a, outputs=2, axis=1, num_outputs=2)
    low = net.node("AveragePool", right, kernel_shape=[2, 2], strides=[2, 2])
    high = net.node("Resize", low, "", net.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest")
    joined = net.node("Concat", left, high, "x", axis=1)
    part = net.node("Slice", joined, net.constant(np.array([4, 2])), net.constant(np.array([40, 14])), net.constant(np.array([1, 2])))
    soft = net.node("Softmax", net.conv(part, 36, 16), axis=1)
    return net.model(net.node("ReduceMean", soft, net.constant(np.array([2, 3])), keepdims=1), soft)


def upwards():
    net = Net((1, 8, 9, 11))
    a = net.node("LeakyRelu", net.conv("x", 8, 16), alpha=0.1)
    b = net.conv(a, 16, 16, kernel=2, op="ConvTranspose", strides=[2, 2], pads=[0, 0, 0, 0])
    return net.model(net.node("Sigmoid", net.conv(b, 16, 16)), net.node("Transpose", a, perm=[0, 2, 3, 1]))


def low_images():
    """The last pool's window is larger than the image."""
    net = Net((1, 3, 4, 40))
    a = net.node("MaxPool", net.conv("x", 3, 32), kernel_shape=[4, 2], strides=[4, 2])
    return net.model(net.node("AveragePool", net.conv(a, 32, 32), kernel_shape=[3, 2], strides=[3, 2]), a)


def one_dimension():
    net = Net((2, 4, 50))
    a = net.node("Relu", net.conv("x", 4, 16, rank=1))
    return net.model(net.node("GlobalMaxPool", net.conv(a, 16, 16, rank=1)), a)


def with_a_branch():
    """A value of the chain is used inside a subgraph, which sees the image as the model means it."""
    net = Net((1, 3, 14, 14))
    a = net.node("Relu", net.conv("x", 3, 16))
    inner, other = (helper.make_graph([helper.make_node(op, [a], [op], keepdims=0)], op, [], [helper.make_tensor_value_info(op, TensorProto.FLOAT, None)])
                    for op in ("ReduceSum", "ReduceMax"))
    b = net.node("If", net.node("Greater", net.node("ReduceMax", "x", keepdims=0), net.constant(np.float32(100))), then_branch=inner, else_branch=other)
    return net.model(net.node("Add", net.conv(a, 16, 16), b))


def make_session(model, level=ort.GraphOptimizationLevel.ORT_ENABLE_ALL, disabled=()):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"], disabled_optimizers=list(disabled))


def run(model, feeds, level, disabled=()):
    return make_session(model, level, disabled).run(None, feeds)


@pytest.mark.parametrize("build", [chain, squeeze_and_excite, joins_and_splits, upwards, low_images, one_dimension, with_a_branch])
@pytest.mark.parametrize("disabled", [(), ("Winograd",), ("ChannelsLast",)], ids=["all", "direct", "plain"])
def test_layouts_agree(build, disabled):
    model = build()
    shape = [d.dim_value for d in onnx.load_from_string(model).graph.input[0].type.tensor_type.shape.dim]
    feeds = {"x": np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)}
    expected = run(model, feeds, ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    for got, want in zip(run(model, feeds, ort.GraphOptimizationLevel.ORT_ENABLE_ALL, disabled), expected, strict=True):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=5e-5)


# ---- Bytes that move only to change a layout are counted ----------------------------------------------------------------------------------

FLOATS = 4
WITH_ONEDNN = "oneDNN" in ort.get_build_info()
needs_onednn = pytest.mark.skipif(not WITH_ONEDNN, reason="without oneDNN nothing is turned to channels last")


def reordered(session, runs=1, **feeds):
    before = session.stats()["total"]["bytes_reordered"]
    for _ in range(runs):
        session.run(None, feeds)
    latest, total = session.stats()["latest"]["bytes_reordered"], session.stats()["total"]["bytes_reordered"]
    assert total == before + runs * latest
    return latest


def zeros(*shape):
    return np.zeros(shape, np.float32)


@needs_onednn
def test_each_inserted_transpose_counts():
    """Into the chain and out of it; what joins the chain in the middle moves nothing."""
    net = Net(("n", 3, 26, 28))
    a = net.node("Relu", net.conv("x", 3, 16))
    session = make_session(net.model(net.node("Mul", net.conv(a, 16, 24), net.constant(np.full((24, 1, 1), 2, np.float32)))))
    pixels = 26 * 28 * FLOATS
    for images in (1, 2, 1):
        assert reordered(session, 3, x=zeros(images, 3, 26, 28)) == images * (3 + 24) * pixels
    # A value that is read in both layouts is transposed back once.
    net = Net((1, 3, 26, 28))
    a = net.conv("x", 3, 16)
    assert reordered(make_session(net.model(a, net.conv(a, 16, 24))), x=zeros(1, 3, 26, 28)) == (3 + 16 + 24) * pixels


@needs_onednn
def test_a_transpose_of_the_models_own_is_no_reorder():
    net = Net((1, 20, 20, 8))
    out = net.node("Transpose", net.conv(net.node("Transpose", "x", perm=[0, 3, 1, 2]), 8, 16), perm=[0, 2, 3, 1])
    assert reordered(make_session(net.model(out)), x=zeros(1, 20, 20, 8)) == 0
    net = Net((1, 8, 20, 20))
    out = net.node("Transpose", net.conv("x", 8, 16), perm=[3, 2, 1, 0])          # joined with the one out of the chain
    assert reordered(make_session(net.model(out)), x=zeros(1, 8, 20, 20)) == 8 * 20 * 20 * FLOATS


@needs_onednn
def test_shapes_known_only_at_run_time_count_too():
    net = Net((1, 3, 40, 40))
    rows = net.node("Cast", net.node("ReduceMax", "x", keepdims=0), to=TensorProto.INT64)
    cut = net.node("Slice", "x", net.constant(np.array([0])), net.node("Reshape", rows, net.constant(np.array([1]))), net.constant(np.array([2])))
    session = make_session(net.model(net.conv(cut, 3, 16)))
    for height in (20, 20, 30):
        assert reordered(session, x=np.full((1, 3, 40, 40), height, np.float32)) == (3 + 16) * height * 40 * FLOATS


@needs_onednn
def test_the_count_survives_a_written_model(tmp_path):
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    net = Net((1, 3, 26, 28))
    first = ort.InferenceSession(net.model(net.conv("x", 3, 16)), options)
    again = make_session(options.optimized_model_filepath)
    assert reordered(again, x=zeros(1, 3, 26, 28)) == reordered(first, x=zeros(1, 3, 26, 28)) > 0


@needs_onednn
def test_onednn_reorders_plain_images_itself():
    """Without the pass oneDNN takes the image into a layout of its own and back, padded to whole blocks."""
    net = Net((1, 16, 26, 28))
    session = make_session(net.model(net.conv("x", 16, 32)), disabled=["ChannelsLast"])
    assert reordered(session, 2, x=zeros(1, 16, 26, 28)) == (16 + 32) * 26 * 28 * FLOATS


def test_small_convolutions_products_and_elementwise_graphs_reorder_nothing():
    net = Net((1, 3, 6, 6))
    assert reordered(make_session(net.model(net.conv("x", 3, 4)), disabled=["ChannelsLast"]), x=zeros(1, 3, 6, 6)) == 0
    net = Net((64, 96))
    hidden = net.node("Relu", net.node("Gemm", "x", net.constant(zeros(96, 128)), net.constant(zeros(128))))
    assert reordered(make_session(net.model(net.node("MatMul", hidden, net.constant(zeros(128, 16))))), x=zeros(64, 96)) == 0
    net = Net((2, 64, 96))                                     # attention: both operands of the products are computed
    keys = net.node("Transpose", net.node("MatMul", "x", net.constant(zeros(96, 96))), perm=[0, 2, 1])
    scores = net.node("Softmax", net.node("MatMul", "x", keys), axis=-1)
    assert reordered(make_session(net.model(net.node("MatMul", scores, "x"))), x=zeros(2, 64, 96)) == 0
