"""Networks for benchmarks on a GPU, made here with random weights: ResNet-50, BERT-base, one step of GPT-2, and small ones of the same kinds."""
import dataclasses
from collections.abc import Callable

import numpy as np
from onnx import TensorProto, helper, numpy_helper

COPY_PEAK_BYTES = 2 * (64 << 20) * 2                        # read and written by the network copy_peak in float16


def numpy_type(text):
    return {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64}[text]


class Builder:
    """A graph that grows node by node, and counts the operations of its products and convolutions."""

    def __init__(self, dtype):
        self.dtype, self.random, self.nodes, self.weights, self.inputs, self.flops = np.dtype(dtype), np.random.default_rng(0), [], [], [], 0

    def element(self, integers=False):
        return TensorProto.INT64 if integers else helper.np_dtype_to_tensor_dtype(self.dtype)

    def input(self, name, shape, integers=False):
        self.inputs.append(helper.make_tensor_value_info(name, self.element(integers), shape))
        return name

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *shape, scale=None):
        fan_in = np.prod(shape[1:]) if len(shape) == 4 else shape[0]
        return self.constant((self.random.standard_normal(shape) * (scale or fan_in ** -0.5)).astype(self.dtype))

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def op(self, kind, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def product(self, a, b, rows, inner, columns, batch=1):
        self.flops += 2 * batch * rows * inner * columns
        return self.op("MatMul", a, b)

    def linear(self, x, rows, inner, columns):
        return self.op("Add", self.product(x, self.weight(inner, columns), rows, inner, columns), self.weight(columns, scale=0.1))

    def model(self, outputs):
        infos = [helper.make_tensor_value_info(name, self.element(), shape) for name, shape in outputs.items()]
        graph = helper.make_graph(self.nodes, "network", self.inputs, infos, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


# ---- Convolutions

def conv(b, x, size, channels, filters, kernel=1, stride=1, relu=True):
    out = size // stride
    b.flops += 2 * filters * channels * kernel * kernel * out * out
    x = b.op("Conv", x, b.weight(filters, channels, kernel, kernel), b.weight(filters, scale=0.1), kernel_shape=[kernel] * 2, strides=[stride] * 2,
             pads=[kernel // 2] * 4)
    return b.op("Relu", x) if relu else x


def bottleneck(b, x, size, channels, width, stride):
    y = conv(b, x, size, channels, width)
    y = conv(b, y, size, width, width, 3, stride)
    y = conv(b, y, size // stride, width, 4 * width, relu=False)
    if stride > 1 or channels != 4 * width:
        x = conv(b, x, size, channels, 4 * width, 1, stride, relu=False)
    return b.op("Relu", b.op("Add", y, x))


def resnet(b, size, stages, first):
    x = conv(b, b.input("x", [1, 3, size, size]), size, 3, first, 7, 2)
    x = b.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    size, channels = size // 4, first
    for stage, blocks in enumerate(stages):
        width = first << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            x = bottleneck(b, x, size, channels, width, stride)
            size, channels = size // stride, 4 * width
    x = b.op("Flatten", b.op("GlobalAveragePool", x))
    return {b.linear(x, 1, channels, 1000): [1, 1000]}


# ---- Transformers

def split_heads(b, x, rows, heads, width):
    return b.op("Transpose", b.op("Reshape", x, b.ints(1, rows, heads, width)), perm=[0, 2, 1, 3])


def attention(b, x, rows, heads, width, past=0, mask=None):
    hidden, outputs = heads * width, {}
    q, k, v = (split_heads(b, b.linear(x, rows, hidden, hidden), rows, heads, width) for _ in range(3))
    if past:
        layer = len(b.inputs) // 2
        k, v = (b.op("Concat", b.input(f"past_{kind}_{layer}", [1, heads, past, width]), now, axis=2) for kind, now in (("key", k), ("value", v)))
        outputs = {k: [1, heads, past + rows, width], v: [1, heads, past + rows, width]}
    scores = b.product(q, b.op("Transpose", k, perm=[0, 1, 3, 2]), rows, width, past + rows, heads)
    scores = b.op("Mul", scores, b.constant(np.array(width ** -0.5, b.dtype)))
    if mask is not None:
        scores = b.op("Add", scores, mask)
    y = b.product(b.op("Softmax", scores, axis=-1), v, rows, past + rows, width, heads)
    y = b.op("Reshape", b.op("Transpose", y, perm=[0, 2, 1, 3]), b.ints(1, rows, hidden))
    return b.linear(y, rows, hidden, hidden), outputs


def norm(b, x, hidden):
    return b.op("LayerNormalization", x, b.constant(np.ones(hidden, b.dtype)), b.constant(np.zeros(hidden, b.dtype)), axis=-1, epsilon=1e-5)


def feed_forward(b, x, rows, hidden):
    return b.linear(b.op("Gelu", b.linear(x, rows, hidden, 4 * hidden)), rows, 4 * hidden, hidden)


def bert(b, layers, heads, width, rows, words):
    hidden = heads * width
    x = b.op("Gather", b.weight(words, hidden, scale=0.02), b.input("ids", [1, rows], integers=True))
    x = norm(b, b.op("Add", x, b.weight(rows, hidden, scale=0.02)), hidden)
    for _ in range(layers):
        x = norm(b, b.op("Add", x, attention(b, x, rows, heads, width)[0]), hidden)
        x = norm(b, b.op("Add", x, feed_forward(b, x, rows, hidden)), hidden)
    return {x: [1, rows, hidden]}


def gpt2(b, layers, heads, width, past, words):
    """One token against a cache of `past` ones."""
    hidden, caches = heads * width, {}
    words_table = b.weight(words, hidden, scale=0.02)
    x = b.op("Add", b.op("Gather", words_table, b.input("ids", [1, 1], integers=True)), b.weight(1, hidden, scale=0.02))
    for _ in range(layers):
        y, cache = attention(b, norm(b, x, hidden), 1, heads, width, past)
        caches |= cache
        x = b.op("Add", x, y)
        x = b.op("Add", x, feed_forward(b, norm(b, x, hidden), 1, hidden))
    logits = b.product(norm(b, x, hidden), b.op("Transpose", words_table, perm=[1, 0]), 1, hidden, words)
    return {logits: [1, 1, words]} | caches


# ---- What a card can do

def product_peak(b):
    return {b.product(b.input("a", [8192, 8192]), b.input("b", [8192, 8192]), 8192, 8192, 8192): [8192, 8192]}


def copy_peak(b):
    return {b.op("Neg", b.input("x", [64 << 20])): [64 << 20]}


@dataclasses.dataclass(frozen=True)
class Network:
    build: Callable
    arguments: tuple = ()

    def model(self, dtype):
        b = Builder(dtype)
        return b.model(self.build(b, *self.arguments))

    def flops(self):
        b = Builder(np.float16)
        self.build(b, *self.arguments)
        return b.flops

    def feeds(self, dtype):
        b, random = Builder(dtype), np.random.default_rng(1)
        self.build(b, *self.arguments)
        feeds = {}
        for info in b.inputs:
            shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
            integers = info.type.tensor_type.elem_type == TensorProto.INT64
            feeds[info.name] = random.integers(0, 50, shape) if integers else random.standard_normal(shape).astype(dtype)
        return feeds


NETWORKS = {
    "resnet50": Network(resnet, (224, (3, 4, 6, 3), 64)),
    "bert_base": Network(bert, (12, 12, 64, 128, 30522)),
    "gpt2_step": Network(gpt2, (12, 12, 64, 512, 50257)),
    "tiny_resnet": Network(resnet, (32, (1, 1), 8)),
    "tiny_bert": Network(bert, (2, 2, 16, 16, 64)),
    "tiny_gpt2": Network(gpt2, (2, 2, 16, 8, 64)),
    "product_peak": Network(product_peak),
    "copy_peak": Network(copy_peak),
}
