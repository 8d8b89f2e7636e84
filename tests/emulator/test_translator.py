"""The translator's parts: objects, parsing, messages; and what nvcc makes of ordinary kernels."""
import struct

import numpy as np
import pytest

from emulator.harness import KernelFault, library_from_cuda, library_from_ptx, translate

from emit import logic_of_three  # isort: skip
from extract import FATBIN_MAGIC, NoPtx, ptx_modules, zstd  # isort: skip
from parse import Address, Vector, parse_module  # isort: skip


def fatbin(*entries):
    """An object's bytes with a fatbin of (kind, flags, payload)."""
    body = b"".join(struct.pack("<HHIQIIIIIIQ16x", kind, 0x101, 72, len(payload), 0, 0, 0, 80, 0, 0, flags)[:64].ljust(72, b"\0") + payload
                    for kind, flags, payload in entries)
    return b"\x7fELF....." + FATBIN_MAGIC + struct.pack("<Q", len(body)) + body + b"tail"


def test_ptx_is_found_beside_machine_code():
    data = fatbin((2, 0x11, b"\x7fELF.version"), (1, 0x11, b".version 9.0\n.target sm_80\n\0\0\0"))
    assert ptx_modules(data, "x.o") == [".version 9.0\n.target sm_80\n"]
    assert len(ptx_modules(data + data, "x.o")) == 2


def test_objects_without_readable_ptx_say_what_to_do():
    with pytest.raises(NoPtx, match=r"x\.o: there is no PTX.*code=\[sm_80,compute_80\]"):
        ptx_modules(fatbin((2, 0x11, b"\x7fELF")), "x.o")
    with pytest.raises(NoPtx, match="--compress-mode=size"):
        ptx_modules(fatbin((1, 0x2011, b"\x01\x02")), "x.o")
    with pytest.raises(NoPtx, match="cannot be decompressed"):
        ptx_modules(fatbin((1, 0x8011, b"no frame")), "x.o")


def test_compressed_ptx():
    text = b".version 9.0\n" + b"// a line\n" * 1000
    packed = zstd.compress(text + b"\0")
    assert len(packed) < 200
    assert ptx_modules(fatbin((1, 0x8011, packed + b"\0" * 7), (1, 0x11, b".version 9.1")), "x.o") == [text.decode(), ".version 9.1"]


def test_parsing():
    module = parse_module("""
.version 9.0
.target sm_80
.global .align 4 .b8 table[4] = {1, 2, 3, 4}; // comment
.visible .entry k(.param .u64 .ptr .global .align 16 a, .param .align 8 .b8 s[24])
.maxntid 16, 4, 1
{
.reg .b32 %r<5>; .reg .f32 low;
.loc 2 17 3, function_name $L__info_string0, inlined_at 1 5 5
@!%p1 ld.global.L2::128B.v2.u32 {%r1, _}, [%rd1+-16];
{ .reg .b32 low; mov.b32 low, -5; }
$here: bra $here;
}
.file 2 "a/b.cuh"
.section .debug_str { .b8 1, 2 }
""")
    function, = module.functions
    assert (function.name, function.is_kernel, function.most_threads) == ("k", True, 64)
    assert [(p.name, p.bytes, p.align) for p in function.params] == [("a", 8, 16), ("s", 24, 8)]
    load, move, _, branch = function.body
    assert (load.opcode, load.guard, load.place) == ("ld.global.L2::128B.v2.u32", "!%p1", (2, 17))
    assert load.operands == [Vector(["%r1", "_"]), Address("%rd1", -16)]
    assert move.operands == ["low_scope1", "-5"] and function.register_type("low_scope1") == "b32" and function.register_type("low") == "f32"
    assert branch.operands == ["$here"] and function.register_type("%r4") == "b32" and function.register_type("nothing") is None
    assert module.variables[0].values == ["1", "2", "3", "4"] and module.files == {2: "a/b.cuh"}


