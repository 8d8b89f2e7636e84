/* Sums of products over any strides on a GPU, for C: what Einsum is where it is no matrix product. */
#ifndef ORTCORE_KERNELS_CUDA_CONTRACT_H
#define ORTCORE_KERNELS_CUDA_CONTRACT_H

#include <ortcore/base/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_CONTRACT_AXES = 12 };                          /* of the result, and as many that are summed over */

/* y[i] = sum over s of a[i, s] * b[i, s]: extents, outermost first, and each operand's steps along them. y is dense. */
typedef struct cuda_contraction {
  dtype type;                                               /* f32 f16 bf16 f64 */
  int32_t kept, summed;
  int64_t kept_dims[CUDA_CONTRACT_AXES], kept_a[CUDA_CONTRACT_AXES], kept_b[CUDA_CONTRACT_AXES];
  int64_t summed_dims[CUDA_CONTRACT_AXES], summed_a[CUDA_CONTRACT_AXES], summed_b[CUDA_CONTRACT_AXES];
} cuda_contraction;

/* b NULL: the sum of a alone. */
int cuda_contract(const cuda_contraction *c, const void *a, const void *b, void *y, void *stream);

#ifdef __cplusplus
}
#endif
#endif
