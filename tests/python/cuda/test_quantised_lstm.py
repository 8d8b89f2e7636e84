"""DynamicQuantizeLSTM on a GPU, as on the CPU: every attribute, sizes that fill no word, batches that need several blocks, and what is wrong."""
import numpy as np
import pytest
from onnx import TensorProto, helper

import ortcore as ort

NAMES = ["X", "W", "R", "B", "lengths", "h", "c", "P", "W_scale", "W_zero", "R_scale", "R_zero"]


def numbers(rng, *shape):
    return rng.uniform(-0.5, 0.5, shape).astype(np.float32)


def weights(rng, dtype, directions, k, columns, by_column):
    """Bytes, their scales and their zero points."""
    low, high = (-128, 128) if dtype == np.int8 else (0, 256)
    shape = (directions, columns) if by_column else (directions,)
    return (rng.integers(low, high, (directions, k, columns)).astype(dtype), rng.uniform(0.001, 0.004, shape).astype(np.float32),
            rng.integers(low // 4 + high // 4, low // 4 + high // 4 + 30, shape).astype(dtype))


def feeds(steps, batch, inputs, hidden, directions=1, dtype=np.int8, by_column=False, lengths=None, optional=True):
    rng = np.random.default_rng(5)
    w, w_scale, w_zero = weights(rng, dtype, directions, inputs, 4 * hidden, by_column)
    r, r_scale, r_zero = weights(rng, dtype, directions, hidden, 4 * hidden, by_column)
    states = [numbers(rng, directions, batch, hidden) for _ in range(2)] if optional else [None, None]
    given = [numbers(rng, steps, batch, inputs), w, r, numbers(rng, directions, 8 * hidden) if optional else None,
             None if lengths is None else np.array(lengths, np.int32), *states, numbers(rng, directions, 3 * hidden) if optional else None,
             w_scale, w_zero, r_scale, r_zero]
    return dict(zip(NAMES, given, strict=True))


def model(given, outputs=("Y", "Y_h", "Y_c"), **attributes):
    """Weights are constants, as they are in files."""
    node = helper.make_node("DynamicQuantizeLSTM", [n if given[n] is not None else "" for n in NAMES], outputs, domain="com.microsoft", **attributes)
    fed, fixed = [n for n in ("X", "lengths", "h", "c") if given[n] is not None], [n for n in NAMES if n[0] in "WRBP" and given[n] is not None]
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(given[n].dtype), [None] * given[n].ndim) for n in fed]
    results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs if n]
    constants = [helper.make_tensor(n, helper.np_dtype_to_tensor_dtype(given[n].dtype), given[n].shape, given[n].tobytes(), raw=True) for n in fixed]
    graph = helper.make_graph([node], "one", inputs, results, constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
    return made.SerializeToString(), {n: given[n] for n in fed}


CASES = {
    "one block": (feeds(3, 2, 5, 12), {}),
    "bytes of no kind but unsigned": (feeds(3, 3, 6, 9, dtype=np.uint8), {}),
    "several blocks, by column": (feeds(2, 5, 7, 72, by_column=True), {}),
    "both directions, lengths": (feeds(4, 5, 5, 35, 2, np.uint8, True, [4, 0, 1, 3, 2]), {"direction": "bidirectional"}),
    "reverse, clipped": (feeds(3, 2, 4, 8, lengths=[3, 2]), {"direction": "reverse", "clip": 0.3}),
    "coupled gates, other functions": (feeds(3, 2, 4, 8), {"input_forget": 1, "activations": ["HardSigmoid", "Softsign", "Relu"]}),
    "nothing optional": (feeds(3, 1, 4, 8, optional=False), {}),
    "no steps": (feeds(0, 2, 4, 8), {}),
    "no sequences": (feeds(3, 0, 4, 8), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_as_the_cpu(session, name):
    given, attributes = CASES[name]
    made, fed = model(given, hidden_size=given["R"].shape[1], **attributes)
    on_gpu = session(made)
    assert [node.provider for node in on_gpu.explain()] == ["CUDAExecutionProvider"]
    want = ort.InferenceSession(made, providers=["CPUExecutionProvider"]).run(None, fed)
    for got, expected in zip(on_gpu.run(None, fed), want, strict=True):
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, 0, 2e-4)  # a state may be rounded to the byte beside it


def test_what_is_not_finite_spoils_its_step_and_those_after_it(session):
    given = feeds(3, 2, 4, 8)
    given["h"][0, 1, 3] = np.inf
    made, fed = model(given, hidden_size=8)
    assert all(np.isnan(y).all() for y in session(made).run(None, fed))


def test_an_output_that_nobody_wants(session):
    given = feeds(2, 2, 4, 8)
    made, fed = model(given, ("", "", "Y_c"), hidden_size=8)
    np.testing.assert_allclose(session(made).run(None, fed)[0], ort.InferenceSession(made).run(None, fed)[0], 0, 2e-4)


@pytest.mark.parametrize("name, value, message", [
    ("lengths", np.array([3, 9], np.int32), "'sequence_lens' has 9 at 1, but X has 3 steps"),
    ("R_scale", np.ones(3, np.float32), "'R_scale' has 3 elements; it must hold one for each of 1 direction"),
    ("W_zero", np.zeros(32, np.int8), "'W_zero_point' has 32 elements, but its scale has 1"),
])
def test_what_does_not_fit(session, name, value, message):
    made, fed = model(feeds(3, 2, 4, 8, lengths=[1, 2]) | {name: value}, hidden_size=8)
    with pytest.raises(Exception, match=message):
        session(made).run(None, fed)
