/* Elements that are not zero: counted by tiles, a block to each; the tiles' counts are summed up; then each tile writes where its own are. */
#include <type_traits>

#include "scan.cuh"
#include "select.h"

using namespace ortcore;

namespace {

constexpr int kEach = 8, kTile = threads_per_block * kEach;   /* elements of a thread, and of a block */

int64_t tiles_of(int64_t count) { return (count + kTile - 1) / kTile; }

/* Bit j: element first + j counts. */
template <class U> ON_GPU unsigned found(const U *x, uint64_t bits, int64_t first, int64_t count) {
  unsigned flags = 0;
#pragma unroll
  for (int j = 0; j < kEach; ++j)
    if (first + j < count && (x[first + j] & static_cast<U>(bits))) flags |= 1u << j;
  return flags;
}

template <class U>
__global__ void __launch_bounds__(threads_per_block) count_kernel(const U *x, uint64_t bits, int64_t count, int64_t tiles, uint32_t *counts) {
  __shared__ int warps[most_warps];
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    int all = row_reduce(__popc(found(x, bits, tile * kTile + threadIdx.x * kEach, count)), warps, plus());
    if (threadIdx.x == 0) counts[tile] = all;
  }
}

struct shape { int rank; int64_t dims[MAX_RANK]; };

template <class U>
__global__ void __launch_bounds__(threads_per_block) indices_kernel(const U *x, uint64_t bits, int64_t count, int64_t tiles, const int64_t *offsets, shape s,
                                                                    int64_t total, int64_t *to) {
  __shared__ int warps[most_warps];
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    int64_t first = tile * kTile + threadIdx.x * kEach;
    unsigned flags = found(x, bits, first, count);
    int all;
    int64_t at = offsets[tile] + block_scan<int>(__popc(flags), 0, warps, plus(), &all);
    for (; flags; flags &= flags - 1, ++at) {
      int64_t rest = first + __ffs(flags) - 1;
      for (int d = s.rank - 1; d >= 0; --d) {
        to[d * total + at] = s.rank == 1 ? rest : rest % s.dims[d];
        rest /= s.rank == 1 ? 1 : s.dims[d];
      }
    }
  }
}

template <class U>
__global__ void __launch_bounds__(threads_per_block) take_kernel(const U *x, U *y, const int64_t *index, int64_t n, int64_t count, int64_t block,
                                                                 int64_t units) {
  for (int64_t i = first_index(); i < units; i += index_step()) {
    int64_t row = i / block, outer = row / count;
    y[i] = x[(outer * n + index[row % count]) * block + i % block];
  }
}

unsigned blocks_of(int64_t tiles) { return static_cast<unsigned>(tiles < most_blocks ? tiles : most_blocks); }
/* Offsets come first in scratch memory, then counts. */
int64_t *offsets_in(void *scratch) { return static_cast<int64_t *>(scratch); }

template <class F> int with_bits(const cuda_elements &x, F f) {
  switch (x.width) {
    case 1: return f(static_cast<const uint8_t *>(x.data));
    case 2: return f(static_cast<const uint16_t *>(x.data));
    case 4: return f(static_cast<const uint32_t *>(x.data));
    case 8: return f(static_cast<const uint64_t *>(x.data));
    default: return cudaErrorInvalidValue;
  }
}

}  // namespace

size_t cuda_select_scratch_bytes(int64_t count) {
  size_t tiles = static_cast<size_t>(tiles_of(count));
  return (tiles + 1) * sizeof(int64_t) + tiles * sizeof(uint32_t);
}

int cuda_select_count(const cuda_elements *x, void *scratch, void *stream, const int64_t **out_total) {
  int64_t tiles = tiles_of(x->count), *offsets = offsets_in(scratch);
  uint32_t *counts = reinterpret_cast<uint32_t *>(offsets + tiles + 1);
  *out_total = offsets + tiles;
  int error = cudaSuccess;
  if (tiles)
    error = with_bits(*x, [&](auto *data) {
      count_kernel<<<blocks_of(tiles), threads_per_block, 0, as_stream(stream)>>>(data, x->bits, x->count, tiles, counts);
      return cudaGetLastError();
    });
  if (error) return error;
  offsets_kernel<uint32_t><<<1, threads_per_block, 0, as_stream(stream)>>>(counts, tiles, offsets);
  return cudaGetLastError();
}

int cuda_select_indices(const cuda_elements *x, void *scratch, int rank, const int64_t *dims, int64_t total, int64_t *to, void *stream) {
  if (total == 0) return cudaSuccess;
  int64_t tiles = tiles_of(x->count);
  shape s = {rank, {}};
  for (int d = 0; d < rank; ++d) s.dims[d] = dims[d];
  return with_bits(*x, [&](auto *data) {
    indices_kernel<<<blocks_of(tiles), threads_per_block, 0, as_stream(stream)>>>(data, x->bits, x->count, tiles, offsets_in(scratch), s, total, to);
    return cudaGetLastError();
  });
}

int cuda_take_run(const cuda_take *t, void *stream) {
  int width = 16;
  while (width > 1 && (t->block % width || (reinterpret_cast<uintptr_t>(t->x) | reinterpret_cast<uintptr_t>(t->y)) % width)) width /= 2;
  int64_t block = t->block / width, units = t->outer * t->count * block;
  if (units == 0) return cudaSuccess;
  return with_width(width, [&](auto *unit) {
    using U = std::remove_pointer_t<decltype(unit)>;
    const U *from = static_cast<const U *>(t->x);
    U *to = static_cast<U *>(t->y);
    take_kernel<<<blocks_for(units), threads_per_block, 0, as_stream(stream)>>>(from, to, t->index, t->n, t->count, block, units);
    return cudaGetLastError();
  });
}
