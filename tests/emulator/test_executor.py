"""The executor: barriers, warps, asynchronous copies, schedules, faults, races. Kernels are PTX text, so no nvcc is needed."""
import platform

import numpy as np
import pytest

from emulator.harness import KernelFault, library_from_ptx, translate
from emulator.test_control import at, kernel, launch

WHOLE_WARP = "0xffffffff"


def fault_of(body, *arrays, **options):
    with pytest.raises(KernelFault) as caught:
        launch(body, *(arrays or [np.zeros(64, np.uint32)]), **options)
    return caught.value


# --- barriers

REVERSE = """
.shared .align 4 .b8 cells[1024]; mov.u32 %r1, cells;
mad.lo.u32 %r2, %i, 4, %r1; st.shared.u32 [%r2], %i;
{barrier}
mov.u32 %r3, %ntid.x; sub.u32 %r3, %r3, 1; sub.u32 %r3, %r3, %i; mad.lo.u32 %r3, %r3, 4, %r1; ld.shared.u32 %r4, [%r3];
""" + at("%y", "%y", 4) + "st.global.u32 [%y], %r4;"


@pytest.mark.parametrize("order", range(3))
@pytest.mark.parametrize("threads", [1, 31, 32, 100, 256])
def test_a_barrier_orders_shared_memory(threads, order):
    library = library_from_ptx(kernel(REVERSE.format(barrier="bar.sync 0;")))
    library.lib.choose_schedule(order, 3)
    y = np.zeros(threads, np.uint32)
    library.launch("k", y, y, y, y, threads=threads)
    assert (y == np.arange(threads)[::-1]).all()


def test_a_missing_barrier_shows():
    """Some schedule gives garbage, and the watcher names both lines."""
    library = library_from_ptx(kernel(REVERSE.format(barrier="")))
    y = np.zeros(64, np.uint32)
    library.launch("k", y, y, y, y, threads=64)
    assert not (y == np.arange(64)[::-1]).all()
    races = library.watched("k", y, y, y, y, threads=64)[1]
    assert len(races) == 1 and "shared memory" in races[0] and "no barrier between them" in races[0]


def test_a_barrier_counts_predicates():
    body = "and.b32 %r1, %i, 3; setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %i, 64;\n" + at("%y", "%y", 12) + """
bar.red.popc.u32 %r2, 0, %p1; st.global.u32 [%y], %r2;
bar.red.and.pred %p3, 0, %p2; selp.u32 %r3, 1, 0, %p3; st.global.u32 [%y+4], %r3;
bar.red.or.pred %p3, 0, !%p2; selp.u32 %r3, 1, 0, %p3; st.global.u32 [%y+8], %r3;"""
    y = launch(body, np.zeros((64, 3), np.uint32))
    assert (y == [16, 1, 0]).all()


def test_named_barriers_of_some_threads():
    """Two producers arrive, two consumers wait: 96 threads of 128."""
    body = """
.shared .align 4 .b8 cells[512]; mov.u32 %r1, cells; mad.lo.u32 %r2, %i, 4, %r1;
setp.ge.u32 %p1, %i, 64; @%p1 bra $consume;
add.u32 %r3, %i, 5; st.shared.u32 [%r2], %r3; bar.arrive 1, 128; bra $end;
$consume: bar.sync 1, 128; ld.shared.u32 %r4, [%r2+-256];
""" + at("%y", "%y", 4) + "st.global.u32 [%y], %r4;\n$end:"
    y = launch(body, np.zeros(128, np.uint32), threads=128)
    assert (y[64:] == np.arange(64) + 5).all()


def test_threads_that_ended_are_not_waited_for():
    body = "setp.lt.u32 %p1, %i, 7; @%p1 ret; bar.sync 0;\n" + at("%y", "%y", 4) + "mov.u32 %r1, 1; st.global.u32 [%y], %r1;"
    y = launch(body, np.zeros(64, np.uint32))
    assert list(y) == [0] * 7 + [1] * 57


def test_different_barriers_are_a_fault():
    body = "setp.lt.u32 %p1, %i, 32; @%p1 bra $other; bar.sync 0; bra $end; $other: bar.sync 0; $end:"
    assert fault_of(body).kind == "barrier"


def test_a_deadlock_tells_who_waits_where():
    """One warp waits at a barrier of 64 threads that the others never reach."""
    body = "setp.lt.u32 %p1, %i, 32; @%p1 bra $end; bar.sync 3, 64; $end:"
    fault = fault_of(body)
    assert fault.kind == "barrier" and "wait for each other: 32 (the first is thread 32) at __syncthreads()" in str(fault)


