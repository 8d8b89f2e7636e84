"""Recurrent layers, against the equations written out."""

import numpy as np
from conformance.case import case, data, f16, f32, f64, i32


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def steps(x, lengths, reverse):
    """For each step: the time that each row of the batch is at, or -1 behind its end."""
    t, b = x.shape[:2]
    lengths = np.full(b, t) if lengths is None else lengths
    for step in range(t):
        yield [(n - 1 - step if reverse else step) if step < n else -1 for n in lengths]


def direction(kind, x, w, r, b, h, c, p, lengths, reverse, clip=None, linear_before_reset=0, activations=(sigmoid, np.tanh, np.tanh)):
    """One direction: x [steps, batch, inputs], w [gates * n, inputs], r [gates * n, n], b [2 * gates * n], p [3 * n]."""
    n = r.shape[1]
    gates = r.shape[0] // n
    wb, rb = np.split(b, 2)
    y = np.zeros((x.shape[0], x.shape[1], n), x.dtype)
    limit = (lambda v: v) if clip is None else (lambda v: np.clip(v, -clip, clip))
    f, g, last = (*activations, None, None)[:3]
    for times in steps(x, lengths, reverse):
        for row, t in enumerate(times):
            if t < 0:
                continue
            xw = (w @ x[t, row] + wb).reshape(gates, n)
            hr = (r @ h[row] + rb).reshape(gates, n)
            if kind == "RNN":
                h[row] = f(limit(xw[0] + hr[0]))
            elif kind == "GRU":
                update, reset = f(limit(xw[0] + hr[0])), f(limit(xw[1] + hr[1]))
                inner = reset * hr[2] if linear_before_reset else r[2 * n :] @ (reset * h[row]) + rb[2 * n :]
                h[row] = (1 - update) * g(limit(xw[2] + inner)) + update * h[row]
            else:
                z = xw + hr
                i, forget = f(limit(z[0] + p[:n] * c[row])), f(limit(z[2] + p[2 * n :] * c[row]))
                c[row] = forget * c[row] + i * g(limit(z[3]))
                h[row] = f(limit(z[1] + p[n : 2 * n] * c[row])) * last(c[row])
            y[t, row] = h[row]
    return y, h, c


def layer(kind, reverses=(False,), **attrs):
    attrs.setdefault("activations", FUNCTIONS[kind])

    def run(x, w, r, b=None, lengths=None, h=None, c=None, p=None):
        d, n = r.shape[0], r.shape[2]
        zeros = np.zeros((d, x.shape[1], n), x.dtype)
        b = np.zeros((d, 2 * r.shape[1]), x.dtype) if b is None else b
        p = np.zeros((d, 3 * n), x.dtype) if p is None else p
        h, c = (zeros if v is None else v for v in (h, c))
        parts = [direction(kind, x, w[i], r[i], b[i], h[i].copy(), c[i].copy(), p[i], lengths, reverses[i], **attrs) for i in range(d)]
        y, h, c = (np.stack([part[j] for part in parts], axis=1 if j == 0 else 0) for j in range(3))
        return (y, h, c) if kind == "LSTM" else (y, h)

    return run


def batch_first(run):
    def flipped(x, w, r, b=None, lengths=None, h=None, *rest):
        y, *states = run(x.transpose(1, 0, 2), w, r, b, lengths, None if h is None else h.transpose(1, 0, 2), *rest)
        return (y.transpose(2, 0, 1, 3), *(s.transpose(1, 0, 2) for s in states))

    return flipped


GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": (np.tanh,), "GRU": (sigmoid, np.tanh), "LSTM": (sigmoid, np.tanh, np.tanh)}


def weights(kind, d, inputs, n, dtype=f32, bias=True):
    g = GATES[kind] * n
    w = [data((d, g, inputs), dtype, -0.5, 0.5, 1), data((d, g, n), dtype, -0.5, 0.5, 2)]
    return [*w, data((d, 2 * g), dtype, -0.5, 0.5, 3)] if bias else w


def row(kind, opset, inputs, reverses=(False,), attrs=None, id="", wrap=lambda run: run, rtol=1e-5, atol=2e-6, **how):
    n = inputs[2].shape[2]
    return case(kind, opset, inputs, wrap(layer(kind, reverses, **how)), attrs={"hidden_size": n, **(attrs or {})}, id=id, rtol=rtol, atol=atol)


X = data((5, 3, 4), f32, -1, 1)
LENGTHS = np.array([5, 2, 3], i32)
BOTH = {"direction": "bidirectional"}

CASES = [
    *[row(kind, 7, [X, *weights(kind, 1, 4, 6)], id="forward") for kind in GATES],
    *[row(kind, 14, [X, *weights(kind, 1, 4, 6, bias=False)], (True,), {"direction": "reverse"}, id="reverse") for kind in GATES],
    *[row(kind, 14, [X, *weights(kind, 2, 4, 70), LENGTHS, data((2, 3, 70), f32, -1, 1, 5)], (False, True), BOTH, id="both directions, lengths, initial state") for kind in GATES],
    *[row(kind, 14, [X.astype(f64), *weights(kind, 2, 4, 6, f64)], (False, True), BOTH, id="double", rtol=1e-12, atol=1e-12) for kind in GATES],
    *[row(kind, 22, [X.astype(f16), *weights(kind, 1, 4, 6, f16)], id="float16", rtol=5e-3, atol=5e-3) for kind in GATES],
    *[row(kind, 14, [X, *weights(kind, 1, 4, 6)], attrs={"clip": 0.3}, clip=0.3, id="clip") for kind in GATES],
    *[row(kind, 14, [X.transpose(1, 0, 2), *weights(kind, 2, 4, 6)], (False, True), {**BOTH, "layout": 1}, id="batch first", wrap=batch_first) for kind in GATES],
    *[row(kind, 14, [data((3, 9, 4)), *[w / 8 for w in weights(kind, 2, 4, n)], np.array([3, 1, 2, 0, 3, 3, 2, 1, 3], i32)], (False, True), BOTH, id="wide")
      for kind, n in (("RNN", 270), ("GRU", 160), ("LSTM", 140))],
    row("GRU", 14, [X, *weights("GRU", 1, 4, 6)], attrs={"linear_before_reset": 1}, linear_before_reset=1, id="linear before reset"),
    row("RNN", 14, [X, *weights("RNN", 1, 4, 6)], attrs={"activations": ["LeakyRelu"], "activation_alpha": [0.2]}, activations=(lambda v: np.where(v < 0, 0.2 * v, v),), id="LeakyRelu"),
    row("LSTM", 14, [X, *weights("LSTM", 1, 4, 6), None, data((1, 3, 6), f32, -1, 1, 5), data((1, 3, 6), f32, -1, 1, 6), data((1, 18), f32, -1, 1, 7)], id="peepholes"),
    case("LSTM", 14, [X, *weights("LSTM", 1, 5, 6)], attrs={"hidden_size": 6}, error="'X' has 4 numbers a step, but 'W' takes 5", id="wrong inputs"),
    case("LSTM", 14, [X, *weights("LSTM", 1, 4, 6), np.array([5, 9, 1], i32)], attrs={"hidden_size": 6}, error="sequence_lens", id="too long"),
    case("GRU", 14, [X, *weights("GRU", 1, 4, 6)], attrs={"hidden_size": 6, "activations": ["Sigmoid", "Tan"]}, error="'Tan'", id="unknown activation"),
]
