"""Quantised images stay bytes: fused nets give what the floats between DequantizeLinear and QuantizeLinear give, to one step of the result."""
import json

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ortcore as ort

WITH_ONEDNN = "oneDNN" in ort.get_build_info()


class Net:
    """Collects nodes and constants. A quantised value is (name of the bytes, scale, zero point)."""

    def __init__(self, seed=0):
        self.nodes, self.constants, self.random = [], {}, np.random.default_rng(seed)

    def node(self, op, *inputs, **attrs):
        made = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [x if isinstance(x, str) else self.constant(x) for x in inputs], [made], **attrs))
        return made

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def quantise(self, x, scale, zero_point):
        scale, zero_point = self.constant(np.float32(scale)), self.constant(zero_point)
        return self.node("QuantizeLinear", x, scale, zero_point), scale, zero_point

    def dequantise(self, q):
        return self.node("DequantizeLinear", *q)

    def conv(self, x, ins, outs, kernel=3, x_scale=0.05, by_channel=True, bias=True, bias_scale=1, w_zero_point=0, **attrs):
        shape = (outs, ins // attrs.get("group", 1), kernel, kernel)
        scale = (self.random.uniform(0.001, 0.004, outs) if by_channel else np.array(0.002)).astype(np.float32)
        codes, zeros = self.random.integers(-127, 128, shape).astype(np.int8), np.full(scale.shape, w_zero_point, np.int8)
        inputs = [self.dequantise(x), self.node("DequantizeLinear", codes, scale, zeros, axis=0)]
        if bias:
            sums = self.random.integers(-2000, 2000, outs).astype(np.int32)
            units = np.broadcast_to(np.float32(x_scale) * scale * np.float32(bias_scale), outs if by_channel else ())
            inputs.append(self.node("DequantizeLinear", sums, units, np.zeros(units.shape, np.int32), axis=0))
        return self.node("Conv", *inputs, pads=[kernel // 2] * 4, **attrs)

    def model(self, shape, *outputs):
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        initializers = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], infos, initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


def run(model, x, level, tmp_path, disabled=()):
    """Outputs, and how often each operator ran."""
    options = ort.SessionOptions()
    options.graph_optimization_level, options.enable_profiling, options.profile_file_prefix = level, True, str(tmp_path / "trace")
    session = ort.InferenceSession(model, options, disabled_optimizers=list(disabled))
    results = session.run(None, {"x": x})
    with open(session.end_profiling(), encoding="utf-8") as file:
        names = [e["args"]["op_name"] for e in json.load(file) if "op_name" in e.get("args", {})]
    return results, {name: names.count(name) for name in set(names)}


def check(net, shape, output, scale, tmp_path, expected, steps=1):
    """`expected`: how often operators run in the optimised net, where oneDNN is there."""
    model, x = net.model(shape, output), np.random.default_rng(3).uniform(-2, 2, shape).astype(np.float32)
    (plain,), _ = run(model, x, ort.GraphOptimizationLevel.ORT_DISABLE_ALL, tmp_path)
    (whole,), counts = run(model, x, ort.GraphOptimizationLevel.ORT_ENABLE_ALL, tmp_path)
    (direct,), _ = run(model, x, ort.GraphOptimizationLevel.ORT_ENABLE_ALL, tmp_path, ["ChannelsLast"])
    for fused in (whole, direct):
        assert fused.shape == plain.shape and np.ptp(plain) > 20 * scale
        off = np.abs(fused - plain) / scale
        assert off.max() < steps + 0.01 and (off > 0.01).mean() < 0.02
    if WITH_ONEDNN:
        assert {op: counts.get(op, 0) for op in expected} == expected


ZERO_POINTS = [np.uint8(0), np.uint8(9), np.int8(0), np.int8(-128), np.int8(-5)]


@pytest.mark.parametrize("x_zero", ZERO_POINTS)
@pytest.mark.parametrize("y_zero", ZERO_POINTS)
@pytest.mark.parametrize("relu", [False, True])
def test_a_convolution(tmp_path, x_zero, y_zero, relu):
    net = Net()
    sums = net.conv(net.quantise("x", 0.05, x_zero), 16, 32)
    if relu:
        sums = net.node("Relu", sums)
    output = net.dequantise(net.quantise(sums, 0.02, y_zero))
    fuses = not relu or y_zero == np.iinfo(y_zero.dtype).min     # otherwise the Relu cuts above the least byte
    check(net, (2, 16, 13, 12), output, 0.02, tmp_path, {"QLinearConv": int(fuses)})


@pytest.mark.parametrize("how", [{"by_channel": False}, {"bias": False}, {"group": 4}, {"group": 16}, {"strides": [2, 2]}, {"kernel": 1},
                                 {"dilations": [2, 2]}], ids=str)
def test_kinds_of_convolutions(tmp_path, how):
    net = Net()
    output = net.dequantise(net.quantise(net.conv(net.quantise("x", 0.05, np.uint8(3)), 16, 32, **how), 0.02, np.int8(1)))
    check(net, (1, 16, 21, 20), output, 0.02, tmp_path, {"QLinearConv": 1})


@pytest.mark.parametrize("how", [{"bias_scale": 2}, {"w_zero_point": 4}], ids=str)
def test_what_bytes_cannot_do_stays_float(tmp_path, how):
    net = Net()
    output = net.dequantise(net.quantise(net.conv(net.quantise("x", 0.05, np.uint8(3)), 16, 32, **how), 0.05, np.int8(1)))
    check(net, (1, 16, 12, 12), output, 0.05, tmp_path, {"QLinearConv": 0})


def test_a_sum_that_others_read_stays(tmp_path):
    net = Net()
    sums = net.conv(net.quantise("x", 0.05, np.uint8(3)), 16, 32)
    output = net.node("Add", net.dequantise(net.quantise(sums, 0.02, np.int8(1))), net.node("Mul", sums, np.float32(0)))
    check(net, (1, 16, 12, 12), output, 0.02, tmp_path, {"QLinearConv": 0})


@pytest.mark.parametrize("a_zero, b_zero, y_zero", [(np.int8(0), np.int8(0), np.uint8(0)), (np.uint8(7), np.int8(-3), np.int8(5)),
                                                    (np.int8(2), np.uint8(0), np.uint8(128))])
@pytest.mark.parametrize("relu", [False, True])
def test_a_sum(tmp_path, a_zero, b_zero, y_zero, relu):
    net = Net()
    total = net.node("Add", net.dequantise(net.quantise("x", 0.03, a_zero)), net.dequantise(net.quantise(net.node("Neg", "x"), 0.0137, b_zero)))
    if relu:
        total = net.node("Relu", total)
    output = net.dequantise(net.quantise(total, 0.01, y_zero))
    fuses = not relu or y_zero == np.iinfo(y_zero.dtype).min
    check(net, (2, 3, 13, 12), output, 0.01, tmp_path, {"QLinearAdd": int(fuses)})


@pytest.mark.parametrize("other_scale", [False, True])
def test_a_pool(tmp_path, other_scale):
    net = Net()
    q = net.quantise("x", 0.02, np.int8(3))
    pooled = net.node("MaxPool", net.dequantise(q), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    output = net.dequantise(net.quantise(pooled, 0.05 if other_scale else 0.02, np.int8(3)))
    check(net, (1, 4, 13, 13), output, 0.02, tmp_path, {"MaxPool": 1, "DequantizeLinear": 1 + other_scale}, steps=0 if not other_scale else 3)


def test_a_residual_block_stays_bytes_and_channels_last(tmp_path):
    net = Net()
    x = net.quantise("x", 0.05, np.uint8(30))
    a = net.quantise(net.node("Relu", net.conv(x, 16, 32, strides=[2, 2])), 0.02, np.uint8(0))
    b = net.quantise(net.conv(a, 32, 32, x_scale=0.02), 0.03, np.int8(0))
    skip = net.quantise(net.conv(x, 16, 32, kernel=1, strides=[2, 2]), 0.03, np.int8(2))
    total = net.node("Relu", net.node("Add", net.dequantise(b), net.dequantise(skip)))
    output = net.dequantise(net.quantise(total, 0.03, np.uint8(0)))
    check(net, (1, 16, 20, 20), output, 0.03, tmp_path, {"QLinearConv": 3, "QLinearAdd": 1, "Relu": 0, "DequantizeLinear": 1, "Transpose": 2}, steps=2)
