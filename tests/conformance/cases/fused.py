"""Operators of com.microsoft that onnxruntime's optimised models contain."""
import numpy as np
from onnx import TensorProto, helper

from conformance.case import PEER, case, data, f16, f32
from conformance.cases.recurrent import layer

FLOAT_TENSOR = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
MS = {"domain": "com.microsoft"}
X, SKIP, GAMMA, BETA, BIAS = data((2, 3, 8)), data((2, 3, 8), seed=1), data((8,), seed=2), data((8,), seed=3), data((8,), seed=4)


def layer_norm(x, gamma, beta=0, epsilon=1e-12):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon) * gamma + beta


def rms_norm(x, gamma, epsilon=1e-5):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gamma


INPUT, HIDDEN = 3, 5


def quantised(shape, seed, dtype):
    """Integers, their scale and zero point, and the numbers that they stand for, as the float LSTM wants them: transposed."""
    weights = data(shape, dtype, -100 if dtype == np.int8 else 0, 100 if dtype == np.int8 else 200, seed)
    scale, zero = np.float32([0.005]), np.array([3 if dtype == np.int8 else 120], dtype)
    return weights, scale, zero, ((weights.astype(f32) - zero.astype(f32)) * scale).transpose(0, 2, 1)


def dynamic_lstm(dtype):
    w, w_scale, w_zero, w_float = quantised((1, INPUT, 4 * HIDDEN), 1, dtype)
    r, r_scale, r_zero, r_float = quantised((1, HIDDEN, 4 * HIDDEN), 2, dtype)
    x, b = data((4, 2, INPUT), low=-1, high=1), data((1, 8 * HIDDEN), low=-0.5, high=0.5, seed=3)
    expect = tuple(v.astype(f32) for v in layer("LSTM")(x, w_float, r_float, b))
    return case("DynamicQuantizeLSTM", 1, [x, w, r, b, None, None, None, None, w_scale, w_zero, r_scale, r_zero], expect, attrs={"hidden_size": HIDDEN},
                id=str(np.dtype(dtype)), rtol=2e-2, atol=2e-2, **MS)


def wide_lstm(dtype, by_column, **more):
    """Sizes that fill no vector, both directions, states of their own; beside onnxruntime, whose roundings to bytes may go the other way now and then."""
    steps, batch, inputs, hidden = 3, 5, 19, 70
    x = data((steps, batch, inputs), low=-1, high=1)
    if more:
        x[1, 2, 3] = np.nan
    numbers = []
    for k, seed in ((inputs, 1), (hidden, 2)):
        shape = (2, 4 * hidden) if by_column else (2,)
        numbers += [data((2, k, 4 * hidden), dtype, -100 if dtype == np.int8 else 0, 100 if dtype == np.int8 else 200, seed),
                    data(shape, low=0.001, high=0.004, seed=seed), np.full(shape, 0 if dtype == np.int8 else 128, dtype)]
    w, w_scale, w_zero, r, r_scale, r_zero = numbers
    states = [data((2, batch, hidden), low=-0.5, high=0.5, seed=seed) for seed in (4, 5)]
    return case("DynamicQuantizeLSTM", 1, [x, w, r, data((2, 8 * hidden), low=-0.5, high=0.5, seed=3), None, *states, None, w_scale, w_zero, r_scale, r_zero],
                None if more else PEER, attrs={"hidden_size": hidden, "direction": "bidirectional"}, id=f"wide {np.dtype(dtype)} {'by column' if by_column else ''}{' NaN' if more else ''}",
                rtol=0, atol=1e-2, output_types=[FLOAT_TENSOR] * 3, **MS, **more)


def all_nan(outputs, _inputs):
    assert all(np.isnan(y).all() for y in outputs)


def svm(**more):
    """Three classes, one support vector each but the last, of libsvm's one-against-one kind."""
    vectors = data((4, 3), seed=5)
    attrs = {"kernel_type": "RBF", "kernel_params": [0.5, 0.0, 3.0], "support_vectors": vectors.ravel().tolist(), "vectors_per_class": [1, 1, 2],
             "coefficients": data((8,), seed=6).tolist(), "rho": [0.1, -0.2, 0.3], "classlabels_ints": [4, 7, 9], "post_transform": "NONE"}
    return case("SVMClassifier", 1, [data((5, 3), seed=7)], PEER, attrs=attrs | more, domain="ai.onnx.ml", rtol=1e-4, atol=1e-5,
                output_types=[helper.make_tensor_type_proto(k, None) for k in (TensorProto.INT64, TensorProto.FLOAT)], id=f"rbf {' '.join(more)}")


CASES = [
    *[case("SimplifiedLayerNormalization", 1, [X.astype(t), GAMMA.astype(t)], rms_norm, rtol=4e-3 if t == f16 else 1e-5, atol=4e-3 if t == f16 else 1e-5,
           domain=d, peer="it belongs to another domain there") for t in (f32, f16) for d in ("", "com.microsoft")],
    case("SkipLayerNormalization", 1, [X, SKIP, GAMMA, BETA, BIAS], lambda x, s, g, b, c: layer_norm(x + s + c, g, b), rtol=1e-4, atol=1e-5, **MS),
    case("SkipLayerNormalization", 1, [X, SKIP, GAMMA], lambda x, s, g: (layer_norm(x + s, g), None, None, x + s), rtol=1e-4, atol=1e-5, id="sum", **MS),
    case("SkipSimplifiedLayerNormalization", 1, [X, SKIP, GAMMA, BIAS], lambda x, s, g, c: rms_norm(x + s + c, g, 1e-12), rtol=1e-4, atol=1e-5, **MS),
    *[dynamic_lstm(t) for t in (np.int8, np.uint8)],
    *[wide_lstm(t, by_column) for t in (np.int8, np.uint8) for by_column in (False, True)],
    wide_lstm(np.int8, False, check=all_nan),
    svm(), svm(post_transform="SOFTMAX"), svm(prob_a=[-1.0, -0.5, -2.0], prob_b=[0.1, 0.2, -0.3]),
    case("ZipMap", 1, [np.float32([[1, 2], [3, 4]])], [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}], attrs={"classlabels_strings": ["a", "b"]},
         domain="ai.onnx.ml", output_types=[helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.STRING, FLOAT_TENSOR))]),
    case("CastMap", 1, [{1: np.float32(2.5), 3: np.float32(-1)}], np.float32([[0, 2.5, 0, -1]]), attrs={"cast_to": "TO_FLOAT", "map_form": "SPARSE", "max_map": 4},
         domain="ai.onnx.ml"),
    case("DictVectorizer", 1, [{"b": np.float32(2), "a": np.float32(1)}], np.float32([[1, 2, 0]]), attrs={"string_vocabulary": ["a", "b", "c"]}, domain="ai.onnx.ml"),
]
