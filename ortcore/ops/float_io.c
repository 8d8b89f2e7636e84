#include <ortcore/base/half.h>
#include <ortcore/ops/float_io.h>

status float_input(kernel_ctx *k, int32_t i, tensor *copy, const tensor **out) {
  const tensor *t = *out = i < k->in_count ? k->in[i] : NULL;
  if (!t || !is_half(t->type)) return OK;
  *copy = *t;
  copy->type = ORTC_FLOAT;
  TRY(kernel_scratch(k, (size_t)t->count * sizeof(float), &copy->data));
  if (t->type == ORTC_FLOAT16) f16_to_f32_n(t->data, copy->data, (size_t)t->count);
  else bf16_to_f32_n(t->data, copy->data, (size_t)t->count);
  *out = copy;
  return OK;
}

status float_output(kernel_ctx *k, tensor *out, tensor *copy, tensor **work) {
  *work = out;
  if (!out || !is_half(out->type)) return OK;
  *copy = *out;
  copy->type = ORTC_FLOAT;
  *work = copy;
  return kernel_scratch(k, (size_t)out->count * sizeof(float), &copy->data);
}

void float_finish(tensor *out, const tensor *work) {
  if (!out || out == work) return;
  if (out->type == ORTC_FLOAT16) f32_to_f16_n(work->data, out->data, (size_t)out->count);
  else f32_to_bf16_n(work->data, out->data, (size_t)out->count);
}
