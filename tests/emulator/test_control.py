"""Instructions that the table does not have: comparisons, carries, moves, memory, atomic operations, branches, calls, warps."""
import numpy as np
import pytest

from emulator.exact import decode, samples, width
from emulator.harness import KernelFault, library_from_ptx, translate

COUNT = 64
COMPARISONS = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
               "ge": lambda a, b: a >= b}
HEAD = """
.visible .entry {name}(.param .u64 y, .param .u64 a, .param .u64 b, .param .u64 c)
{{
.reg .b64 %y, %a, %b, %c; .reg .b32 %i, %r<20>; .reg .b16 %h<9>; .reg .f32 %f<9>; .reg .f64 %d<9>; .reg .pred %p<9>; .reg .b64 %q<9>;
ld.param.u64 %y, [y]; ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %c, [c];
mov.u32 %i, %tid.x;
"""


def kernel(body, name="k", before=""):
    return before + HEAD.format(name=name) + body + "\nret;\n}\n"


def at(register, pointer, size):
    """The address of the thread's element."""
    return f"mad.wide.u32 {register}, %i, {size}, {pointer};\n"


def launch(body, *arrays, threads=COUNT, before="", **options):
    """Runs one kernel with y, a, b, c; missing arrays are empty."""
    arrays = [*arrays, *[np.zeros(1, np.uint32)] * (4 - len(arrays))]
    library_from_ptx(kernel(body, before=before)).launch("k", *arrays, threads=threads, **options)
    return arrays[0]


# --- comparisons

def register_for(kind):
    return {"f32": "%f", "f64": "%d"}.get(kind) or {16: "%h", 32: "%r", 64: "%q"}[width(kind)]


@pytest.mark.parametrize("kind", ["s16", "u16", "s32", "u32", "s64", "u64", "f32", "f64", "f16", "bf16"])
def test_setp(kind):
    """All comparisons, with a second destination and a condition to combine with."""
    is_float = kind in ("f32", "f64", "f16", "bf16")
    names = [*COMPARISONS, *(["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"] if is_float else ["lo", "ls", "hi", "hs"] if kind[0] == "u" else [])]
    size, r = width(kind) // 8, register_for(kind)
    memory = kind if kind in ("f32", "f64") else f"b{8 * size}"
    body = at("%a", "%a", size) + at("%b", "%b", size) + f"ld.global.{memory} {r}1, [%a];\nld.global.{memory} {r}2, [%b];\nsetp.lt.u32 %p5, %i, 32;\n"
    body += at("%y", "%y", 3 * len(names))
    for k, name in enumerate(names):
        body += f"setp.{name}.{kind} %p1, {r}1, {r}2;\nsetp.{name}.and.{kind} %p2|%p3, {r}1, {r}2, %p5;\n"
        for j in range(3):
            body += f"selp.u16 %h5, 1, 0, %p{j + 1};\nst.global.u8 [%y+{3 * k + j}], %h5;\n"
    a, b = samples(kind, COUNT, 1), samples(kind, COUNT, 2)
    b[::3] = a[::3]
    y = launch(body, np.zeros((COUNT, len(names), 3), np.uint8), a, b)
    for i in range(COUNT):
        x, z = (decode(int(v[i]), kind) if is_float else int(v[i].astype(f"i{size}") if kind[0] == "s" else v[i]) for v in (a, b))
        unordered = x != x or z != z
        for k, name in enumerate(names):
            if name in ("num", "nan"):
                holds = unordered == (name == "nan")
            else:
                base = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(name, name[:2])
                holds = name[-1] == "u" and len(name) == 3 if unordered else COMPARISONS[base](x, z)
            assert list(y[i, k]) == [holds, holds and i < 32, not holds and i < 32], (name, x, z)


def test_set_gives_masks_and_ones():
    body = at("%a", "%a", 4) + at("%b", "%b", 4) + at("%y", "%y", 16) + """
ld.global.f32 %f1, [%a]; ld.global.f32 %f2, [%b];
set.lt.u32.f32 %r1, %f1, %f2; st.global.u32 [%y], %r1;
set.lt.f32.f32 %f3, %f1, %f2; st.global.f32 [%y+4], %f3;
ld.global.b32 %r2, [%a]; ld.global.b32 %r3, [%b];
set.ge.f16x2.f16x2 %r4, %r2, %r3; st.global.u32 [%y+8], %r4;
set.ge.u32.f16x2 %r4, %r2, %r3; st.global.u32 [%y+12], %r4;
"""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 3, 2 * COUNT).astype(np.float16) for _ in range(2))
    y = launch(body, np.zeros((COUNT, 4), np.uint32), a, b)
    less = a.view(np.float32) < b.view(np.float32)
    assert (y[:, 0] == np.where(less, 0xffffffff, 0)).all()
    assert (y[:, 1] == np.where(less, 0x3f800000, 0)).all()
    at_least = (a >= b).reshape(-1, 2)
    assert (y[:, 2] == at_least[:, 0] * 0x3c00 + at_least[:, 1] * 0x3c000000).all()
    assert (y[:, 3] == at_least[:, 0] * 0xffff + at_least[:, 1] * np.uint32(0xffff0000)).all()


