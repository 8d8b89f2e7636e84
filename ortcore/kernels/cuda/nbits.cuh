/* Packed weights as a side of a product, and as what one warp multiplies with. */
#ifndef ORTCORE_KERNELS_CUDA_NBITS_CUH
#define ORTCORE_KERNELS_CUDA_NBITS_CUH

#include "nbits.h"
#include "product_tiles.cuh"

namespace ortcore {

template <class T> struct nbits_source {
  using stored = uint8_t;
  using element = T;
  using spot = int;
  using entry = no_entry;
  static constexpr bool planned = false, vectors = false, along_inner = true;
  const uint8_t *data;
  int outers, inners, block_shift, column_bytes, zero_bytes;   /* of the codes, and of the packed zero points, of one column */
  cuda_nbits weights;

  ON_GPU spot look(int outer) const { return outer; }
  ON_GPU int unpacked(const uint8_t *codes, int index) const {
    int bits = weights.bits, bit = index * bits;
    return codes[bit >> 3] >> (bit & 7) & ((1 << bits) - 1);
  }
  ON_GPU int block_of(int inner) const {
    return weights.groups ? min(max(weights.groups[inner], 0), weights.blocks - 1) : inner >> block_shift;
  }
  ON_GPU float scale(int column, int block) const {
    return load(static_cast<const T *>(weights.scales)[static_cast<int64_t>(column) * weights.blocks + block]);
  }
  ON_GPU float zero(int column, int block) const {
    if (weights.zero_codes) return unpacked(weights.zero_codes + static_cast<int64_t>(column) * zero_bytes, block);
    if (weights.zeros) return load(static_cast<const T *>(weights.zeros)[static_cast<int64_t>(column) * weights.blocks + block]);
    return 1 << (weights.bits - 1);
  }
  ON_GPU float value(const uint8_t *from, int column, int inner) const {
    int block = block_of(inner), code = unpacked(from + static_cast<int64_t>(column) * column_bytes, inner);
    return (code - zero(column, block)) * scale(column, block);
  }
  ON_GPU void move(const uint8_t *from, spot column, int inner, const entry *, T *to) const {
    *to = store<T>(column < outers && inner < inners ? value(from, column, inner) : 0.0f);
  }
  ON_GPU void copy(const uint8_t *, int, int, void *) const {}
};

template <class T> nbits_source<T> nbits_of(const cuda_product &p, const cuda_nbits &w) {
  nbits_source<T> s = {};
  s.data = w.codes;
  s.outers = static_cast<int>(p.n), s.inners = static_cast<int>(p.k);
  while (1 << s.block_shift < w.block) ++s.block_shift;
  s.column_bytes = w.blocks * (w.block * w.bits / 8);
  s.zero_bytes = (w.blocks * w.bits + 7) / 8;
  s.weights = w;
  return s;
}

}  // namespace ortcore

#endif
