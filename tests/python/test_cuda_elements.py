"""Elementwise and movement operators on a GPU where shapes, addresses or data are out of the ordinary: as the CPU, or an error that says why."""
import numpy as np
import pytest
from onnx import TensorProto, helper

import ortcore as ort

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
pytestmark = pytest.mark.skipif(CUDA not in ort.get_available_providers(), reason="no GPU, and ORTCORE_CUDA is not 'emulated'")

RNG = np.random.default_rng(3)
F32, F16, I64 = np.float32, np.float16, np.int64


def randn(*shape, dtype=F32):
    return RNG.standard_normal(shape).astype(dtype)


def session(op, inputs, providers, element, **attributes):
    info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), [None] * a.ndim) for n, a in inputs.items()]
    result = helper.make_value_info("y", helper.make_tensor_type_proto(element, None))
    graph = helper.make_graph([helper.make_node(op, list(inputs), ["y"], **attributes)], "one", info, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return ort.InferenceSession(model.SerializeToString(), providers=providers)


def named(*arrays):
    return {f"x{i}": np.asarray(a) for i, a in enumerate(arrays)}


CASES = {
    "eight axes": ("Add", [randn(2, 1, 3, 1, 2, 1, 3, 1), randn(1, 2, 1, 3, 1, 2, 1, 5)], {}),
    "no elements": ("Add", [randn(1, 2, 3), randn(0, 1, 1)], {}),
    "scalars": ("Sub", [randn(), randn()], {}),
    "rows shorter than what a thread takes": ("Mul", [randn(1000, 3), randn(3)], {}),
    "each repeats the other": ("Mul", [randn(3, 1), randn(1, 7)], {}),
    "remainders of negative numbers": ("Mod", [np.arange(-5, 5), np.full(10, -3)], {}),
    "more inputs than a program has": ("Max", [randn(3) for _ in range(12)], {}),
    "so many that three launches add them": ("Sum", [randn(2, 3), randn(3), randn(1)] + [randn(4, 1, 1) for _ in range(15)], {}),
    "a mean of just one more than fit": ("Mean", [randn(2, 3) for _ in range(9)], {}),
    "bytes, of which many": ("Min", [RNG.integers(0, 255, (5, 3)).astype(np.uint8) for _ in range(16)], {}),
    "more parts than a launch": ("Concat", [randn(2, i % 3, 3) for i in range(130)], {"axis": 1}),
    "tiles that are not full": ("Transpose", [randn(2, 33, 65)], {"perm": [0, 2, 1]}),
    "bytes across two axes": ("Transpose", [RNG.integers(0, 255, (65, 2, 40)).astype(np.uint8)], {"perm": [2, 1, 0]}),
    "places that repeat": ("ScatterND", [randn(5, 4), np.array([[1], [1], [4]]), randn(3, 4)], {"reduction": "add"}),
    "the largest of halves": ("ScatterElements", [randn(5, 4, dtype=F16), np.array([[1, 1, 1, 1], [1, 0, 2, 3]]), randn(2, 4, dtype=F16)],
                              {"reduction": "max"}),
    "no indices": ("Gather", [randn(4, 3), np.zeros(0, I64)], {}),
    "floats that no byte holds": ("Cast", [np.array([np.nan, 1e20, -1e20, 300.7, -1.5], F32)], {"to": TensorProto.UINT8}),
    "doubles to halves in one rounding": ("Cast", [np.array([1 + 2**-11 + 2**-40, 1e9, np.nan])], {"to": TensorProto.FLOAT16}),
    "the largest unsigned numbers": ("Cast", [np.array([2**63, 2**64 - 1, 5], np.uint64)], {"to": TensorProto.FLOAT}),
}


@pytest.mark.parametrize("name", CASES)
def test_as_the_cpu(name):
    op, arrays, attributes = CASES[name]
    inputs = named(*arrays)
    element = attributes.get("to", helper.np_dtype_to_tensor_dtype(inputs["x0"].dtype))
    got, want = (session(op, inputs, providers, element, **attributes).run(None, inputs)[0] for providers in ([CUDA, CPU], [CPU]))
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), 1e-6, 1e-6, equal_nan=True)


@pytest.mark.parametrize("op", ["Sum", "Mean", "Max", "Min"])
@pytest.mark.parametrize("count", [8, 9, 15, 16, 40])
def test_many_inputs_stay_on_the_device(op, count):
    inputs = named(*(randn(2, 3) for _ in range(count)))
    s = session(op, inputs, [CUDA, CPU], TensorProto.FLOAT)
    assert [node.provider for node in s.explain()] == [CUDA]
    want = {"Sum": np.sum, "Mean": np.mean, "Max": np.max, "Min": np.min}[op](np.stack(list(inputs.values())), 0)
    np.testing.assert_allclose(s.run(None, inputs)[0], want, 1e-5, 1e-5)


@pytest.mark.parametrize(("op", "arrays", "message"), [
    ("Div", [np.arange(5), np.array([1, 2, 0, 3, 4])], "an integer is divided by zero"),
    ("Gather", [np.arange(12).reshape(4, 3), np.array([0, 5])], "an index is out of range"),
    ("Gather", [np.zeros((0, 3), I64), np.array([0])], "axis 0 of 'data' has no elements"),
    ("PRelu", [np.arange(3), np.arange(6).reshape(2, 3)], "does not broadcast"),
])
def test_bad_data_is_told(op, arrays, message):
    inputs = named(*arrays)
    s = session(op, inputs, [CUDA, CPU], TensorProto.INT64)
    with pytest.raises(ValueError, match=message):
        s.run(None, inputs)
    if op == "Div":                                         # the stream is as good as before
        inputs["x1"] = np.ones(5, I64)
        np.testing.assert_array_equal(s.run(None, inputs)[0], inputs["x0"])


def test_addresses_need_the_alignment_of_an_element_only():
    x = randn(64)
    s = session("Add", named(x, x), [CUDA, CPU], TensorProto.FLOAT)
    data, out = ort.OrtValue.ortvalue_from_numpy(x, "cuda", 0), ort.OrtValue.ortvalue_from_shape_and_type([64], F32, "cuda", 0)
    binding = s.io_binding()
    binding.bind_input("x0", "cuda", 0, F32, [13], data.data_ptr() + 4)
    binding.bind_input("x1", "cuda", 0, F32, [13], data.data_ptr() + 8)
    binding.bind_output("y", "cuda", 0, F32, [13], out.data_ptr() + 12)
    s.run_with_iobinding(binding)
    np.testing.assert_array_equal(out.numpy()[3:16], x[1:14] + x[2:15])
