"""Matrix products and convolutions on a GPU against the CPU: every edge of the tiles, every fused end, with NVIDIA's libraries and without.

Needs a process with CUDA: a real device, or ORTCORE_CUDA=emulated in the environment."""
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ortcore
import ortcore.cuda

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
OWN_KERNELS = os.environ.get("ORTCORE_CUDA_LIBRARIES") == "off"
pytestmark = pytest.mark.skipif(CUDA not in ortcore.get_available_providers(), reason="no CUDA device, real or emulated")
TOLERANCE = {np.float32: 2e-4, np.float16: 8e-3, np.float64: 1e-10}
random = np.random.default_rng(7)


def numbers(*shape, dtype=np.float32):
    return (random.standard_normal(shape) / 2).astype(dtype)


def model_of(nodes, feeds, constants, opset=20):
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in feeds.items()]
    kind = helper.np_dtype_to_tensor_dtype(next(iter(feeds.values())).dtype)
    outputs = [helper.make_tensor_value_info("y", kind, None)]
    graph = helper.make_graph(nodes, "products", inputs, outputs, [numpy_helper.from_array(v, n) for n, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10).SerializeToString()


def agree(nodes, feeds, constants=None):
    """One model on both devices, twice: the second run finds the plan of the first."""
    model = model_of(nodes, feeds, constants or {})
    want = ortcore.InferenceSession(model, providers=[CPU]).run(None, feeds)[0]
    session = ortcore.InferenceSession(model, providers=[CUDA, CPU])
    assert session.get_providers()[0] == CUDA
    for _ in range(2):
        got = session.run(None, feeds)[0]
        if want.dtype.kind in "iu":
            np.testing.assert_array_equal(got, want)
            continue
        tolerance = TOLERANCE[want.dtype.type]
        np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=tolerance)


