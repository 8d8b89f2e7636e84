"""Every row of the translator's table, for every type: kernels of one instruction, translated and compiled, against a second definition in Python."""
import functools

import numpy as np
import pytest

from emulator.exact import FORMATS, UNSIGNED, decode, encode, integer, is_finite, samples, width
from emulator.harness import library_from_ptx
from emulator.references import Operation, bitwise_reference_of, positive, reference_of

import instructions  # isort: skip  (emulator/ptx is on the path once the harness is imported)

COUNT = 96
ROUNDING = ("rz", "rm", "rp", "rni", "rzi", "rmi", "rpi")
# Approximations of functions: relative error. Everything else is exact to the bit.
TOLERANCE = {"ex2": 2e-7, "lg2": 2e-7, "sin": 2e-7, "cos": 2e-7, "tanh": 2e-7, "rsqrt": 2e-7}
HALF_TOLERANCE = {"f16": 1e-3, "bf16": 8e-3}
CARRY = {"addc", "subc", "madc"}


def rows():
    return [row for row in instructions.TABLE if row.opcode not in CARRY and "cc" not in row.modifiers.split()]


def variants(row):
    """Sets of modifiers: the least, and with each rounding and with saturation where the row has them."""
    words = row.modifiers.split()
    least = [w for w in words if w[-1] != "?"]
    optional = [w[:-1] for w in words if w[-1] == "?"]
    roundings = [w for w in optional if w in ROUNDING]
    must_round = bool(roundings) and ("{R}" in row.code) and "rn" not in optional
    found = [] if must_round else [least]
    found += [[*least, r] for r in roundings]
    if "sat" in optional and not must_round:
        found.append([*least, "sat"])
    return found


def is_needed(t, s):
    """Bits are treated as unsigned numbers are, so one of them is enough in conversions."""
    return not (t[0] == "b" and t[:2] != "bf") and not (s[0] == "b" and s[:2] != "bf")


def operations(row):
    """(opcode, operand types, Operation) of all forms of a row."""
    for t, s in sorted(instructions.type_pairs(row.types)):
        if row.opcode == "cvt" and not is_needed(t, s):
            continue
        for modifiers in variants(row):
            types = (t, s) if ">" in row.types else (t,)
            if row.opcode in ("rcp", "sqrt", "div") and t == "f64" and not modifiers:
                modifiers = ["rn"]
            opcode = ".".join([row.opcode, *modifiers, *types])
            names = {"T": t, "S": s, "W": instructions.wide(t) if "W" in row.operands else t}
            kinds = [names.get(word, word) for word in row.operands.split()]
            yield opcode, kinds, Operation(row.opcode, frozenset(modifiers), types)


def register(kind):
    """The declared type and the prefix of a register for a value of this kind."""
    if kind in ("f32", "f64", "pred"):
        return kind, kind
    return f"b{max(16, width(kind))}", "b"


def kernel(name, opcode, kinds):
    """One thread an element: loads the sources, computes, stores."""
    registers = [f".reg .{register(kind)[0]} %x{k};" for k, kind in enumerate(kinds)]
    loads = []
    for k, kind in enumerate(kinds[1:], 1):
        memory = "u8" if width(kind) == 8 else kind if kind in ("f32", "f64") else f"b{width(kind)}"
        target = "%h" if kind == "pred" else f"%x{k}"
        loads += [f"ld.param.u64 %a, [{name}_{k}];", f"mad.wide.u32 %a, %i, {width(kind) // 8}, %a;", f"ld.global.{memory} {target}, [%a];"]
        if kind == "pred":
            loads.append(f"setp.ne.u16 %x{k}, %h, 0;")
    operands = ", ".join(f"%x{k}" for k in range(len(kinds)))
    size = width(kinds[0]) // 8
    store = ["selp.u16 %h, 1, 0, %x0;", "st.global.u8 [%a], %h;"] if kinds[0] == "pred" else \
        [f"st.global.{'u8' if size == 1 else f'b{8 * size}' if kinds[0] not in ('f32', 'f64') else kinds[0]} [%a], %x0;"]
    body = ["mov.u32 %i, %tid.x;", *loads, f"{opcode} {operands};", f"ld.param.u64 %a, [{name}_0];", f"mad.wide.u32 %a, %i, {size}, %a;", *store, "ret;"]
    params = ", ".join(f".param .u64 {name}_{k}" for k in range(len(kinds)))
    return f".visible .entry {name}({params})\n{{\n.reg .b64 %a; .reg .b32 %i; .reg .b16 %h;\n" + "\n".join(registers + body) + "\n}\n"