# --- warps

@pytest.mark.parametrize("mode, c", [("idx", 31), ("up", 0), ("down", 31), ("bfly", 31), ("idx", 0x181f), ("up", 0x1800), ("down", 0x181f), ("bfly", 0x1c1f)])
def test_shuffles(mode, c):
    body = f"rem.u32 %r1, %i, 5; mul.lo.u32 %r2, %i, 10; shfl.sync.{mode}.b32 %r3|%p1, %r2, %r1, {c}, {WHOLE_WARP}; selp.u32 %r4, 1, 0, %p1;\n"
    y = launch(body + at("%y", "%y", 8) + "st.global.v2.u32 [%y], {%r3, %r4};", np.zeros((64, 2), np.uint32))
    segments, top = c >> 8 & 31, c & 31
    for i in range(64):
        lane, b = i % 32, i % 5
        first = lane & segments
        last = first | (top & ~segments)
        source = {"idx": first | (b & ~segments), "up": lane - b, "down": lane + b, "bfly": lane ^ b}[mode]
        valid = source >= last if mode == "up" else source <= last
        assert list(y[i]) == [10 * (i - lane + (source if valid else lane)), valid]


def test_votes_matches_and_reductions():
    body = "and.b32 %r1, %i, 3; setp.eq.u32 %p1, %r1, 2; setp.ge.u32 %p2, %i, 0; sub.u32 %r2, 16, %i;\n" + at("%y", "%y", 48) + f"""
vote.sync.ballot.b32 %r3, %p1, {WHOLE_WARP}; st.global.u32 [%y], %r3;
vote.sync.all.pred %p3, %p2, {WHOLE_WARP}; vote.sync.any.pred %p4, !%p2, {WHOLE_WARP}; vote.sync.uni.pred %p5, %p1, {WHOLE_WARP};
selp.u32 %r4, 1, 0, %p3; selp.u32 %r5, 2, 0, %p4; selp.u32 %r6, 4, 0, %p5; or.b32 %r4, %r4, %r5; or.b32 %r4, %r4, %r6; st.global.u32 [%y+4], %r4;
match.any.sync.b32 %r7, %r1, {WHOLE_WARP}; st.global.u32 [%y+8], %r7;
match.all.sync.b32 %r7|%p6, %r1, {WHOLE_WARP}; st.global.u32 [%y+12], %r7;
redux.sync.add.s32 %r8, %r2, {WHOLE_WARP}; st.global.u32 [%y+16], %r8;
redux.sync.min.s32 %r8, %r2, {WHOLE_WARP}; st.global.u32 [%y+20], %r8;
redux.sync.max.u32 %r8, %r2, {WHOLE_WARP}; st.global.u32 [%y+24], %r8;
redux.sync.xor.b32 %r8, %i, {WHOLE_WARP}; st.global.u32 [%y+28], %r8;
redux.sync.or.b32 %r8, %r1, {WHOLE_WARP}; st.global.u32 [%y+32], %r8;
redux.sync.and.b32 %r8, %r2, {WHOLE_WARP}; st.global.u32 [%y+36], %r8;
activemask.b32 %r9; shr.u32 %r9, %r9, %i; and.b32 %r9, %r9, 1; st.global.u32 [%y+40], %r9;
bar.warp.sync {WHOLE_WARP};"""
    y = launch(body, np.zeros((32, 12), np.uint32), threads=32)
    i = np.arange(32)
    values = (16 - i).astype(np.int32)
    assert (y[:, 0] == 0x44444444).all() and (y[:, 1] == 1).all() and (y[:, 2] == 0x11111111 << (i & 3)).all() and (y[:, 3] == 0).all()
    assert (y[:, 4].view(np.int32) == values.sum()).all() and (y[:, 5].view(np.int32) == -15).all() and (y[:, 6] == 0xffffffff).all()
    assert (y[:, 7] == 0).all() and (y[:, 8] == 3).all() and (y[:, 9] == np.bitwise_and.reduce(values)).all() and (y[:, 10] == 1).all()


def test_parts_of_a_warp_shuffle_apart():
    body = "setp.lt.u32 %p1, %i, 8; @%p1 bra $few; shfl.sync.idx.b32 %r1, %i, 8, 31, 0xffffff00; bra $end;\n" \
        "$few: shfl.sync.idx.b32 %r1, %i, 3, 31, 0x000000ff;\n$end:" + at("%y", "%y", 4) + "st.global.u32 [%y], %r1;"
    y = launch(body, np.zeros(32, np.uint32), threads=32)
    assert list(y) == [3] * 8 + [8] * 24


