"""Attention that exporters write out in products, a softmax and transpositions is one node on a device, and computes the same."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ortcore as ort

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
pytestmark = pytest.mark.skipif(CUDA not in ort.get_available_providers(), reason="no device")
RNG = np.random.default_rng(3)
BATCH, LENGTH, HEADS, SIZE = 2, 6, 3, 8
HIDDEN = HEADS * SIZE


class Exported:
    """A model of one attention over x, with the choices that exporters differ in."""

    def __init__(self, symbols=True):
        self.nodes, self.weights, self.count = [], {}, 0
        self.shape = ["batch", "length", HIDDEN] if symbols else [BATCH, LENGTH, HIDDEN]

    def node(self, op, *inputs, **attrs):
        self.count += 1
        self.nodes.append(helper.make_node(op, list(inputs), [f"v{self.count}"], name=f"{op}_{self.count}", **attrs))
        return f"v{self.count}"

    def constant(self, array):
        name = f"c{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def project(self, x):
        return self.node("MatMul", x, self.constant(RNG.normal(0, 0.3, (HIDDEN, HIDDEN)).astype("f")))

    def split(self, x, perm):
        return self.node("Transpose", self.node("Reshape", x, self.constant(np.array([0, 0, HEADS, SIZE]))), perm=perm)

    def join(self, x):
        return self.node("Reshape", self.node("Transpose", x, perm=[0, 2, 1, 3]), self.constant(np.array([0, 0, HIDDEN])))

    def model(self, *outputs, **more):
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in {"x": self.shape, **more}.items() if shape]
        graph = helper.make_graph(self.nodes, "attention", inputs, [helper.make_tensor_value_info(output, TensorProto.FLOAT, None) for output in outputs],
                                  [numpy_helper.from_array(w, name) for name, w in self.weights.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


def results_and_ops(model, feeds, **options):
    session = ort.InferenceSession(model, providers=[CUDA, CPU], **options)
    return session.run(None, feeds), [node.op_type for node in session.explain()]


def check(model, feeds, expected):
    want = ort.InferenceSession(model, providers=[CPU]).run(None, feeds)
    _, ops = results_and_ops(model, feeds)
    for disabled in [], ["AttentionFusion"], ["AttentionHeadsFusion"], ["AttentionCacheFusion"]:
        results, _ = results_and_ops(model, feeds, disabled_optimizers=disabled)
        for result, expectation in zip(results, want, strict=False):
            np.testing.assert_allclose(result, expectation, rtol=1e-4, atol=1e-5)
    counted = {op: ops.count(op) for op in ("Attention", "Softmax", "Transpose", "Concat")}
    assert counted == {"Attention": 0, "Softmax": 0, "Transpose": 0, "Concat": 0} | expected, ops


def feeds(**more):
    return {"x": RNG.normal(0, 1, (BATCH, LENGTH, HIDDEN)).astype("f")} | more


@pytest.mark.parametrize("symbols", [True, False])
@pytest.mark.parametrize("keys", ["turned at once", "turned twice"])
@pytest.mark.parametrize("scale", ["divided", "multiplied", "of queries", "of both", "none"])
def test_heads_are_split_and_joined(symbols, keys, scale):
    m = Exported(symbols)
    q, v = m.split(m.project("x"), [0, 2, 1, 3]), m.split(m.project("x"), [0, 2, 1, 3])
    k = m.split(m.project("x"), [0, 2, 3, 1] if keys == "turned at once" else [0, 2, 1, 3])
    if keys == "turned twice":
        k = m.node("Transpose", k, perm=[0, 1, 3, 2])
    if scale in ("of queries", "of both"):
        q = m.node("Mul", q, m.constant(np.float32(0.4)))
    if scale == "of both":
        k = m.node("Mul", m.constant(np.float32(0.7)), k)
    scores = m.node("MatMul", q, k)
    if scale == "divided":
        scores = m.node("Div", scores, m.constant(np.float32(2.5)))
    if scale == "multiplied":
        scores = m.node("Mul", m.constant(np.float32(0.4)), scores)
    y = m.join(m.node("MatMul", m.node("Softmax", scores, axis=-1), v))
    check(m.model(y), feeds(), {"Attention": 1})


@pytest.mark.parametrize("shape", [(BATCH, 1, 1, LENGTH), (1, 1, LENGTH, LENGTH), (HEADS, LENGTH, LENGTH), (LENGTH,)], ids=str)
def test_a_mask_is_added(shape):
    m = Exported(symbols=False)
    q, k, v = (m.split(m.project("x"), perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    scores = m.node("Add", "mask", m.node("Mul", m.node("MatMul", q, k), m.constant(np.float32(0.35))))
    y = m.join(m.node("MatMul", m.node("Softmax", scores, axis=3), v))
    check(m.model(y, mask=shape), feeds(mask=RNG.normal(0, 2, shape).astype("f")), {"Attention": 1})


def test_heads_that_stay_apart():
    """Only the products and the softmax go; what reads heads gets heads."""
    m = Exported()
    q, k, v = (m.split(m.project("x"), perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    y = m.node("MatMul", m.node("Softmax", m.node("MatMul", q, k), axis=-1), v)
    check(m.model(y), feeds(), {"Attention": 1, "Transpose": 3})


@pytest.mark.parametrize("reason", ["probabilities are read elsewhere", "the mask may stretch", "the softmax is along queries", "a scale behind the mask"])
def test_what_is_no_attention_stays(reason):
    m = Exported(symbols=False)
    q, k, v = (m.split(m.project("x"), perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    scores, mask = m.node("MatMul", q, k), None
    if reason == "the mask may stretch":
        mask = (BATCH, 1, LENGTH, 1)
    if reason == "a scale behind the mask":
        mask = (LENGTH,)
    if mask:
        scores = m.node("Add", scores, "mask")
    if reason == "a scale behind the mask":
        scores = m.node("Mul", scores, m.constant(np.float32(0.5)))
    p = m.node("Softmax", scores, axis=2 if reason == "the softmax is along queries" else -1)
    y = m.node("MatMul", p, v)
    if reason == "probabilities are read elsewhere":
        y = m.node("Add", y, m.node("ReduceSum", p, m.constant(np.array([-1]))))
    more = {"mask": RNG.normal(0, 1, mask).astype("f")} if mask else {}
    check(m.model(y, mask=mask), feeds(**more), {"Softmax": 1, "Transpose": 3})


PAST = 5


@pytest.mark.parametrize("new", [1, LENGTH])
@pytest.mark.parametrize("presents", ["outputs", "not wanted", "read elsewhere"])
def test_past_keys_are_joined(new, presents):
    m = Exported()
    q, k, v = (m.split(m.project("x"), [0, 2, 1, 3]) for _ in range(3))
    keys, values = m.node("Concat", "past_key", k, axis=2), m.node("Concat", "past_value", v, axis=-2)
    scores = m.node("Div", m.node("MatMul", q, m.node("Transpose", keys, perm=[0, 1, 3, 2])), m.constant(np.float32(2.8)))
    y = m.join(m.node("MatMul", m.node("Softmax", scores, axis=-1), values))
    outputs = [y] if presents == "not wanted" else [y, keys, values]
    if presents == "read elsewhere":
        outputs[1:] = [m.node("Relu", keys), m.node("Relu", values)]
    past = {name: RNG.normal(0, 1, (BATCH, HEADS, PAST, SIZE)).astype("f") for name in ("past_key", "past_value")}
    shape = ["batch", HEADS, "past", SIZE]
    expected = {"Attention": 1, "Concat": 2, "Transpose": 4} if presents == "read elsewhere" else {"Attention": 1}
    check(m.model(*outputs, past_key=shape, past_value=shape), {"x": RNG.normal(0, 1, (BATCH, new, HIDDEN)).astype("f"), **past}, expected)
