"""Numbers as PTX types hold them: bits to exact values, and exact values rounded to bits."""
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np


@dataclass(frozen=True)
class Format:
    exponent: int
    mantissa: int

    @property
    def bits(self):
        return 1 + self.exponent + self.mantissa

    @property
    def bias(self):
        return (1 << (self.exponent - 1)) - 1

    @property
    def infinity(self):
        return ((1 << self.exponent) - 1) << self.mantissa


FORMATS = {"f16": Format(5, 10), "bf16": Format(8, 7), "f32": Format(8, 23), "f64": Format(11, 52)}


def decode(bits, kind):
    """A Fraction, or the float inf, -inf or nan. Negative zero is Fraction 0."""
    form = FORMATS[kind]
    sign = -1 if bits >> (form.bits - 1) else 1
    power, mantissa = (bits >> form.mantissa) & ((1 << form.exponent) - 1), bits & ((1 << form.mantissa) - 1)
    if power == (1 << form.exponent) - 1:
        return float("nan") if mantissa else sign * float("inf")
    if power:
        mantissa |= 1 << form.mantissa
    return sign * mantissa * Fraction(2) ** (max(power, 1) - form.bias - form.mantissa)


def encode(value, kind, mode="rn"):
    """Bits of a Fraction or float rounded to the format."""
    form = FORMATS[kind]
    if isinstance(value, float) and value != value:
        return form.infinity | ((1 << form.mantissa) - 1)
    negative = value < 0
    sign = 1 << (form.bits - 1) if negative else 0
    if value in (float("inf"), float("-inf")):
        return sign | form.infinity
    size = abs(Fraction(value))
    if size == 0:
        return 0
    power = max(size.numerator.bit_length() - size.denominator.bit_length() - 1, 1 - form.bias - 1)
    while size >= Fraction(2) ** (power + 1):
        power += 1
    power = max(power, 1 - form.bias)
    scaled = size / Fraction(2) ** (power - form.mantissa)
    kept, rest = scaled.numerator // scaled.denominator, scaled - scaled.numerator // scaled.denominator
    half = Fraction(1, 2)
    away = {"rn": rest > half or (rest == half and kept & 1), "rz": False, "rm": negative and rest > 0, "rp": not negative and rest > 0}[mode]
    kept += away
    result = kept + ((power + form.bias - 1) << form.mantissa)
    if result >= form.infinity:
        to_finite = mode == "rz" or (mode == "rm" and not negative) or (mode == "rp" and negative)
        result = form.infinity - 1 if to_finite else form.infinity
    return sign | result


def square_root(value, bits=150):
    """A Fraction so near to the root that it lies on the root's side of every number of a format."""
    shift = max(0, bits - value.numerator.bit_length() + value.denominator.bit_length())
    scaled, rest = divmod(value.numerator << 2 * shift, value.denominator)
    root = isqrt(scaled)
    return Fraction(root, 1 << shift) + (Fraction(1, 1 << (shift + 2)) if rest or root * root != scaled else 0)


def is_finite(value):
    return isinstance(value, Fraction | int)


UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def width(kind):
    return {"pred": 8, "f16x2": 32, "bf16x2": 32, "tf32": 32}.get(kind) or int(kind.lstrip("usfb"))


def samples(kind, count, seed):
    """Bit patterns: edge values first in every combination with others, then random ones."""
    rng = np.random.default_rng(seed)
    size = width(kind)
    if kind == "pred":
        return rng.integers(0, 2, count).astype(np.uint8)
    if kind in ("f16x2", "bf16x2"):
        low, high = samples(kind[:-2], count, seed + 1).astype(np.uint32), samples(kind[:-2], count, seed + 2).astype(np.uint32)
        return low | high << 16
    if kind in FORMATS:
        form = FORMATS[kind]
        one = form.bias << form.mantissa
        edges = [0, 1, (1 << form.mantissa) - 1, 1 << form.mantissa, one, one + 1, one - 1, one + (1 << form.mantissa), form.infinity - 1, form.infinity,
                 form.infinity | 1 << (form.mantissa - 1)]
        edges += [e | 1 << (size - 1) for e in edges[:-1]]
        near = [(one + int(d)) & ((1 << size) - 1) for d in rng.integers(-(8 << form.mantissa), 8 << form.mantissa, count // 2)]
    else:
        edges = [0, 1, 2, 31, 32, 33, (1 << size) - 1, (1 << size) - 2, 1 << (size - 1), (1 << (size - 1)) - 1]
        near = [int(x) for x in rng.integers(0, 100, count // 4)]
    values = edges + near
    values += [int.from_bytes(rng.bytes(size // 8), "little") for _ in range(max(0, count - len(values)))]
    return rng.permutation(np.array([v & ((1 << size) - 1) for v in values[:count]], UNSIGNED[size]))


def integer(bits, kind):
    """The number that bits of an integer type stand for."""
    bits, size = int(bits), width(kind)
    return bits - (1 << size) if kind[0] == "s" and bits >> (size - 1) else bits
