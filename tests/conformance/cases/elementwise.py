"""Functions of one number, arithmetic, comparisons and choices: every operator at every opset that changed it, for every type that it takes."""

import math

import ml_dtypes
import numpy as np
from conformance.case import FLOATS, INTEGERS, NUMERIC, SIGNED, boolean, case, data, f16, f32, f64, i32, i64, string, u8
from conformance.schema import dtypes, versions
from onnx import TensorProto, helper

FIFTH, HUNDREDTH = float(f32.type(0.2)), float(f32.type(0.01))  # as attributes hold them
erf = np.vectorize(math.erf, otypes=[float])
erfc = np.vectorize(math.erfc, otypes=[float])


def sigmoid(x):
    return np.where(x < 0, np.exp(np.minimum(x, 0)) / (1 + np.exp(np.minimum(x, 0))), 1 / (1 + np.exp(-np.maximum(x, 0))))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def gelu(x):
    return 0.5 * x * erfc(-x / np.sqrt(2.0))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def positive(shape, dtype, high=9, seed=0):
    """From 1 on, in whole types as well."""
    return data(shape, dtype, 0, high - 1, seed) + np.ones((), dtype)


def selu(x, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875):
    return gamma * np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


# Operator: (function, inputs lie in, attributes to test with).
UNARY = {
    "Abs": (np.abs, (-3, 3)),
    "Neg": (np.negative, (-3, 3)),
    "Ceil": (np.ceil, (-3, 3)),
    "Floor": (np.floor, (-3, 3)),
    "Round": (np.round, (-3, 3)),
    "Sqrt": (np.sqrt, (0, 9)),
    "Exp": (np.exp, (-3, 3)),
    "Log": (np.log, (0.01, 9)),
    "Sin": (np.sin, (-9, 9)),
    "Cos": (np.cos, (-9, 9)),
    "Tan": (np.tan, (-1.5, 1.5)),
    "Asin": (np.arcsin, (-1, 1)),
    "Acos": (np.arccos, (-1, 1)),
    "Atan": (np.arctan, (-9, 9)),
    "Sinh": (np.sinh, (-3, 3)),
    "Cosh": (np.cosh, (-3, 3)),
    "Tanh": (np.tanh, (-3, 3)),
    "Asinh": (np.arcsinh, (-3, 3)),
    "Acosh": (np.arccosh, (1, 9)),
    "Atanh": (np.arctanh, (-0.9, 0.9)),
    "Reciprocal": (np.reciprocal, (0.2, 5)),
    "Sign": (np.sign, (-3, 3)),
    "Erf": (erf, (-3, 3)),
    "Sigmoid": (sigmoid, (-9, 9)),
    "HardSigmoid": (lambda x, alpha=FIFTH, beta=0.5: np.clip(alpha * x + beta, 0, 1), (-5, 5), {"alpha": 0.25, "beta": 0.375}),
    "HardSwish": (lambda x: x * np.clip(x / 6 + 0.5, 0, 1), (-5, 5)),
    "Relu": (lambda x: np.maximum(x, 0), (-3, 3)),
    "LeakyRelu": (lambda x, alpha=HUNDREDTH: np.where(x < 0, alpha * x, x), (-3, 3), {"alpha": 0.25}),
    "Elu": (lambda x, alpha=1.0: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x), (-3, 3), {"alpha": 1.5}),
    "Selu": (selu, (-3, 3), {"alpha": 1.5, "gamma": 1.25}),
    "Celu": (lambda x, alpha=1.0: np.maximum(0, x) + np.minimum(0, alpha * np.expm1(x / alpha)), (-3, 3), {"alpha": 2.0}),
    "Softplus": (softplus, (-9, 9)),
    "Softsign": (lambda x: x / (1 + np.abs(x)), (-3, 3)),
    "ThresholdedRelu": (lambda x, alpha=1.0: np.where((x > alpha) | np.isnan(x), x, 0), (-3, 3), {"alpha": 0.5}),
    "Mish": (lambda x: x * np.tanh(softplus(x)), (-9, 9)),
    "Gelu": (lambda x, approximate="none": gelu_tanh(x) if approximate == "tanh" else gelu(x), (-5, 5), {"approximate": "tanh"}),
    "Swish": (lambda x, alpha=1.0: x * sigmoid(alpha * x), (-9, 9), {"alpha": 1.5}),
    "Shrink": (
        lambda x, lambd=0.5, bias=0.0: np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, np.where(np.isnan(x), x, 0))),
        (-3, 3),
        {"lambd": 1.0, "bias": 1.0},
    ),
    "BitwiseNot": (np.invert, (-9, 9)),
}
# Where onnxruntime's own kernels are further from the true value than four units in the last place, or have no kernel that agrees.
PEER = {
    "Erf": "integers are not implemented there, and float is a coarser approximation",
    "Gelu": "a coarser approximation there",
    "Swish": "a coarser approximation there",
    "Sigmoid": "a coarser approximation there",
    "Mish": "a coarser approximation there",
    "Softplus": "a coarser approximation there",
    "Tanh": "a coarser approximation there",
    "Selu": "e^x - 1 cancels there",
    "Elu": "e^x - 1 cancels there",
    "Celu": "e^x - 1 cancels there",
    "Shrink": "halves are rounded twice there",
    "Sinh": "float16 goes another way there",
}
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 50.0, -50.0, 1e30, -1e30], f64)


