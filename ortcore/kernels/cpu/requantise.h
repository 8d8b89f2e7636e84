/* The end of a quantised product: sums of integers become y = round(sum * row scale * column scale / y scale) + zero point, saturated,
 * or floats without the division. */
#ifndef ORTCORE_KERNELS_CPU_REQUANTISE_H
#define ORTCORE_KERNELS_CPU_REQUANTISE_H

#include "gemm.h"

/* Numbers that repeat: that of (batch, index) is data[batch % batches * batch_stride + index % period]. */
typedef struct cycle { const float *data; int64_t period, batches, batch_stride; } cycle;
static inline const float *cycle_place(const cycle *c, int64_t batch, int64_t index) {
  return c->data + batch % c->batches * c->batch_stride + index % c->period;
}
static inline float cycle_at(const cycle *c, int64_t batch, int64_t index) { return *cycle_place(c, batch, index); }

typedef struct requantise {
  gemm_sink sink;
  bool float_sums;                                          /* sums are f32 (products of 8-bit floats), not i32 */
  void *out;
  dtype type;                                               /* i8 u8, the 8-bit floats, f32 f16 bf16 */
  const int64_t *offsets;                                   /* one a batch; NULL: batch * batch_stride */
  int64_t batch_stride, row_stride, column_stride;
  cycle row_scale, column_scale;
  float y_scale;                                            /* 1 for float outputs */
  int32_t y_zero_point;
  const int32_t *bias;                                      /* added to the sums, one a row: batch % bias_batches * rows + row */
  int64_t bias_batches, rows;
  const float *column_bias;                                 /* added to float outputs, one a column */
} requantise;

void requantise_init(requantise *q, dtype type);

#endif
