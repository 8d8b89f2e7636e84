"""What each instruction of the table computes, written a second time: one result from the bits of its sources.

A reference is called with an Operation and the sources as numbers: integers for integer types, exact fractions (or inf, nan) for floating-point
ones. It returns a number of the destination's type; floating-point results are rounded by the caller, in the mode of the instruction.
"""
import math
from dataclasses import dataclass
from fractions import Fraction

from emulator.exact import encode, integer, is_finite, square_root, width

NAN, INFINITY = float("nan"), float("inf")


@dataclass(frozen=True)
class Operation:
    opcode: str
    modifiers: frozenset
    types: tuple

    @property
    def t(self):
        return self.types[0]

    @property
    def s(self):
        return self.types[-1]

    @property
    def bits(self):
        return width(self.t)

    @property
    def mode(self):
        return next((m[:2] for m in ("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi") if m in self.modifiers), "rn")


def unsigned(value, bits):
    return value & ((1 << bits) - 1)


def signed(value, bits):
    value = unsigned(value, bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def lowest(kind):
    return -(1 << (width(kind) - 1)) if kind[0] == "s" else 0


def highest(kind):
    return (1 << (width(kind) - (kind[0] == "s"))) - 1


def clamp(value, kind):
    return min(max(value, lowest(kind)), highest(kind))


# --- integers

def divide(o, a, b):
    return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remain(o, a, b):
    return a if b == 0 else a - b * divide(o, a, b)


def multiply(o, a, b, c=0):
    return (a * b >> o.bits if "hi" in o.modifiers else a * b) + c


def product_24(o, a, b, c=0):
    part = signed if o.t[0] == "s" else unsigned
    return part(a, 24) * part(b, 24) + c


def saturated(o, value):
    return clamp(value, o.t) if "sat" in o.modifiers else value


def parts(value, size, kind, count):
    return [integer(unsigned(value >> (size * k), size), kind[0] + str(size)) for k in range(count)]


def dot_4(o, a, b, c):
    return c + sum(x * y for x, y in zip(parts(a, 8, o.t, 4), parts(b, 8, o.s, 4), strict=True))


def dot_2(o, a, b, c):
    first = 2 if "hi" in o.modifiers else 0
    return c + sum(x * y for x, y in zip(parts(a, 16, o.t, 2), parts(b, 8, o.s, 4)[first:first + 2], strict=True))


def shift_right(o, a, n):
    return a >> min(n, o.bits)


def funnel(o, a, b, n):
    n = n & 31 if "wrap" in o.modifiers else min(n, 32)
    both = b << 32 | a
    return (both << n) >> 32 if "l" in o.modifiers else both >> n


def highest_bit(o, a):
    at = (~a if a < 0 else a).bit_length() - 1
    return at if at < 0 or "shiftamt" not in o.modifiers else o.bits - 1 - at


def extract(o, a, begin, count):
    begin, count = begin & 255, count & 255
    if count == 0:
        return 0
    field = unsigned(a >> begin, count)                        # Python's shift extends the sign without end
    top = min(begin + count, o.bits) - 1
    if o.t[0] == "s":
        return signed(a >> begin, top - begin + 1) if begin <= top else (-1 if a < 0 else 0)
    return field


def insert(o, a, b, begin, count):
    begin, count = begin & 255, count & 255
    mask = ((1 << count) - 1) << begin
    return b & ~mask | (a << begin) & mask


def bit_mask(o, begin, count):
    if "wrap" in o.modifiers:
        begin, count = begin & 31, count & 31
    return ((1 << min(count, 32)) - 1) << min(begin, 32)


def permute(o, a, b, c):
    mode = next((m for m in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16") if m in o.modifiers), None)
    n = c & 3
    selectors = {
        None: [c >> 4 * k & 15 for k in range(4)], "f4e": [n + k for k in range(4)], "b4e": [(n - k) % 8 for k in range(4)], "rc8": [n] * 4,
        "ecl": [max(k, n) for k in range(4)], "ecr": [min(k, n) for k in range(4)], "rc16": [2 * (n & 1), 2 * (n & 1) + 1] * 2,
    }[mode]
    data, result = b << 32 | a, 0
    for k, s in enumerate(selectors):
        byte = data >> 8 * (s & 7) & 255
        result |= (255 if byte & 128 else 0) << 8 * k if s & 8 else byte << 8 * k
    return result


# --- floating point: results may be exact, the caller rounds them

def add(o, *terms):
    return sum(terms) if all(map(is_finite, terms)) else sum(map(as_float, terms))


def as_float(value):
    try:
        return float(value)
    except OverflowError:
        return INFINITY if value > 0 else -INFINITY


def product(o, a, b):
    if is_finite(a) and is_finite(b):
        return a * b
    a, b = (math.copysign(1, x) if is_finite(x) and x else as_float(x) for x in (a, b))       # the sign is all that matters beside infinity
    return a * b


def fused(o, a, b, c):
    return add(o, product(o, a, b), c if is_finite(c) or not is_finite(product(o, a, b)) else c)


def over(o, a, b):
    if is_finite(a) and is_finite(b) and b:
        return a / b
    if not is_finite(b):
        return NAN if not is_finite(a) or b != b else Fraction(0)
    return None                                                # division by zero: its sign is the zero's, which fractions do not have


def root(o, a):
    return NAN if a != a or a < 0 else a if a == INFINITY else square_root(a)


def inverse_root(o, a):
    return NAN if a != a or a < 0 else Fraction(0) if a == INFINITY else None if a == 0 else 1 / square_root(a)


def least(o, a, b):
    if a != a or b != b:
        return NAN if "NaN" in o.modifiers or (a != a and b != b) else b if a != a else a
    return min(a, b)


def most(o, a, b):
    if a != a or b != b:
        return NAN if "NaN" in o.modifiers or (a != a and b != b) else b if a != a else a
    return max(a, b)


def approximate(function):
    def result(o, a):
        try:
            return function(as_float(a))
        except ValueError:
            return None
        except OverflowError:
            return INFINITY
    return result


def positive(o, value):
    return value if value != value or value > 0 else Fraction(0)


def test_property(o, a):
    smallest = Fraction(2) ** (-126 if o.t == "f32" else -1022)
    return {"finite": is_finite(a), "infinite": a in (INFINITY, -INFINITY), "number": a == a, "notanumber": a != a,
            "normal": is_finite(a) and abs(a) >= smallest, "subnormal": is_finite(a) and 0 < abs(a) < smallest}[next(iter(o.modifiers))]


# --- conversions

def whole(value, mode):
    """Rounded to an integer."""
    if not is_finite(value):
        return value
    return {"rn": round, "rz": math.trunc, "rm": math.floor, "rp": math.ceil}[mode](value)


def convert(o, a):
    to_integer, from_integer = o.t[0] in "us", o.s[0] in "us"
    if to_integer and from_integer:
        return saturated(o, a)
    if to_integer:
        a = whole(a, o.mode)
        return 0 if a != a else clamp(a, o.t) if is_finite(a) else highest(o.t) if a > 0 else lowest(o.t)
    if any(m in o.modifiers for m in ("rni", "rzi", "rmi", "rpi")):
        a = whole(a, o.mode)
    if "sat" in o.modifiers:
        return Fraction(0) if a != a else min(max(a, 0), 1)
    return Fraction(a) if is_finite(a) else a


def convert_pair(o, a, b):
    """The first source goes to the high half."""
    if "relu" in o.modifiers:
        a, b = positive(o, a), positive(o, b)
    half = o.t[:-2]
    return encode(b, half, o.mode) | encode(a, half, o.mode) << 16


def pack(o, a, b, c=0):
    size = width(o.t)
    a, b = (unsigned(clamp(x, o.t), size) for x in (a, b))
    return unsigned(c << 2 * size | a << size | b, 32)


REFERENCES = {
    "mad24": product_24, "mul24": product_24, "div": divide, "rem": remain, "sad": lambda o, a, b, c: abs(a - b) + c,
    "mul": multiply, "mad": multiply, "dp4a": dot_4, "dp2a": dot_2,
    "and": lambda o, a, b: a & b, "or": lambda o, a, b: a | b, "xor": lambda o, a, b: a ^ b, "cnot": lambda o, a: int(a == 0),
    "not": lambda o, a: 1 - a if o.t == "pred" else ~a, "shl": lambda o, a, n: a << min(n, 64), "shr": shift_right, "shf": funnel,
    "popc": lambda o, a: a.bit_count(), "clz": lambda o, a: o.bits - a.bit_length(), "bfind": highest_bit,
    "brev": lambda o, a: int(f"{a:0{o.bits}b}"[::-1], 2), "bfe": extract, "bfi": insert, "bmsk": bit_mask, "prmt": permute,
    "min": least, "max": most, "neg": lambda o, a: -a, "abs": lambda o, a: abs(a),
    "selp": lambda o, a, b, p: a if p else b, "slct": lambda o, a, b, c: a if c >= 0 else b,
    "add": lambda o, a, b: saturated(o, a + b), "sub": lambda o, a, b: saturated(o, a - b),
    "cvt": convert, "testp": test_property,
}
FLOAT_REFERENCES = {
    "add": add, "sub": lambda o, a, b: add(o, a, -b), "mul": product, "fma": fused, "mad": fused, "div": over, "rcp": lambda o, a: over(o, Fraction(1), a),
    "sqrt": root, "rsqrt": inverse_root, "ex2": approximate(lambda a: 2.0 ** a), "lg2": approximate(lambda a: math.log2(a) if a else -INFINITY),
    "sin": approximate(math.sin), "cos": approximate(math.cos), "tanh": approximate(math.tanh),
}


# Some results need the bits of the sources: signs of zeros count, or fractions of the number of bits.

def with_sign(o, sign, size):
    top = 1 << (o.bits - 1)
    return sign & top | size & ~top


def to_tf32(o, a):
    if a & 0x7fffffff > 0x7f800000:
        return 0x7fffffff
    return a if a & 0x7f800000 == 0x7f800000 else a + 0x1000 & 0xffffe000


def bitwise_reference_of(operation):
    """A reference that takes and gives bits, None if numbers are enough."""
    return with_sign if operation.opcode == "copysign" else to_tf32 if operation.t == "tf32" else None


def reference_of(operation):
    if operation.opcode == "cvt":
        if "pack" in operation.modifiers:
            return pack
        if operation.t in ("f16x2", "bf16x2"):
            return convert_pair
        return convert
    if operation.t[0] in "fb" and width(operation.t) and operation.t in ("f16", "bf16", "f32", "f64") and operation.opcode in FLOAT_REFERENCES:
        return FLOAT_REFERENCES[operation.opcode]
    return REFERENCES[operation.opcode]


