/* The largest or smallest elements of lines on a GPU, for C. */
#ifndef ORTCORE_KERNELS_CUDA_TOPK_H
#define ORTCORE_KERNELS_CUDA_TOPK_H

#include <ortcore/base/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Along the middle one of [outer, n, inner]: the k first in descending order, or ascending if not `largest`. Equal elements come in the order
 * of their indices; NaN counts as larger than every number. */
typedef struct cuda_topk {
  dtype type;
  bool largest;
  int64_t outer, n, inner, k;                              /* n below 2^32 */
} cuda_topk;

bool cuda_topk_serves(dtype type);
size_t cuda_topk_scratch_bytes(const cuda_topk *t);
/* Returns a cudaError_t. values [outer, k, inner] and indices, like it, may be NULL. */
int cuda_topk_run(const cuda_topk *t, const void *x, void *values, int64_t *indices, void *scratch, void *stream);

#ifdef __cplusplus
}
#endif
#endif
