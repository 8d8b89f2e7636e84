/* Pools on a GPU, for C. Images are [N, C, spatial...] as they lie. */
#ifndef ORTCORE_KERNELS_CUDA_POOL_H
#define ORTCORE_KERNELS_CUDA_POOL_H

#include "window.h"

#include <ortcore/base/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cuda_pool_op { CUDA_POOL_MAX, CUDA_POOL_AVERAGE, CUDA_POOL_LP } cuda_pool_op;

typedef struct cuda_pool {
  cuda_pool_op op;
  dtype type;                                               /* f32 f64 f16 bf16, and i8 u8 for maxima */
  int64_t planes;                                           /* images times channels; the elements of each are below 2^31 */
  cuda_window window;
  bool pads_count;                                          /* average: taps in the pads count as zeros */
  bool column_major;                                        /* of the indices */
  float p;                                                  /* LP */
} cuda_pool;

/* indices may be NULL; they are places in x, the first one on a tie. */
int cuda_pool_run(const cuda_pool *p, const void *x, void *y, int64_t *indices, void *stream);
/* Over all `positions` of each plane. */
int cuda_pool_global(const cuda_pool *p, int64_t positions, const void *x, void *y, void *stream);

#ifdef __cplusplus
}
#endif
#endif
