"""What the emitters of instructions write with: operands of one function as C++ expressions of a wanted type."""
import re
import struct

from parse import Address, PtxError, scalar_bytes
from ptx_types import FLOATS, HALVES, INTEGERS, storage

NUMBER = re.compile(r"-?(0[xX][0-9a-fA-F]+|\d+)U?$")
FLOAT_BITS = re.compile(r"0[fF]([0-9A-Fa-f]{8})$|0[dD]([0-9A-Fa-f]{16})$")
PLACE_LINE_BITS = 20                                           # kPlaceLineBits of device.h
AXES = "xyz"
SPECIAL = {
    **{f"%{ptx}.{axis}": f"device.{name}.{axis}" for axis in AXES
       for ptx, name in (("tid", "thread"), ("ctaid", "block"), ("ntid", "threads"), ("nctaid", "blocks"))},
    "%laneid": "lane()", "%warpid": "(device.index / kWarp)", "WARP_SZ": "kWarp",
    "%nwarpid": "((device.threads.x * device.threads.y * device.threads.z + kWarp - 1) / kWarp)",
    "%lanemask_eq": "(1u << lane())", "%lanemask_lt": "((1u << lane()) - 1)", "%lanemask_le": "((2u << lane()) - 1)",
    "%lanemask_gt": "(~1u << lane())", "%lanemask_ge": "(~0u << lane())",
    "%dynamic_smem_size": "device.dynamic_shared_bytes", "%total_smem_size": "device.shared_bytes",
}


class Unsupported(PtxError):
    """An instruction that the translator does not know."""


def cxx_name(name):
    """A PTX name in C++, so that it is no keyword and no name of the runtime: %f32 is f_32, others get an underscore at their end."""
    clean = re.sub(r"\W", "_", name.lstrip("%"))
    return re.sub(r"(?<=[a-zA-Z])(\d+)$", r"_\1", clean) if name[0] == "%" and clean[-1].isdigit() else clean + "_"


def float_literal(bits, is_single):
    value = struct.unpack("<f", struct.pack("<I", bits))[0] if is_single else struct.unpack("<d", struct.pack("<Q", bits))[0]
    if value - value != 0:                                     # infinite or not a number
        return f"as_f32({bits:#x}u)" if is_single else f"as_f64({bits:#x}ull)"
    return value.hex() + ("f" if is_single else "")


class FunctionWriter:
    """Knows the names of one function and collects which registers it uses."""

    def __init__(self, function, module_symbols, files):
        self.function = function
        self.files = files
        self.symbols = dict(module_symbols)                    # name -> C++ expression of its address, as a number
        self.param_bases = {}                                  # name -> C++ expression of the pointer to it
        self.used = {}                                         # C++ name of a register -> its C++ type
        self.uses_carry = False
        self.instruction = None
        self.ordinal = 0

    # --- places

    def unsupported(self, why=""):
        number, line = self.instruction.place
        return Unsupported(f"{self.files.get(number, 'PTX')}:{line}: {why or 'unsupported PTX instruction'}: {self.instruction.text}\n"
                           f"  in {self.function.name}; emulator/ptx/README.md says how to add one")

    def place(self):
        number, line = self.instruction.place
        return number << PLACE_LINE_BITS | line

    # --- registers

    def type_of(self, name):
        return self.function.register_type(name)

    def register(self, name):
        kind = self.type_of(name)
        if kind is None:
            raise self.unsupported(f"'{name}' is no register")
        cxx = cxx_name(name)
        self.used[cxx] = storage(kind)
        return cxx

    def read(self, operand, wanted):
        """A C++ expression of type `wanted`."""
        if isinstance(operand, Address):                       # symbol + offset
            return f"({wanted})({self.symbol(operand.base)} + {operand.offset})"
        if not isinstance(operand, str):
            raise self.unsupported("an operand of this form is not known")
        if operand[0] == "!":
            return "!" + self.register(operand[1:])
        kind = self.type_of(operand)
        if kind is not None:
            return convert(self.register(operand), kind, wanted)
        if operand in SPECIAL:
            return f"({wanted}){SPECIAL[operand]}"
        bits = FLOAT_BITS.match(operand)
        if bits:
            return self.float_constant(bits, wanted)
        if NUMBER.match(operand):
            return integer_constant(int(operand.rstrip("U"), 0), wanted)
        return f"({wanted}){self.symbol(operand)}"

    def float_constant(self, match, wanted):
        number = int(match[1] or match[2], 16)
        if wanted in FLOATS:
            return float_literal(number, match[1] is not None)
        return integer_constant(number, wanted)

    def symbol(self, name):
        if name in self.symbols:
            return self.symbols[name]
        if name in self.param_bases:
            return f"u64({self.param_bases[name]})"
        raise self.unsupported(f"'{name}' is not known")

    def write(self, destination, kind, expression):
        """The statement that assigns an expression of type `kind` to a register; _ drops it."""
        if destination == "_":
            return f"(void)({expression});"
        target = self.register(destination)
        declared = self.type_of(destination)
        if storage(declared) == storage(kind) and kind not in HALVES:
            return f"{target} = {expression};"
        if kind in HALVES or (kind in FLOATS and declared not in FLOATS):
            return f"{target} = bits_of({expression});"
        if declared in FLOATS and kind not in FLOATS:
            return f"{target} = as_{declared}({expression});"
        if scalar_bytes(kind) == scalar_bytes(declared):
            return f"{target} = {expression};"
        return f"{target} = ({kind})({expression});"

    # --- addresses

    def address(self, operand, space):
        """An address as a number (of type u64): generic, global, local and constant ones are pointers, shared ones lie in the block's window."""
        if not isinstance(operand, Address):
            raise self.unsupported("an address in brackets was expected")
        base, offset = operand.base, operand.offset
        kind = self.type_of(base)
        if kind is None:
            number = self.symbol(base) if not NUMBER.match(base) else f"{int(base, 0)}u"
            expression = f"{number} + {offset}" if offset else number
        else:
            wanted = "u32" if space == "shared" else "u64"
            expression = self.read(base, wanted) + (f" + {offset}" if offset else "")
        return f"shared + u32({expression})" if space == "shared" else expression


def convert(expression, kind, wanted):
    """A register of type `kind` seen as `wanted`: the same bits, or the lower ones."""
    if wanted in HALVES:
        return f"as_{wanted}({expression})"
    if storage(kind) == storage(wanted):
        return expression
    if wanted in FLOATS:
        return f"as_{wanted}({expression})"
    if kind in FLOATS:
        return f"({wanted})bits_of({expression})"
    return f"({wanted}){expression}"


def integer_constant(value, wanted):
    if wanted in FLOATS:
        return f"{float(value)}"
    if wanted == "pred":
        return "true" if value else "false"
    if wanted in HALVES:
        return f"as_{wanted}({value & 0xffffffff})"
    if wanted not in INTEGERS and wanted != "tf32":
        raise PtxError(f"a constant of type {wanted} is not known")
    bits = 8 * scalar_bytes(wanted)
    value &= (1 << bits) - 1
    if wanted[0] == "s" and value >> (bits - 1):
        value -= 1 << bits
    if bits == 32 and value >= 0:
        return f"{value}" if wanted[0] == "s" else f"{value}u"
    return f"({wanted}){value & ((1 << 64) - 1):#x}ull" if abs(value) >> 31 else f"({wanted})({value})"
