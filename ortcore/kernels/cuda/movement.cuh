/* The one kernel of all movement: a map says for each i of `count` where an element comes from and where it goes. A map is a struct with
 *     move_pair operator()(int64_t i) const
 * Widths are decided at run time, alike for all threads. */
#ifndef ORTCORE_KERNELS_CUDA_MOVEMENT_CUH
#define ORTCORE_KERNELS_CUDA_MOVEMENT_CUH

#include <ortcore/kernels/cuda/common.cuh>
#include <ortcore/kernels/cuda/movement.h>

namespace ortcore {

constexpr int64_t from_value = -1;                         /* not an element of `from`, but `value` */
struct move_pair { int64_t from, to; };

ON_GPU bytes16 load_element(const void *from, int64_t i, int width) {
  bytes16 x = {0, 0};
  switch (width) {
    case 1: x.low = static_cast<const uint8_t *>(from)[i]; break;
    case 2: x.low = static_cast<const uint16_t *>(from)[i]; break;
    case 4: x.low = static_cast<const uint32_t *>(from)[i]; break;
    case 8: x.low = static_cast<const uint64_t *>(from)[i]; break;
    default: x = static_cast<const bytes16 *>(from)[i];
  }
  return x;
}

ON_GPU void store_element(void *to, int64_t i, int width, bytes16 x) {
  switch (width) {
    case 1: static_cast<uint8_t *>(to)[i] = static_cast<uint8_t>(x.low); break;
    case 2: static_cast<uint16_t *>(to)[i] = static_cast<uint16_t>(x.low); break;
    case 4: static_cast<uint32_t *>(to)[i] = static_cast<uint32_t>(x.low); break;
    case 8: static_cast<uint64_t *>(to)[i] = x.low; break;
    default: static_cast<bytes16 *>(to)[i] = x;
  }
}

/* A thread has AT_ONCE elements on their way at a time: all are loaded before the first is stored. */
template <int AT_ONCE, class MAP> __global__ void __launch_bounds__(threads_per_block, 1) move_kernel(const cuda_move m, const MAP map, bytes16 value) {
  for (int64_t first = first_index(); first < m.count; first += AT_ONCE * index_step()) {
    bytes16 x[AT_ONCE];
    int64_t to[AT_ONCE];
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) {
      int64_t i = first + k * index_step();
      if (i >= m.count) break;
      move_pair pair = map(i);
      to[k] = pair.to;
      x[k] = pair.from == from_value ? value : load_element(m.from, pair.from, m.width);
    }
#pragma unroll
    for (int k = 0; k < AT_ONCE; ++k) {
      if (first + k * index_step() >= m.count) break;
      store_element(m.to, to[k], m.width, x[k]);
    }
  }
}

template <int AT_ONCE = 4, class MAP> int move_launch(const cuda_move *m, const MAP &map, void *stream) {
  if (m->count == 0) return cudaSuccess;
  bytes16 value;
  static_assert(sizeof value == sizeof m->value, "an element is at most 16 bytes");
  __builtin_memcpy(&value, m->value, sizeof value);
  move_kernel<AT_ONCE><<<blocks_for((m->count + AT_ONCE - 1) / AT_ONCE), threads_per_block, 0, as_stream(stream)>>>(*m, map, value);
  return cudaGetLastError();
}

/* The coordinate along an axis of `n` elements of `rest`, the index in what that axis and those before it span; rest goes on to those. */
ON_GPU int64_t next_coordinate(int64_t &rest, int64_t n) {
  int64_t quotient = rest / n, coordinate = rest - quotient * n;
  rest = quotient;
  return coordinate;
}

ON_GPU int64_t index_at(const cuda_indices &indices, int64_t i) {
  return indices.wide ? static_cast<const int64_t *>(indices.data)[i] : static_cast<const int32_t *>(indices.data)[i];
}

/* Index i, for an axis of n elements. */
ON_GPU int64_t valid_index(const cuda_indices &indices, int64_t i, int64_t n) {
  int64_t index = index_at(indices, i);
  index = index < 0 ? index + n : index;
  if (index >= 0 && index < n) return index;
  tell_fault(indices.fault, GPU_FAULT_INDEX);
  return index < 0 ? 0 : n - 1;
}

/* Where element i of a cuda_by_index lies in the indexed tensor. */
ON_GPU int64_t indexed_place(const cuda_by_index &g, int64_t i) {
  int64_t rest = i, place = valid_index(g.indices, i, g.n) * g.strides[g.axis];
#pragma unroll 1
  for (int d = g.rank - 1; d >= 0; --d) {
    int64_t coordinate = next_coordinate(rest, g.dims[d]);
    if (d != g.axis) place += coordinate * g.strides[d];
  }
  return place;
}

/* The same for element i of blocks that tuples name. */
ON_GPU int64_t nd_place(const cuda_nd &g, int64_t i) {
  int64_t tuple = i, place = next_coordinate(tuple, g.block) + tuple / g.per_batch * g.batch_stride;
#pragma unroll 1
  for (int c = 0; c < g.coordinates; ++c) place += valid_index(g.indices, tuple * g.coordinates + c, g.dims[c]) * g.strides[c];
  return place;
}

/* Blocks of an even number of elements are blocks of half as many of twice the width, where both memories are aligned to that. */
inline bool halve_block(cuda_move *m, int64_t *block) {
  if (m->width == 16 || *block % 2 || (reinterpret_cast<uintptr_t>(m->to) | reinterpret_cast<uintptr_t>(m->from)) % (2 * m->width)) return false;
  m->width *= 2;
  m->count /= 2;
  *block /= 2;
  return true;
}

inline void widen_blocks(cuda_move *m, cuda_nd *g) {
  while (halve_block(m, &g->block)) {
    g->batch_stride /= 2;                                  /* strides are multiples of the block */
    for (int c = 0; c < g->coordinates; ++c) g->strides[c] /= 2;
  }
}

}  // namespace ortcore

#endif
