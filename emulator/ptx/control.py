"""Instructions that decide what runs next: comparisons, branches, calls, barriers; and those that do nothing here."""
from instructions import split_opcode
from parse import Pair
from ptx_types import HALVES, INTEGERS
from writer import cxx_name

# Conditions of setp and set. Those that end in u hold for NaN too; `ne` does not, unlike C++'s.
APART = "({a} < {b} || {a} > {b})"
COMPARISONS = {
    "eq": "{a} == {b}", "ne": APART, "lt": "{a} < {b}", "le": "{a} <= {b}", "gt": "{a} > {b}", "ge": "{a} >= {b}",
    "lo": "{a} < {b}", "ls": "{a} <= {b}", "hi": "{a} > {b}", "hs": "{a} >= {b}",
    "equ": f"!{APART}", "neu": "!({a} == {b})", "ltu": "!({a} >= {b})", "leu": "!({a} > {b})", "gtu": "!({a} <= {b})", "geu": "!({a} < {b})",
    "num": "!is_nan({a}) && !is_nan({b})", "nan": "is_nan({a}) || is_nan({b})",
}
COMBINE = {"and": "&", "or": "|", "xor": "^"}
PAIRS = ("f16x2", "bf16x2")
# What `set` gives where its condition holds, if that is not all bits set.
ONE = {"f32": "1.0f", "f16": "as_f16(0x3c00)", "bf16": "as_bf16(0x3f80)"}
ONE_BITS = {"f16x2": "0x3c00u", "bf16x2": "0x3f80u"}


def comparison(operator, kind, a, b):
    """The C++ condition for two expressions of a type."""
    if kind in HALVES:
        a, b = f"f32({a})", f"f32({b})"
    if operator == "ne" and kind in INTEGERS:
        return f"{a} != {b}"
    return COMPARISONS[operator].format(a=a, b=b)


def comparison_of_halves(operator, kind, a, b):
    """The conditions for the low and the high halves of two pairs."""
    return [comparison(operator, kind[:-2], f"({a}).{part}()", f"({b}).{part}()") for part in ("low", "high")]


def operands_of_comparison(w, kind, operands, modifiers):
    a, b = (w.read(x, kind) for x in operands[:2])
    if "ftz" in modifiers and kind == "f32":
        a, b = f"flushed({a})", f"flushed({b})"
    combine = next((COMBINE[m] for m in modifiers if m in COMBINE), None)
    return a, b, f" {combine} {w.read(operands[2], 'pred')}" if combine else ""


def set_predicate(w, instruction):
    """setp.op{.bool}{.ftz}.type p{|q}, a, b{, {!}c}: q gets the negated comparison; of pairs, p the low and q the high one."""
    _, (operator, *modifiers), (kind, *_) = split_opcode(instruction.opcode)
    destination, *operands = instruction.operands
    pair = destination if isinstance(destination, Pair) else Pair(destination, "_")
    a, b, extra = operands_of_comparison(w, kind, operands, modifiers)
    if kind in PAIRS:
        low, high = comparison_of_halves(operator, kind, a, b)
        values = (pair.first, f"({low}){extra}"), (pair.second, f"({high}){extra}")
        return " ".join(w.write(name, "pred", value) for name, value in values if name != "_")
    condition = comparison(operator, kind, a, b)
    if not extra and pair.second == "_":
        return w.write(pair.first, "pred", condition)
    values = (pair.first, f"holds{extra}"), (pair.second, f"!holds{extra}")
    return f"{{ const bool holds = {condition}; {' '.join(w.write(name, 'pred', value) for name, value in values if name != '_')} }}"


