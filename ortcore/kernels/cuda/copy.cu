/* Strided copies: Transpose, Slice, Expand, Tile and the like; parts of wide matrices: Concat, Split; constants. */
#include <ortcore/kernels/cuda/movement.cuh>

namespace ortcore {
namespace {

/* ---- Strided copies ---- */

/* Drops axes of one element and merges neighbours that both sides walk in one stride. Rank 1 at least is left. */
cuda_strided merged(const cuda_strided &given) {
  cuda_strided s = given;
  s.rank = 0;
  for (int d = 0; d < given.rank; ++d) {
    if (given.dims[d] == 1) continue;
    int last = s.rank - 1;
    bool merges = last >= 0 && s.to_strides[last] == given.to_strides[d] * given.dims[d] && s.from_strides[last] == given.from_strides[d] * given.dims[d];
    int at = merges ? last : s.rank++;
    s.dims[at] = merges ? s.dims[at] * given.dims[d] : given.dims[d];
    s.to_strides[at] = given.to_strides[d];
    s.from_strides[at] = given.from_strides[d];
  }
  if (s.rank == 0) {
    s.rank = 1;
    s.dims[0] = s.to_strides[0] = s.from_strides[0] = 1;
  }
  return s;
}

/* Pairs of elements that lie side by side on both sides are moved as one of twice the width, as often as that goes. */
int widened(cuda_strided *s, const void *to, const void *from, int width) {
  int last = s->rank - 1;
  if (s->to_strides[last] != 1 || s->from_strides[last] != 1) return width;
  for (; width < 16; width *= 2) {
    int64_t odd = s->dims[last] | s->to_offset | s->from_offset;
    for (int d = 0; d < last; ++d) odd |= s->to_strides[d] | s->from_strides[d];
    if ((odd & 1) || (reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % (2 * width)) break;
    s->dims[last] /= 2;
    s->to_offset /= 2;
    s->from_offset /= 2;
    for (int d = 0; d < last; ++d) {
      s->to_strides[d] /= 2;
      s->from_strides[d] /= 2;
    }
  }
  return width;
}

struct strided_map {
  cuda_strided s;
  ON_GPU move_pair operator()(int64_t i) const {
    int64_t rest = i, from = s.from_offset, to = s.to_offset;
#pragma unroll 1
    for (int d = s.rank - 1; d >= 0; --d) {
      int64_t coordinate = next_coordinate(rest, s.dims[d]);
      from += coordinate * s.from_strides[d];
      to += coordinate * s.to_strides[d];
    }
    return {from, to};
  }
};

/* ---- Transposition, where one axis is dense in `from` and another one in `to`: through tiles in shared memory, so that both sides are
 * walked along their dense axis ---- */

constexpr int tile_size = 32, tile_rows = 8;

/* Axis `across` is the dense one of `from`; the last one is that of `to`. */
template <class T> __global__ void __launch_bounds__(tile_size * tile_rows) transpose_kernel(T *to, const T *from, const cuda_strided s, int across, int64_t tiles) {
  __shared__ T tile[tile_size][tile_size + 1];             /* one more column: a column's elements lie in different banks */
  int last = s.rank - 1;
  int64_t tiles_across = (s.dims[across] + tile_size - 1) / tile_size, tiles_along = (s.dims[last] + tile_size - 1) / tile_size;
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    int64_t rest = t, row = next_coordinate(rest, tiles_along) * tile_size, column = next_coordinate(rest, tiles_across) * tile_size;
    int64_t from_at = s.from_offset, to_at = s.to_offset;
#pragma unroll 1
    for (int d = last - 1; d >= 0; --d) {
      if (d == across) continue;
      int64_t coordinate = next_coordinate(rest, s.dims[d]);
      from_at += coordinate * s.from_strides[d];
      to_at += coordinate * s.to_strides[d];
    }
    for (int y = threadIdx.y; y < tile_size; y += tile_rows)
      if (row + y < s.dims[last] && column + threadIdx.x < s.dims[across])
        tile[y][threadIdx.x] = from[from_at + (row + y) * s.from_strides[last] + column + threadIdx.x];
    __syncthreads();
    for (int y = threadIdx.y; y < tile_size; y += tile_rows)
      if (column + y < s.dims[across] && row + threadIdx.x < s.dims[last])
        to[to_at + (column + y) * s.to_strides[across] + row + threadIdx.x] = tile[threadIdx.x][y];
    __syncthreads();
  }
}

/* The axis for `across`, or -1 where tiles would be mostly empty or there is none. */
int transposed_axis(const cuda_strided &s) {
  int last = s.rank - 1;
  if (s.to_strides[last] != 1 || s.dims[last] < tile_rows) return -1;
  for (int d = 0; d < last; ++d)
    if (s.from_strides[d] == 1 && s.dims[d] >= tile_rows) return d;
  return -1;
}

int transpose(void *to, const void *from, int width, const cuda_strided &s, int across, cudaStream_t stream) {
  int last = s.rank - 1;
  int64_t tiles = ((s.dims[across] + tile_size - 1) / tile_size) * ((s.dims[last] + tile_size - 1) / tile_size);
  for (int d = 0; d < last; ++d)
    if (d != across) tiles *= s.dims[d];
  unsigned blocks = static_cast<unsigned>(tiles < most_blocks ? tiles : most_blocks);
  return with_width(width, [&](auto *unit) {
    using T = std::remove_pointer_t<decltype(unit)>;
    transpose_kernel<<<blocks, dim3(tile_size, tile_rows), 0, stream>>>(static_cast<T *>(to), static_cast<const T *>(from), s, across, tiles);
    return static_cast<int>(cudaGetLastError());
  });
}

/* ---- Parts of a wide matrix ---- */

__global__ void __launch_bounds__(threads_per_block) parts_kernel(const cuda_parts p) {
  int64_t column = p.first;
  for (unsigned i = 0; i < blockIdx.y; ++i) column += p.columns[i];
  int64_t columns = p.columns[blockIdx.y], count = p.rows * columns;
  void *part = p.parts[blockIdx.y];
  for (int64_t i = first_index(); i < count; i += index_step()) {
    int64_t row = i, at = next_coordinate(row, columns), wide = row * p.stride + column + at;
    if (p.join) store_element(p.wide, wide, p.width, load_element(part, i, p.width));
    else store_element(part, i, p.width, load_element(p.wide, wide, p.width));
  }
}

/* As in `widened`: every column must be even. */
void widen_parts(cuda_parts *p) {
  for (; p->width < 16; p->width *= 2) {
    uintptr_t places = reinterpret_cast<uintptr_t>(p->wide);
    int64_t odd = p->stride | p->first;
    for (int i = 0; i < p->count; ++i) {
      odd |= p->columns[i];
      places |= p->columns[i] ? reinterpret_cast<uintptr_t>(p->parts[i]) : 0;
    }
    if ((odd & 1) || places % (2 * p->width)) return;
    p->stride /= 2;
    p->first /= 2;
    for (int i = 0; i < p->count; ++i) p->columns[i] /= 2;
  }
}

struct fill_map {
  ON_GPU move_pair operator()(int64_t i) const { return {from_value, i}; }
};

}  // namespace
}  // namespace ortcore

