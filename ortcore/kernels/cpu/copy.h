/* Copies between two strided views, by element size alone. Transpose, Slice, Concat, Split, Expand, Tile and the like are all this. */
#ifndef ORTCORE_KERNELS_CPU_COPY_H
#define ORTCORE_KERNELS_CPU_COPY_H

#include <ortcore/value/tensor.h>

#define COPY_MAX_RANK (2 * MAX_RANK)                       /* Tile sees every axis as two */

/* to[to_offset + i·to_strides] = from[from_offset + i·from_strides] for every index i below dims. Offsets and strides count elements and may
 * be zero (a broadcast source) or negative (a reversed axis). The two memories do not overlap, and no element is written twice. */
typedef struct strided_copy {
  int bits;                                                /* of an element: 8, 16, 32, 64, 128, or fewer for the packed types */
  int rank;
  void *to;
  const void *from;
  int64_t to_offset, from_offset;
  int64_t dims[COPY_MAX_RANK], to_strides[COPY_MAX_RANK], from_strides[COPY_MAX_RANK];
} strided_copy;

void copy_strided(int threads, const strided_copy *copy);
/* memcpy on as many threads as pay. */
void copy_bytes(int threads, void *to, const void *from, size_t bytes);
/* Row-major strides of a dense tensor; returns its number of elements. */
int64_t dense_strides(int rank, const int64_t *dims, int64_t *strides);

/* One element of a packed type: first element in the low bits, elements may straddle bytes. */
static inline unsigned packed_get(const uint8_t *data, int64_t index, int bits) {
  int64_t bit = index * bits;
  unsigned word = data[bit / 8];
  if (bit % 8 + bits > 8) word |= (unsigned)data[bit / 8 + 1] << 8;
  return word >> bit % 8 & ((1u << bits) - 1);
}
static inline void packed_put(uint8_t *data, int64_t index, int bits, unsigned code) {
  int64_t bit = index * bits;
  unsigned mask = ((1u << bits) - 1) << bit % 8, word = code << bit % 8;
  data[bit / 8] = (uint8_t)((data[bit / 8] & ~mask) | word);
  if (mask > 0xff) data[bit / 8 + 1] = (uint8_t)((data[bit / 8 + 1] & ~(mask >> 8)) | word >> 8);
}

#endif