def quiet(function):
    """Without numpy's warnings, which special values are meant to cause."""

    def run(*args):
        with np.errstate(all="ignore"):
            return function(*args)

    return run


def kept(function, x, **attrs):
    """Integer results stay integers of their type."""
    y = np.asarray(function(x, **attrs))
    return y if x.dtype.kind == "f" else y.astype(x.dtype)


def unary_rows(op, function, span, attrs=None):
    peer = PEER.get(op, True)
    for opset in versions(op):
        for dtype in dtypes(op, opset, among=NUMERIC):
            yield case(op, opset, [data((2, 37), dtype, *span)], lambda x: kept(function, x), peer=peer)
            if attrs:
                yield case(op, opset, [data((2, 37), dtype, *span)], lambda x: kept(function, x, **attrs), attrs=attrs, id=f"attributes-{dtype}", peer=peer)
    if op != "BitwiseNot":
        # In double the operator is the function itself; float must come to the same, rounded.
        yield case(op, versions(op)[-1], [SPECIAL.astype(f32)], quiet(lambda x: function(x)), id="special values", peer="special values")
        yield case(op, versions(op)[-1], [data((3, 5000), f32, *span)], function, id="large", peer=peer)


def broadcast_rows(op, opset, dtype, function, sample=data, **more):
    """Equal shapes, a scalar on either side, rows, columns, outer products, short inner axes."""
    shapes = [((3, 4), (3, 4)), ((3, 4), ()), ((1,), (2, 3)), ((2, 3, 5), (5,)), ((2, 3, 5), (3, 1)), ((4, 1), (1, 5)), ((2, 70), (2, 1)), ((0, 3), (1, 3))]
    for a, b in shapes if dtype in (f32, f16) else shapes[:1]:
        yield case(op, opset, [sample(a, dtype), sample(b, dtype, seed=1)], function, id=f"{dtype}-{a}-{b}", **more)


def wrapped(function):
    """In the type of the operands, as integers of fixed width behave."""

    def run(a, b):
        with np.errstate(all="ignore"):
            return np.asarray(function(a, b)).astype(a.dtype)

    return run


ARITHMETIC = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": lambda a, b: a / b if a.dtype.kind == "f" else (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))),
}
COMPARISONS = {"Equal": np.equal, "Less": np.less, "Greater": np.greater, "LessOrEqual": np.less_equal, "GreaterOrEqual": np.greater_equal}


