/* How the two sides of a product come into shared memory, tile by tile.
 *
 * "Outer" counts rows of A or columns of B, "inner" is the dimension that is summed over. A source says what stands at (outer, inner): a
 * matrix with strides here, an image seen through a window or packed weights elsewhere. A source has
 *
 *   stored, element          the types in memory and in shared memory
 *   spot                     what is worth keeping of one outer index
 *   look(outer)              -> spot
 *   move(data, spot, inner, entry, to)   brings that element to shared memory; zero where there is none
 *   copy(data, outer, inner, to)         brings 16 bytes along the direction that is contiguous; only where `vectors` is true
 *   along_inner              do neighbouring threads take neighbouring inner indices?
 *   planned                  does move() want an `entry` about every inner index, made by plan() one tile ahead?
 *
 * What needs no conversion is copied asynchronously, while the tile before is multiplied. */
#ifndef ORTCORE_KERNELS_CUDA_PRODUCT_SIDE_CUH
#define ORTCORE_KERNELS_CUDA_PRODUCT_SIDE_CUH

#include "ptx.cuh"

namespace ortcore {

/* One element, or zero: `from` is read only if it is `there`. The hardware copies no less than four bytes asynchronously. */
template <class T> ON_GPU void move_element(T *to, const T *from, bool there) {
  if constexpr (sizeof(T) >= 4) copy_element<sizeof(T)>(to, from, there ? sizeof(T) : 0);
  else *to = there ? *from : T(0.0f);
}

struct no_entry {};

/* A matrix in memory. */
template <class T> struct matrix_source {
  using stored = T;
  using element = T;
  using spot = int;
  using entry = no_entry;
  static constexpr bool planned = false;
  const T *data;
  int outers, inners, outer_stride, inner_stride;
  bool vectors, along_inner;

  ON_GPU spot look(int outer) const { return outer; }
  ON_GPU void move(const T *from, spot outer, int inner, const entry *, T *to) const {
    bool there = outer < outers && inner < inners;
    move_element(to, there ? from + static_cast<int64_t>(outer) * outer_stride + static_cast<int64_t>(inner) * inner_stride : from, there);
  }
  ON_GPU void copy(const T *from, int outer, int inner, void *to) const {
    int left = outer < outers && inner < inners ? (along_inner ? inners - inner : outers - outer) : 0,
        most = 16 / static_cast<int>(sizeof(T));
    if (left > 0) from += static_cast<int64_t>(outer) * outer_stride + static_cast<int64_t>(inner) * inner_stride;
    copy_16(to, from, min(left, most) * static_cast<int>(sizeof(T)));
  }
  ON_GPU void plan(int, entry *) const {}
};

/* A tile of OUTERS x DEPTH elements. In shared memory the inner index runs fastest if INNER, else the outer one; rows are padded against
 * bank conflicts. */
template <class SOURCE, int OUTERS, int DEPTH, int THREADS, bool INNER> struct tile_loader {
  using E = typename SOURCE::element;
  using entry = typename SOURCE::entry;
  static constexpr int per_copy = 16 / sizeof(E), pitch = (INNER ? DEPTH : OUTERS) + per_copy, lines = INNER ? OUTERS : DEPTH;
  using tile = E[lines][pitch];
  using table = entry[DEPTH];

  const SOURCE &source;
  const typename SOURCE::stored *data;                      /* of this matrix of the batch */
  int first;                                                /* the tile's first outer index */
  typename SOURCE::spot spot;                               /* of the one outer index that this thread loads, if it walks inner indices */

  ON_GPU tile_loader(const SOURCE &from, int64_t offset, int first_outer)
      : source(from), data(from.data + offset), first(first_outer), spot(from.look(first_outer + static_cast<int>(threadIdx.x) % OUTERS)) {}

  /* Looks up what the source wants to know about the inner indices from `inner` on. */
  ON_GPU void plan(entry *slots, int inner) const {
    if constexpr (SOURCE::planned)
      if (threadIdx.x < DEPTH) source.plan(inner + static_cast<int>(threadIdx.x), &slots[threadIdx.x]);
  }

  /* Brings the tile from inner index `inner` on: complete after copies_wait and a barrier. */
  ON_GPU void fetch(E (*to)[pitch], int inner, const entry *slots) {
    const int thread = static_cast<int>(threadIdx.x);
    if (copies()) {
      constexpr int line = (INNER ? DEPTH : OUTERS) / per_copy;
#pragma unroll
      for (int i = 0; i < lines * line / THREADS; ++i) {
        int at = thread + i * THREADS, row = at / line, column = at % line * per_copy;
        source.copy(data, first + (INNER ? row : column), inner + (INNER ? column : row), &to[row][column]);
      }
    } else if (source.along_inner) {
#pragma unroll few
      for (int i = 0; i < turns; ++i) {
        int outer = thread / DEPTH + i * (THREADS / DEPTH), slot = thread % DEPTH;
        source.move(data, source.look(first + outer), inner + slot, slots + slot, element_of(to, outer, slot));
      }
    } else {
#pragma unroll few
      for (int i = 0; i < turns; ++i) {
        int outer = thread % OUTERS, slot = thread / OUTERS + i * (THREADS / OUTERS);
        source.move(data, spot, inner + slot, slots + slot, element_of(to, outer, slot));
      }
    }
  }

private:
  static constexpr int turns = OUTERS * DEPTH / THREADS;
  static constexpr int few = SOURCE::planned ? 2 : 4;       /* more at a time would take registers from the sums */
  /* 16 bytes at a time need shared memory to run as the matrix does. */
  ON_GPU bool copies() const { return source.vectors && source.along_inner == INNER; }
  static ON_GPU E *element_of(E (*to)[pitch], int outer, int inner) { return &to[INNER ? outer : inner][INNER ? inner : outer]; }
};

}  // namespace ortcore

#endif