def test_carries_make_128_bit_arithmetic():
    body = at("%a", "%a", 16) + at("%b", "%b", 16) + at("%y", "%y", 32) + """
ld.global.v2.u64 {%q1, %q2}, [%a]; ld.global.v2.u64 {%q3, %q4}, [%b];
add.cc.u64 %q5, %q1, %q3; addc.u64 %q6, %q2, %q4; st.global.v2.u64 [%y], {%q5, %q6};
sub.cc.u64 %q5, %q1, %q3; subc.u64 %q6, %q2, %q4; st.global.v2.u64 [%y+16], {%q5, %q6};
"""
    a, b = (samples("u64", 2 * COUNT, k).reshape(COUNT, 2) for k in (1, 2))
    y = launch(body, np.zeros((COUNT, 4), np.uint64), a, b)
    for i in range(COUNT):
        x, z = (int(v[i, 0]) | int(v[i, 1]) << 64 for v in (a, b))
        assert int(y[i, 0]) | int(y[i, 1]) << 64 == (x + z) % (1 << 128)
        assert int(y[i, 2]) | int(y[i, 3]) << 64 == (x - z) % (1 << 128)


def test_products_of_32_bit_parts():
    """mad.lo.cc and madc.hi.cc as the compiler multiplies long integers."""
    body = at("%a", "%a", 8) + at("%b", "%b", 8) + at("%y", "%y", 16) + """
ld.global.v2.u32 {%r1, %r2}, [%a]; ld.global.v2.u32 {%r3, %r4}, [%b];
mul.lo.u32 %r5, %r1, %r3; mul.hi.u32 %r6, %r1, %r3;
mad.lo.cc.u32 %r6, %r1, %r4, %r6; madc.hi.u32 %r7, %r1, %r4, 0;
mad.lo.cc.u32 %r6, %r2, %r3, %r6; madc.hi.cc.u32 %r7, %r2, %r3, %r7; addc.u32 %r8, 0, 0;
mad.lo.cc.u32 %r7, %r2, %r4, %r7; madc.hi.u32 %r8, %r2, %r4, %r8;
st.global.v4.u32 [%y], {%r5, %r6, %r7, %r8};
"""
    a, b = samples("u64", COUNT, 1), samples("u64", COUNT, 2)
    y = launch(body, np.zeros((COUNT, 4), np.uint32), a, b)
    for i in range(COUNT):
        assert sum(int(part) << 32 * k for k, part in enumerate(y[i])) == int(a[i]) * int(b[i])


@pytest.mark.parametrize("table", [0x00, 0x01, 0x17, 0x3c, 0x80, 0x96, 0xca, 0xe8, 0xea, 0xf8, 0xfe, 0xff, 0x1e, 0x78])
def test_lop3(table):
    body = "".join(at(f"%{p}", f"%{p}", 4) for p in "abcy") + f"""
ld.global.u32 %r1, [%a]; ld.global.u32 %r2, [%b]; ld.global.u32 %r3, [%c]; lop3.b32 %r4, %r1, %r2, %r3, {table}; st.global.u32 [%y], %r4;"""
    a, b, c = (samples("u32", COUNT, k) for k in range(3))
    y = launch(body, np.zeros(COUNT, np.uint32), a, b, c)
    wanted = np.zeros(COUNT, np.uint32)
    for bit in range(8):
        if table >> bit & 1:
            wanted |= (a if bit & 4 else ~a) & (b if bit & 2 else ~b) & (c if bit & 1 else ~c)
    assert (y == wanted).all()


# --- moves and memory

