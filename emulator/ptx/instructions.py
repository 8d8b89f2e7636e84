"""The table of regular instructions: one row for each form that computes a value from its operands, with the C++ expression for it.

Instructions that access memory, synchronise or branch are in memory.py, warp.py and control.py.
"""
from functools import cache
from typing import NamedTuple

from ptx_types import TYPES, wide


class Row(NamedTuple):
    opcode: str
    modifiers: str        # those with a ? may be missing, the others must be there
    types: str            # of T, the first type in the opcode; T>S where there are two
    operands: str         # destination first: T, S, W (T twice as wide), or a type
    code: str             # {0}, {1}, ... are the sources; {T}, {S}, {T8}, {S8}: types; {R}: rounding


class Form(NamedTuple):
    """A row made out for one opcode."""
    destination: str
    sources: tuple
    code: str             # with {0}, {1}, ... left
    flush: bool           # subnormal f32 sources and results to zero
    saturate: bool        # the result into [0, 1]


SIGNED = "s16 s32 s64"
INTEGERS = "u16 u32 u64 s16 s32 s64 b16 b32 b64"
ALL_INTEGERS = "u8 s8 b8 " + INTEGERS
BITS = "b16 b32 b64"
FLOATS = "f32 f64"
HALVES = "f16 bf16 f16x2 bf16x2"
ROUNDED = "rz? rm? rp? ftz? sat?"
TO_WHOLE = "rni? rzi? rmi? rpi? ftz? sat?"
NEAREST = "rn? ftz? sat?"