def arithmetic():
    for op, function in ARITHMETIC.items():
        for opset in versions(op):
            for dtype in dtypes(op, opset, among=NUMERIC):
                yield from broadcast_rows(op, opset, dtype, wrapped(function), positive if op == "Div" else data)
    low = np.iinfo(i32).min
    yield case("Div", 14, [np.array([low, 7, -7], i32), np.array([-1, -2, 2], i32)], np.array([low, -3, -3], i32), id="wraps", peer="may crash there")
    yield case(
        "Div",
        14,
        [np.array([1, 2], i32), np.array([1, 0], i32)],
        error="element 1 of 'B' is zero|divided by zero",
        output_types=[helper.make_tensor_type_proto(TensorProto.INT32, None)],
    )
    yield case("Add", 14, [data((2, 3)), data((2, 4))], error=r"broadcast")


def large():
    """Enough elements for several threads, in each way that operands can lie."""
    for dtype in (f32, f16):
        for a, b in (
            ((64, 5000), (64, 5000)),
            ((64, 5000), (5000,)),
            ((64, 1), (64, 5000)),
            ((5000, 64), ()),
            ((100000, 3), (3,)),
            ((9, 200, 200), (9, 1, 200)),
        ):
            yield case("Sub", 14, [data(a, dtype), data(b, dtype, seed=1)], np.subtract, id=f"{dtype}-{a}-{b}")
        inputs = [data(shape, dtype, seed=i) for i, shape in enumerate([(64, 5000), (5000,), (64, 1), ()])]
        yield case("Max", 13, inputs, lambda *x: np.maximum.reduce(np.broadcast_arrays(*x)), id=f"{dtype}-large")
        yield case("Where", 16, [data((64, 1), boolean), data((64, 5000), dtype), data((5000,), dtype, seed=1)], np.where, id=f"{dtype}-large")
    yield case("Less", 13, [data((64, 5000)), data((64, 1), seed=1)], np.less, id="large")


def modulo():
    for opset in versions("Mod")[1:] if versions("Mod")[0] < 10 else versions("Mod"):
        for dtype in dtypes("Mod", opset, among=NUMERIC):
            a, b = data((24,), dtype, -9, 9), positive((24,), dtype, 5, seed=1)
            if dtype in SIGNED:
                b = b * np.array([1, -1] * 12, dtype)
            yield case("Mod", opset, [a, b], np.fmod, attrs={"fmod": 1}, id=f"fmod-{dtype}")
            yield case("Mod", opset, [a, b], np.mod, peer=dtype in INTEGERS or "floats need fmod there")
    yield case(
        "Mod", 28, [np.array([5, -5, 0, 7], f32), np.array([-np.inf, np.inf, -3, -0.0], f32)], np.array([-np.inf, np.inf, -0.0, np.nan], f32), peer="newer"
    )
    yield case("Mod", 13, [np.array([np.iinfo(i64).min, 5], i64), np.array([-1, 3], i64)], np.array([0, 2], i64), id="wraps", peer="may crash there")
    yield case("Mod", 13, [np.array([5], i64), np.array([0], i64)], error="is zero|divided by zero", output_types=[helper.make_tensor_type_proto(TensorProto.INT64, None)])


