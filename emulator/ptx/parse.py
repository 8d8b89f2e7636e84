"""PTX text to Python objects: a module with its kernels, device functions and variables, each function with registers and instructions."""
import re
from dataclasses import dataclass, field

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
SECTION = re.compile(r"^\s*\.section\s+\S+\s*\{[^}]*\}", re.M)
FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"[^\n]*', re.M)
LINE = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)[^\n]*", re.M)
HEADER = re.compile(r"^\s*\.(version|target|address_size)[^\n]*", re.M)
TOKEN = re.compile(r'"[^"]*"|[%$.\w]+(?:::[\w.]+)*|[^\s\w]')
SCALAR_BYTES = {"pred": 1, "f16x2": 4, "bf16x2": 4}


class PtxError(Exception):
    """Text that is not understood. The message says what, and where in the .cu where that is known."""


@dataclass(slots=True)
class Address:
    """[base + offset]; the base is a register, a variable or a parameter."""
    base: str
    offset: int


@dataclass(slots=True)
class Vector:
    """{a, b, ...}, or the (a, b, ...) of a call."""
    items: list


@dataclass(slots=True)
class Pair:
    """a|b: two destinations of one instruction."""
    first: str
    second: str


@dataclass(slots=True)
class Variable:
    """A parameter, or a variable in shared, local, global or constant memory. `values` is None without an initialiser, else one per element."""
    name: str
    space: str
    type: str
    count: int                                                 # of elements; 0 in an array whose size the launch gives
    align: int
    is_array: bool = False
    values: list | None = None

    @property
    def bytes(self):
        return self.count * scalar_bytes(self.type)


@dataclass(slots=True)
class Instruction:
    opcode: str
    operands: list
    guard: str | None                                          # predicate register; with ! in front where it must be false
    place: tuple                                               # number of the file, line
    text: str


@dataclass(slots=True)
class Label:
    name: str
    targets: list | None = None                                # of a .branchtargets list


@dataclass(slots=True)
class Function:
    name: str
    is_kernel: bool
    params: list
    returns: list
    place: tuple = (0, 0)
    most_threads: int = 0
    registers: dict = field(default_factory=dict)              # name -> type
    ranges: dict = field(default_factory=dict)                 # prefix -> type, of %r<42>
    variables: list = field(default_factory=list)              # shared, local and param
    body: list | None = None                                   # Instructions and Labels; None in a declaration

    def register_type(self, name):
        """The declared type of a register, None for a name that is not one."""
        return self.registers.get(name) or (self.ranges.get(name.rstrip("0123456789")) if name[0] == "%" else None)


@dataclass(slots=True)
class Module:
    functions: list
    variables: list
    files: dict                                                # number -> path


def scalar_bytes(type_name):
    return SCALAR_BYTES.get(type_name) or int(re.search(r"\d+$", type_name)[0]) // 8


def parse_module(text):
    files = {int(number): path for number, path in FILE.findall(text)}
    for pattern, by in ((COMMENT, " "), (SECTION, ""), (FILE, ""), (HEADER, ""), (LINE, r".loc \1 \2 ;")):
        text = pattern.sub(by, text)
    return _Parser(TOKEN.findall(text), files).module()


