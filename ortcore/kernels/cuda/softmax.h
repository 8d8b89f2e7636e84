/* Lines of [outer, n, inner] along n, each scaled by what is found along it: softmax and division by a norm. For C. */
#ifndef ORTCORE_KERNELS_CUDA_SOFTMAX_H
#define ORTCORE_KERNELS_CUDA_SOFTMAX_H

#include <ortcore/base/dtype.h>
#include <ortcore/ops/params/softmax.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each returns a cudaError_t. type is a float type. Memory may have any alignment that its type allows; y may be x. */
int cuda_softmax(dtype type, softmax_kind kind, const void *x, void *y, int64_t outer, int64_t n, int64_t inner, void *stream);
/* y = x / norm, and 0 where the norm is 0; power 1 (sum of absolute values) or 2 (Euclidean). */
int cuda_lp_normalise(dtype type, int power, const void *x, void *y, int64_t outer, int64_t n, int64_t inner, void *stream);

#ifdef __cplusplus
}
#endif
#endif
