"""Matrix products, their quantised forms, Einsum, Det."""
import ml_dtypes
import numpy as np
import onnx

from ..case import FLOATS, bf16, case, data, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64

MATMUL_INTEGERS = (i32, i64, u32, u64)
EIGHT_BITS = (u8, i8)
INT32 = onnx.helper.make_tensor_type_proto(onnx.TensorProto.INT32, None)


def codes(shape, dtype, seed=0):
    """Any value of an 8- or 16-bit integer."""
    limits = np.iinfo(dtype)
    return np.random.default_rng([seed, *shape]).integers(limits.min, limits.max + 1, shape).astype(dtype)


def scalar(value, dtype=f32):
    return np.array(value, dtype)


def loose(dtype):
    """Sums of some hundred products: an error of a few roundings of the terms."""
    return {"rtol": 1e-2, "atol": 2e-2} if dtype in (f16, bf16) else {"rtol": 1e-5, "atol": 2e-4} if dtype == f32 else {"rtol": 1e-12, "atol": 1e-12}


# ---- MatMul, Gemm -----------------------------------------------------------------------------------------------------

MATMUL_SHAPES = [
    ((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 6)),
    ((4,), (3, 4, 5)), ((3, 2, 4), (4,)), ((1, 4), (4, 7)), ((4, 7), (7, 1)), ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((2, 0, 4), (2, 4, 3)),
    ((70, 300), (300, 130)), ((1, 300), (300, 270)), ((5, 1, 64), (5, 64, 9)), ((2, 70, 64), (2, 64, 70)),
]


def gemm(alpha=1.0, beta=1.0, trans_a=0, trans_b=0):
    def expect(a, b, c=0.0):
        y = alpha * ((a.T if trans_a else a) @ (b.T if trans_b else b)) + beta * c
        return y.astype(a.dtype) if a.dtype.kind in "iu" else y

    return {"expect": expect, "attrs": {"alpha": alpha, "beta": beta, "transA": trans_a, "transB": trans_b}}


def gemm_case(opset, m, n, k, c=None, dtype=f32, **how):
    a = data((k, m) if how.get("trans_a") else (m, k), dtype)
    b = data((n, k) if how.get("trans_b") else (k, n), dtype, seed=1)
    more = gemm(**how)
    inputs = [a, b] + ([] if c is None else [data(c, dtype, seed=2)])
    return case("Gemm", opset, inputs, more.pop("expect"), **more, **(loose(dtype) if dtype in FLOATS else {}))


MATMUL = [
    *[case("MatMul", 13, [data(a), data(b, seed=1)], np.matmul, **loose(f32)) for a, b in MATMUL_SHAPES],
    *[case("MatMul", 13, [data((5, 33), t), data((33, 40), t, seed=1)], np.matmul, **loose(t)) for t in FLOATS],
    *[case("MatMul", 13, [data((2, 5, 33), t), data((33, 40), t, seed=1)], np.matmul) for t in MATMUL_INTEGERS],
    case("MatMul", 1, [data((3, 4)), data((4, 5), seed=1)], np.matmul),
    case("MatMul", 9, [data((3, 4), i64), data((4, 5), i64, seed=1)], np.matmul),
    case("MatMul", 13, [np.full((1, 2), 2**31 - 1, i32), np.full((2, 1), 2**31 - 1, i32)], lambda a, b: scalar([[2]], i32), id="wraps", peer="overflows"),
    case("MatMul", 13, [data((3, 4)), data((5, 6))], error="cannot be multiplied"),
    case("MatMul", 13, [data((2, 3, 4)), data((3, 4, 5))], error="do not broadcast"),
    case("Gemm", 6, [data((3, 4)), data((4, 5), seed=1), data((5,), seed=2)], lambda a, b, c: a @ b + c, attrs={"broadcast": 1}),
    case("Gemm", 7, [data((3, 4)), data((4, 5), seed=1), data((5,), seed=2)], lambda a, b, c: a @ b + c),
    *[gemm_case(13, 3, 5, 4, c) for c in (None, (), (1,), (5,), (3, 1), (1, 5), (3, 5))],
    *[gemm_case(13, 70, 40, 64, (40,), trans_a=a, trans_b=b, alpha=0.5, beta=2.0) for a in (0, 1) for b in (0, 1)],
    *[gemm_case(13, 1, 40, 64, (1, 40), trans_b=b) for b in (0, 1)],
    *[gemm_case(13, 3, 5, 4, (5,), t) for t in (*FLOATS, *MATMUL_INTEGERS)],
    case("Gemm", 13, [data((3, 4)), data((4, 5)), data((4,))], error="does not broadcast"),
    case("Gemm", 13, [data((2, 3, 4)), data((4, 5))], error="must be a matrix"),
    *[case(op, 1, [data((2, 4, 3)), data((2, 5, 4), seed=1)], lambda a, b: 0.5 * (a.transpose(0, 2, 1) @ b.transpose(0, 2, 1)), domain="com.microsoft",
           attrs={"alpha": 0.5, "transA": 1, "transB": 1}) for op in ("FusedMatMul", "TransposeMatMul")],
    case("FusedGemm", 1, [data((3, 4)), data((4, 5), seed=1), data((5,), seed=2)], lambda a, b, c: np.maximum(a @ b + c, 0), domain="com.microsoft",
         attrs={"activation": "Relu"}),
    case("FusedGemm", 1, [data((3, 4)), data((4, 5), seed=1)], lambda a, b: np.where(a @ b < 0, 0.25 * (a @ b), a @ b), domain="com.microsoft",
         attrs={"activation": "LeakyRelu", "activation_alpha": 0.25}),
]