def test_lanes_that_ended_do_not_hold_others_up():
    body = f"setp.ge.u32 %p1, %i, 20; @%p1 ret; shfl.sync.down.b32 %r1, %i, 1, 31, {WHOLE_WARP};\n" + at("%y", "%y", 4) + "st.global.u32 [%y], %r1;"
    y = launch(body, np.zeros(20, np.uint32), threads=32)
    assert list(y[:19]) == list(range(1, 20)) and y[19] == 0xcbcbcbcb


def test_lanes_at_different_instructions_are_a_fault():
    body = f"setp.lt.u32 %p1, %i, 8; @%p1 bra $few; shfl.sync.idx.b32 %r1, %i, 8, 31, {WHOLE_WARP}; bra $end;\n" \
        f"$few: shfl.sync.idx.b32 %r1, %i, 3, 31, {WHOLE_WARP};\n$end:"
    assert fault_of(body).kind == "warp"
    assert "leaves it out" in str(fault_of("shfl.sync.idx.b32 %r1, %i, 8, 31, 1;"))


# --- matrices

@pytest.mark.parametrize("shape, d, a, b", [(16, "f32", "f16", "f16"), (8, "f32", "f16", "f16"), (16, "f32", "bf16", "bf16"), (16, "f16", "f16", "f16"),
                                            (8, "f32", "tf32", "tf32"), (4, "f32", "tf32", "tf32"), (32, "s32", "s8", "s8"), (32, "s32", "u8", "s8"),
                                            (16, "s32", "s8", "s8")])
