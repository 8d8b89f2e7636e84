/* Rows brought to a mean and a spread, in float and double: what the normalisation operators have in common. */
#ifndef ORTCORE_KERNELS_CPU_NORM_H
#define ORTCORE_KERNELS_CPU_NORM_H

#include <ortcore/value/tensor.h>

/* y = (x - mean) / sqrt(variance + epsilon) of each of `rows` rows of n elements; then times scale and plus bias, where they are given.
 * Element i of row r takes scale[i] if per_row is 0; else the row has one scale, scale[r % per_row], for all of it.
 * centre false: RMS normalisation, the mean is left alone. means and inverses (1 / sqrt) may be NULL; they have a row each. */
typedef struct norm_rows {
  const void *x;
  void *y;
  const void *scale, *bias;
  void *means, *inverses;
  int64_t n, per_row;
  double epsilon;
  bool centre;
} norm_rows;

typedef void (*norm_fn)(const norm_rows *rows, int64_t begin, int64_t end);
norm_fn norm_for(dtype type);                                /* NULL unless float or double */

/* y = x * factor[channel] + offset[channel] over [batch, channels, inner], of floats or doubles; in place if x and y are one. */
typedef struct channel_affine { const void *x; void *y; const void *factor, *offset; int64_t batch, channels, inner; } channel_affine;
void affine_channels(const channel_affine *a, dtype type, int threads);

#endif
