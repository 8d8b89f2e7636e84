/* BatchNormalization as inference uses it: one factor and one offset a channel, folded from its four parameters. */
#include <math.h>
#include <ortcore/kernels/cpu/norm.h>
#include <ortcore/ops/float_io.h>
#include <ortcore/ops/params/norm.h>

static status batchnorm_prepare(prepare_ctx *c, void **out_params) {
  batchnorm_params *p = *out_params = ZONE_NEW(c->memory, batchnorm_params);
  if (!p) return status_out_of_memory();
  p->epsilon = attr_float_or(c->node, "epsilon", 1e-5f);
  if (attr_int_or(c->node, "training_mode", 0)) return ERROR(NOT_IMPLEMENTED, "training_mode is 1, but only inference is supported");
  return OK;
}

static status batchnorm_infer(infer_ctx *c) {
  fact_copy_shape(c->out[0], c->in[0]);
  return OK;
}

/* Parameters may be of another float type than the input: they are read as double. */
static double parameter(const tensor *t, int64_t i) { return t->type == ORTC_DOUBLE ? ((const double *)t->data)[i] : ((const float *)t->data)[i]; }

static status batchnorm_run(kernel_ctx *k) {
  const batchnorm_params *p = k->params;
  static const char *const names[] = {"X", "scale", "B", "mean", "var"};
  tensor copies[5], out_copy, *out, *work;
  const tensor *in[5];
  TRY(kernel_output_like(k, 0, k->in[0], &out));
  for (int i = 0; i < 5; ++i) TRY(float_input(k, i, &copies[i], &in[i]));
  const tensor *x = in[0];
  if (x->rank < 1) return ERROR(INVALID_ARGUMENT, "the input must have a batch dim, but is a scalar");
  int64_t channels = x->rank > 1 ? x->dims[1] : 1, width = x->type == ORTC_DOUBLE ? 8 : 4;
  for (int i = 1; i < 5; ++i)
    if (in[i]->count != channels)
      return ERROR(INVALID_ARGUMENT, "'%s' has %lld elements, but the input has %lld channels", names[i], (long long)in[i]->count, (long long)channels);
  void *factor, *offset;
  TRY(kernel_scratch(k, (size_t)(channels * width), &factor));
  TRY(kernel_scratch(k, (size_t)(channels * width), &offset));
  for (int64_t c = 0; c < channels; ++c) {
    double f = parameter(in[1], c) / sqrt(parameter(in[4], c) + p->epsilon), o = parameter(in[2], c) - parameter(in[3], c) * f;
    if (width == 8) ((double *)factor)[c] = f, ((double *)offset)[c] = o;
    else ((float *)factor)[c] = (float)f, ((float *)offset)[c] = (float)o;
  }
  TRY(float_output(k, out, &out_copy, &work));
  if (!x->count) return OK;
  channel_affine a = {.x = x->data, .y = work->data, .factor = factor, .offset = offset, .batch = x->dims[0], .channels = channels,
                      .inner = x->rank > 2 ? dims_product(x->dims, 2, x->rank) : 1};
  affine_channels(&a, x->type, k->threads);
  float_finish(out, work);
  return OK;
}

#define BATCHNORM(since_version, outputs) \
  {.name = "BatchNormalization", .since = since_version, .signature = "X:T scale:T1 B:T1 mean:T2 var:T2 -> " outputs, .T = TS_FLOAT, .T1 = TS_FLOAT, .T2 = TS_FLOAT, \
   .inplace = 1, .infer = batchnorm_infer, .prepare = batchnorm_prepare, .run = batchnorm_run}

OP_FAMILY(batchnorm) = {
  BATCHNORM(1, "Y:T mean_out:T2? var_out:T2? saved_mean:T2? saved_var:T2?"),
  BATCHNORM(14, "Y:T running_mean:T2? running_var:T2?"),
  {0}};