def set_value(w, instruction):
    """set.op{.bool}.dtype.stype d, a, b{, {!}c}: all bits set, or 1.0, where the condition holds."""
    _, (operator, *modifiers), (result, kind) = split_opcode(instruction.opcode)
    destination, *operands = instruction.operands
    a, b, extra = operands_of_comparison(w, kind, operands, modifiers)
    if kind in PAIRS:
        low, high = comparison_of_halves(operator, kind, a, b)
        one = ONE_BITS.get(result, "0xffffu")
        return w.write(destination, "u32", f"(({low}){extra} ? {one} : 0u) | (({high}){extra} ? {one} : 0u) << 16")
    one = ONE.get(result, f"({result})-1")
    return w.write(destination, result, f"({comparison(operator, kind, a, b)}){extra} ? {one} : decltype({one}){{}}")


def branch(w, instruction):
    target = instruction.operands[0]
    jump = f"goto {cxx_name(target)};"
    return f"step({w.place()}); {jump}" if target in w.labels_seen else jump


def branch_indexed(w, instruction):
    """brx.idx i, list"""
    index, name = instruction.operands
    targets = w.branch_targets.get(name)
    if targets is None:
        raise w.unsupported("its list of targets is not known")
    back = f"step({w.place()}); " if any(t in w.labels_seen for t in targets) else ""
    cases = " ".join(f"case {k}: goto {cxx_name(target)};" for k, target in enumerate(targets))
    return f"{back}switch ({w.read(index, 'u32')}) {{ {cases} default: trap({w.place()}); }}"


def leave(w, instruction):
    if instruction.opcode.startswith("exit") and not w.function.is_kernel:
        raise w.unsupported("a device function that ends its thread is not supported")
    return "return;"


def call(w, instruction):
    """call{.uni} {(returned),} function{, (arguments)}: each parameter is passed as a pointer to its bytes."""
    operands = list(instruction.operands)
    returned = operands.pop(0).items if not isinstance(operands[0], str) else []
    name = operands.pop(0)
    arguments = operands.pop(0).items if operands else []
    if operands or name not in w.callable:
        raise w.unsupported("only device functions of the same module can be called")
    pointers = [w.param_bases.get(x) for x in returned + arguments]
    if None in pointers:
        raise w.unsupported("its arguments are not in parameter memory")
    return f"{w.callable[name]}({', '.join(pointers)});"


def barrier(w, instruction):
    """bar{.cta}.{sync,arrive,red.*} a{, b}, and bar.warp.sync"""
    _, modifiers, _ = split_opcode(instruction.opcode)
    operands = list(instruction.operands)
    if "warp" in modifiers:
        return f"sync_warp({w.read(operands[0], 'u32')}, {w.ordinal}, {w.place()});"
    predicate, destination = "false", None
    if "red" in modifiers:
        destination = operands.pop(0)
        predicate = w.read(operands.pop(), "pred")
    number = w.read(operands[0], "u32") if operands else "0"
    count = w.read(operands[1], "u32") if len(operands) > 1 else "0"
    where = f"{w.ordinal}, {w.place()}"
    if "arrive" in modifiers:
        return f"barrier_arrive({number}, {count}, {where});"
    wait = f"barrier({number}, {count}, {predicate}, {where})"
    if destination is None:
        return f"{wait};"
    if "popc" in modifiers:
        return w.write(destination, "u32", f"{wait}.trues")
    test = "met.trues == met.threads" if "and" in modifiers else "met.trues != 0"
    return f"{{ const barrier_result met = {wait}; {w.write(destination, 'pred', test)} }}"


def trap(w, instruction):
    return f"trap({w.place()});"


def nothing(w, instruction):
    """Threads run one at a time and memory has one order, so fences, hints and prefetches have nothing to do."""
    return ""


HANDLERS = {
    "setp": set_predicate, "set": set_value, "bra": branch, "brx": branch_indexed, "ret": leave, "exit": leave, "call": call, "bar": barrier,
    "barrier": barrier, "trap": trap,
    **dict.fromkeys(("membar", "fence", "griddepcontrol", "prefetch", "prefetchu", "discard", "applypriority", "nanosleep"), nothing),
}
