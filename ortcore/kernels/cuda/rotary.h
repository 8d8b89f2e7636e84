/* RotaryEmbedding: pairs of features turn by an angle that the position tells. For C. */
#ifndef ORTCORE_KERNELS_CUDA_ROTARY_H
#define ORTCORE_KERNELS_CUDA_ROTARY_H

#include <ortcore/kernels/cuda/fault.h>
#include <ortcore/base/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Strides are in elements, of x and y. Of a head's `size` features the first 2 * half turn, the others stay. */
typedef struct cuda_rotary {
  dtype type;
  const void *x, *cosine, *sine;                           /* caches: rows of `half` numbers */
  void *y;
  const int64_t *ids;                                      /* rows of the caches by place; NULL: the caches have a row for each place */
  cuda_fault_place fault;                                  /* gets GPU_FAULT_POSITION where ids name a row that is not there */
  bool ids_are_offset, interleaved;                        /* offset: ids[0] + step */
  int64_t batch, heads, steps, size, half, rows;           /* rows: of the caches */
  int64_t batch_stride, head_stride, step_stride;
} cuda_rotary;

/* Returns a cudaError_t. Memory may have any alignment that its type allows; y may be x. */
int cuda_rotary_run(const cuda_rotary *r, void *stream);

#ifdef __cplusplus
}
#endif
#endif
