"""A parsed PTX module as C++: one function a kernel, run by one thread; tables by which the executor finds them."""
import os
import struct

import control
import memory
import warp
from instructions import find_form
from parse import Label, PtxError, scalar_bytes
from ptx_types import storage
from writer import FLOAT_BITS, FunctionWriter, cxx_name

HANDLERS = {**memory.HANDLERS, **control.HANDLERS, **warp.HANDLERS}
LARGEST_ALIGNMENT = 128                                        # of the window of shared memory
MOST_LOCAL_BYTES = 128 << 10                                   # half of a thread's stack, see kStackBytes


def round_up(number, to):
    return (number + to - 1) // to * to


class ModuleEmitter:
    """Writes one module. Kernels are numbered, since their names are long and only tables need them."""

    def __init__(self, module, prefix, root):
        self.module = module
        self.prefix = prefix
        self.root = root
        self.lines = []
        self.callable = {f.name: f"{prefix}function_{k}" for k, f in enumerate(module.functions) if not f.is_kernel}
        self.ordinal = 0
        self.functions = [f for f in module.functions if f.body is not None]
        self.mentioned = {name for f in self.functions for name in mentioned_symbols(f)}
        self.variables = [v for v in module.variables if v.space in ("global", "const") and v.name in self.mentioned]
        self.shared_layout = self.lay_out_module_shared()

    def emit(self):
        self.emit_files()
        for variable in self.variables:
            self.emit_variable(variable)
        for function in self.functions:
            if not function.is_kernel:
                self.lines.append(f"{self.signature(function)};")
        kernels = [self.emit_function(f) for f in self.functions]
        self.emit_tables([k for k in kernels if k])
        return "\n".join(self.lines)

    def emit_files(self):
        highest = max(self.module.files, default=0)
        names = [self.shown(self.module.files.get(k, "")) for k in range(highest + 1)]
        self.lines.append(f"static const char *const {self.prefix}files[] = {{{', '.join(c_string(n) for n in names)}}};")

    def shown(self, path):
        """Paths of the project from its root on, others by their last parts: messages and builds do not depend on where the tree lies."""
        inside = os.path.relpath(path, self.root) if self.root and path else path
        return "/".join(path.split("/")[-2:]) if inside.startswith("..") else inside

    # --- variables

    def symbol_of(self, variable):
        return f"{self.prefix}{cxx_name(variable.name)}"

    def emit_variable(self, variable):
        values = variable.values
        code = f"alignas({max(variable.align, 16)}) static {storage(variable.type)} {self.symbol_of(variable)}[{max(variable.count, 1)}]"
        if values is not None:
            code += f" = {{{', '.join(initial_value(v, variable.type) for v in values)}}}"
        self.lines.append(code + ";")

    def lay_out_module_shared(self):
        """Variables that stand outside of functions lie in front, in each kernel at the same place if device functions use them."""
        in_functions = {name for f in self.functions if not f.is_kernel for name in mentioned_symbols(f)}
        fixed = [v for v in self.module.variables if v.space == "shared" and v.count and v.name in in_functions]
        return place_variables(fixed, 0)

    def shared_symbols(self, function):
        """Offsets of the shared variables of a kernel, and how many bytes they take. An array without a size begins behind them."""
        offsets, end = dict(self.shared_layout[0]), self.shared_layout[1]
        names = mentioned_symbols(function)
        own = [v for v in self.module.variables if v.space == "shared" and v.name in names and v.name not in offsets]
        own += [v for v in function.variables if v.space == "shared"]
        if any(v.align > LARGEST_ALIGNMENT for v in own):
            raise PtxError(f"{function.name}: shared variables can be aligned to {LARGEST_ALIGNMENT} bytes at most")
        placed, end = place_variables([v for v in own if v.count], end)
        dynamic = [v for v in own if not v.count]
        end = round_up(end, max([16, *(v.align for v in dynamic)]))
        offsets |= placed | {v.name: end for v in dynamic}
        return {name: f"{at}u" for name, at in offsets.items()}, end

    # --- functions

    def signature(self, function):
        if function.is_kernel:
            return f"static void {self.prefix}kernel_{self.module.functions.index(function)}([[maybe_unused]] const char *params)"
        arguments = [f"char *{cxx_name(v.name)}" for v in function.returns + function.params]
        return f"static void {self.callable[function.name]}({', '.join(arguments)})"

    def emit_function(self, function):
        symbols = {v.name: f"u64({self.symbol_of(v)})" for v in self.variables}
        shared, static_shared = self.shared_symbols(function)
        symbols |= shared
        w = FunctionWriter(function, symbols, self.module.files)
        w.callable = self.callable
        offsets, param_bytes = param_layout(function.params)
        if function.is_kernel:
            w.param_bases = {v.name: f"(params + {at})" for v, (at, _) in zip(function.params, offsets, strict=True)}
        else:
            w.param_bases = {v.name: cxx_name(v.name) for v in function.returns + function.params}
        own = []
        local_bytes = sum(v.bytes for v in function.variables if v.space == "local")
        if local_bytes > MOST_LOCAL_BYTES:
            raise PtxError(f"{function.name}: {local_bytes} bytes of local memory; a thread of the emulated GPU has {MOST_LOCAL_BYTES}")
        for v in function.variables:
            if v.space in ("local", "param"):
                own.append(f"  alignas({max(v.align, 16)}) char {cxx_name(v.name)}[{max(v.bytes, 1)}];")
                w.symbols[v.name] = f"u64({cxx_name(v.name)})"
                if v.space == "param":
                    w.param_bases[v.name] = cxx_name(v.name)
        body = self.emit_body(w)
        self.lines += [f"/* {function.name} */", self.signature(function) + " {", "  [[maybe_unused]] const u64 shared = u64(device.shared);"]
        self.lines += declarations(w) + own + body + ["}"]
        if not function.is_kernel:
            return None
        return function, offsets, param_bytes, static_shared

    def emit_body(self, w):
        w.labels_seen = set()
        w.branch_targets = {item.name: item.targets for item in w.function.body if isinstance(item, Label) and item.targets}
        lines = []
        for item in w.function.body:
            if isinstance(item, Label):
                if not item.targets:
                    w.labels_seen.add(item.name)
                    lines.append(f"{cxx_name(item.name)}:;")
                continue
            statement = self.emit_instruction(w, item)
            if statement:
                lines.append(f"  {statement}")
        return lines

    def emit_instruction(self, w, instruction):
        w.instruction = instruction
        self.ordinal += 1
        w.ordinal = self.ordinal
        base = instruction.opcode.split(".")[0]
        try:
            handler = HANDLERS.get(base)
            statement = handler(w, instruction) if handler else regular(w, instruction)
        except (IndexError, KeyError, StopIteration, ValueError, AttributeError) as error:
            raise w.unsupported() from error
        if instruction.guard and statement:
            guard = ("!" if instruction.guard[0] == "!" else "") + w.register(instruction.guard.lstrip("!"))
            statement = f"if ({guard}) {{ {statement} }}"
        return statement

    # --- tables

    def emit_tables(self, kernels):
        rows = []
        for function, offsets, param_bytes, static_shared in kernels:
            number = self.module.functions.index(function)
            pairs = ", ".join(f"{at}, {size}" for at, size in offsets) or "0, 0"
            self.lines.append(f"static const unsigned {self.prefix}params_{number}[] = {{{pairs}}};")
            rows.append(f"  {{{c_string(function.name)}, {self.prefix}kernel_{number}, {len(offsets)}, {self.prefix}params_{number}, {param_bytes}, "
                        f"{static_shared}, {function.most_threads}, {self.prefix}files}},")
        variables = [f"  {{{c_string(v.name)}, {self.symbol_of(v)}, {v.bytes}, {'true' if v.space == 'const' else 'false'}}}," for v in self.variables]
        kernel_table = self.table("kernel_image", "kernels", rows)
        variable_table = self.table("variable_image", "variables", variables)
        self.lines.append(f"static const module_registration {self.prefix}registration({kernel_table}, {len(rows)}, {variable_table}, {len(variables)});")

    def table(self, kind, name, rows):
        if not rows:
            return "nullptr"
        self.lines += [f"static const {kind} {self.prefix}{name}[] = {{", *rows, "};"]
        return self.prefix + name


