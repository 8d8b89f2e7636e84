/* Products and convolutions of 8-bit integers on a GPU, for C. Sums of (a - zero point) * (b - zero point) are exact in 32 bits, modulo 2^32, and
 * then scaled:
 *
 *   y = round((sum + bias) * row scale * column scale / y scale) + y zero point, saturated; or without the rounding, as a float; or the sum itself */
#ifndef ORTCORE_KERNELS_CUDA_QUANTISED_H
#define ORTCORE_KERNELS_CUDA_QUANTISED_H

#include "conv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers in device memory, of which index i has data[i % period]. data NULL: all zero points are 0, all scales 1. */
typedef struct cuda_cycle { const void *data; dtype type; int32_t period; } cuda_cycle;

typedef struct cuda_quantised_end {
  void *out;
  dtype type;                                               /* i32: the sums; u8 i8; f32 f16 bf16 */
  cuda_cycle row_scale, column_scale, y_scale, y_zero_point;
  const int32_t *row_bias;                                  /* added to the sums of a row; NULL: none */
  cuda_cycle column_bias;                                   /* added to float results */
} cuda_quantised_end;

/* p: dims, strides and batch of the product; its type and end are not looked at. */
int cuda_quantised_product(const cuda_product *p, const void *a, dtype a_type, cuda_cycle a_zero_point, const void *b, dtype b_type,
                           cuda_cycle b_zero_point, const cuda_quantised_end *end, void *stream);
/* c: after cuda_conv_plan. Rows are output channels; x_zero_point has one element. */
int cuda_quantised_conv(const cuda_conv *c, const void *w, dtype w_type, cuda_cycle w_zero_point, const void *x, dtype x_type,
                        cuda_cycle x_zero_point, const cuda_quantised_end *end, void *stream);

#ifdef __cplusplus
}
#endif
#endif
