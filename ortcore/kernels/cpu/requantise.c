#include "requantise.h"

#include <ortcore/base/cpu.h>
#include <ortcore/base/half.h>
#include <math.h>

enum { CHUNK = 256 };

/* Rounds to nearest, ties to even: adding and taking away 1.5 * 2^23 leaves no fraction; the clamp comes first, so it never overflows. */
static inline int32_t round_clamped(float x, float low, float high) {
  x = x > low ? x : low;
  x = x < high ? x : high;
  return (int32_t)nearbyintf(x);
}

MULTIVERSION
static void store_8bit(const float *x, int64_t n, int32_t zero_point, bool is_signed, int64_t step, uint8_t *out) {
  float low = (float)((is_signed ? -128 : 0) - zero_point), high = (float)((is_signed ? 127 : 255) - zero_point);
  if (step == 1) for (int64_t i = 0; i < n; ++i) out[i] = (uint8_t)(round_clamped(x[i], low, high) + zero_point);
  else for (int64_t i = 0; i < n; ++i) out[i * step] = (uint8_t)(round_clamped(x[i], low, high) + zero_point);
}

static void store(const requantise *q, const float *x, int64_t n, int64_t place) {
  int64_t step = q->column_stride;
  switch (q->type) {
    case ORTC_UINT8: case ORTC_INT8:
      store_8bit(x, n, q->y_zero_point, q->type == ORTC_INT8, step, (uint8_t *)q->out + place);
      break;
    case ORTC_FLOAT: for (int64_t i = 0; i < n; ++i) ((float *)q->out)[place + i * step] = x[i]; break;
    case ORTC_FLOAT16: for (int64_t i = 0; i < n; ++i) ((f16 *)q->out)[place + i * step] = f32_to_f16(x[i]); break;
    case ORTC_BFLOAT16: for (int64_t i = 0; i < n; ++i) ((bf16 *)q->out)[place + i * step] = f32_to_bf16(x[i]); break;
    default: for (int64_t i = 0; i < n; ++i) ((uint8_t *)q->out)[place + i * step] = f32_to_minifloat(q->type, x[i], true); break;
  }
}

MULTIVERSION
static void scale(const requantise *q, int64_t batch, int64_t row, int64_t column, int64_t n, const void *acc, float *x) {
  int32_t bias = q->bias ? q->bias[batch % q->bias_batches * q->rows + row] : 0;
  float row_scale = cycle_at(&q->row_scale, batch, row);
  if (q->float_sums) for (int64_t i = 0; i < n; ++i) x[i] = ((const float *)acc)[i];
  else for (int64_t i = 0; i < n; ++i) x[i] = (float)(int32_t)(((const uint32_t *)acc)[i] + (uint32_t)bias);
  if (q->column_scale.period == 1) {
    float factor = row_scale * cycle_at(&q->column_scale, batch, 0) / q->y_scale;
    for (int64_t i = 0; i < n; ++i) x[i] *= factor;
  } else if (column % q->column_scale.period + n > q->column_scale.period) {
    for (int64_t i = 0; i < n; ++i) x[i] *= row_scale * cycle_at(&q->column_scale, batch, column + i) / q->y_scale;
  } else {
    const float *factors = cycle_place(&q->column_scale, batch, column);
    if (q->y_scale == 1) for (int64_t i = 0; i < n; ++i) x[i] *= row_scale * factors[i];
    else for (int64_t i = 0; i < n; ++i) x[i] *= row_scale * factors[i] / q->y_scale;
  }
  if (q->column_bias) for (int64_t i = 0; i < n; ++i) x[i] += q->column_bias[column + i];
}

static void requantise_store(const gemm_sink *s, int64_t batch, int64_t row, int64_t column, int64_t count, void *acc) {
  const requantise *q = (const requantise *)s;
  int64_t place = (q->offsets ? q->offsets[batch] : batch * q->batch_stride) + row * q->row_stride + column * q->column_stride;
  float x[CHUNK];
  for (int64_t i = 0; i < count; i += CHUNK) {
    int64_t n = count - i < CHUNK ? count - i : CHUNK;
    scale(q, batch, row, column + i, n, (const char *)acc + i * 4, x);
    store(q, x, n, place + i * q->column_stride);
  }
}

void requantise_init(requantise *q, dtype type) {
  static const float one = 1;
  const cycle neutral = {&one, 1, 1, 0};
  *q = (requantise){.sink.store = requantise_store, .type = type, .column_stride = 1, .row_scale = neutral,
                    .column_scale = neutral, .y_scale = 1, .bias_batches = 1};
}
