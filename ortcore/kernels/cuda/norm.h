/* Rows brought to a mean and a spread: layer, RMS, instance and group normalisation, and their forms that add a residual first. For C. */
#ifndef ORTCORE_KERNELS_CUDA_NORM_H
#define ORTCORE_KERNELS_CUDA_NORM_H

#include <ortcore/base/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/* v = x + skip + added; y = (v - mean) / sqrt(variance + epsilon) * scale + bias, of each of `rows` rows of n elements of a float type.
 * What is NULL is left out. centre false: RMS normalisation, with 0 for the mean. */
typedef struct cuda_norm {
  dtype type;                                              /* of all that is void here */
  const void *x, *skip, *added, *scale, *bias;
  void *y, *sum;                                           /* sum: v, [rows, n] */
  float *means, *inverses;                                 /* of each row; inverse: 1 / sqrt(variance + epsilon) */
  int64_t rows, n;
  int64_t skip_rows;                                       /* row r takes row r % skip_rows of skip; each takes all n of added */
  int64_t period, step, each;                              /* element i of row r takes scale[r % period * step + i / each], and so bias */
  double epsilon;
  bool centre;
} cuda_norm;                                               /* skip_rows, period and each are at least 1 */

/* Returns a cudaError_t. n is below 2^31; memory may have any alignment that its type allows. */
int cuda_norm_rows(const cuda_norm *norm, void *stream);

#ifdef __cplusplus
}
#endif
#endif