def test_mov_packs_and_unpacks():
    body = at("%a", "%a", 8) + at("%y", "%y", 24) + """
ld.global.u64 %q1, [%a];
mov.b64 {%r1, %r2}, %q1; mov.b64 %q2, {%r2, %r1}; st.global.u64 [%y], %q2;
mov.b32 {%h1, %h2}, %r1; mov.b32 %r3, {%h2, %h1}; st.global.u32 [%y+8], %r3;
mov.b32 %f1, %r1; mov.b32 %r4, %f1; st.global.u32 [%y+12], %r4;
mov.b64 %d1, %q1; mov.b64 {_, %r5}, %d1; st.global.u32 [%y+16], %r5;
mov.b64 %q3, {%h1, %h2, %h2, %h1}; cvt.u32.u64 %r6, %q3; st.global.u32 [%y+20], %r6;
"""
    a = samples("u64", COUNT, 3)
    y = launch(body, np.zeros((COUNT, 6), np.uint32), a)
    low, high = (a & np.uint64(0xffffffff)).astype(np.uint32), (a >> np.uint64(32)).astype(np.uint32)
    assert (y[:, 0] == high).all() and (y[:, 1] == low).all()
    assert (y[:, 2] == (low >> 16 | low << 16)).all() and (y[:, 3] == low).all() and (y[:, 4] == high).all() and (y[:, 5] == low).all()


def test_loads_extend_by_their_type():
    body = at("%a", "%a", 1) + at("%y", "%y", 8) + """
ld.global.s8 %r1, [%a]; ld.global.nc.u8 %r2, [%a]; st.global.v2.u32 [%y], {%r1, %r2};"""
    a = np.arange(COUNT, dtype=np.uint8) * 4
    y = launch(body, np.zeros((COUNT, 2), np.uint32), a)
    assert (y[:, 0].view(np.int32) == a.view(np.int8)).all() and (y[:, 1] == a).all()


def test_shared_local_and_constant_memory():
    before = ".const .align 4 .b32 table[4] = {7, 0x10, 3, 9};\n.global .align 8 .f64 scale = 0d4000000000000000;\n.global .align 4 .u32 total;\n"
    body = """
.shared .align 4 .b32 cells[64]; .local .align 8 .b8 own[16];
mov.u64 %q1, own; mov.u32 %r1, cells;
mad.lo.u32 %r2, %i, 4, %r1; st.shared.u32 [%r2], %i; st.local.u32 [%q1+8], %i;
bar.sync 0;
sub.u32 %r3, 63, %i; shl.b32 %r3, %r3, 2; add.u32 %r3, %r3, %r1; ld.shared.u32 %r4, [%r3];
cvt.u64.u32 %q2, %r3; cvta.shared.u64 %q2, %q2; ld.u32 %r5, [%q2];
isspacep.shared %p1, %q2; isspacep.global %p2, %a; isspacep.local %p3, %q1;
@!%p1 trap; @!%p2 trap; @!%p3 trap;
cvta.to.shared.u64 %q3, %q2; cvt.u32.u64 %r6, %q3; ld.shared.u32 %r6, [%r6];
ld.local.u32 %r7, [own+8];
and.b32 %r8, %i, 3; mad.wide.u32 %q4, %r8, 4, table; ld.const.u32 %r8, [%q4];
ld.global.f64 %d1, [scale]; cvt.rzi.u32.f64 %r9, %d1;
atom.global.add.u32 %r10, [total], 1;
""" + at("%y", "%y", 24) + "st.global.v2.u32 [%y], {%r4, %r5}; st.global.v4.u32 [%y+8], {%r6, %r7, %r8, %r9};"
    body = body.replace("[%y+8], {%r6, %r7, %r8, %r9}", "[%y+8], {%r6, %r7}; st.global.v2.u32 [%y+16], {%r8, %r9}").replace("v4.u32", "v2.u32")
    y = np.zeros((COUNT, 6), np.uint32)
    library = library_from_ptx(kernel(body, before=before))
    library.launch("k", y, y, y, y, threads=COUNT)
    i = np.arange(COUNT)
    assert (y[:, 0] == 63 - i).all() and (y[:, 1] == 63 - i).all() and (y[:, 2] == 63 - i).all() and (y[:, 3] == i).all()
    assert (y[:, 4] == np.array([7, 16, 3, 9])[i & 3]).all() and (y[:, 5] == 2).all()
    import ctypes
    assert ctypes.c_uint32.from_address(library.lib.variable_address(b"total")).value == COUNT