@functools.cache
def library():
    """All forms in a few files, so that a failure to compile one shows where it is."""
    texts = []
    for number, row in enumerate(rows()):
        texts.append("".join(kernel(f"k{number}_{k}", opcode, kinds) for k, (opcode, kinds, _) in enumerate(operations(row))))
    return library_from_ptx(*("".join(texts[k::4]) for k in range(4)))


def value_of(bits, kind):
    bits = int(bits)
    return decode(bits, kind) if kind in FORMATS else integer(bits, kind) if kind not in ("pred", "f16x2", "bf16x2", "tf32") else bits


def expected_bits(operation, kind, sources, values):
    """The bits of the result; None where the reference leaves it open."""
    by_bits = bitwise_reference_of(operation)
    if by_bits:
        return by_bits(operation, *map(int, sources))
    if operation.opcode == "cvt" and operation.t in ("f16x2", "bf16x2"):
        return reference_of(operation)(operation, *values)
    if kind in ("f16x2", "bf16x2"):                            # both halves alike
        half = Operation(operation.opcode, operation.modifiers, (kind[:-2],))
        parts = [expected_bits(half, kind[:-2], part, [decode(int(x), kind[:-2]) for x in part])
                 for part in ([int(x) & 0xffff for x in sources], [int(x) >> 16 for x in sources])]
        return None if None in parts else parts[0] | parts[1] << 16
    result = reference_of(operation)(operation, *values)
    if result is None:
        return None
    if kind in FORMATS:
        if "sat" in operation.modifiers:
            result = 0 if result != result else min(max(result, 0), 1)
        if "relu" in operation.modifiers:
            result = positive(operation, result)
        return encode(result, kind, operation.mode)
    return int(result) & ((1 << width(kind)) - 1)


def agrees(operation, kind, got, wanted):
    """Equal numbers; NaN agrees with NaN, and +0 with -0."""
    if got == wanted:
        return True
    if kind in ("f16x2", "bf16x2"):
        return all(agrees(operation, kind[:-2], g, w) for g, w in ((got & 0xffff, wanted & 0xffff), (got >> 16, wanted >> 16)))
    if kind not in FORMATS:
        return False
    a, b = decode(got, kind), decode(wanted, kind)
    if not is_finite(a) or not is_finite(b):
        return a != a and b != b
    near = TOLERANCE.get(operation.opcode, 0)
    return a == b or abs(a - b) <= max(HALF_TOLERANCE.get(kind, 0) if near else 0, near) * abs(b) + (2e-7 if operation.opcode in ("sin", "cos", "lg2") else 0)


def sources_for(operation, kinds):
    arrays = [samples(kind, COUNT, 7 * k + 1) for k, kind in enumerate(kinds[1:])]
    if operation.opcode in ("sin", "cos"):                     # far from zero their arguments are not reduced exactly by the device either
        arrays = [np.random.default_rng(1).uniform(-3, 3, COUNT).astype(np.float32).view(np.uint32)]
    if operation.opcode == "ex2":
        arrays = [np.array([encode(float(x), kinds[1][:4].rstrip("x")) for x in np.random.default_rng(1).uniform(-10, 10, COUNT)], UNSIGNED[width(kinds[1])])
                  if kinds[1] in FORMATS else samples(kinds[1], COUNT, 1)]
    if operation.opcode in ("bfe", "bfi"):
        arrays[-2:] = [a % np.uint32(260) for a in arrays[-2:]]
    return arrays


@pytest.mark.parametrize("number", range(len(rows())), ids=lambda k: f"{rows()[k].opcode}-{rows()[k].modifiers.replace(' ', '.')}-{rows()[k].types[:12]}")
def test_row(number):
    row, checked = rows()[number], 0
    for k, (opcode, kinds, operation) in enumerate(operations(row)):
        arrays = sources_for(operation, kinds)
        out = np.zeros(COUNT, UNSIGNED[width(kinds[0])])
        library().launch(f"k{number}_{k}", out, *arrays, threads=COUNT)
        for at in range(COUNT):
            sources = [a[at] for a in arrays]
            values = [value_of(bits, kind) for bits, kind in zip(sources, kinds[1:], strict=True)]
            wanted = expected_bits(operation, kinds[0], sources, values)
            if wanted is None:
                continue
            checked += 1
            assert agrees(operation, kinds[0], int(out[at]), wanted), \
                f"{opcode} of {[hex(int(x)) for x in sources]} = {values}: {int(out[at]):#x}, expected {wanted:#x}"
    assert checked
