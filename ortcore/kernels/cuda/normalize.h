/* Normalisations of another shape than rows: by channels with given statistics, across neighbouring channels, over any axes. For C. */
#ifndef ORTCORE_KERNELS_CUDA_NORMALIZE_H
#define ORTCORE_KERNELS_CUDA_NORMALIZE_H

#include <ortcore/base/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All return a cudaError_t. Memory may have any alignment that its type allows. */

/* y = (x - mean) / sqrt(variance + epsilon) * scale + bias over [count / channels / inner, channels, inner], with a number a channel. Of the
 * parameters scale and bias, and mean and variance, may be of float types of their own. y may be x. */
typedef struct cuda_batchnorm {
  dtype type, scale_type, mean_type;
  const void *x, *scale, *bias, *mean, *variance;
  void *y;
  int64_t count, channels, inner;
  double epsilon;
} cuda_batchnorm;
int cuda_batchnorm_run(const cuda_batchnorm *b, void *stream);

/* y = x / (bias + alpha / size * the sum of squares of `size` channels around it) ^ beta. */
typedef struct cuda_lrn {
  dtype type;
  const void *x;
  void *y;
  int64_t count, channels, inner, size;
  double alpha, beta, bias;
} cuda_lrn;
int cuda_lrn_run(const cuda_lrn *l, void *stream);

/* y = (x - mean) / (deviation + 1e-9), both over the averaged axes. Neighbouring axes of one sort are one, so that at most eight of each are
 * left; steps are in elements. */
enum { CUDA_WALK = 8 };
typedef struct cuda_walk { int32_t rank; int64_t dims[CUDA_WALK], steps[CUDA_WALK]; } cuda_walk;
typedef struct cuda_mean_variance {
  dtype type;
  const void *x;
  void *y;
  int64_t groups, each;                                    /* how many statistics, of how many elements */
  cuda_walk kept, averaged;
} cuda_mean_variance;
int cuda_mean_variance_run(const cuda_mean_variance *m, void *stream);

#ifdef __cplusplus
}
#endif
#endif
