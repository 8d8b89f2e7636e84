"""Attention and its relatives."""
import numpy as np

from ..case import bf16, boolean, case, data, f16, f32, f64, i64
from .linear import loose


def heads(x, count):
    """[batch, length, heads * size] as [batch, heads, length, size]."""
    return x if x.ndim == 4 else x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)


def attention(q, k, v, mask=None, past_key=None, past_value=None, valid=None, scale=None, is_causal=0, softcap=0, q_num_heads=0, kv_num_heads=0, qk_matmul_output_mode=0,
              left_window_size=-1, right_window_size=-1):
    flat = q.ndim == 3
    q, k, v = heads(q, q_num_heads), heads(k, kv_num_heads), heads(v, kv_num_heads)
    if past_key is not None:
        k, v = np.concatenate([past_key, k], 2), np.concatenate([past_value, v], 2)
    group = q.shape[1] // k.shape[1]
    raw = q @ np.repeat(k, group, 1).swapaxes(2, 3) * (scale or q.shape[-1] ** -0.5)
    capped = np.tanh(raw / softcap) * softcap if softcap else raw
    lengths = (q.shape[2], k.shape[2])
    offset = np.array(0 if past_key is None else past_key.shape[2]) if valid is None else (valid - lengths[0]).reshape(-1, 1, 1, 1)
    distance = np.arange(lengths[1]) - (np.arange(lengths[0])[:, None] + offset)
    seen = np.ones(distance.shape, bool)
    seen &= (distance <= 0) if is_causal else True
    seen &= (distance <= right_window_size) if right_window_size >= 0 else True
    seen &= (distance >= -left_window_size) if left_window_size >= 0 else True
    if valid is not None:
        seen = seen & (np.arange(lengths[1]) < valid.reshape(-1, 1, 1, 1))
    bias = np.where(seen, 0.0, -np.inf)
    if mask is not None:
        added = np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask
        bias = bias + np.pad(added, [(0, 0)] * (mask.ndim - 1) + [(0, lengths[1] - mask.shape[-1])], constant_values=-np.inf)
    biased = capped + bias
    top = biased.max(-1, keepdims=True)
    powers = np.exp(biased - np.where(np.isinf(top), 0, top))
    soft = powers / np.maximum(powers.sum(-1, keepdims=True), 1e-300)
    y = soft @ np.repeat(v, group, 1)
    y = y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1) if flat else y
    return y, k, v, [raw, capped, biased, soft][qk_matmul_output_mode]


def attention_case(opset=23, dtype=f32, q=(2, 3, 4, 8), k=(2, 3, 6, 8), v=(2, 3, 6, 10), mask=None, past=None, valid=None, outputs=1, peer="does not implement all of it", **how):
    inputs = [data(q, dtype, -1, 1), data(k, dtype, -1, 1, seed=1), data(v, dtype, -1, 1, seed=2), mask,
              None if past is None else data((k[0], k[1], past, k[3]), dtype, -1, 1, seed=3), None if past is None else data((v[0], v[1], past, v[3]), dtype, -1, 1, seed=4), valid]
    while inputs[-1] is None:
        inputs.pop()
    tolerance = {"rtol": 2e-2, "atol": 2e-2} if dtype in (f16, bf16) else loose(dtype)
    name = ",".join(f"{key}={value}" for key, value in how.items()) or "plain"
    shape = f"{q}{k}-{'-' if mask is None else mask.dtype}{'-' if mask is None else mask.shape}-past={past}-{'valid' if valid is not None else ''}-{outputs}"
    return case("Attention", opset, inputs, lambda *x: attention(*x, **how)[:outputs], attrs=how, id=f"{dtype}-{name}-{shape}".replace(" ", ""), peer=peer, **tolerance)


def linear_attention(q, k, v, state=None, decay=None, beta=None, q_num_heads=1, kv_num_heads=1, scale=0, update_rule="gated_delta"):
    group = q_num_heads // kv_num_heads
    q, k, v = heads(q, q_num_heads), heads(k, kv_num_heads), heads(v, kv_num_heads)
    state = np.zeros((*k.shape[:2], k.shape[3], v.shape[3])) if state is None else state
    y = np.zeros((*q.shape[:3], v.shape[3]))
    for t in range(q.shape[2]):
        value = v[:, :, t]
        if decay is not None:
            state = state * np.exp(heads(decay, kv_num_heads)[:, :, t])[..., None]
        if beta is not None:
            value = beta[:, t, :, None] * (value - np.einsum("bhdm,bhd->bhm", state, k[:, :, t]))
        state = state + k[:, :, t, :, None] * value[:, :, None]
        y[:, :, t] = np.einsum("bhd,bhdm->bhm", q[:, :, t], np.repeat(state, group, 1)) * (scale or q.shape[-1] ** -0.5)
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1), state


def linear_case(rule, dtype=f32, state=True, decay=None, beta=None, **how):
    how |= {"update_rule": rule, "q_num_heads": 4, "kv_num_heads": 2}
    part = lambda shape, seed: data(shape, dtype, -0.5, 0.5, seed=seed)
    inputs = [part((2, 5, 24), 0), part((2, 5, 12), 1), part((2, 5, 8), 2), part((2, 2, 6, 4), 3) if state else None, part((2, 5, decay), 4) if decay else None, part((2, 5, beta), 5) if beta else None]
    while inputs[-1] is None:
        inputs.pop()
    tolerance = {"rtol": 2e-2, "atol": 2e-2} if dtype in (f16, bf16) else loose(dtype)
    return case("LinearAttention", 27, inputs, lambda *x: linear_attention(*x, **how), attrs=how, id=f"{rule}-{dtype}-{state}-{decay}-{beta}", peer=False, **tolerance)


