"""The scalar types of PTX. In generated C++ a type has the same name, see numbers.h; a register holds the type that it was declared with."""
from parse import SCALAR_BYTES, scalar_bytes

INTEGERS = ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "b8", "b16", "b32", "b64")
FLOATS = ("f32", "f64")
HALVES = ("f16", "bf16", "f16x2", "bf16x2")
TYPES = INTEGERS + FLOATS + HALVES + ("pred", "tf32")


def storage(type_name):
    """What a register of this type is in C++: halves lie there as bits, and bits are unsigned numbers."""
    if type_name in HALVES or type_name in INTEGERS or type_name == "tf32":
        return f"u{8 * SCALAR_BYTES.get(type_name, scalar_bytes(type_name))}" if type_name[0] != "s" else type_name
    return type_name


def wide(type_name):
    """The type with twice the bits: of the product of mul.wide."""
    return f"{type_name[0]}{16 * scalar_bytes(type_name)}"