@pytest.mark.parametrize("text, message", [
    (".visible .entry k()\n{\n.reg .tex %r;\nmov.u32 %r1, %clock;\n}", "clock"),
    (".visible .entry k()\n{\nadd.u32 x, y;\n}", "unsupported PTX instruction: add.u32 x , y"),
    (".visible .entry k()\n{\n.reg .b32 %r<2>; mov.u32 %r1, nowhere;\n}", "'nowhere' is not known"),
    (".visible .entry k()\n{\n.reg .b32 %r<2>; call.uni vprintf, (a, b);\n}", "only device functions of the same module"),
    (".visible .entry k()\n{\nmov.u32 %r1, [;\n}", "expected"),
    (".texref t;", "'.texref' is not understood"),
])
def test_what_is_not_understood_is_told(text, message):
    with pytest.raises(translate.PtxError, match=message):
        translate.translate(text, "x.ptx")


def test_all_functions_of_three_bits():
    for table in range(256):
        for bits in range(8):
            a, b, c = (-(bits >> k & 1) for k in (2, 1, 0))
            got = eval(logic_of_three(table, "a", "b", "c").replace("0u", "0"), {"a": a, "b": b, "c": c})
            assert (got & 1) == (table >> bits & 1) and got in (0, -1)


def test_modules_of_one_object_keep_their_names_apart():
    kernels = [f".visible .entry k{n}(.param .u64 y)\n{{\n.reg .b64 %q<2>; .reg .b32 %r<2>; ld.param.u64 %q1, [y]; mov.u32 %r1, {n}; st.u32 [%q1], %r1;\n}}\n"
               for n in range(2)]
    library = library_from_ptx(*kernels)
    for n in range(2):
        y = np.zeros(1, np.uint32)
        library.launch(f"k{n}", y)
        assert y[0] == n


# --- what nvcc writes

CUDA = r"""
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void block_sum(const float *x, float *y, int n) {
  using reduce = cub::BlockReduce<float, 128>;
  __shared__ typename reduce::TempStorage storage;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 128) sum += x[i];
  sum = reduce(storage).Sum(sum);
  if (threadIdx.x == 0) *y = sum;
}

extern "C" __global__ void block_sort(const int *x, int *y, int *sums) {
  using sort = cub::BlockRadixSort<int, 128, 4>;
  using scan = cub::BlockScan<int, 128>;
  __shared__ union { typename sort::TempStorage sorting; typename scan::TempStorage scanning; } storage;
  int items[4];
  for (int k = 0; k < 4; ++k) items[k] = x[4 * threadIdx.x + k];
  sort(storage.sorting).Sort(items);
  __syncthreads();
  for (int k = 0; k < 4; ++k) y[4 * threadIdx.x + k] = items[k];
  int before;
  scan(storage.scanning).ExclusiveSum(items[0], before);
  sums[threadIdx.x] = before;
}

extern "C" __global__ void functions(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[10 * i] = expf(v); y[10 * i + 1] = logf(fabsf(v)); y[10 * i + 2] = tanhf(v); y[10 * i + 3] = erff(v); y[10 * i + 4] = sinf(1000 * v);
  y[10 * i + 5] = powf(fabsf(v), 1.7f); y[10 * i + 6] = log1pf(fabsf(v)); y[10 * i + 7] = __expf(v); y[10 * i + 8] = rsqrtf(fabsf(v)); y[10 * i + 9] = cbrtf(v);
}

extern "C" __global__ void doubles(const double *x, double *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { y[4 * i] = exp(x[i]); y[4 * i + 1] = 1 / x[i]; y[4 * i + 2] = pow(fabs(x[i]), 2.5); y[4 * i + 3] = cos(100 * x[i]); }
}

extern "C" __global__ void halves(const __half2 *x, const __nv_bfloat162 *b, __half2 *y, __nv_bfloat162 *z, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  y[i] = __hfma2(x[i], x[i], __hmax2(x[i], __float2half2_rn(0.5f)));
  z[i] = __hfma2(b[i], b[i], __hmul2(b[i], __float2bfloat162_rn(0.5f)));
}

extern "C" __global__ void counters(int *bins, const int *keys, int n) {
  extern __shared__ int local[];
  for (int i = threadIdx.x; i < 16; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&local[keys[i] & 15], 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

extern "C" __global__ void beyond(float *x) {
  x[0] = 1;
  if (threadIdx.x == 3)
    *reinterpret_cast<float *>(16) = 2;
}
"""