def power():
    for opset in versions("Pow"):
        for base in dtypes("Pow", opset, "T", NUMERIC):
            for exponent in dtypes("Pow", opset, "T1", NUMERIC) if opset >= 12 else [base]:
                x, y = positive((13,), base, 4), positive((13,), exponent, 4, seed=1)
                # Rounding of the logarithm grows with the exponent.
                yield case(
                    "Pow",
                    opset,
                    [x, y],
                    lambda a, b: a.astype(f64) ** b.astype(f64) if a.dtype.kind == "f" else (a.astype(f64) ** b.astype(f64)).astype(a.dtype),
                    peer="halves and mixed types are computed in other precisions there",
                )
    for exponent in (2, 3, 0.5, -1, 1, 0, -2.5):
        yield case("Pow", 15, [data((50,), f32, 0.1, 4), np.array(exponent, f32)], np.power, id=f"by {exponent}")
    yield case("Pow", 15, [np.array([-np.inf, -0.0, np.nan, np.inf], f32), np.array(0.5, f32)], np.array([np.inf, 0.0, np.nan, np.inf], f32), id="square roots")
    yield case(
        "Pow",
        15,
        [np.array([13, 3, 7, -2, 2, 1, -1], i64), np.array([8, 39, 22, 3, -1, -5, -5], i64)],
        np.array([13**8, 3**39, 7**22, -8, 0, 1, -1], i64),
        id="whole numbers",
        peer="through double there",
    )


def comparisons():
    for op, function in COMPARISONS.items():
        for opset in versions(op):
            for dtype in dtypes(op, opset, among=(*NUMERIC, boolean, string)):
                yield from broadcast_rows(op, opset, dtype, lambda a, b, f=function: f(a, b).astype(bool))
        nan = np.array([np.nan, 1, np.nan, -0.0], f32)
        yield case(op, versions(op)[-1], [nan, np.array([np.nan, np.nan, 1, 0], f32)], function, id="NaN")
    yield case("Equal", 19, [np.array(["a", "", "ab"], object), np.array(["a", "b", "ab"], object)], np.array([True, False, True]))


