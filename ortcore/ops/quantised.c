#include "quantised.h"

#include <ortcore/base/half.h>
#include <string.h>

status quantised_cycle(const tensor *t, const quantised_side *side, int64_t *period, int64_t *repeat, int64_t *batch_stride) {
  char shape[DIMS_TEXT];
  *period = *repeat = 1, *batch_stride = 0;
  if (!t || t->count == 1) return OK;
  if (t->count == side->outers) {
    *period = side->outers;
    return OK;
  }
  if (t->count == side->outers * side->batches) {
    if (side->folded) *period = t->count;
    else *period = side->outers, *repeat = side->batches, *batch_stride = side->outers;
    return OK;
  }
  return ERROR(INVALID_ARGUMENT, "input '%s' has shape %s; it must hold one number or one for each of %lld rows, columns or channels", side->what,
               dims_format(shape, sizeof shape, t->rank, t->dims), (long long)side->outers);
}

static float scale_at(const tensor *t, int64_t i) {
  switch (t->type) {
    case ORTC_FLOAT16: return f16_to_f32(((const f16 *)t->data)[i]);
    case ORTC_BFLOAT16: return bf16_to_f32(((const bf16 *)t->data)[i]);
    default: return ((const float *)t->data)[i];
  }
}

status quantised_scale(kernel_ctx *k, const tensor *t, const quantised_side *side, cycle *out) {
  static const float one = 1;
  TRY(quantised_cycle(t, side, &out->period, &out->batches, &out->batch_stride));
  out->data = &one;
  if (!t) return OK;
  out->data = t->data;
  if (t->type == ORTC_FLOAT) return OK;
  void *memory;
  TRY(kernel_scratch(k, (size_t)t->count * sizeof(float), &memory));
  for (int64_t i = 0; i < t->count; ++i) ((float *)memory)[i] = scale_at(t, i);
  out->data = memory;
  return OK;
}

status quantised_zero_points(const tensor *t, const quantised_side *side, gemm_matrix *m) {
  if (!t) return OK;
  m->zero_points = t->data;
  return quantised_cycle(t, side, &m->zero_point_period, &m->zero_point_batches, &m->zero_point_batch_stride);
}

status quantised_scalar_scale(const tensor *t, const char *what, float *out) {
  *out = 1;
  if (!t) return OK;
  if (t->count != 1) return ERROR(INVALID_ARGUMENT, "input '%s' has %lld elements; it must hold one number", what, (long long)t->count);
  *out = scale_at(t, 0);
  return OK;
}

status quantised_scalar_zero_point(const tensor *t, const char *what, int32_t *out) {
  *out = 0;
  if (!t) return OK;
  if (t->count != 1) return ERROR(INVALID_ARGUMENT, "input '%s' has %lld elements; it must hold one number", what, (long long)t->count);
  *out = t->type == ORTC_INT8 ? *(const int8_t *)t->data : t->type == ORTC_UINT8 ? *(const uint8_t *)t->data : 0;
  return OK;
}
