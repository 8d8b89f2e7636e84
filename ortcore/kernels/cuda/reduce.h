/* Reductions of [outer, n, inner] along n. For C. */
#ifndef ORTCORE_KERNELS_CUDA_REDUCE_H
#define ORTCORE_KERNELS_CUDA_REDUCE_H

#include <ortcore/base/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/* result = finish(join of map(x)). Sums go through float for halves; integers wrap. NaN in gives NaN out. */
typedef enum reduce_join { JOIN_SUM, JOIN_PRODUCT, JOIN_MAX, JOIN_MIN, JOIN_LOG_SUM_EXP } reduce_join;
typedef enum reduce_map { MAP_NOTHING, MAP_ABSOLUTE, MAP_SQUARE } reduce_map;          /* of sums */
typedef enum reduce_finish { FINISH_NOTHING, FINISH_MEAN, FINISH_ROOT, FINISH_LOGARITHM } reduce_finish;

/* One launch. Of each line the parts of `chunk` elements are reduced by themselves: y is [outer, parts, inner], in which a second launch joins
 * the parts (its map is MAP_NOTHING, and only it has a finish). One part is the ordinary case. */
typedef struct cuda_reduction {
  dtype from, to;                                          /* of x and y; `to` is `from`, or FLOAT where `from` is a half, or the reverse */
  reduce_join join;
  reduce_map map;
  reduce_finish finish;
  const void *x;
  void *y;
  int64_t outer, n, inner, parts, chunk;
  int64_t whole;                                           /* elements that a mean is taken of */
} cuda_reduction;

/* Each returns a cudaError_t. Memory may have any alignment that its type allows. The order of operations depends on the sizes alone.
 * Types: floats; int32 and int64 without finish; uint8 and bool for the largest and the smallest. */
int cuda_reduce(const cuda_reduction *r, void *stream);
/* How many parts a reduction of that shape is best done in, so that all of a GPU has work. */
int64_t cuda_reduce_parts(int64_t outer, int64_t n, int64_t inner);

/* Index of the largest (or smallest) of n > 0 elements, int64 [outer, inner]: the first of equals, or the last. NaN counts as the extreme.
 * Types: floats, int32, int64, uint8. */
int cuda_arg_extreme(dtype type, bool smallest, bool last, const void *x, int64_t *y, int64_t outer, int64_t n, int64_t inner, void *stream);

#ifdef __cplusplus
}
#endif
#endif
