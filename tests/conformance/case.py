"""Rows of the conformance suite: what an operator must compute, said once and run in every way (see README.md)."""
import dataclasses

import ml_dtypes
import numpy as np

f16, f32, f64, bf16 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64), np.dtype(ml_dtypes.bfloat16)
i8, i16, i32, i64 = (np.dtype(f"int{n}") for n in (8, 16, 32, 64))
u8, u16, u32, u64 = (np.dtype(f"uint{n}") for n in (8, 16, 32, 64))
boolean, string = np.dtype(bool), np.dtype(object)
FLOATS, SIGNED, UNSIGNED = (f16, f32, f64, bf16), (i8, i16, i32, i64), (u8, u16, u32, u64)
INTEGERS = SIGNED + UNSIGNED
NUMERIC = FLOATS + INTEGERS
FLOAT_BITS = {f64: 52, f32: 23, f16: 10, bf16: 7}          # of the significand


class PEER:
    """As `expect`: what onnxruntime computes. For operators that are easier asked than written again; give output_types as well."""


@dataclasses.dataclass(eq=False)
class Case:
    op: str
    opset: int
    inputs: list
    expect: object = None
    attrs: dict = dataclasses.field(default_factory=dict)
    domain: str = ""
    id: str = ""
    rtol: float | None = None
    atol: float | None = None
    error: str | None = None
    peer: object = True
    wide: bool = True
    outputs: int | None = None
    output_types: list | None = None
    constant: bool = True
    check: object = None

    def __post_init__(self):
        self.inputs = [x if x is None or isinstance(x, (np.ndarray, Seq, Opt, dict)) else np.asarray(x) for x in self.inputs]
        described = ",".join("-" if x is None else describe(x) for x in self.inputs)
        self.id = f"{self.op}-{self.opset}-{self.id or described}"

    def expected(self):
        """The outputs as a list; None stands for an output that the node does not ask for."""
        want = self.expect
        if callable(want):
            floats = [x.dtype for x in self.inputs if isinstance(x, np.ndarray) and x.dtype in FLOAT_BITS]
            want = want(*(widened(x) if self.wide else x for x in self.inputs))
            want = list(want) if isinstance(want, tuple) else [want]
            return [narrowed(w, floats[0]) if self.wide and floats else w for w in want]
        return list(want) if isinstance(want, tuple) else [want]

    def tolerances(self, dtype):
        """(rtol, atol) for an output of that type: four units in the last place and a little, unless the row says otherwise."""
        unit = 2.0 ** -FLOAT_BITS[dtype] if dtype in FLOAT_BITS else 0.0
        return (4 * unit if self.rtol is None else self.rtol), (4 * unit if self.atol is None else self.atol)


def case(op, opset, inputs, expect=None, **more):
    """One row. README.md tells what each argument means."""
    return Case(op, opset, list(inputs), expect, **more)


class Seq(list):
    """A sequence input or output; an empty one needs the dtype of its elements."""

    def __init__(self, items=(), dtype=None):
        super().__init__(np.asarray(x) for x in items)
        self.dtype = np.dtype(dtype) if dtype is not None else self[0].dtype


class Opt:
    """An optional input: a value, or nothing of the kind of `like` (an array or a Seq)."""

    def __init__(self, value, like=None):
        self.value, self.like = value, value if like is None else like


def describe(x):
    if isinstance(x, Opt):
        return f"opt({'none' if x.value is None else describe(x.value)})"
    if isinstance(x, dict):
        return f"map{len(x)}"
    if isinstance(x, Seq):
        return f"seq{len(x)}({x.dtype})"
    return f"{'string' if x.dtype == string else x.dtype}[{'x'.join(map(str, x.shape))}]"


def widened(x):
    return x.astype(f64) if isinstance(x, np.ndarray) and x.dtype in FLOAT_BITS else x


def narrowed(x, dtype):
    with np.errstate(over="ignore"):                         # infinity is what must come out
        return np.asarray(x).astype(dtype) if isinstance(x, (np.ndarray, np.floating)) and x.dtype == f64 else x


def data(shape, dtype=f32, low=-3, high=3, seed=0):
    """Reproducible elements in [low, high): floats uniform, unsigned integers from 0, bools fair, strings short."""
    random, dtype = np.random.default_rng([seed, *np.atleast_1d(shape)]), np.dtype(dtype)
    if dtype == boolean:
        return random.integers(0, 2, shape).astype(bool)
    if dtype == string:
        return np.array([f"s{n}" for n in random.integers(0, 100, int(np.prod(shape)))], object).reshape(shape)
    if dtype.kind in "iu":
        return random.integers(0 if dtype.kind == "u" else low, high, shape).astype(dtype)
    return random.uniform(low, high, shape).astype(dtype)


def ints(*values):
    """A 1-D int64 tensor: axes, shapes, pads."""
    return np.array(values, i64)