def regular(w, instruction):
    """An instruction of the table."""
    operands = instruction.operands
    if instruction.opcode == "lop3.b32":
        a, b, c = (w.read(x, "u32") for x in operands[1:4])
        return w.write(operands[0], "u32", logic_of_three(int(operands[4], 0), a, b, c))
    form = find_form(instruction.opcode, len(operands) - 1)
    if form is None:
        raise w.unsupported()
    sources = [w.read(x, kind) for x, kind in zip(operands[1:], form.sources, strict=True)]
    if form.flush:
        sources = [f"flushed({x})" if kind == "f32" else x for x, kind in zip(sources, form.sources, strict=True)]
    code = form.code.format(*sources)
    if form.saturate:
        code = f"saturated({code})"
    if form.flush and form.destination == "f32":
        code = f"flushed({code})"
    w.uses_carry |= "carry" in code
    return w.write(operands[0], form.destination, code)


# Functions of two bits by their truth table: bit (2b + c) is the result.
OF_TWO = ("0", "~({b} | {c})", "(~{b} & {c})", "~{b}", "({b} & ~{c})", "~{c}", "({b} ^ {c})", "~({b} & {c})",
          "({b} & {c})", "~({b} ^ {c})", "{c}", "(~{b} | {c})", "{b}", "({b} | ~{c})", "({b} | {c})", "~0u")