using namespace ortcore;

int cuda_copy_strided(void *to, const void *from, int width, const cuda_strided *how, void *stream) {
  cuda_strided s = merged(*how);
  int64_t count = 1;
  for (int d = 0; d < s.rank; ++d) count *= s.dims[d];
  if (count == 0) return cudaSuccess;
  int across = transposed_axis(s);
  if (across >= 0) return transpose(to, from, width, s, across, as_stream(stream));
  width = widened(&s, to, from, width);
  count = 1;
  for (int d = 0; d < s.rank; ++d) count *= s.dims[d];
  cuda_move m = {to, from, count, width, {0}};
  return move_launch(&m, strided_map{s}, stream);
}

int cuda_move_parts(const cuda_parts *given, void *stream) {
  cuda_parts p = *given;
  widen_parts(&p);
  int64_t most = 0;
  for (int i = 0; i < p.count; ++i) most = p.columns[i] > most ? p.columns[i] : most;
  if (p.rows == 0 || most == 0) return cudaSuccess;
  parts_kernel<<<dim3(blocks_for(p.rows * most), static_cast<unsigned>(p.count)), threads_per_block, 0, as_stream(stream)>>>(p);
  return cudaGetLastError();
}

/* Narrow values are repeated to fill wider elements. */
int cuda_fill(const cuda_move *given, void *stream) {
  cuda_move m = *given;
  for (; m.width < 16 && m.count % 2 == 0 && reinterpret_cast<uintptr_t>(m.to) % (2 * m.width) == 0; m.width *= 2, m.count /= 2)
    __builtin_memcpy(m.value + m.width, m.value, static_cast<size_t>(m.width));
  return move_launch(&m, fill_map{}, stream);
}
