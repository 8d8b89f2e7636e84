"""Instructions that access memory: loads, stores, moves, atomic operations, asynchronous copies."""
from instructions import split_opcode
from parse import Vector, scalar_bytes
from ptx_types import storage

SPACES = ("param", "global", "shared", "local", "const")
# What an atomic operation leaves in memory: `old` is what was there, {b} and {c} are the operands.
ATOMIC = {
    "add": "old + {b}", "exch": "{b}", "and": "old & {b}", "or": "old | {b}", "xor": "old ^ {b}",
    "inc": "old >= {b} ? 0 : old + 1", "dec": "old == 0 || old > {b} ? {b} : old - 1", "cas": "old == {b} ? {c} : old",
}
INTEGER_MINMAX = {"min": "smaller(old, {b})", "max": "larger(old, {b})"}
FLOAT_MINMAX = {"min": "minimum(old, {b})", "max": "maximum(old, {b})"}


def space_of(modifiers):
    for modifier in modifiers:
        if modifier.split("::")[0] in SPACES:
            return modifier.split("::")[0]
    return "generic"


def pointer(w, operand, space, access, size):
    """A char * to `size` bytes. Accesses that a kernel can get wrong are announced; parameters and a thread's own variables are not."""
    if space == "param":
        if operand.base in w.param_bases:
            return f"({w.param_bases[operand.base]} + {operand.offset})"
        return f"((char *)({w.address(operand, space)}))"
    if space in ("local", "const"):
        return f"((char *)({w.address(operand, space)}))"
    return f"{access}({w.address(operand, space)}, {size}, {w.place()})"


def load(w, instruction):
    _, modifiers, types = split_opcode(instruction.opcode)
    destination, source = instruction.operands[:2]
    kind = types[0]
    names = destination.items if isinstance(destination, Vector) else [destination]
    at = pointer(w, source, space_of(modifiers), "load_at", scalar_bytes(kind) * len(names))
    cell = storage(kind)                                       # halves are moved as bits
    if len(names) == 1:
        return w.write(names[0], cell, f"*({cell} *){at}")
    reads = " ".join(w.write(name, cell, f"from[{k}]") for k, name in enumerate(names) if name != "_")
    return f"{{ {cell} *const from = ({cell} *){at}; {reads} }}"


def store(w, instruction):
    _, modifiers, types = split_opcode(instruction.opcode)
    destination, source = instruction.operands[:2]
    kind = storage(types[0])
    values = source.items if isinstance(source, Vector) else [source]
    at = pointer(w, destination, space_of(modifiers), "store_at", scalar_bytes(kind) * len(values))
    if len(values) == 1:
        return f"*({kind} *){at} = {w.read(values[0], kind)};"
    writes = " ".join(f"to[{k}] = {w.read(value, kind)};" for k, value in enumerate(values))
    return f"{{ {kind} *const to = ({kind} *){at}; {writes} }}"


def move(w, instruction):
    """mov: between registers, and packing and unpacking of their parts."""
    kind = storage(split_opcode(instruction.opcode)[2][0])
    destination, source = instruction.operands
    if isinstance(source, Vector):
        part = f"u{8 * scalar_bytes(kind) // len(source.items)}"
        parts = (f"{kind}({w.read(item, part)}) << {k * 8 * scalar_bytes(part)}" for k, item in enumerate(source.items))
        return w.write(destination, kind, " | ".join(parts))
    if isinstance(destination, Vector):
        part = f"u{8 * scalar_bytes(kind) // len(destination.items)}"
        writes = " ".join(w.write(name, part, f"({part})(whole >> {k * 8 * scalar_bytes(part)})") for k, name in enumerate(destination.items))
        return f"{{ const {kind} whole = {w.read(source, kind)}; {writes} }}"
    return w.write(destination, kind, w.read(source, kind))


def to_generic(w, instruction):
    """cvta: only shared memory has addresses of its own."""
    _, modifiers, types = split_opcode(instruction.opcode)
    kind = storage(types[0])
    value = w.read(instruction.operands[1], kind)
    if space_of(modifiers) == "shared":
        value = f"{value} - ({kind})shared" if "to" in modifiers else f"{value} + ({kind})shared"
    return w.write(instruction.operands[0], kind, value)


def in_space(w, instruction):
    """isspacep.space p, a"""
    space = space_of(split_opcode(instruction.opcode)[1])
    at = w.read(instruction.operands[1], "u64")
    test = {"shared": f"is_shared({at})", "local": f"is_local({at})", "global": f"!is_shared({at}) && !is_local({at})"}.get(space)
    if not test:
        raise w.unsupported("this state space cannot be asked for")
    return w.write(instruction.operands[0], "pred", test)


def atomic(w, instruction):
    """atom d, [a], b, c and red [a], b. Threads never run at the same time, so reading and writing one after the other is atomic."""
    base, modifiers, types = split_opcode(instruction.opcode)
    operands = list(instruction.operands)
    destination = operands.pop(0) if base == "atom" else "_"
    kind = types[0]
    space = space_of(modifiers)
    is_number = kind[0] in "usb" and kind[:2] != "bf"
    updates = {**ATOMIC, **(INTEGER_MINMAX if is_number else FLOAT_MINMAX)}
    update = next((updates[m] for m in modifiers if m in updates), None)
    if update is None or isinstance(operands[1], Vector):
        raise w.unsupported()
    sources = {name: w.read(operand, kind) for name, operand in zip("bc", operands[1:], strict=False)}
    at = pointer(w, operands[0], space, "atomic_at", scalar_bytes(kind))
    keep = w.write(destination, kind, "old") if destination != "_" else ""
    return f"{{ {kind} *const at = ({kind} *){at}; const {kind} old = *at; *at = {update.format(**sources)}; {keep} }}"


def copy_async(w, instruction):
    """cp.async.{ca,cg}.shared.global [to], [from], bytes{, source bytes}; and the commits and waits."""
    _, modifiers, _ = split_opcode(instruction.opcode)
    if "commit_group" in modifiers:
        return "commit_copies();"
    if "wait_group" in modifiers:
        return f"wait_for_copies({instruction.operands[0]});"
    if "wait_all" in modifiers:
        return "commit_copies(); wait_for_copies(0);"
    if "async" not in modifiers or "bulk" in modifiers or "mbarrier" in modifiers:
        raise w.unsupported()
    to, source, size, *rest = instruction.operands
    source_size = w.read(rest[0], "u32") if rest else size
    if rest and w.type_of(rest[0]) == "pred":                  # ignore-src
        source_size = f"({w.read(rest[0], 'pred')} ? 0u : {size}u)"
    return f"copy_async({w.address(to, 'shared')}, {w.address(source, 'global')}, {size}, {source_size}, {w.place()});"


HANDLERS = {"ld": load, "ldu": load, "st": store, "mov": move, "cvta": to_generic, "isspacep": in_space, "atom": atomic, "red": atomic, "cp": copy_async}