def logic_of_three(table, a, b, c):
    """lop3: bit (4a + 2b + c) of the table is the result."""
    zero, one = table & 15, table >> 4
    if_zero, if_one = (OF_TWO[k].format(b=b, c=c) for k in (zero, one))
    if zero == one:
        return if_one
    if one == 15 - zero:
        return f"({a} ^ {if_zero})"
    if zero == 0:
        return f"({a} & {if_one})"
    if one == 15:
        return f"({a} | {if_zero})"
    return f"(({a} & {if_one}) | (~{a} & {if_zero}))"


def mentioned_symbols(function):
    """Names in the operands of a function."""
    found = set()
    waiting = [operand for item in function.body or () if not isinstance(item, Label) for operand in item.operands]
    while waiting:
        operand = waiting.pop()
        if isinstance(operand, str):
            found.add(operand)
        elif hasattr(operand, "base"):
            found.add(operand.base)
        elif hasattr(operand, "items"):
            waiting += operand.items
    return found


def place_variables(variables, at):
    offsets = {}
    for v in variables:
        at = round_up(at, v.align)
        offsets[v.name] = at
        at += v.bytes
    return offsets, at


def param_layout(params):
    """(offset, size) of each, and the bytes of all."""
    offsets, at = [], 0
    for v in params:
        at = round_up(at, v.align)
        offsets.append((at, v.bytes))
        at += v.bytes
    return offsets, at


def declarations(w):
    """Registers begin as zero: a kernel that reads one before it writes it does the same in every run."""
    by_type = {}
    for name, kind in w.used.items():
        by_type.setdefault(kind, []).append(f"{name} = {{}}")
    lines = [f"  {kind} {', '.join(names)};" for kind, names in sorted(by_type.items())]
    return lines + (["  bool carry = false;"] if w.uses_carry else [])


def initial_value(text, kind):
    bits = FLOAT_BITS.match(text)
    if bits:
        number = int(bits[1] or bits[2], 16)
        value = struct.unpack("<f", struct.pack("<I", number))[0] if bits[1] else struct.unpack("<d", struct.pack("<Q", number))[0]
        return value.hex() if value - value == 0 else f"__builtin_bit_cast({kind}, {number:#x}{'u' if bits[1] else 'ull'})"
    return f"({storage(kind)}){int(text.rstrip('U'), 0) & ((1 << 8 * scalar_bytes(kind)) - 1):#x}ull"


def c_string(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def emit_file(modules, source, root):
    """The text of a .cpp file with all modules of an object. `root`: the directory to which paths in messages are relative."""
    head = [f"/* Translated from the PTX in {os.path.basename(source)}. */", "#include <emulator/ptx/runtime.h>", "using namespace emulator;", ""]
    return "\n".join(head + [ModuleEmitter(m, f"m{k}_" if len(modules) > 1 else "", root).emit() for k, m in enumerate(modules)]) + "\n"