TABLE = [
    # integers
    Row("add", "", INTEGERS, "T T T", "{0} + {1}"),
    Row("sub", "", INTEGERS, "T T T", "{0} - {1}"),
    Row("add", "sat", "s32", "T T T", "saturate_s32(s64({0}) + {1})"),
    Row("sub", "sat", "s32", "T T T", "saturate_s32(s64({0}) - {1})"),
    Row("mul", "lo", INTEGERS, "T T T", "{0} * {1}"),
    Row("mul", "hi", INTEGERS, "T T T", "product_high({0}, {1})"),
    Row("mul", "wide", "u16 s16 u32 s32", "W T T", "{W}({0}) * {W}({1})"),
    Row("mad", "lo", INTEGERS, "T T T T", "{0} * {1} + {2}"),
    Row("mad", "hi", INTEGERS, "T T T T", "product_high({0}, {1}) + {2}"),
    Row("mad", "wide", "u16 s16 u32 s32", "W T T W", "{W}({0}) * {W}({1}) + {2}"),
    Row("mul24", "lo", "u32 s32", "T T T", "product_24({0}, {1})"),
    Row("mad24", "lo", "u32 s32", "T T T T", "product_24({0}, {1}) + {2}"),
    Row("div", "", INTEGERS, "T T T", "quotient({0}, {1})"),
    Row("rem", "", INTEGERS, "T T T", "remainder({0}, {1})"),
    Row("abs", "", SIGNED, "T T", "{0} < 0 ? -{0} : {0}"),
    Row("neg", "", SIGNED, "T T", "-{0}"),
    Row("min", "", INTEGERS, "T T T", "smaller({0}, {1})"),
    Row("max", "", INTEGERS, "T T T", "larger({0}, {1})"),
    Row("sad", "", INTEGERS, "T T T T", "absolute_difference({0}, {1}) + {2}"),
    Row("dp4a", "", "u32>u32 u32>s32 s32>u32 s32>s32", "b32 b32 b32 s32", "dot_4<{T8}, {S8}>({0}, {1}, {2})"),
    Row("dp2a", "lo", "u32>u32 u32>s32 s32>u32 s32>s32", "b32 b32 b32 s32", "dot_2<{T16}, {S8}>({0}, {1}, {2}, 0)"),
    Row("dp2a", "hi", "u32>u32 u32>s32 s32>u32 s32>s32", "b32 b32 b32 s32", "dot_2<{T16}, {S8}>({0}, {1}, {2}, 2)"),
    # longer integers, by the carry flag
    Row("add", "cc", INTEGERS, "T T T", "add_carry({0}, {1}, false, carry)"),
    Row("addc", "cc", INTEGERS, "T T T", "add_carry({0}, {1}, carry, carry)"),
    Row("addc", "", INTEGERS, "T T T", "{0} + {1} + carry"),
    Row("sub", "cc", INTEGERS, "T T T", "subtract_borrow({0}, {1}, false, carry)"),
    Row("subc", "cc", INTEGERS, "T T T", "subtract_borrow({0}, {1}, carry, carry)"),
    Row("subc", "", INTEGERS, "T T T", "{0} - {1} - carry"),
    Row("mad", "lo cc", INTEGERS, "T T T T", "add_carry({T}({0} * {1}), {2}, false, carry)"),
    Row("mad", "hi cc", INTEGERS, "T T T T", "add_carry(product_high({0}, {1}), {2}, false, carry)"),
    Row("madc", "lo cc", INTEGERS, "T T T T", "add_carry({T}({0} * {1}), {2}, carry, carry)"),
    Row("madc", "hi cc", INTEGERS, "T T T T", "add_carry(product_high({0}, {1}), {2}, carry, carry)"),
    Row("madc", "lo", INTEGERS, "T T T T", "{0} * {1} + {2} + carry"),
    Row("madc", "hi", INTEGERS, "T T T T", "product_high({0}, {1}) + {2} + carry"),
    # bits
    Row("and", "", BITS + " pred", "T T T", "{0} & {1}"),
    Row("or", "", BITS + " pred", "T T T", "{0} | {1}"),
    Row("xor", "", BITS + " pred", "T T T", "{0} ^ {1}"),
    Row("not", "", BITS, "T T", "~{0}"),
    Row("not", "", "pred", "T T", "!{0}"),
    Row("cnot", "", BITS, "T T", "{0} == 0"),
    Row("shl", "", BITS, "T T u32", "shift_left({0}, {1})"),
    Row("shr", "", INTEGERS, "T T u32", "shift_right({0}, {1})"),
    Row("shf", "l wrap", "b32", "T T T u32", "funnel_left({0}, {1}, {2} & 31)"),
    Row("shf", "l clamp", "b32", "T T T u32", "funnel_left({0}, {1}, smaller({2}, 32u))"),
    Row("shf", "r wrap", "b32", "T T T u32", "funnel_right({0}, {1}, {2} & 31)"),
    Row("shf", "r clamp", "b32", "T T T u32", "funnel_right({0}, {1}, smaller({2}, 32u))"),
    Row("popc", "", "b32 b64", "u32 T", "count_ones({0})"),
    Row("clz", "", "b32 b64", "u32 T", "leading_zeros({0})"),
    Row("brev", "", "b32 b64", "T T", "reverse_bits({0})"),
    Row("bfind", "", "u32 u64 s32 s64", "u32 T", "highest_bit({0})"),
    Row("bfind", "shiftamt", "u32 u64 s32 s64", "u32 T", "shift_to_highest_bit({0})"),
    Row("bfe", "", "u32 u64 s32 s64", "T T u32 u32", "extract_bits({0}, {1}, {2})"),
    Row("bfi", "", "b32 b64", "T T T u32 u32", "insert_bits({0}, {1}, {2}, {3})"),
    Row("bmsk", "clamp", "b32", "T u32 u32", "bit_mask({0}, {1})"),
    Row("bmsk", "wrap", "b32", "T u32 u32", "bit_mask_wrapped({0}, {1})"),
    Row("prmt", "", "b32", "T T T T", "permute_bytes({0}, {1}, {2})"),
    *(Row("prmt", mode, "b32", "T T T T", f"permute_bytes(permutation::{mode}, {{0}}, {{1}}, {{2}})")
      for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")),
    # floating point
    Row("add", NEAREST, FLOATS + " " + HALVES, "T T T", "{0} + {1}"),
    Row("sub", NEAREST, FLOATS + " " + HALVES, "T T T", "{0} - {1}"),
    Row("mul", NEAREST, FLOATS + " " + HALVES, "T T T", "{0} * {1}"),
    Row("fma", NEAREST, FLOATS + " " + HALVES, "T T T T", "fma({0}, {1}, {2})"),
    Row("fma", "rn ftz? relu", HALVES, "T T T T", "rectified(fma({0}, {1}, {2}))"),
    Row("mad", NEAREST, FLOATS, "T T T T", "fma({0}, {1}, {2})"),
    Row("div", "rn? full? approx? ftz?", FLOATS, "T T T", "{0} / {1}"),
    Row("rcp", "rn? approx? ftz?", FLOATS, "T T", "1 / {0}"),
    Row("sqrt", "rn? approx? ftz?", FLOATS, "T T", "square_root({0})"),
    Row("rsqrt", "approx ftz?", FLOATS, "T T", "inverse_root({0})"),
    Row("add", ROUNDED, "f32", "T T T", "sum_rounded<{R}>({0}, {1})"),
    Row("sub", ROUNDED, "f32", "T T T", "difference_rounded<{R}>({0}, {1})"),
    Row("mul", ROUNDED, "f32", "T T T", "product_rounded<{R}>({0}, {1})"),
    Row("fma", ROUNDED, "f32", "T T T T", "fma_rounded<{R}>({0}, {1}, {2})"),
    Row("div", ROUNDED, "f32", "T T T", "quotient_rounded<{R}>({0}, {1})"),
    Row("rcp", ROUNDED, "f32", "T T", "quotient_rounded<{R}>(1.0f, {0})"),
    Row("sqrt", ROUNDED, "f32", "T T", "root_rounded<{R}>({0})"),
    Row("neg", "ftz?", FLOATS + " " + HALVES, "T T", "-{0}"),
    Row("abs", "ftz?", FLOATS + " " + HALVES, "T T", "absolute({0})"),
    Row("min", "ftz?", FLOATS + " " + HALVES, "T T T", "minimum({0}, {1})"),
    Row("max", "ftz?", FLOATS + " " + HALVES, "T T T", "maximum({0}, {1})"),
    Row("min", "NaN ftz?", FLOATS + " " + HALVES, "T T T", "minimum_nan({0}, {1})"),
    Row("max", "NaN ftz?", FLOATS + " " + HALVES, "T T T", "maximum_nan({0}, {1})"),
    Row("copysign", "", FLOATS, "T T T", "with_sign({0}, {1})"),
    Row("ex2", "approx ftz?", "f32 " + HALVES, "T T", "exp2_approx({0})"),
    Row("lg2", "approx ftz?", "f32", "T T", "log2_approx({0})"),
    Row("sin", "approx ftz?", "f32", "T T", "sin_approx({0})"),
    Row("cos", "approx ftz?", "f32", "T T", "cos_approx({0})"),
    Row("tanh", "approx", "f32 " + HALVES, "T T", "tanh_approx({0})"),
    Row("testp", "finite", FLOATS, "pred T", "__builtin_isfinite({0})"),
    Row("testp", "infinite", FLOATS, "pred T", "__builtin_isinf({0})"),
    Row("testp", "number", FLOATS, "pred T", "!is_nan({0})"),
    Row("testp", "notanumber", FLOATS, "pred T", "is_nan({0})"),
    Row("testp", "normal", FLOATS, "pred T", "__builtin_isnormal({0})"),
    Row("testp", "subnormal", FLOATS, "pred T", "{0} != 0 && __builtin_isfinite({0}) && !__builtin_isnormal({0})"),
    # selection
    Row("selp", "", INTEGERS + " " + FLOATS + " f16 bf16", "T T T pred", "{2} ? {0} : {1}"),
    Row("slct", "ftz?", " ".join(f"{t}>{s}" for t in (INTEGERS + " " + FLOATS).split() for s in ("s32", "f32")), "T T T S", "{2} >= 0 ? {0} : {1}"),
    # conversions
    Row("cvt", "", f"{ALL_INTEGERS}>{ALL_INTEGERS}", "T S", "{T}({0})"),
    Row("cvt", "sat", f"{ALL_INTEGERS}>{ALL_INTEGERS}", "T S", "saturated_integer<{T}>({0})"),
    Row("cvt", TO_WHOLE, f"{ALL_INTEGERS}>{FLOATS}", "T S", "to_integer<{T}, {R}>({0})"),
    Row("cvt", TO_WHOLE, f"{ALL_INTEGERS}>f16 bf16", "T S", "to_integer<{T}, {R}>(f32({0}))"),
    Row("cvt", "rn? rz? rm? rp? sat?", f"{FLOATS}>{ALL_INTEGERS}", "T S", "from_integer<{T}, {R}>({0})"),
    Row("cvt", "rn? rz? rm? rp? sat?", f"f16 bf16>{ALL_INTEGERS}", "T S", "narrow_half<{T}, {R}>(integer_to_odd({0}))"),
    Row("cvt", "ftz? sat?", "f32>f32 f64>f64", "T S", "{0}"),
    Row("cvt", TO_WHOLE, "f32>f32 f64>f64", "T S", "rounded_integer<{R}>({0})"),
    Row("cvt", "sat?", "f16>f16 bf16>bf16", "T S", "{0}"),
    Row("cvt", TO_WHOLE, "f16>f16 bf16>bf16", "T S", "narrow_half<{T}>(rounded_integer<{R}>(f32({0})))"),
    Row("cvt", "ftz? sat?", "f64>f32", "T S", "f64({0})"),
    Row("cvt", "rn? rz? rm? rp? ftz? sat?", "f32>f64", "T S", "narrow<{R}>({0})"),
    Row("cvt", "ftz? sat?", f"{FLOATS}>f16 bf16", "T S", "{T}({0})"),
    Row("cvt", "rn? ftz? sat?", "f16>f32", "T S", "to_f16({0})"),
    Row("cvt", "rn? ftz? sat?", "bf16>f32", "T S", "to_bf16({0})"),
    Row("cvt", "rn? rz? rm? rp? ftz? sat?", f"f16 bf16>{FLOATS} f16 bf16", "T S", "narrow_half<{T}, {R}>(f64({0}))"),
    Row("cvt", "rn? rz? ftz?", "f16x2>f32", "T S S", "make_pair(narrow_half<f16, {R}>({1}), narrow_half<f16, {R}>({0}))"),
    Row("cvt", "rn? rz? ftz?", "bf16x2>f32", "T S S", "make_pair(narrow_half<bf16, {R}>({1}), narrow_half<bf16, {R}>({0}))"),
    Row("cvt", "rn? rz? relu ftz?", "f16x2>f32", "T S S", "rectified(make_pair(narrow_half<f16, {R}>({1}), narrow_half<f16, {R}>({0})))"),
    Row("cvt", "rn? rz? relu ftz?", "bf16x2>f32", "T S S", "rectified(make_pair(narrow_half<bf16, {R}>({1}), narrow_half<bf16, {R}>({0})))"),
    Row("cvt", "rna", "tf32>f32", "b32 S", "to_tf32({0})"),
    Row("cvt", "pack sat", "u8>s32 s8>s32 u16>s32 s16>s32", "b32 S S b32", "pack_saturated<{T}>({0}, {1}, {2})"),
    Row("cvt", "pack sat", "u8>s32 s8>s32 u16>s32 s16>s32", "b32 S S", "pack_saturated<{T}>({0}, {1}, 0)"),
]


def type_pairs(types):
    """All (T, S) that a row is for: 'a b' is {a, b}, 'a b>c d' is {a, b} x {c, d} if > stands once, else each word is one pair."""
    if types.count(">") == 1:
        left, right = types.split(">")
        return {(t, s) for t in left.split() for s in right.split()}
    return {tuple(word.split(">")) if ">" in word else (word, word) for word in types.split()}


_ROWS = {}
for _row in TABLE:
    _required = {m for m in _row.modifiers.split() if m[-1] != "?"}
    _allowed = _required | {m[:-1] for m in _row.modifiers.split() if m[-1] == "?"}
    _ROWS.setdefault(_row.opcode, []).append((_row, _required, _allowed, type_pairs(_row.types)))


def split_opcode(opcode):
    """'mul.wide.u32' -> 'mul', ['wide'], ['u32']."""
    base, *parts = opcode.split(".")
    return base, [p for p in parts if p not in TYPES], [p for p in parts if p in TYPES]


@cache
def find_form(opcode, source_count):
    """The Form of an opcode with so many sources; None if no row has it."""
    base, modifiers, types = split_opcode(opcode)
    pair = (types[0], types[1] if len(types) > 1 else types[0]) if types else None
    given = set(modifiers)
    for row, required, allowed, pairs in _ROWS.get(base, ()):
        destination, *sources = row.operands.split()
        if pair in pairs and required <= given <= allowed and len(sources) == source_count:
            return _make_out(row, pair, given, destination, sources)
    return None


def _make_out(row, pair, modifiers, destination, sources):
    t, s = pair
    types = {"T": t, "S": s, "W": wide(t) if "W" in row.operands else t}
    rounding = next((m[:2] for m in modifiers if m[:2] in ("rn", "rz", "rm", "rp") and m != "rna"), "rn")
    code = row.code.format(*(f"{{{k}}}" for k in range(len(sources))), **types, T8=t[0] + "8", S8=s[0] + "8", T16=t[0] + "16", R=f"rounding::{rounding}")
    destination = types.get(destination, destination)
    return Form(destination, tuple(types.get(name, name) for name in sources), code, "ftz" in modifiers,
                "sat" in modifiers and destination in FLOATS.split() + HALVES.split())