def causal_conv(x, w, bias=None, state=None, activation="none"):
    taps = w.shape[2]
    padded = np.concatenate([np.zeros((*x.shape[:2], taps - 1)) if state is None else state, x], 2)
    y = sum(padded[:, :, i:i + x.shape[2]] * w[None, :, 0, i, None] for i in range(taps)) + (0 if bias is None else bias[:, None])
    return y if activation == "none" else y / (1 + np.exp(-y)), padded[:, :, padded.shape[2] - taps + 1:]


def causal_case(dtype=f32, bias=True, state=True, **how):
    inputs = [data((2, 3, 5), dtype), data((3, 1, 4), dtype, seed=1), data((3,), dtype, seed=2) if bias else None, data((2, 3, 3), dtype, seed=3) if state else None]
    while inputs[-1] is None:
        inputs.pop()
    return case("CausalConvWithState", 27, inputs, lambda *x: causal_conv(*x, **how), attrs=how, id=f"{dtype}-{bias}-{state}-{how}", peer=False, **loose(dtype))


FLAT = {"q": (2, 4, 24), "k": (2, 6, 24), "v": (2, 6, 30), "q_num_heads": 3, "kv_num_heads": 3}
FLOAT_MASK = data((4, 6), f32)
BOOL_MASK = data((2, 1, 4, 6), boolean)
HIDDEN = np.array([[True] * 6, [False] * 6, [True, False] * 3, [True] * 6])

CASES = [
    *[attention_case(dtype=t) for t in (f32, f64, f16, bf16)],
    attention_case(outputs=4),
    *[attention_case(outputs=4, qk_matmul_output_mode=mode, softcap=0.5, mask=FLOAT_MASK) for mode in (0, 1, 2, 3)],
    attention_case(**FLAT),
    attention_case(outputs=4, is_causal=1, **FLAT),
    attention_case(dtype=f16, outputs=3, **FLAT),
    attention_case(q=(2, 6, 4, 8), k=(2, 2, 6, 8), v=(2, 2, 6, 8), is_causal=1),
    attention_case(scale=0.25),
    # Longer than a tile of any kernel: queries, keys, and windows that leave tiles out.
    *[attention_case(dtype=t, q=(1, 2, 70, 32), k=(1, 1, 130, 32), v=(1, 1, 130, 32), **how) for t in (f32, f16, bf16)
      for how in ({}, {"is_causal": 1}, {"left_window_size": 20, "right_window_size": 5}, {"mask": data((1, 2, 70, 130), boolean, seed=6), "softcap": 2.0})],
    *[attention_case(dtype=t, q=(1, 2, 9, size), k=(1, 2, 40, size), v=(1, 2, 40, size)) for t in (f32, f16) for size in (20, 100, 200)],
    # One query after many keys, whose heads share them.
    *[attention_case(dtype=t, q=(2, 4, 1, 64), k=(2, 2, 1, 64), v=(2, 2, 1, 64), past=600, outputs=3, is_causal=1) for t in (f32, f16, bf16)],
    attention_case(dtype=f16, q=(2, 3, 256), k=(2, 40, 128), v=(2, 40, 128), mask=data((2, 1, 1, 40), f16, -4, 0, seed=7), q_num_heads=4, kv_num_heads=2),
    attention_case(mask=BOOL_MASK),
    attention_case(mask=HIDDEN, outputs=4, qk_matmul_output_mode=3),
    attention_case(mask=data((3, 4, 6), f32), is_causal=1),
    attention_case(mask=data((4, 4), f32)),
    attention_case(mask=data((2, 3, 4, 6), f64), dtype=f64),
    attention_case(past=3, outputs=3, is_causal=1),
    attention_case(past=3, is_causal=1, mask=data((4, 9), f32)),
    attention_case(dtype=bf16, past=3, outputs=3),
    attention_case(q=(1, 2, 70, 16), k=(1, 2, 150, 16), v=(1, 2, 150, 16), is_causal=1),            # several blocks of rows
    attention_case(opset=24, valid=np.array([6, 3], i64), k=(2, 3, 6, 8)),
    attention_case(opset=24, valid=np.array([6, 4], i64), is_causal=1),
    attention_case(opset=25, left_window_size=1, right_window_size=1),
    attention_case(opset=25, left_window_size=2, past=3),
    case("Attention", 23, [data((2, 4, 24))] * 3, error="q_num_heads", peer=False),
    case("Attention", 23, [data((2, 3, 4, 8)), data((2, 2, 6, 8)), data((2, 2, 6, 8))], error="cannot share", peer=False),
    case("Attention", 23, [data((2, 3, 4, 8)), data((2, 3, 6, 8)), data((2, 3, 6, 8)), data((5, 6))], error="'attn_mask' has shape", peer=False),
    *[linear_case("linear", t) for t in (f32, f16, bf16)],
    linear_case("linear", state=False, scale=0.5),
    *[linear_case("gated", decay=n) for n in (2, 12)],
    *[linear_case("delta", beta=n) for n in (1, 2)],
    linear_case("gated_delta", decay=12, beta=2),
    case("LinearAttention", 27, [data((2, 5, 24))] * 3, attrs={"q_num_heads": 4, "kv_num_heads": 4}, error="needs input 'decay'", peer=False),
    *[causal_case(t) for t in (f32, f16, bf16)],
    causal_case(bias=False, state=False),
    causal_case(activation="silu"),
    case("CausalConvWithState", 27, [data((2, 3, 5)), data((4, 1, 4))], error="'weight' must be", peer=False),
]
