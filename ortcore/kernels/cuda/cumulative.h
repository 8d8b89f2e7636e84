/* Running sums and products on a GPU, for C. */
#ifndef ORTCORE_KERNELS_CUDA_CUMULATIVE_H
#define ORTCORE_KERNELS_CUDA_CUMULATIVE_H

#include <ortcore/base/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Along the middle one of [outer, n, inner]. Halves are summed as floats; integers wrap. */
typedef struct cuda_cumulative {
  dtype type;                                              /* floats, and integers of 32 and 64 bits */
  bool product, exclusive, reverse;
  int64_t outer, n, inner;
} cuda_cumulative;

/* Returns a cudaError_t. y may be x. */
int cuda_cumulative_run(const cuda_cumulative *c, const void *x, void *y, void *stream);

#ifdef __cplusplus
}
#endif
#endif