def test_mma(shape, d, a, b):
    """Registers filled by the layout of the PTX manual, against numpy's product."""
    packed = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4}[a]
    registers, out = shape // (2 * packed), 2 if d == "f16" else 4
    rng = np.random.default_rng(shape)
    signed = (-5, 5) if a != "u8" else (0, 10)
    left, right, start = rng.integers(*signed, (16, shape)), rng.integers(-5, 5, (shape, 8)), rng.integers(-9, 9, (16, 8))

    def bits(values, kind):
        if kind in ("bf16", "tf32"):
            whole = values.astype(np.float32).view(np.uint32)
            return (whole >> 16).astype(np.uint16) if kind == "bf16" else whole
        return values.astype({"f16": np.float16, "s8": np.int8, "u8": np.uint8}[kind]).view({"f16": np.uint16, "s8": np.uint8, "u8": np.uint8}[kind])

    x, z = np.zeros((32, registers, packed), bits(left, a).dtype), np.zeros((32, registers // 2, packed), bits(right, b).dtype)
    c = np.zeros((32, 4), {"f32": np.float32, "f16": np.float16, "s32": np.int32}[d])
    for lane in range(32):
        g, t = divmod(lane, 4)
        for r in range(registers):
            k = packed * t + 4 * packed * (r // 2)
            x[lane, r] = bits(left, a)[g + 8 * (r % 2), k:k + packed]
        for r in range(registers // 2):
            k = packed * t + 4 * packed * r
            z[lane, r] = bits(right, b)[k:k + packed, g]
        c[lane] = [start[g, 2 * t], start[g, 2 * t + 1], start[g + 8, 2 * t], start[g + 8, 2 * t + 1]]
    names = {p: [f"%{p}m{k}" for k in range(n)] for p, n in (("a", registers), ("b", registers // 2), ("c", out), ("d", out))}
    kind = "f32" if d == "f32" else "b32"
    body = "".join(f".reg .{kind if p in 'cd' else 'b32'} {', '.join(names[p])};\n" for p in names)
    body += at("%a", "%a", 4 * registers) + at("%b", "%b", 2 * registers) + at("%c", "%c", 4 * out) + at("%y", "%y", 4 * out)
    for p in "abc":
        body += "".join(f"ld.global.{kind if p == 'c' else 'b32'} {name}, [%{p}+{4 * k}];\n" for k, name in enumerate(names[p]))
    lists = ", ".join("{" + ", ".join(names[p]) + "}" for p in "dabc")
    body += f"mma.sync.aligned.m16n8k{shape}.row.col.{d}.{a}.{b}.{d} {lists};\n"
    body += "".join(f"st.global.{kind} [%y+{4 * k}], {name};\n" for k, name in enumerate(names["d"]))
    y = launch(body, np.zeros_like(c), x, z, c, threads=32)
    product = left @ right + start
    for lane in range(32):
        g, t = divmod(lane, 4)
        assert list(y[lane]) == [product[g, 2 * t], product[g, 2 * t + 1], product[g + 8, 2 * t], product[g + 8, 2 * t + 1]]


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_ldmatrix(count, transposed):
    names = ", ".join(f"%r{k + 4}" for k in range(count))
    body = ".shared .align 16 .b8 rows[512]; mov.u32 %r1, rows; mad.lo.u32 %r2, %i, 16, %r1;\n" + at("%a", "%a", 16)
    body += "ld.global.u64 %q1, [%a]; ld.global.u64 %q2, [%a+8]; st.shared.u64 [%r2], %q1; st.shared.u64 [%r2+8], %q2; bar.sync 0;\n"
    body += f"ldmatrix.sync.aligned.m8n8.x{count}{'.trans' if transposed else ''}.shared.b16 {{{names}}}, [%r2];\n" + at("%y", "%y", 4 * count)
    body += "".join(f"st.global.u32 [%y+{4 * k}], %r{k + 4};\n" for k in range(count))
    a = np.arange(256, dtype=np.uint16).reshape(4, 8, 8)
    y = launch(body, np.zeros((32, count), np.uint32), a, threads=32)
    for k in range(count):
        matrix = a[k].T if transposed else a[k]
        assert (y[:, k].copy().view(np.uint16).reshape(8, 8) == matrix).all()


# --- asynchronous copies

COPY = """
.shared .align 16 .b8 cells[1024]; mov.u32 %r1, cells; mad.lo.u32 %r2, %i, 16, %r1;
""" + at("%a", "%a", 16) + at("%y", "%y", 4) + """
cp.async.cg.shared.global [%r2], [%a], 16{source};
cp.async.commit_group;
cp.async.ca.shared.global [%r2+4], [%a], 4; cp.async.commit_group;
cp.async.wait_group {left};
ld.shared.u32 %r3, [%r2+{offset}]; st.global.u32 [%y], %r3; cp.async.wait_all;
"""


def test_copies_are_done_when_they_are_waited_for():
    a = np.arange(4 * 64, dtype=np.uint32)
    first = a.reshape(64, 4)[:, 0]
    for left, offset, wanted in ((1, 0, first), (0, 4, first), (2, 0, 0xcbcbcbcb), (1, 4, first + 1)):
        y = launch(COPY.format(source="", left=left, offset=offset), np.zeros(64, np.uint32), a)
        assert (y == wanted).all(), (left, offset)


def test_a_copy_fills_up_with_zeros():
    y = launch(COPY.format(source=", 8", left=0, offset=12), np.ones(64, np.uint32), np.arange(4 * 64, dtype=np.uint32))
    assert (y == 0).all()


# --- faults

def test_faults_of_addresses():
    assert fault_of("mov.u64 %q1, 16; st.global.u32 [%q1], %i;").kind == "illegal_address"
    beyond = fault_of(".shared .align 4 .b8 cells[256]; mov.u32 %r1, cells; mad.lo.u32 %r1, %i, 4, %r1; st.shared.u32 [%r1+4], %i;")
    assert beyond.kind == "illegal_address" and "offset 256; the block has 256 bytes" in str(beyond) and "thread (63,0,0)" in str(beyond)
    assert "offset" in str(fault_of("mov.u32 %r1, 4; sub.u32 %r1, 0, %r1; st.shared.u32 [%r1], %i;"))
    assert fault_of("add.u64 %q1, %y, 2; st.global.u32 [%q1], %i;").kind == "misaligned_address"
    assert "which is not a multiple of 16" in str(fault_of("add.u64 %q1, %y, 8; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%q1];", np.zeros(64, np.complex128)))


def test_an_endless_loop_ends():
    library = library_from_ptx(kernel("$loop: ld.volatile.global.u32 %r1, [%a]; setp.eq.u32 %p1, %r1, 0; @%p1 bra $loop;"))
    library.lib.limit_steps(10_000)
    zero = np.zeros(1, np.uint32)
    with pytest.raises(KernelFault, match="10000 backward branches") as caught:
        library.launch("k", zero, zero, zero, zero)
    assert caught.value.kind == "step_limit"
    library.lib.limit_steps(0)
    library.launch("k", zero, zero + 1, zero, zero)


def test_local_memory_is_limited():
    with pytest.raises(translate.PtxError, match="400000 bytes of local memory"):
        launch(".local .align 8 .b8 own[400000]; mov.u64 %q1, own; st.local.u32 [%q1], %i;")


def test_endless_recursion_is_a_fault_of_the_stack():
    before = ".func deeper(.param .b32 x)\n{\n.reg .b32 %r<3>; .local .align 8 .b8 own[1024]; ld.param.b32 %r1, [x]; st.local.b32 [own], %r1;\n" \
        "{ .param .b32 in; st.param.b32 [in], %r1; call.uni deeper, (in); }\nld.local.b32 %r2, [own]; st.local.b32 [own+4], %r2; ret;\n}\n"
    assert fault_of("{ .param .b32 in; st.param.b32 [in], %i; call.uni deeper, (in); }", before=before).kind == "stack"


def test_the_executor_goes_on_after_a_fault():
    library = library_from_ptx(kernel("mov.u64 %q1, 16; st.global.u32 [%q1], %i;", "bad"), kernel(REVERSE.format(barrier="bar.sync 0;"), "good"))
    y = np.zeros(64, np.uint32)
    for _ in range(3):
        with pytest.raises(KernelFault):
            library.launch("bad", y, y, y, y, threads=64)
        y[:] = 0
        library.launch("good", y, y, y, y, threads=64)
        assert (y == np.arange(64)[::-1]).all()


# --- watching

def test_accesses_are_told_with_block_thread_and_interval():
    body = at("%a", "%a", 4) + "ld.global.u32 %r1, [%a]; bar.sync 0; atom.global.add.u32 %r2, [%b], %r1; " + at("%y", "%y", 8) + "st.global.u64 [%y], %q1;"
    library = library_from_ptx(kernel(body))
    arrays = [np.zeros(4, np.uint64), np.zeros(4, np.uint32), np.zeros(1, np.uint32), np.zeros(1, np.uint32)]
    seen = library.watched("k", *arrays, threads=2, blocks=2)[0]
    assert seen[:6] == ["read 4 line 0 block 0 thread 0 interval 0", "read 4 line 0 block 0 thread 1 interval 0",
                        "atomic 4 line 0 block 0 thread 0 interval 1", "write 8 line 0 block 0 thread 0 interval 1",
                        "atomic 4 line 0 block 0 thread 1 interval 1", "write 8 line 0 block 0 thread 1 interval 1"] or len(seen) == 12


def test_a_warp_needs_syncwarp_only():
    exchange = ".shared .align 4 .b8 cells[256]; mov.u32 %r1, cells; xor.b32 %r2, %i, 1; mad.lo.u32 %r3, %i, 4, %r1; mad.lo.u32 %r2, %r2, 4, %r1;\n" \
        "st.shared.u32 [%r3], %i; {between} ld.shared.u32 %r4, [%r2];"
    y = np.zeros(64, np.uint32)
    for between, races in ((f"bar.warp.sync {WHOLE_WARP};", 0), ("", 1)):
        assert len(library_from_ptx(kernel(exchange.format(between=between))).watched("k", y, y, y, y, threads=64)[1]) == races


def test_atomic_operations_do_not_race_with_each_other():
    body = ".shared .align 4 .b8 cell[4]; mov.u32 %r1, cell; atom.shared.add.u32 %r2, [%r1], 1; {more}"
    y = np.zeros(64, np.uint32)
    for more, races in (("", 0), ("ld.shared.u32 %r3, [%r1];", 1)):
        assert len(library_from_ptx(kernel(body.format(more=more))).watched("k", y, y, y, y, threads=64)[1]) == races


def test_threads_without_barriers_run_in_one_stack():
    library = library_from_ptx(kernel(at("%y", "%y", 4) + "st.global.u32 [%y], %i;"))
    y = np.zeros(256, np.uint32)
    before = library.lib.count_switches()
    library.launch("k", y, y, y, y, threads=256)
    assert library.lib.count_switches() - before <= 2


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the portable code is the only one elsewhere")
def test_code_for_other_processors():
    """The C library's context switch, and halves without instructions for them: every f16 to f32 and back."""
    body = "cvt.f32.f16 %f1, %h1; cvt.rn.f16.f32 %h2, %f1; bar.sync 0;\n"
    body = at("%a", "%a", 2) + "mov.u32 %r1, %ctaid.x; mad.wide.u32 %a, %r1, 2048, %a; ld.global.b16 %h1, [%a];\n" + body
    body += at("%y", "%y", 2) + at("%b", "%b", 4) + "mad.wide.u32 %y, %r1, 2048, %y; mad.wide.u32 %b, %r1, 4096, %b;\n"
    library = library_from_ptx(kernel(body + "st.global.b16 [%y], %h2; st.global.f32 [%b], %f1;"), flags=("-mno-f16c", "-DEMULATOR_UCONTEXT"))
    halves = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16)
    back, wide = np.zeros_like(halves), np.zeros(1 << 16, np.float32)
    library.launch("k", back, halves, wide, wide, blocks=64, threads=1024)
    assert np.array_equal(wide, halves.astype(np.float32), equal_nan=True) and np.array_equal(back, halves, equal_nan=True)