def logic():
    for op, function in {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}.items():
        yield case(op, 7, [data((3, 4), boolean), data((4,), boolean, seed=1)], function)
        yield case(op, 7, [data((3, 4), boolean), data((3, 4), boolean, seed=1)], function)
    yield case("Not", 7, [data((3, 4), boolean)], np.logical_not)
    for op, function in {"BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor}.items():
        for dtype in INTEGERS:
            yield case(op, 18, [data((3, 4), dtype, -99, 99), data((4,), dtype, -99, 99, seed=1)], function)
    for opset in versions("BitShift"):
        for dtype in dtypes("BitShift", opset):
            bits = dtype.itemsize * 8
            x, by = np.array([100, 3, 1, 7, 5], dtype), np.array([1, 0, bits - 1, bits, bits + 1], dtype)
            mask = 2**bits - 1
            left = np.array([(int(a) << int(b)) & mask for a, b in zip(x, by, strict=True)], np.uint64).astype(f"u{dtype.itemsize}").view(dtype)
            right = np.array([int(a) >> int(b) for a, b in zip(x, by, strict=True)], dtype)
            yield case("BitShift", opset, [x, by], left, attrs={"direction": "LEFT"}, id=f"left-{dtype}", peer="shifts by the width or more wrap there")
            yield case("BitShift", opset, [x, by], right, attrs={"direction": "RIGHT"}, id=f"right-{dtype}", peer="shifts by the width or more wrap there")
    yield case(
        "BitShift", 28, [np.array([-8, -1, -100], i32), np.array([1, 40, -2], i32)], np.array([-4, -1, -1], i32), attrs={"direction": "RIGHT"}, id="sign"
    )


def tests():
    x = np.array([np.nan, np.inf, -np.inf, 0, 1.5, -2], f64)
    small = [np.dtype(getattr(ml_dtypes, n)) for n in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")]
    for op, function in {"IsNaN": np.isnan, "IsInf": np.isinf}.items():
        for opset in versions(op):
            for dtype in dtypes(op, opset, "T1", (*FLOATS, *small)):
                yield case(op, opset, [x.astype(dtype)], lambda v, f=function: f(v.astype(f32)), id=str(dtype))
    yield case("IsInf", 20, [x.astype(f32)], np.isposinf, attrs={"detect_negative": 0}, id="positive")
    yield case("IsInf", 20, [x.astype(f32)], np.isneginf, attrs={"detect_positive": 0}, id="negative")


def variadic():
    folds = {"Max": np.maximum.reduce, "Min": np.minimum.reduce, "Sum": sum, "Mean": lambda x: sum(x) / len(x)}
    for op, fold in folds.items():
        for opset in versions(op):
            for dtype in dtypes(op, opset, among=NUMERIC):
                inputs = [data(s, dtype, seed=i) for i, s in enumerate([(2, 3), (3,), (2, 1), (1,)])]
                yield case(op, opset, inputs[:1], lambda *x, f=fold: f(x), id=f"one-{dtype}")
                yield case(op, opset, inputs[:2], lambda *x, f=fold: f(np.broadcast_arrays(*x)), id=f"two-{dtype}")
                yield case(
                    op,
                    opset,
                    inputs,
                    lambda *x, f=fold: f(np.broadcast_arrays(*x)),
                    id=f"four-{dtype}",
                    peer=dtype == f32 or "halves are rounded at each step there",
                )
        nan = [np.array([np.nan, 1, 2], f32), np.array([1, np.nan, 3], f32)]
        yield case(op, versions(op)[-1], nan, lambda *x, f=fold: f(x), id="NaN")


def choices():
    for opset in versions("Where"):
        for dtype in dtypes("Where", opset, among=(*NUMERIC, boolean, string, np.dtype(np.complex64), np.dtype(np.complex128))):
            x, y = data((3, 4), f32 if dtype.kind == "c" else dtype), data((4,), f32 if dtype.kind == "c" else dtype, seed=1)
            if dtype.kind == "c":
                x, y = (x + 1j * x).astype(dtype), (y - 1j * y).astype(dtype)
            yield case("Where", opset, [data((3, 1), boolean), x, y], np.where, id=str(dtype), wide=False, peer=dtype.kind != "c" or "not implemented there")
    for dtype in dtypes("Clip", 13, among=NUMERIC):
        x, low, high = data((3, 40), dtype, -9, 9), np.array(1, dtype), np.array(5, dtype)
        yield case("Clip", 13, [x, low, high], np.clip)
        yield case("Clip", 13, [x, None, high], lambda v, _, h: np.minimum(v, h), id=f"max-{dtype}")
        yield case("Clip", 13, [x, low], np.maximum, id=f"min-{dtype}")
        yield case("Clip", 13, [x], lambda v: v, id=f"none-{dtype}")
        yield case("Clip", 13, [x, high, low], lambda v, h, lo: np.full_like(v, lo), id=f"crossed-{dtype}")
    for dtype in (f16, f32, f64):
        yield case("Clip", 7, [data((9,), dtype, -9, 9)], lambda v: np.clip(v, -1.5, 2.5), attrs={"min": -1.5, "max": 2.5}, id=f"attributes-{dtype}")
        yield case("Clip", 7, [data((9,), dtype, -9, 9)], lambda v: v, id=f"no-attributes-{dtype}")
        yield case("Clip", 11, [data((9,), dtype, -9, 9), np.array(-1, dtype), np.array(2, dtype)], np.clip)
    yield case("Clip", 12, [data((9,), u8), np.array(1, u8), np.array(2, u8)], np.clip)
    yield case(
        "Clip", 13, [np.array([np.nan, 5, -5], f32), np.array(-1, f32), np.array(1, f32)], np.array([np.nan, 1, -1], f32), id="NaN", peer="loses NaN there"
    )
    yield case("Clip", 13, [data((9,)), data((2,))], error="'min' must be one number")
    for opset in versions("PRelu"):
        for dtype in dtypes("PRelu", opset, among=NUMERIC):
            for slope in ((3, 4), (4,), (3, 1), (1,)):
                yield case(
                    "PRelu",
                    opset,
                    [data((2, 3, 4), dtype), data(slope, dtype, seed=1)],
                    lambda x, s: np.where(x < 0, x * s, x).astype(x.dtype),
                    id=f"{dtype}-{slope}",
                )
    yield case("PRelu", 16, [data((4,)), data((3, 4))], error="'slope' has shape|does not broadcast")


def microsoft():
    for dtype in (f32, f16, f64):
        x, bias = data((3, 40), dtype, -5, 5), data((40,), dtype, seed=1)
        here = {"domain": "com.microsoft", "peer": "coarser approximations there"}
        yield case("Gelu", 1, [x], gelu, **here)
        yield case("QuickGelu", 1, [x], lambda v: v * sigmoid(np.float64(f32.type(1.702)) * v), **here)
        yield case("QuickGelu", 1, [x], lambda v: v * sigmoid(2 * v), attrs={"alpha": 2.0}, id=f"alpha-{dtype}", **here)
        yield case("BiasGelu", 1, [x, bias], lambda v, b: gelu(v + b), **here)
        yield case("FastGelu", 1, [x], gelu_tanh, id=f"no bias-{dtype}", **here)
        yield case("FastGelu", 1, [x, bias], lambda v, b: gelu_tanh(v + b), **here)


def legacy():
    """Up to opset 6: B along axes of A."""
    a, ints_a = data((2, 3, 4), f32, 1, 9), data((2, 3, 4), i32, 1, 9)
    functions = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power, "Less": np.less, "Greater": np.greater}
    for op, function in functions.items():
        for opset in (1, 6):
            for shape, axis in (((2, 3, 4), None), ((4,), None), ((1, 1), None), ((3, 4), 1), ((2, 3), 0), ((3,), 1), ((3,), -2)):
                aligned = shape if axis is None else (*shape, *(1,) * (3 - axis % 3 - len(shape)))
                attrs = {"broadcast": 1} | ({} if axis is None else {"axis": axis})
                b = data(shape, f32, 1, 3, seed=1)
                yield case(
                    op, opset, [a, b], lambda x, y, f=function, s=aligned: f(x, y.reshape(s)), attrs=attrs, id=f"{shape} along {axis}", peer="too old for it"
                )
    for op, function in {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}.items():
        x, y = data((2, 3), boolean), data((2,), boolean, seed=1)
        yield case(op, 1, [x, y], lambda x, y, f=function: f(x, y[:, None]), attrs={"broadcast": 1, "axis": 0}, peer="too old for it")
    yield case("Equal", 1, [ints_a, data((4,), i32, 1, 9, seed=1)], np.equal, attrs={"broadcast": 1}, peer="too old for it")
    yield case("Div", 6, [ints_a, data((4,), i32, 1, 9, seed=1)], lambda x, y: x // y, attrs={"broadcast": 1}, peer="too old for it")
    yield case("PRelu", 6, [a - 5, data((3,))], lambda x, s: np.where(x < 0, x * s[:, None], x), peer="too old for it")
    yield case("PRelu", 6, [a - 5, data((1,))], lambda x, s: np.where(x < 0, x * s, x), peer="too old for it")
    yield case("Add", 6, [data((4,)), a], attrs={"broadcast": 1}, error="not the other way around")


def swiglu():
    for dtype in FLOATS:
        inputs = [data((3, 40), dtype), data((3, 40), dtype, seed=1)]
        yield case("SwiGLU", 28, inputs, lambda a, b: a * sigmoid(a) * b)
        yield case("SwiGLU", 28, inputs, lambda a, b: a * sigmoid(1.5 * a) * b, attrs={"alpha": 1.5}, id=f"alpha-{dtype}")
    yield case("SwiGLU", 28, [data((3, 4)), data((4,))], error="they must be equal")


CASES = [
    *[row for op, what in UNARY.items() for row in unary_rows(op, *what)],
    *arithmetic(),
    *large(),
    *modulo(),
    *power(),
    *comparisons(),
    *logic(),
    *tests(),
    *variadic(),
    *choices(),
    *microsoft(),
    *legacy(),
    *swiglu(),
]