SIZES = [(1, 5, 3), (9, 17, 33), (64, 64, 32), (65, 63, 40), (130, 70, 64), (3, 200, 300), (200, 5, 70), (70, 66, 600)]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
@pytest.mark.parametrize("size", SIZES, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("transposed", [(0, 0), (1, 0), (0, 1), (1, 1)], ids=["ab", "atb", "abt", "atbt"])
def test_gemm(size, transposed, dtype):
    m, n, k = size
    a = numbers(*((k, m) if transposed[0] else (m, k)), dtype=dtype)
    b = numbers(*((n, k) if transposed[1] else (k, n)), dtype=dtype)
    node = helper.make_node("Gemm", ["a", "b", "c"], ["y"], transA=transposed[0], transB=transposed[1])
    agree([node], {"a": a}, {"b": b, "c": numbers(n, dtype=dtype)})


@pytest.mark.parametrize("shape", [(40,), (33, 1), (33, 40), (1,)], ids=str)
def test_every_shape_of_bias(shape):
    agree([helper.make_node("Gemm", ["a", "b", "c"], ["y"], alpha=0.5, beta=2.0)], {"a": numbers(33, 24), "c": numbers(*shape)}, {"b": numbers(24, 40)})
    agree([helper.make_node("Gemm", ["a", "b", "c"], ["y"])], {"a": numbers(33, 24), "c": numbers(*shape)}, {"b": numbers(24, 40)})


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_integers_wrap(dtype):
    a, b, c = (random.integers(0, 2**31, shape).astype(dtype) for shape in ((9, 20), (20, 33), (33,)))
    agree([helper.make_node("Gemm", ["a", "b", "c"], ["y"], alpha=-2.0, beta=3.0)], {"a": a}, {"b": b, "c": c})


@pytest.mark.parametrize("batches", [((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 1)), ((), (5,)), ((4, 2), ())], ids=str)
def test_batches(batches):
    agree([helper.make_node("MatMul", ["a", "b"], ["y"])], {"a": numbers(*batches[0], 12, 20), "b": numbers(*batches[1], 20, 17)})


@pytest.mark.parametrize("activation", ["Relu", "Gelu", "Sigmoid", "Tanh", "LeakyRelu", "HardSwish", "Elu"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("sums", ["", "b", "z", "bz"])
def test_fused_ends_of_products(activation, sums, dtype):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["0"])]
    for name in sums:
        nodes.append(helper.make_node("Add", [nodes[-1].output[0], name], [f"{name}_added"]))
    nodes.append(helper.make_node(activation, [nodes[-1].output[0]], ["y"]))
    feeds = {"x": numbers(20, 24, dtype=dtype)} | ({"z": numbers(20, 40, dtype=dtype)} if "z" in sums else {})
    agree(nodes, feeds, {"w": numbers(24, 40, dtype=dtype)} | ({"b": numbers(40, dtype=dtype)} if "b" in sums else {}))


CONVOLUTIONS = {
    "3x3": ((2, 5, 9, 8), (7, 5, 3, 3), {"pads": [1, 1, 1, 1]}),
    "1x1": ((2, 16, 8, 8), (24, 16, 1, 1), {}),
    "1x1 of odd planes": ((3, 6, 5, 5), (9, 6, 1, 1), {}),
    "strided": ((1, 4, 11, 10), (6, 4, 3, 3), {"strides": [2, 3], "pads": [1, 0, 1, 0]}),
    "dilated": ((1, 3, 12, 12), (70, 3, 3, 3), {"dilations": [2, 3]}),
    "pads that differ": ((1, 4, 8, 9), (5, 4, 3, 2), {"pads": [0, 1, 2, 0]}),
    "groups": ((2, 12, 7, 7), (18, 4, 3, 3), {"group": 3, "pads": [1, 1, 1, 1]}),
    "depthwise": ((2, 10, 9, 9), (10, 1, 3, 3), {"group": 10, "pads": [1, 1, 1, 1], "strides": [2, 2]}),
    "one axis": ((2, 3, 40), (8, 3, 7), {"strides": [3]}),
    "three axes": ((1, 2, 5, 6, 7), (4, 2, 2, 3, 3), {"pads": [1, 1, 1, 1, 1, 1]}),
    "whole tiles": ((2, 8, 16, 8), (128, 8, 3, 3), {"pads": [1, 1, 1, 1]}),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
@pytest.mark.parametrize("what", CONVOLUTIONS)
def test_convolutions(what, dtype):
    x, w, attrs = CONVOLUTIONS[what]
    agree([helper.make_node("Conv", ["x", "w", "b"], ["y"], **attrs)], {"x": numbers(*x, dtype=dtype)},
          {"w": numbers(*w, dtype=dtype), "b": numbers(w[0], dtype=dtype)})


@pytest.mark.parametrize("activation", ["Relu", "Sigmoid", "HardSwish"])
@pytest.mark.parametrize("what", ["3x3", "1x1", "groups", "depthwise"])
@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
@pytest.mark.parametrize("summed", [False, True], ids=["alone", "summed"])
def test_fused_ends_of_convolutions(what, activation, bias, summed):
    x, w, attrs = CONVOLUTIONS[what]
    nodes = [helper.make_node("Conv", ["x", "w", "b"] if bias else ["x", "w"], ["0"], **attrs)]
    feeds, constants = {"x": numbers(*x)}, {"w": numbers(*w)} | ({"b": numbers(w[0])} if bias else {})
    if summed:
        alone = model_of([helper.make_node("Conv", ["x", "w"], ["y"], **attrs)], feeds, {"w": constants["w"]})
        out = onnx.shape_inference.infer_shapes(onnx.load_from_string(alone))
        feeds["z"] = numbers(*[d.dim_value for d in out.graph.output[0].type.tensor_type.shape.dim])
        nodes.append(helper.make_node("Add", ["0", "z"], ["1"]))
    nodes.append(helper.make_node(activation, [nodes[-1].output[0]], ["y"]))
    agree(nodes, feeds, constants)


@pytest.mark.parametrize("attrs", [{}, {"strides": [2, 2]}, {"strides": [3, 2], "pads": [1, 0, 0, 1], "output_padding": [1, 0]},
                                   {"group": 2, "dilations": [2, 1]}], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_transposed_convolutions(attrs, dtype):
    agree([helper.make_node("ConvTranspose", ["x", "w"], ["y"], **attrs)], {"x": numbers(2, 10, 5, 6, dtype=dtype)}, {"w": numbers(10, 8, 3, 3, dtype=dtype)})


@pytest.mark.parametrize("equation", ["ij,jk->ik", "bij,bjk->bik", "bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd",
                                      "ij,ij->", "ii->i", "ij->ji", "ijk,jl->ilk", "ij,k->ikj"])
def test_einsum(equation):
    extents = dict(zip("bijkqhdl", (2, 5, 6, 7, 4, 3, 8, 6), strict=True))
    terms = equation.split("->")[0].split(",")
    feeds = {f"x{i}": numbers(*[extents[c] for c in term]) for i, term in enumerate(terms)}
    agree([helper.make_node("Einsum", list(feeds), ["y"], equation=equation)], feeds)


@pytest.mark.parametrize("provider, product, convolution", [
    (CUDA, "ortcore" if OWN_KERNELS else "cuBLASLt", "ortcore" if OWN_KERNELS else "cuDNN"),
    (CPU, "oneDNN", "oneDNN"),
])
def test_what_computes_is_told_once_shapes_are_known(provider, product, convolution):
    if provider == CPU and "oneDNN" not in ortcore.get_build_info():
        pytest.skip("this build has no oneDNN")
    if provider == CUDA and not OWN_KERNELS and not ortcore.cuda.is_emulated():
        pytest.skip("which libraries a real GPU's machine has is not known here")
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]), helper.make_node("Flatten", ["c"], ["f"]),
             helper.make_node("MatMul", ["f", "m"], ["p"], name="product"), helper.make_node("Softmax", ["p"], ["y"], name="softmax")]
    feeds = {"x": numbers(32, 16, 8, 8)}
    model = onnx.load_from_string(model_of(nodes, feeds, {"w": numbers(16, 16, 3, 3), "m": numbers(1024, 32)}))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    session = ortcore.InferenceSession(model.SerializeToString(), providers=[provider])
    find = lambda: {node.op_type.removeprefix("Fused"): node for node in session.explain()}  # noqa: E731
    assert find()["Conv"].computed_by is None and find()["Softmax"].computed_by in (None, "ortcore")
    session.run(None, feeds)
    found = find()
    assert [found[op].computed_by for op in ("Conv", "MatMul", "Softmax")] == [convolution, product, "ortcore"]
    assert product == "ortcore" or f" by {product}" in str(found["MatMul"])


@pytest.mark.skipif(OWN_KERNELS, reason="is what this test starts")
def test_all_of_it_without_the_libraries():
    """Which libraries there are is found out once a process."""
    environment = os.environ | {"ORTCORE_CUDA_LIBRARIES": "off"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", __file__], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
