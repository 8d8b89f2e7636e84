"""Instructions in which the lanes of a warp take part together: shuffles, votes, reductions, matrices."""
from instructions import split_opcode
from parse import Pair
from ptx_types import storage

# mma.sync: the depth in elements of a and b, by how many of them a register holds; and registers of a.
PACKED = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4}
ACCUMULATORS = {"f32": 4, "f16": 2, "s32": 4}                  # registers of c and d


def where(w):
    return f"{w.ordinal}, {w.place()}"


def shuffle(w, instruction):
    """shfl.sync.{up,down,bfly,idx}.b32 d{|p}, a, b, c, mask"""
    mode = next(m for m in split_opcode(instruction.opcode)[1] if m in ("up", "down", "bfly", "idx"))
    destination, value, b, c, mask = instruction.operands
    pair = destination if isinstance(destination, Pair) else Pair(destination, "_")
    arguments = ", ".join(w.read(x, "u32") for x in (value, b, c, mask))
    valid = w.write(pair.second, "pred", "valid") if pair.second != "_" else ""
    result = w.write(pair.first, "u32", f"shuffle(shuffle_mode::{mode}, {arguments}, &valid, {where(w)})")
    return f"{{ bool valid; {result} {valid} }}"


def vote(w, instruction):
    """vote.sync.{ballot.b32,all.pred,any.pred,uni.pred} d, {!}p, mask"""
    modifiers = split_opcode(instruction.opcode)[1]
    destination, predicate, mask = instruction.operands
    arguments = f"{w.read(predicate, 'pred')}, {w.read(mask, 'u32')}, {where(w)}"
    if "ballot" in modifiers:
        return w.write(destination, "u32", f"ballot({arguments})")
    test = next(m for m in modifiers if m in ("all", "any", "uni"))
    return w.write(destination, "pred", f"vote(vote_test::{test}, {arguments})")


def match(w, instruction):
    """match.any.sync.type d, a, mask; match.all also gives a predicate."""
    _, modifiers, (kind, *_) = split_opcode(instruction.opcode)
    destination, value, mask = instruction.operands
    pair = destination if isinstance(destination, Pair) else Pair(destination, "_")
    arguments = f"{w.read(value, kind)}, {w.read(mask, 'u32')}"
    if "any" in modifiers:
        return w.write(pair.first, "u32", f"match_any({arguments}, {where(w)})")
    valid = w.write(pair.second, "pred", "same != 0") if pair.second != "_" else ""
    return f"{{ const u32 same = match_all({arguments}, {where(w)}); {w.write(pair.first, 'u32', 'same')} {valid} }}"


def reduce(w, instruction):
    """redux.sync.op.type d, a, mask"""
    _, modifiers, (kind, *_) = split_opcode(instruction.opcode)
    operation = next((m for m in modifiers if m in ("add", "min", "max", "and", "or", "xor")), None)
    if operation is None or kind not in ("u32", "s32", "b32"):
        raise w.unsupported()
    destination, value, mask = instruction.operands
    kind = storage(kind)
    return w.write(destination, kind, f"reduce_{operation}({w.read(value, kind)}, {w.read(mask, 'u32')}, {where(w)})")


def active_mask(w, instruction):
    """Any set of lanes that holds the own one is an answer, since lanes need not run together; the smallest one waits for nobody."""
    return w.write(instruction.operands[0], "u32", "(1u << lane())")


def load_matrix(w, instruction):
    """ldmatrix.sync.aligned.m8n8.{x1,x2,x4}{.trans}.shared.b16 {d...}, [a]"""
    _, modifiers, types = split_opcode(instruction.opcode)
    if "m8n8" not in modifiers or types != ["b16"]:
        raise w.unsupported()
    names = instruction.operands[0].items
    function = "load_matrices_transposed" if "trans" in modifiers else "load_matrices"
    address = w.address(instruction.operands[1], "shared")
    writes = " ".join(w.write(name, "u32", f"part[{k}]") for k, name in enumerate(names))
    return f"{{ u32 part[4]; {function}({address}, {len(names)}, part, {where(w)}); {writes} }}"


def multiply_matrices(w, instruction):
    """mma.sync.aligned.m16n8kDEPTH.row.col{.satfinite}.dtype.atype.btype.ctype d, a, b, c"""
    _, modifiers, (d_type, a_type, b_type, c_type) = split_opcode(instruction.opcode)
    depth = next((int(m[len("m16n8k"):]) for m in modifiers if m.startswith("m16n8k")), 0)
    d, a, b, c = (operand.items for operand in instruction.operands)
    is_known = a_type in PACKED and b_type in PACKED and PACKED[a_type] == PACKED[b_type] and d_type == c_type in ACCUMULATORS
    if not is_known or "sp" in modifiers or "row" not in modifiers or "col" not in modifiers or len(a) not in (2, 4):
        raise w.unsupported()
    if (2 * len(a) * PACKED[a_type], 2 * len(b), len(c), len(d)) != (depth, len(a), ACCUMULATORS[c_type], ACCUMULATORS[c_type]):
        raise w.unsupported("the number of registers does not fit the shape")
    a_list, b_list, c_list = (", ".join(w.read(x, "u32") for x in items) for items in (a, b, c))
    kind = f"{{element::{a_type}, element::{b_type}, accumulator::{c_type}, {len(a)}}}"
    writes = " ".join(w.write(name, "u32", f"c[{k}]") for k, name in enumerate(d))
    return f"{{ const u32 a[] = {{{a_list}}}, b[] = {{{b_list}}}; u32 c[] = {{{c_list}}}; multiply_matrices({kind}, a, b, c, {where(w)}); {writes} }}"


HANDLERS = {"shfl": shuffle, "vote": vote, "match": match, "redux": reduce, "activemask": active_mask, "ldmatrix": load_matrix,
            "mma": multiply_matrices}
