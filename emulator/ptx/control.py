"""Instructions that decide what runs next: comparisons, branches, calls, barriers; and those that do nothing here."""
from instructions import split_opcode
from parse import Pair
from ptx_types import HALVES
from writer import cxx_name

ORDERED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
# True for NaN too: the opposite comparison, negated.
UNORDERED = {"equ": "!=", "neu": "==", "ltu": ">=", "leu": ">", "gtu": "<=", "geu": "<"}
COMBINE = {"and": "&", "or": "|", "xor": "^"}


def comparison(w, operator, kind, a, b):
    """The C++ condition; `ne` between floats is false for NaN, which C++ sees otherwise."""
    if kind in HALVES:
        a, b, kind = f"f32({a})", f"f32({b})", "f32"
    if operator in UNORDERED:
        if operator == "neu":
            return f"{a} != {b}"
        return f"!({a} {UNORDERED[operator]} {b}) || is_nan({a}) || is_nan({b})" if operator == "equ" else f"!({a} {UNORDERED[operator]} {b})"
    if operator == "num":
        return f"!is_nan({a}) && !is_nan({b})"
    if operator == "nan":
        return f"is_nan({a}) || is_nan({b})"
    if operator == "ne" and kind in ("f32", "f64"):
        return f"({a} < {b} || {a} > {b})"
    return f"{a} {ORDERED[operator]} {b}"


def compare_operands(w, operator, kind, operands, modifiers):
    a, b = (w.read(x, kind) for x in operands[:2])
    if "ftz" in modifiers and kind == "f32":
        a, b = f"flushed({a})", f"flushed({b})"
    return a, b


def set_predicate(w, instruction):
    """setp.op{.bool}{.ftz}.type p{|q}, a, b{, {!}c}: q gets the negated comparison."""
    _, (operator, *modifiers), (kind, *_) = split_opcode(instruction.opcode)
    destination, *operands = instruction.operands
    pair = destination if isinstance(destination, Pair) else Pair(destination, "_")
    if kind in ("f16x2", "bf16x2"):
        return set_two_predicates(w, operator, kind, pair, operands)
    condition = comparison(w, operator, kind, *compare_operands(w, operator, kind, operands, modifiers))
    combine = next((COMBINE[m] for m in modifiers if m in COMBINE), None)
    if combine is None and pair.second == "_":
        return w.write(pair.first, "pred", condition)
    extra = f" {combine} {w.read(operands[2], 'pred')}" if combine else ""
    writes = [w.write(name, "pred", f"{value}{extra}") for name, value in ((pair.first, "holds"), (pair.second, "!holds")) if name != "_"]
    return f"{{ const bool holds = {condition}; {' '.join(writes)} }}"


def set_two_predicates(w, operator, kind, pair, operands):
    half = kind[:-2]
    halves = ((f"{w.read(operands[0], kind)}.{part}()", f"{w.read(operands[1], kind)}.{part}()") for part in ("low", "high"))
    conditions = [comparison(w, operator, half, a, b) for a, b in halves]
    return " ".join(w.write(name, "pred", condition) for name, condition in zip((pair.first, pair.second), conditions, strict=True) if name != "_")


def set_value(w, instruction):
    """set.op{.bool}.dtype.stype d, a, b{, c}: all bits set or 1.0 where the comparison holds."""
    _, (operator, *modifiers), (result, kind) = split_opcode(instruction.opcode)
    destination, *operands = instruction.operands
    a, b = compare_operands(w, operator, kind, operands, modifiers)
    combine = next((COMBINE[m] for m in modifiers if m in COMBINE), None)
    extra = f" {combine} {w.read(operands[2], 'pred')}" if combine else ""
    if kind in ("f16x2", "bf16x2"):
        half = kind[:-2]
        conditions = [f"({comparison(w, operator, half, f'({a}).{part}()', f'({b}).{part}()')}){extra}" for part in ("low", "high")]
        ones = ("0xffff", "0xffff") if result in ("u32", "s32", "b32") else ("0x3c00", "0x3c00") if result == "f16x2" else ("0x3f80", "0x3f80")
        return w.write(destination, "u32", f"({conditions[0]} ? {ones[0]}u : 0u) | ({conditions[1]} ? {ones[1]}u : 0u) << 16")
    one = {"f32": "1.0f", "f16": "as_f16(0x3c00)", "bf16": "as_bf16(0x3f80)"}.get(result, f"({result})-1")
    zero = {"f32": "0.0f", "f16": "as_f16(0)", "bf16": "as_bf16(0)"}.get(result, f"({result})0")
    return w.write(destination, result, f"({comparison(w, operator, kind, a, b)}){extra} ? {one} : {zero}")


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