class _Parser:
    """Recursive descent over the tokens of a module."""

    def __init__(self, tokens, files):
        self.tokens = tokens
        self.at = 0
        self.files = files
        self.place = (0, 0)
        self.scopes = []                                       # of the function: name in the text -> unique name
        self.scope_count = 0
        self.function = None

    # --- tokens

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def accept(self, token):
        if self.peek() != token:
            return False
        self.at += 1
        return True

    def expect(self, token):
        if not self.accept(token):
            around = " ".join(self.tokens[max(0, self.at - 8):self.at + 4])
            raise PtxError(f"{self.where()}: expected '{token}', found '{self.peek()}' in: {around}")

    def where(self):
        number, line = self.place
        return f"{self.files.get(number, 'PTX')}:{line}"

    def skip_statement(self):
        while self.next() != ";":
            pass

    # --- module

    def module(self):
        module = Module([], [], self.files)
        while self.at < len(self.tokens):
            token = self.peek()
            if token in (".visible", ".weak", ".extern", ".common", ";"):
                self.at += 1
            elif token in (".entry", ".func"):
                module.functions.append(self.parse_function())
            elif token in (".global", ".const", ".shared"):
                module.variables.append(self.variable())
                self.expect(";")
            elif token == ".loc":
                self.location()
            elif token in (".alias", ".pragma"):
                self.skip_statement()
            else:
                raise PtxError(f"{self.where()}: '{token}' is not understood at module scope")
        return module

    def location(self):
        """.loc FILE LINE; line 0 stands for code that belongs to no line: the last known one stays."""
        self.expect(".loc")
        number, line = int(self.next()), int(self.next())
        if line:
            self.place = (number, line)
        self.expect(";")

    def variable(self, space=None):
        """.space .align N .type name[count] = {...}, without the semicolon."""
        space = space or self.next()[1:]
        align, kind = 0, "b8"
        while self.peek().startswith("."):
            word = self.next()
            if word == ".align":
                align = int(self.next())
            elif word[1:] not in ("ptr", "global", "const", "shared", "local", "managed"):
                kind = word[1:]
        name = self.next()
        if self.accept("<"):
            raise PtxError(f"{self.where()}: a range of variables {name}<...> is not supported")
        count, is_array = 1, False
        while self.accept("["):
            is_array = True
            extent = 0 if self.peek() == "]" else int(self.next(), 0)
            count *= extent
            self.expect("]")
        values = self.initialiser() if self.accept("=") else None
        return Variable(name, space, kind, count, align or scalar_bytes(kind), is_array, values)

    def initialiser(self):
        if not self.accept("{"):
            return [self.constant()]
        values = []
        while not self.accept("}"):
            if self.peek() == "{":
                values += self.initialiser()
            else:
                values.append(self.constant())
            self.accept(",")
        return values

    def constant(self):
        sign = "-" if self.accept("-") else ""
        word = self.next()
        if self.peek() in ("(", "+"):
            raise PtxError(f"{self.where()}: an initialiser with an address ({word}) is not supported")
        return sign + word

    # --- functions

    def parse_function(self):
        is_kernel = self.next() == ".entry"
        returns = self.param_list() if self.peek() == "(" else []
        function = self.function = Function(self.next(), is_kernel, [], returns)
        function.params = self.param_list() if self.peek() == "(" else []
        while self.peek().startswith("."):                     # .maxntid 256, 1, 1 and its like
            self.directive(function)
        if self.accept(";"):
            return function
        function.body = []
        self.scopes = []
        self.place = (0, 0)
        self.block()
        return function

    def param_list(self):
        self.expect("(")
        params = []
        while not self.accept(")"):
            self.expect(".param")
            params.append(self.variable("param"))
            self.accept(",")
        return params

    def directive(self, function):
        word, numbers = self.next(), []
        while self.peek().isdigit():
            numbers.append(int(self.next()))
            self.accept(",")
        if word in (".maxntid", ".reqntid"):
            function.most_threads = 1
            for n in numbers:
                function.most_threads *= n

    def block(self):
        """{ statements }. Names that are declared in a nested block are renamed, so that the function is one flat scope in the end."""
        self.expect("{")
        self.scopes.append({})
        while not self.accept("}"):
            self.statement()
        self.scopes.pop()

    def declare(self, name):
        if len(self.scopes) == 1:
            return name
        self.scope_count += 1
        self.scopes[-1][name] = unique = f"{name}_scope{self.scope_count}"
        return unique

    def resolve(self, name):
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name

    def statement(self):
        token = self.peek()
        if token == "{":
            self.block()
        elif token == ".loc":
            self.location()
            if self.function.place == (0, 0):
                self.function.place = self.place
        elif token == ".reg":
            self.registers()
        elif token in (".local", ".shared", ".param"):
            variable = self.variable()
            variable.name = self.declare(variable.name)
            self.function.variables.append(variable)
            self.expect(";")
        elif token == ".pragma":
            self.skip_statement()
        elif token == ";":
            self.at += 1
        elif self.at + 1 < len(self.tokens) and self.tokens[self.at + 1] == ":":
            self.label()
        elif token.startswith("."):
            raise PtxError(f"{self.where()}: the directive '{token}' is not supported")
        else:
            self.function.body.append(self.instruction())

    def label(self):
        label = Label(self.next())
        self.expect(":")
        if self.accept(".branchtargets"):
            label.targets = []
            while not self.accept(";"):
                label.targets.append(self.next())
                self.accept(",")
        elif self.peek() in (".callprototype", ".calltargets"):
            raise PtxError(f"{self.where()}: calls through pointers are not supported")
        self.function.body.append(label)

    def registers(self):
        self.expect(".reg")
        kind = self.next()[1:]
        while True:
            name = self.next()
            if self.accept("<"):
                self.function.ranges[name] = kind
                self.next()
                self.expect(">")
            else:
                self.function.registers[self.declare(name)] = kind
            if not self.accept(","):
                break
        self.expect(";")

    def instruction(self):
        begin = self.at
        guard = None
        if self.accept("@"):
            guard = "!" if self.accept("!") else ""
            guard += self.resolve(self.next())
        opcode = self.next()
        operands = []
        while not self.accept(";"):
            operands.append(self.operand())
            if self.peek() != ";":
                self.expect(",")
        text = " ".join(self.tokens[begin:self.at - 1])
        return Instruction(opcode, operands, guard, self.place, text)

    def operand(self):
        if self.accept("{"):
            return self.vector("}")
        if self.accept("("):
            return self.vector(")")
        if self.accept("["):
            base = self.resolve(self.next())
            offset = self.offset()
            self.expect("]")
            return Address(base, offset)
        if self.accept("!"):
            return "!" + self.resolve(self.next())
        if self.accept("-"):
            return "-" + self.next()
        name = self.resolve(self.next())
        if self.accept("|"):
            return Pair(name, self.resolve(self.next()))
        if self.peek() in ("+", "-"):
            return Address(name, self.offset())
        return name

    def offset(self):
        total = 0
        while self.peek() in ("+", "-"):
            sign = -1 if self.next() == "-" else 1
            if self.accept("-"):
                sign = -sign
            total += sign * int(self.next().rstrip("U"), 0)
        return total

    def vector(self, close):
        items = []
        while not self.accept(close):
            items.append(self.operand())
            self.accept(",")
        return Vector(items)