@pytest.fixture(scope="module")
def kernels():
    return library_from_cuda(CUDA)


def test_cub(kernels):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(1000).astype(np.float32), np.zeros(1, np.float32)
    kernels.launch("block_sum", x, y, 1000, threads=128)
    assert abs(y[0] - x.sum()) < 1e-4
    keys, ordered, sums = rng.integers(-1000, 1000, 512).astype(np.int32), np.zeros(512, np.int32), np.zeros(128, np.int32)
    kernels.launch("block_sort", keys, ordered, sums, threads=128)
    assert (ordered == np.sort(keys)).all() and (sums == np.concatenate([[0], np.cumsum(np.sort(keys)[::4])[:-1]])).all()


def test_functions_of_the_math_library(kernels):
    from math import erf
    x = np.random.default_rng(1).uniform(-4, 4, 200).astype(np.float32)
    y = np.zeros((200, 10), np.float32)
    kernels.launch("functions", x, y, 200, blocks=2, threads=128)
    d = x.astype(np.float64)
    wanted = [np.exp(d), np.log(abs(d)), np.tanh(d), [erf(v) for v in d], np.sin((1000 * x).astype(np.float64)), abs(d) ** np.float32(1.7),
              np.log1p(abs(d)), np.exp(d), 1 / np.sqrt(abs(d)), np.cbrt(d)]
    np.testing.assert_allclose(y, np.stack(wanted, 1), rtol=2e-6, atol=1e-6)


def test_doubles(kernels):
    x, y = np.random.default_rng(2).uniform(-4, 4, 100), np.zeros((100, 4))
    kernels.launch("doubles", x, y, 100, threads=128)
    np.testing.assert_allclose(y, np.stack([np.exp(x), 1 / x, abs(x) ** 2.5, np.cos(100 * x)], 1), rtol=1e-14, atol=1e-15)


def test_halves_round_at_each_step(kernels):
    rng = np.random.default_rng(3)
    x = rng.standard_normal(64).astype(np.float16)
    b = (rng.standard_normal(64).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    y, z = np.zeros(64, np.float16), np.zeros(64, np.uint16)
    kernels.launch("halves", x, b, y, z, 32, threads=32)
    assert (y == (x.astype(np.float64) ** 2 + np.maximum(x, np.float16(0.5))).astype(np.float16)).all()
    wide = (b.astype(np.uint32) << 16).view(np.float32)

    def rounded(values):
        bits = values.astype(np.float32).view(np.uint32)
        return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)

    half = (rounded(wide * np.float32(0.5)).astype(np.uint32) << 16).view(np.float32)
    assert (z == rounded(wide * wide + half)).mean() > 0.95            # f32 sums round twice, in few cases differently


def test_dynamic_shared_memory_and_atomics(kernels):
    keys = np.random.default_rng(4).integers(0, 1 << 20, 1000).astype(np.int32)
    bins = np.zeros(16, np.int32)
    kernels.launch("counters", bins, keys, 1000, blocks=3, threads=64, shared=64)
    assert (bins == 3 * np.bincount(keys & 15, minlength=16)).all()


def test_a_fault_names_kernel_thread_and_line(kernels):
    with pytest.raises(KernelFault) as caught:
        kernels.launch("beyond", np.zeros(8, np.float32), threads=8)
    line = CUDA[:CUDA.index("(16) = 2")].count("\n") + 1
    assert "kernel beyond, block (0,0,0), thread (3,0,0)" in str(caught.value) and f".cu:{line}: 0x10 is accessed" in str(caught.value)
