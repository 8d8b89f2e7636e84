"""Networks like those that people run, made small: weights are random but always the same, so that a test needs no download."""
import numpy as np
from onnx import TensorProto as P
from onnx import helper as h

from .models import model, value


class Net:
    """Nodes and weights as they are added; names are numbered."""

    def __init__(self, seed):
        self.random, self.nodes, self.weights = np.random.default_rng(seed), [], {}

    def weight(self, *shape, scale=None, offset=0.0):
        """A random tensor whose products keep the size of what they multiply."""
        scale = scale or 1 / np.sqrt(np.prod(shape[1:]) or 1)
        return self.constant((offset + self.random.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def ints(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def add(self, op, *inputs, outputs=1, name=None, **attributes):
        names = name or [f"{op.lower()}{len(self.nodes)}_{i}" for i in range(outputs)]
        names = [names] if isinstance(names, str) else names
        self.nodes.append(h.make_node(op, inputs, names, name=f"{op}_{len(self.nodes)}", **attributes))
        return names[0] if len(names) == 1 else names


# ---- A residual network: a stem, a block that keeps the shape and one that halves the image, a classifier

def conv_norm(net, x, channels, outs, kernel, stride=1):
    x = net.add("Conv", x, net.weight(outs, channels, kernel, kernel), kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4)
    return net.add("BatchNormalization", x, net.weight(outs, scale=0.1, offset=1), net.weight(outs, scale=0.1), net.weight(outs, scale=0.1),
                   net.constant(net.random.uniform(0.5, 1.5, outs).astype(np.float32)))


def residual_block(net, x, channels, outs, stride):
    y = net.add("Relu", conv_norm(net, x, channels, outs, 3, stride))
    y = conv_norm(net, y, outs, outs, 3)
    shortcut = x if channels == outs and stride == 1 else conv_norm(net, x, channels, outs, 1, stride)
    return net.add("Relu", net.add("Add", y, shortcut))


def resnet(classes=10, width=8):
    """logits [N, classes] of x [N, 3, 32, 32]"""
    net = Net(1)
    x = net.add("Relu", conv_norm(net, "x", 3, width, 7, 2))
    x = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = residual_block(net, x, width, width, 1)
    x = residual_block(net, x, width, 2 * width, 2)
    x = net.add("Flatten", net.add("GlobalAveragePool", x))
    net.add("Gemm", x, net.weight(classes, 2 * width), net.weight(classes, scale=0.1), name="logits", transB=1)
    return model(net.nodes, [value("x", P.FLOAT, ["N", 3, 32, 32])], [value("logits", P.FLOAT, ["N", classes])], net.weights)


# ---- A step of a language model: tokens, and the keys and values of those before them

LAYERS, WIDTH, HEADS, VOCABULARY, CONTEXT = 2, 32, 4, 50, 16


def linear(net, x, ins, outs):
    return net.add("Add", net.add("MatMul", x, net.weight(ins, outs, scale=1 / np.sqrt(ins))), net.weight(outs, scale=0.1))


def norm(net, x, width=WIDTH):
    return net.add("LayerNormalization", x, net.weight(width, scale=0.1, offset=1), net.weight(width, scale=0.1), axis=-1, epsilon=1e-5)


def gelu(net, x):
    """By the hyperbolic tangent, as exporters write it."""
    number = lambda v: net.constant(np.float32(v))
    cubic = net.add("Add", x, net.add("Mul", net.add("Pow", x, number(3)), number(0.044715)))
    bent = net.add("Add", net.add("Tanh", net.add("Mul", cubic, number(np.sqrt(2 / np.pi)))), number(1))
    return net.add("Mul", net.add("Mul", x, number(0.5)), bent)


def attention(net, x, past, present, allowed):
    """past, present: [2, batch, heads, tokens, width of a head]; allowed: [tokens, tokens with those before]"""
    split_heads = lambda v, order: net.add("Transpose", net.add("Reshape", v, net.ints(0, 0, HEADS, WIDTH // HEADS)), perm=order)
    query, key, new = net.add("Split", linear(net, x, WIDTH, 3 * WIDTH), outputs=3, axis=2, num_outputs=3)
    old_key, old = net.add("Split", past, outputs=2, axis=0, num_outputs=2)
    key = net.add("Concat", net.add("Squeeze", old_key, net.ints(0)), split_heads(key, [0, 2, 1, 3]), axis=2)
    new = net.add("Concat", net.add("Squeeze", old, net.ints(0)), split_heads(new, [0, 2, 1, 3]), axis=2)
    net.add("Concat", net.add("Unsqueeze", key, net.ints(0)), net.add("Unsqueeze", new, net.ints(0)), axis=0, name=present)
    scores = net.add("MatMul", split_heads(query, [0, 2, 1, 3]), net.add("Transpose", key, perm=[0, 1, 3, 2]))
    scores = net.add("Div", scores, net.constant(np.float32(np.sqrt(WIDTH // HEADS))))
    scores = net.add("Softmax", net.add("Where", allowed, scores, net.constant(np.float32(-10000))), axis=-1)
    joined = net.add("Transpose", net.add("MatMul", scores, new), perm=[0, 2, 1, 3])
    return linear(net, net.add("Reshape", joined, net.ints(0, 0, WIDTH)), WIDTH, WIDTH)


def gpt2_step():
    """logits [batch, tokens, vocabulary] and present_0, present_1, of ids [batch, tokens] and past_0, past_1"""
    net = Net(2)
    length = lambda x, axis: net.add("Slice", net.add("Shape", x), net.ints(axis), net.ints(axis + 1))
    before, tokens = length("past_0", 3), length("ids", 1)
    total, embeddings = net.add("Add", before, tokens), net.weight(VOCABULARY, WIDTH, scale=0.5)
    allowed = net.constant(np.tril(np.ones((CONTEXT, CONTEXT), bool)))
    allowed = net.add("Slice", net.add("Slice", allowed, before, total, net.ints(0)), net.ints(0), total, net.ints(1))
    places = net.add("Slice", net.weight(CONTEXT, WIDTH, scale=0.5), before, total, net.ints(0))
    x = net.add("Add", net.add("Gather", embeddings, "ids"), places)
    for layer in range(LAYERS):
        x = net.add("Add", x, attention(net, norm(net, x), f"past_{layer}", f"present_{layer}", allowed))
        x = net.add("Add", x, linear(net, gelu(net, linear(net, norm(net, x), WIDTH, 4 * WIDTH)), 4 * WIDTH, WIDTH))
    net.add("MatMul", norm(net, x), net.add("Transpose", embeddings, perm=[1, 0]), name="logits")
    cache = lambda name, tokens: value(name, P.FLOAT, [2, "batch", HEADS, tokens, WIDTH // HEADS])
    return model(net.nodes, [value("ids", P.INT64, ["batch", "tokens"]), *[cache(f"past_{i}", "before") for i in range(LAYERS)]],
                 [value("logits", P.FLOAT, ["batch", "tokens", VOCABULARY]), *[cache(f"present_{i}", "total") for i in range(LAYERS)]], net.weights)


def empty_past(batch):
    return {f"past_{i}": np.zeros((2, batch, HEADS, 0, WIDTH // HEADS), np.float32) for i in range(LAYERS)}


# ---- An encoder of two layers, and perceptrons

def erf_gelu(net, x):
    bent = net.add("Add", net.add("Erf", net.add("Div", x, net.constant(np.float32(np.sqrt(2))))), net.constant(np.float32(1)))
    return net.add("Mul", net.add("Mul", x, bent), net.constant(np.float32(0.5)))


def self_attention(net, x, width, heads):
    split = lambda v, order: net.add("Transpose", net.add("Reshape", v, net.ints(0, 0, heads, width // heads)), perm=order)
    scores = net.add("MatMul", split(linear(net, x, width, width), [0, 2, 1, 3]), split(linear(net, x, width, width), [0, 2, 3, 1]))
    scores = net.add("Softmax", net.add("Div", scores, net.constant(np.float32(np.sqrt(width // heads)))), axis=-1)
    joined = net.add("Transpose", net.add("MatMul", scores, split(linear(net, x, width, width), [0, 2, 1, 3])), perm=[0, 2, 1, 3])
    return linear(net, net.add("Reshape", joined, net.ints(0, 0, width)), width, width)


def bert_tiny(width=128, heads=2, layers=2, vocabulary=1000):
    """y [batch, tokens, width] of ids [batch, tokens]"""
    net = Net(3)
    x = norm(net, net.add("Gather", net.weight(vocabulary, width, scale=1), "ids"), width)
    for _ in range(layers):
        x = norm(net, net.add("Add", self_attention(net, x, width, heads), x), width)
        x = norm(net, net.add("Add", linear(net, erf_gelu(net, linear(net, x, width, 4 * width)), 4 * width, width), x), width)
    net.add("Identity", x, name="y")
    return model(net.nodes, [value("ids", P.INT64, ["batch", "tokens"])], [value("y", P.FLOAT, ["batch", "tokens", width])], net.weights)


def mlp(*widths, dtype=np.float32):
    """y [N, last width] of x [N, first width]: products with biases, and a Relu between them"""
    net, kind = Net(4), h.np_dtype_to_tensor_dtype(np.dtype(dtype))
    layers, x = list(zip(widths, widths[1:], strict=False)), "x"
    for i, (ins, outs) in enumerate(layers):
        weight, bias = (net.constant(net.random.standard_normal(shape).astype(dtype) / dtype(np.sqrt(ins))) for shape in ((ins, outs), (outs,)))
        x = net.add("Gemm", x, weight, bias, **({"name": "y"} if i == len(layers) - 1 else {}))
        x = net.add("Relu", x) if i < len(layers) - 1 else x
    return model(net.nodes, [value("x", kind, ["N", widths[0]])], [value("y", kind, ["N", widths[-1]])], net.weights)
