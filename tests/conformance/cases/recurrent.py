"""RNN, GRU and LSTM against a few lines of numpy: every direction, with and without biases and initial states."""
import numpy as np

from conformance.case import case, data, f16, f32, f64

STEPS, BATCH, INPUT, HIDDEN = 4, 2, 3, 5
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn_cell(x, h, c, w, r, wb, rb, attrs):
    return np.tanh(x @ w.T + h @ r.T + wb + rb), c


def gru_cell(x, h, c, w, r, wb, rb, attrs):
    (wz, wr, wh), (rz, rr, rh), (wbz, wbr, wbh), (rbz, rbr, rbh) = (np.split(v, 3) for v in (w, r, wb, rb))
    z = sigmoid(x @ wz.T + h @ rz.T + wbz + rbz)
    reset = sigmoid(x @ wr.T + h @ rr.T + wbr + rbr)
    if attrs.get("linear_before_reset"):
        new = np.tanh(x @ wh.T + wbh + reset * (h @ rh.T + rbh))
    else:
        new = np.tanh(x @ wh.T + wbh + (reset * h) @ rh.T + rbh)
    return (1 - z) * new + z * h, c


def lstm_cell(x, h, c, w, r, wb, rb, attrs):
    i, o, f, g = np.split(x @ w.T + h @ r.T + wb + rb, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


CELLS = {"RNN": rnn_cell, "GRU": gru_cell, "LSTM": lstm_cell}


def reference(op, attrs):
    def run(x, w, r, b=None, lengths=None, h0=None, c0=None):
        dirs, hidden = r.shape[0], r.shape[2]
        biases = np.zeros((dirs, 2 * w.shape[1])) if b is None else b
        y, last_h, last_c = np.zeros((x.shape[0], dirs, x.shape[1], hidden)), [], []
        for d in range(dirs):
            backwards = attrs.get("direction") == "reverse" or d == 1
            h = np.zeros((x.shape[1], hidden)) if h0 is None else h0[d]
            c = np.zeros((x.shape[1], hidden)) if c0 is None else c0[d]
            wb, rb = np.split(biases[d], 2)
            for t in range(x.shape[0])[::-1 if backwards else 1]:
                h, c = CELLS[op](x[t], h, c, w[d], r[d], wb, rb, attrs)
                y[t, d] = h
            last_h.append(h)
            last_c.append(c)
        return (y, np.stack(last_h), np.stack(last_c)) if op == "LSTM" else (y, np.stack(last_h))
    return run


def row(op, opset, dtype=f32, direction="forward", bias=True, states=True, **attrs):
    dirs, gates = 2 if direction == "bidirectional" else 1, GATES[op]
    attrs |= {"hidden_size": HIDDEN, "direction": direction}
    make = lambda seed, *shape: data(shape, dtype, -0.8, 0.8, seed)
    inputs = [make(1, STEPS, BATCH, INPUT), make(2, dirs, gates * HIDDEN, INPUT), make(3, dirs, gates * HIDDEN, HIDDEN),
              make(4, dirs, 2 * gates * HIDDEN) if bias else None, None, make(5, dirs, BATCH, HIDDEN) if states else None]
    if op == "LSTM" and states:
        inputs.append(make(6, dirs, BATCH, HIDDEN))
    name = f"{np.dtype(dtype)} {direction}{'' if bias else ' no bias'}{'' if states else ' no state'}{' linear before reset' if len(attrs) > 2 else ''}"
    return case(op, opset, inputs, reference(op, attrs), attrs=attrs, id=name, atol=2e-3 if dtype == f16 else 2e-6, rtol=2e-3 if dtype == f16 else 1e-5)


CASES = [row(op, opset, direction=direction) for op in GATES for opset in (7, 14, 22) for direction in ("forward", "reverse", "bidirectional")]
CASES += [row(op, 14, dtype) for op in GATES for dtype in (f16, f64)]
CASES += [row(op, 14, direction=direction, bias=bias, states=states) for op in GATES for direction in ("forward", "bidirectional")
          for bias, states in ((False, True), (True, False), (False, False))]
CASES += [row("GRU", 14, direction=direction, linear_before_reset=1) for direction in ("forward", "bidirectional")]