ATOMIC = [("add", "u32"), ("add", "u64"), ("add", "f32"), ("add", "f64"), ("add", "noftz.f16"), ("add", "noftz.bf16"), ("add", "noftz.f16x2"), ("min", "s32"),
          ("max", "s32"), ("min", "u64"), ("max", "s64"), ("and", "b32"), ("or", "b64"), ("xor", "b32"), ("exch", "b32"), ("inc", "u32"), ("dec", "u32")]


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("operation, kind", ATOMIC)
def test_atomic(operation, kind, space):
    """Each thread applies its value; all old values and the last one are compared with the same loop in Python."""
    name = kind.split(".")[-1]
    size, r, memory = width(name) // 8, register_for(name), name if name in ("f32", "f64") else f"b{width(name)}"
    cell = "%b" if space == "global" else "%r9"
    body = f".shared .align 8 .b8 cell[8]; mov.u32 %r9, cell; ld.global.{memory} {r}1, [%b]; st.{space}.{memory} [{cell}], {r}1; bar.sync 0;\n"
    body += at("%a", "%a", size) + at("%y", "%y", size) + f"ld.global.{memory} {r}2, [%a]; atom.{space}.{operation}.{kind} {r}3, [{cell}], {r}2;\n"
    body += f"st.global.{memory} [%y], {r}3; bar.sync 0; ld.{space}.{memory} {r}4, [{cell}]; st.global.{memory} [%c], {r}4;"
    rng = np.random.default_rng(0)
    numpy_type = {"f32": "f4", "f64": "f8", "f16": "f2", "f16x2": "u4", "bf16": "u2"}.get(name) or f"{'i' if name[0] == 's' else 'u'}{size}"
    values = rng.integers(0, 50, COUNT).astype(numpy_type)
    if name == "bf16":
        values = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if name == "f16x2":
        values = rng.integers(0, 50, 2 * COUNT).astype(np.float16).view(np.uint32)
    start, last, y = values[:1].copy(), np.zeros(1, numpy_type), np.zeros(COUNT, numpy_type)
    first = start.copy()
    launch(body, y, values, start, last)

    def number(x):
        return np.array([x], np.uint32).view(np.float16) if name == "f16x2" else np.float32(np.array([np.uint32(x) << 16], np.uint32).view("f4")[0]) \
            if name == "bf16" else x

    old = number(first[0])
    for i in range(COUNT):
        assert np.all(number(y[i]) == old)
        b = number(values[i])
        old = {"add": lambda a=old, b=b: a + b, "min": lambda a=old, b=b: min(a, b), "max": lambda a=old, b=b: max(a, b), "and": lambda a=old, b=b: a & b,
               "or": lambda a=old, b=b: a | b, "xor": lambda a=old, b=b: a ^ b, "exch": lambda b=b: b, "inc": lambda a=old, b=b: 0 if a >= b else a + 1,
               "dec": lambda a=old, b=b: b if a == 0 or a > b else a - 1}[operation]()
        if name == "bf16":                                     # rounded to 8 bits of mantissa
            bits = int(np.float32(old).view(np.uint32))
            old = np.array([(bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000], np.uint32).view("f4")[0]
    assert np.all(number(last[0]) == old)


def test_compare_and_swap_and_red():
    body = """
add.u32 %r2, %i, 1; atom.global.cas.b32 %r1, [%a], %i, %r2; red.global.add.u32 [%b], %r1; red.shared.max.s32 [best], %r1;
bar.sync 0; ld.shared.u32 %r3, [best]; st.global.u32 [%y], %r3;"""
    y, a, b = np.zeros(1, np.uint32), np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    launch(".shared .align 4 .b8 best[4]; mov.u32 %r4, 0; st.shared.u32 [best], %r4; bar.sync 0;" + body, y, a, b)
    assert a[0] == COUNT and b[0] == COUNT * (COUNT - 1) // 2 and y[0] == COUNT - 1


def test_parameters_by_value_are_indexed():
    text = """
.visible .entry k(.param .u64 y, .param .align 8 .b8 list[32])
{
.reg .b64 %q<9>; .reg .b32 %r<9>;
ld.param.u64 %q1, [y]; mov.u32 %r1, %tid.x; mov.b64 %q2, list; mad.wide.u32 %q3, %r1, 4, %q2; ld.param.u32 %r2, [%q3+4];
mad.wide.u32 %q4, %r1, 4, %q1; st.global.u32 [%q4], %r2; ret;
}
"""
    y = np.zeros(7, np.uint32)
    library_from_ptx(text).launch("k", y, np.arange(8, dtype=np.uint32).tobytes(), threads=7)
    assert list(y) == list(range(1, 8))


# --- control

def test_loops_tables_and_calls():
    before = """
.func (.param .b32 result) triple(.param .b32 x, .param .align 4 .b8 two[8])
{
.reg .b32 %r<5>; ld.param.b32 %r1, [x]; ld.param.b32 %r2, [two+4]; mad.lo.u32 %r3, %r1, 3, %r2; st.param.b32 [result], %r3; ret;
}
"""
    body = """
mov.u32 %r1, 0; mov.u32 %r2, %i;
$loop: setp.eq.u32 %p1, %r2, 0; @%p1 bra $done; add.u32 %r1, %r1, %r2; sub.u32 %r2, %r2, 1; bra.uni $loop;
$done: and.b32 %r3, %i, 3;
$targets: .branchtargets $zero, $one, $two, $zero;
brx.idx %r3, $targets;
$zero: mov.u32 %r4, 100; bra $end;
$one: mov.u32 %r4, 101; bra $end;
$two: mov.u32 %r4, 102;
$end: add.u32 %r5, %r1, %r4;
{
.param .b32 in; .param .align 4 .b8 pair[8]; .param .b32 out;
st.param.b32 [in], %r5; st.param.b32 [pair+4], 1000; call.uni (out), triple, (in, pair); ld.param.b32 %r6, [out];
}
""" + at("%y", "%y", 4) + "st.global.u32 [%y], %r6;"
    y = launch(body, np.zeros(COUNT, np.uint32), before=before)
    i = np.arange(COUNT)
    assert (y == (i * (i + 1) // 2 + np.array([100, 101, 102, 100])[i & 3]) * 3 + 1000).all()


def test_names_in_nested_scopes_are_their_own():
    body = "mov.u32 %r1, %i;\n" + "".join(f"{{ .reg .b32 t; .reg .pred p; add.u32 t, %r1, {k}; mov.u32 %r1, t; }}\n" for k in (1, 2)) + at("%y", "%y", 4)
    y = launch(body + "st.global.u32 [%y], %r1;", np.zeros(COUNT, np.uint32))
    assert (y == np.arange(COUNT) + 3).all()


def test_special_registers():
    names = ["%tid.x", "%tid.y", "%ctaid.x", "%ntid.x", "%ntid.y", "%nctaid.x", "%laneid", "%warpid", "%lanemask_lt", "%lanemask_ge", "WARP_SZ"]
    body = "mov.u32 %r1, %tid.y; mad.lo.u32 %i, %r1, 8, %i; mov.u32 %r2, %ctaid.x; mad.lo.u32 %i, %r2, 64, %i;\n" + at("%y", "%y", 4 * len(names))
    body += "".join(f"mov.u32 %r3, {name}; st.global.u32 [%y+{4 * k}], %r3;\n" for k, name in enumerate(names))
    y = launch(body, np.zeros((128, len(names)), np.uint32), threads=(8, 8), blocks=2)
    i = np.arange(128)
    t, lane = i % 64, i % 32
    wanted = [t % 8, t // 8, i // 64, 8 + 0 * i, 8 + 0 * i, 2 + 0 * i, lane, t // 32, (1 << lane) - 1, 0xffffffff - ((1 << lane) - 1), 32 + 0 * i]
    for k, name in enumerate(names):
        assert (y[:, k] == wanted[k]).all(), name


UNKNOWN = """
.visible .entry k()
{
.reg .b32 %r<3>;
.loc 1 42 7
wgmma.fence.sync.aligned;
ret;
}
.file 1 "kernels/thing.cu"
"""


def test_an_unsupported_instruction_is_named_with_its_line():
    with pytest.raises(translate.PtxError, match=r"thing\.cu:42: unsupported PTX instruction: wgmma\.fence\.sync\.aligned"):
        translate.translate(UNKNOWN, "x.ptx")


def test_division_by_zero_does_not_trap():
    body = at("%y", "%y", 16) + "mov.u32 %r1, 0; div.u32 %r2, %i, %r1; rem.s32 %r3, %i, %r1; div.s64 %q1, -5, 0; st.global.v2.u32 [%y], {%r2, %r3}; " \
        "st.global.u64 [%y+8], %q1;"
    y = launch(body, np.zeros((COUNT, 4), np.uint32))
    assert (y[:, 0] == 0xffffffff).all() and (y[:, 1] == np.arange(COUNT)).all()


def test_trap_is_a_fault():
    with pytest.raises(KernelFault, match="trap"):
        launch("trap;", np.zeros(1, np.uint32))