# ---- Quantised --------------------------------------------------------------------------------------------------------


def wide_product(a, b, a_zero=0, b_zero=0):
    a, b = a.astype(i64), b.astype(i64)
    a_zero, b_zero = np.asarray(a_zero, i64), np.asarray(b_zero, i64)
    return np.matmul(a - (a_zero[:, None] if a_zero.ndim == 1 else a_zero), b - b_zero)


def integer_product(*inputs):
    return wide_product(*inputs).astype(i32)


def saturate(x, dtype):
    limits = np.iinfo(dtype)
    return np.clip(x, limits.min, limits.max).astype(dtype)


def linear_product(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    scale = (f32.type(a_scale) * b_scale.astype(f32) / f32.type(y_scale)).astype(f32)
    return saturate(np.rint(wide_product(a, b, a_zero, b_zero).astype(f32) * scale) + int(y_zero), y_zero.dtype)


def float8_product(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    y = a.astype(f32) @ b.astype(f32) * (f32.type(a_scale) * f32.type(b_scale) / f32.type(y_scale))
    return y.astype(y_zero.dtype)


def dynamic_product(a, b, b_scale, b_zero, bias):
    low, high = min(a.min(), 0), max(a.max(), 0)
    scale = f32.type(high - low) / f32.type(255)
    zero = np.rint(-low / scale)
    quantised = np.clip(np.rint(a / scale) + zero, 0, 255)
    return ((quantised - zero) @ (b.astype(f64) - float(b_zero)) * (float(scale) * b_scale) + bias).astype(f32)


F8 = [np.dtype(t) for t in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz)]
FULL = [np.full((2, 70), 255, u8), np.full((70, 2), 127, i8)]

QUANTISED = [
    *[case("MatMulInteger", 10, [codes((4, 70), a), codes((70, 20), b), scalar(42, a), scalar(26, b)], integer_product) for a in EIGHT_BITS for b in EIGHT_BITS],
    case("MatMulInteger", 10, FULL, integer_product, id="largest"),
    case("MatMulInteger", 10, [codes((4, 9), u8), codes((9, 5), i8), np.arange(4, dtype=u8), np.arange(5, dtype=i8)], integer_product, id="zero points for each row and column",
         peer="refuses them"),
    case("MatMulInteger", 10, [codes((2, 3, 9), u8), codes((9, 5), i8)], integer_product),
    case("MatMulInteger", 10, [codes((2, 3, 9), u8), codes((2, 9, 5), i8), scalar(3, u8)], integer_product),
    case("MatMulInteger", 10, [codes((4, 9), u8), codes((9, 5), i8), np.arange(3, dtype=u8)], error="must hold one number or one for each", output_types=[INT32]),
    *[case("QLinearMatMul", 10, [codes((4, 70), t), scalar(0.02), scalar(42, t), codes((70, 20), t), scalar(0.03), scalar(3, t), scalar(0.9), scalar(5, t)], linear_product)
      for t in EIGHT_BITS],
    case("QLinearMatMul", 10, [scalar([[100]], u8), scalar(1), scalar(0, u8), scalar([[100]], u8), scalar(1), scalar(0, u8), scalar(0.2), scalar(0, u8)], linear_product,
         id="saturates", peer="wraps"),
    case("QLinearMatMul", 10, [codes((4, 7), u8), scalar(0.02), scalar(42, u8), codes((7, 5), i8), np.linspace(0.01, 0.05, 5, dtype=f32), np.zeros(5, i8), scalar(0.9), scalar(5, u8)],
         linear_product, id="a scale for each column"),
    case("QLinearMatMul", 21, [codes((4, 7), i8), scalar(0.02, f16), scalar(0, i8), codes((7, 5), i8), scalar(0.03, f16), scalar(0, i8), scalar(0.5, f16), scalar(0, i8)],
         lambda a, sa, za, b, sb, zb, sy, zy: linear_product(a, f32.type(sa), za, b, np.asarray(sb, f32), zb, f32.type(sy), zy), wide=False, peer="refuses f16 scales"),
    *[case("QLinearMatMul", 21, [data((4, 7)).astype(t), scalar(0.5), np.zeros((), t), data((7, 5), seed=1).astype(t), scalar(0.5), np.zeros((), t), scalar(1), np.zeros((), t)],
           float8_product, wide=False, peer="has no float8 product", rtol=0.25, atol=0.25) for t in F8],
    case("MatMulIntegerToFloat", 1, [codes((4, 7), u8), codes((7, 5), i8), scalar(0.02), np.linspace(0.01, 0.05, 5, dtype=f32), scalar(42, u8), None, data((5,))],
         lambda a, b, sa, sb, za, zb, bias: wide_product(a, b, za) * (f64.type(sa) * sb) + bias, domain="com.microsoft", **loose(f32)),
    case("DynamicQuantizeMatMul", 1, [data((4, 7)), codes((7, 5), u8), scalar(0.02), scalar(9, u8), data((5,))], dynamic_product, domain="com.microsoft", wide=False, **loose(f32)),
    case("MatMulInteger16", 1, [codes((4, 7), i16), codes((7, 5), i16)], integer_product, domain="com.microsoft", peer="has no kernel"),
    case("MatMulInteger16", 1, [codes((4, 7), u16), codes((7, 5), u16)], lambda a, b: wide_product(a, b).astype(u32), domain="com.microsoft", peer="has no kernel"),
    case("QGemm", 1, [codes((5, 4), u8), scalar(0.02), scalar(3, u8), codes((6, 5), i8), scalar(0.01), scalar(0, i8), np.arange(6, dtype=i32)],
         lambda a, sa, za, b, sb, zb, c: ((wide_product(a.T, b.T, za) + c) * (f32.type(sa) * f32.type(sb))).astype(f32), domain="com.microsoft", wide=False,
         attrs={"transA": 1, "transB": 1}, rtol=1e-5, atol=1e-5),
    case("QGemm", 1, [codes((4, 5), u8), scalar(0.02), scalar(3, u8), codes((5, 6), i8), scalar(0.01), scalar(0, i8), None, scalar(0.3), scalar(7, u8)],
         lambda a, sa, za, b, sb, zb, c, sy, zy: linear_product(a, sa, za, b, np.asarray(sb), zb, sy, zy), domain="com.microsoft"),
]


def packed(values, bits):
    """Codes of 2, 4 or 8 bits side by side in bytes, first one in the low bits; the last dim is filled up."""
    per_byte = 8 // bits
    values = np.concatenate([values, np.zeros((*values.shape[:-1], -values.shape[-1] % per_byte), values.dtype)], -1)
    values = values.reshape(*values.shape[:-1], -1, per_byte)
    return sum(values[..., i].astype(i64) << (bits * i) for i in range(per_byte)).astype(u8)


def nbits_case(bits, m, n, k, block, dtype=f32, zeros=None, groups=False, bias=False):
    random = np.random.default_rng([bits, m, n, k, block])
    blocks = -(-k // block)
    values, zero_points = random.integers(0, 2**bits, (n, blocks * block)), random.integers(0, 2**bits, (n, blocks))
    scales = random.uniform(0.01, 0.1, (n, blocks)).astype(dtype)
    group = random.integers(0, blocks, k).astype(i32) if groups else np.arange(k) // block
    zero = zero_points if zeros else np.full((n, blocks), 2 ** (bits - 1))
    weights = (values[:, :k] - zero[:, group]) * scales.astype(f64)[:, group]
    added = data((n,), dtype, seed=3) if bias else None
    zero_input = None if zeros is None else packed(zero_points, bits).reshape(-1) if zeros == "packed" else zero_points.astype(dtype)
    inputs = [data((m, k), dtype), packed(values, bits).reshape(n, blocks, -1), scales.reshape(-1), zero_input, group if groups else None, added]
    while inputs[-1] is None:
        inputs.pop()
    return case("MatMulNBits", 1, inputs, lambda a, *rest: a @ weights.T + (0 if added is None else added.astype(f64)), domain="com.microsoft",
                attrs={"bits": bits, "N": n, "K": k, "block_size": block}, id=f"{bits}-bit-{m}x{n}x{k}-{zeros}-{dtype}{'-groups' if groups else ''}{'-bias' if bias else ''}",
                peer=bits == 4 and not groups and dtype == f32 or "differs in what it supports", **loose(dtype))


NBITS = [
    *[nbits_case(bits, m, 24, 64, 32) for bits in (2, 4, 8) for m in (1, 3, 20)],
    *[nbits_case(bits, 2, 33, 100, 16, zeros=zeros) for bits in (2, 4, 8) for zeros in ("packed", "float")],
    *[nbits_case(4, m, 24, 64, 32, dtype, bias=True) for m in (1, 20) for dtype in (f32, f16, bf16)],
    nbits_case(4, 3, 24, 64, 16, zeros="packed", groups=True),
    case("MatMulNBits", 1, [data((2, 32)), np.zeros((4, 1, 16), u8), np.ones(4, f32)], domain="com.microsoft", attrs={"bits": 3, "N": 4, "K": 32, "block_size": 32}, error="'bits' is 3"),
    case("MatMulNBits", 1, [data((2, 32)), np.zeros((4, 1, 8), u8), np.ones(4, f32)], domain="com.microsoft", attrs={"bits": 4, "N": 4, "K": 32, "block_size": 32},
         error="input 'B' has 32 elements"),
]

# ---- com.microsoft elementwise ----------------------------------------------------------------------------------------


def dequantised(x, scale, zero):
    return (x.astype(f64) - float(zero)) * float(scale)


def quantised(y, scale, zero):
    return saturate(np.rint(y / float(scale)) + int(zero), zero.dtype)


def qlinear_binary(function):
    return lambda a, sa, za, b, sb, zb, sy, zy: quantised(function(dequantised(a, sa, za), dequantised(b, sb, zb)), sy, zy)


def qlinear_unary(function):
    return lambda x, sx, zx, sy, zy: quantised(function(dequantised(x, sx, zx)), sy, zy)


QLINEAR = [
    *[case(op, 1, [codes((2, 3, 4), t), scalar(0.02), scalar(3, t), codes((3, 1), t), scalar(0.03), scalar(10, t), scalar(0.0507), scalar(9, t)], qlinear_binary(function),
           domain="com.microsoft", wide=False) for t in EIGHT_BITS for op, function in (("QLinearAdd", np.add), ("QLinearMul", np.multiply))],
    *[case(op, 1, [codes((2, 3, 4), t), scalar(0.02), scalar(3, t), scalar(0.0107), scalar(9, t)], qlinear_unary(function), domain="com.microsoft", wide=False)
      for t in EIGHT_BITS for op, function in (("QLinearSigmoid", lambda x: 1 / (1 + np.exp(-x))), ("QLinearLeakyRelu", lambda x: np.where(x < 0, x * f32.type(0.01), x)))],
    case("QLinearGlobalAveragePool", 1, [codes((2, 3, 4, 5), u8), scalar(0.02), scalar(3, u8), scalar(0.0107), scalar(9, u8)],
         qlinear_unary(lambda x: x.mean((2, 3), keepdims=True)), domain="com.microsoft", wide=False),
    case("QLinearGlobalAveragePool", 1, [codes((2, 4, 5, 3), u8), scalar(0.02), scalar(3, u8), scalar(0.0107), scalar(9, u8)],
         qlinear_unary(lambda x: x.mean((1, 2), keepdims=True)), domain="com.microsoft", wide=False, attrs={"channels_last": 1}),
]

# ---- Einsum, Det ------------------------------------------------------------------------------------------------------

EQUATIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk", (3, 4), (4, 5)), (" i j , jk -> i k ", (3, 4), (4, 5)), ("ij->ji", (3, 4)), ("ba", (3, 4)), ("ii->i", (4, 4)), ("ii", (4, 4)),
    ("ij->", (3, 4)), ("ij->j", (3, 4)), ("i,j->ij", (3,), (4,)), ("i,i->", (7,), (7,)), ("i,i->i", (7,), (7,)), ("ijk,ij->ik", (3, 4, 5), (3, 4)),
    ("bhqd,bhkd->bhqk", (2, 3, 5, 4), (2, 3, 6, 4)), ("bqhd,bkhd->bhqk", (2, 5, 3, 4), (2, 6, 3, 4)), ("bhqk,bkhd->bqhd", (2, 3, 5, 6), (2, 6, 3, 4)),
    ("...ij,...jk->...ik", (2, 3, 4, 5), (2, 3, 5, 6)), ("...ij,...jk->...ik", (2, 1, 4, 5), (3, 5, 6)), ("...->...", (2, 3)), ("i...->...", (2, 3, 4)), ("...i->i...", (2, 3, 4)),
    ("ij,kl->", (2, 3), (4, 5)), ("iij,jk->ik", (3, 3, 4), (4, 5)), ("ij,jk->ki", (30, 40), (40, 50)), ("abc,ade->bdce", (4, 5, 6), (4, 3, 2)), ("abcd,dcba->", (2, 3, 4, 5), (5, 4, 3, 2)),
    ("bij,bjk,bkl->il", (2, 3, 4), (2, 4, 5), (2, 5, 6)), ("ab,ab,ab->b", (3, 4), (3, 4), (3, 4)), ("a,b,c,d->dcba", (2,), (3,), (4,), (5,)), ("ij,jk->ik", (0, 4), (4, 5)),
    ("ij,jk->ik", (3, 0), (0, 5)),
]


def einsum_case(opset, equation, shapes, dtype=f32):
    inputs = [data(shape, dtype, seed=i) for i, shape in enumerate(shapes)]
    small = lambda *arrays: np.asarray(np.einsum(equation.replace(" ", ""), *arrays)).astype(arrays[0].dtype)  # noqa: E731
    return case("Einsum", opset, inputs, small, attrs={"equation": equation}, id=f"{equation}-{dtype}{'-empty' if any(0 in s for s in shapes) else ''}", **loose(dtype))


EINSUM = [
    *[einsum_case(12, equation, shapes) for equation, *shapes in EQUATIONS],
    *[einsum_case(12, "bij,bjk->ikb", [(2, 3, 4), (2, 4, 5)], t) for t in (f16, f64, i32, i64, i16, i8, u8, u32)],
    einsum_case(28, "bij,bjk->bik", [(2, 3, 4), (2, 4, 5)], bf16),
    case("Einsum", 12, [data((3, 4)), data((5, 6))], attrs={"equation": "ij,jk->ik"}, error="the same label"),
    case("Einsum", 12, [data((3, 4))], attrs={"equation": "ijk->i"}, error="has rank 2; its term"),
    case("Einsum", 12, [data((3, 4))], attrs={"equation": "ij->z"}, error="that no input has"),
    case("Einsum", 12, [data((3, 4))], attrs={"equation": "i?->i"}, error="terms are letters"),
    case("Einsum", 12, [data((3, 4))], attrs={"equation": "ij,jk->ik"}, error="does not have a term for each"),
    *[case("Det", opset, [data((2, 3, 4, 4), t)], lambda x: np.linalg.det(x.astype(f64)), **(loose(t) | {"rtol": 2e-2 if t in (f16, bf16) else 1e-5}))
      for opset, types in ((11, (f32, f64, f16)), (22, (bf16,))) for t in types],
    case("Det", 11, [data((3, 3))], lambda x: np.asarray(np.linalg.det(x)), rtol=1e-5),
    case("Det", 11, [np.array([[0.0, 2.0], [3.0, 4.0]], f32)], lambda x: np.asarray(-6.0), id="needs a row exchange"),
    case("Det", 11, [np.ones((3, 3), f32)], lambda x: np.asarray(0.0), id="singular"),
    case("Det", 11, [data((3, 4))], error="square"),
]

CASES = MATMUL + QUANTISED + NBITS + QLINEAR + EINSUM
