/* LayerNormalization, RMSNormalization, InstanceNormalization, GroupNormalization, and onnxruntime's fused forms of them. */
#include <ortcore/base/threads.h>
#include <ortcore/kernels/cpu/norm.h>
#include <ortcore/ops/float_io.h>
#include <ortcore/ops/params/norm.h>
#include <string.h>

static status norm_prepare(prepare_ctx *c, void **out_params) {
  norm_params *p = *out_params = ZONE_NEW(c->memory, norm_params);
  if (!p) return status_out_of_memory();
  p->epsilon = attr_float_or(c->node, "epsilon", 1e-5f);
  p->axis = attr_int_or(c->node, "axis", -1);
  p->groups = attr_int_or(c->node, "num_groups", 1);
  p->centre = c->op->data == NULL;
  return OK;
}

typedef struct norm_work { norm_fn fn; norm_rows rows; } norm_work;

static void run_range(void *context, int64_t begin, int64_t end) {
  const norm_work *w = context;
  w->fn(&w->rows, begin, end);
}

static status run_rows(kernel_ctx *k, norm_work *w, int64_t count) {
  if (!w->fn) return ERROR(NOT_IMPLEMENTED, "%s computes in float and double only", k->node->op_type);
  parallel_for(k->threads, count, w->rows.n < 8192 ? 8192 / (w->rows.n > 0 ? w->rows.n : 1) : 1, run_range, w);
  return OK;
}

static status check_count(const kernel_ctx *k, const tensor *t, const char *name, int64_t count) {
  if (!t || t->count == count) return OK;
  return ERROR(INVALID_ARGUMENT, "%s of %s has %lld elements, but %lld are needed for this shape of the input", name, k->node->op_type, (long long)t->count, (long long)count);
}

/* ---- LayerNormalization, RMSNormalization -------------------------------------------------------------------------------------------- */

static status layer_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  int axis;
  fact_copy_shape(c->out[0], x);
  if (x->rank < 0) return OK;
  TRY(axis_normalise(attr_int_or(c->node, "axis", -1), x->rank, "axis", &axis));
  for (int32_t i = 1; i < c->out_count; ++i) {
    if (!c->out[i]) continue;
    dim dims[MAX_RANK];
    for (int d = 0; d < x->rank; ++d) dims[d] = d < axis ? x->dims[d] : 1;
    fact_set_shape(c->out[i], x->rank, dims);
  }
  return OK;
}

/* Scale or bias laid out for every element of a normalised row: broadcast of any shape that ONNX allows there. */
static status row_parameter(kernel_ctx *k, const tensor *x, int axis, const char *name, const tensor *t, const void **out) {
  *out = NULL;
  if (!t) return OK;
  int64_t n = dims_product(x->dims, axis, x->rank);
  *out = t->data;
  if (t->count == n) return OK;
  if (t->count != 1) return check_count(k, t, name, n);
  void *spread;
  size_t width = (size_t)tensor_width(t);
  TRY(kernel_scratch(k, (size_t)n * width, &spread));
  for (int64_t i = 0; i < n; ++i) memcpy((char *)spread + (size_t)i * width, t->data, width);
  *out = spread;
  return OK;
}

/* The statistics are float whatever the input; for double they are computed elsewhere and rounded. */
typedef struct statistic { tensor *out; void *data; } statistic;

static status statistic_init(kernel_ctx *k, int32_t output, const tensor *x, int axis, statistic *s) {
  int64_t dims[MAX_RANK];
  for (int d = 0; d < x->rank; ++d) dims[d] = d < axis ? x->dims[d] : 1;
  s->data = NULL;
  TRY(kernel_output(k, output, x->rank, dims, &s->out));
  if (!s->out) return OK;
  s->data = s->out->data;
  return x->type == ORTC_DOUBLE ? kernel_scratch(k, (size_t)s->out->count * sizeof(double), &s->data) : OK;
}

static void statistic_finish(const statistic *s) {
  for (int64_t i = 0; s->out && s->data != s->out->data && i < s->out->count; ++i) ((float *)s->out->data)[i] = (float)((double *)s->data)[i];
}

static status layer_run(kernel_ctx *k) {
  const norm_params *p = k->params;
  tensor copies[3], out_copy, *out, *work;
  statistic means = {0}, inverses;
  const tensor *x, *scale, *bias;
  int axis;
  TRY(axis_normalise(p->axis, k->in[0]->rank, "axis", &axis));
  TRY(kernel_output_like(k, 0, k->in[0], &out));
  if (p->centre) TRY(statistic_init(k, 1, k->in[0], axis, &means));
  TRY(statistic_init(k, p->centre ? 2 : 1, k->in[0], axis, &inverses));
  TRY(float_input(k, 0, &copies[0], &x));
  TRY(float_input(k, 1, &copies[1], &scale));
  TRY(float_input(k, 2, &copies[2], &bias));
  TRY(float_output(k, out, &out_copy, &work));
  if (!x->count) return OK;
  if (work->type != x->type) return ERROR(NOT_IMPLEMENTED, "an input of %s with a scale of %s is not supported", dtype_name(x->type), dtype_name(k->in[1]->type));
  norm_work w = {.fn = norm_for(x->type), .rows = {.x = x->data, .y = work->data, .n = dims_product(x->dims, axis, x->rank), .epsilon = p->epsilon, .centre = p->centre,
                                                   .means = means.data, .inverses = inverses.data}};
  TRY(row_parameter(k, x, axis, "Scale", scale, &w.rows.scale));
  TRY(row_parameter(k, x, axis, "B", bias, &w.rows.bias));
  TRY(run_rows(k, &w, dims_product(x->dims, 0, axis)));
  statistic_finish(&means);
  statistic_finish(&inverses);
  float_finish(out, work);
  return OK;
}

/* ---- Skip forms: the residual is added first ------------------------------------------------------------------------------------------- */

static status skip_infer(infer_ctx *c) {
  for (int32_t i = 0; i < c->out_count; ++i)
    if (c->out[i] && (i == 0 || i == 3)) fact_copy_shape(c->out[i], c->in[0]);
  return OK;
}

static status skip_run(kernel_ctx *k) {
  const norm_params *p = k->params;
  tensor copies[5], out_copy, *out, *sum_out, *work;
  const tensor *x, *skip, *gamma, *beta = NULL, *bias;
  int32_t bias_at = p->centre ? 4 : 3;
  TRY(kernel_output_like(k, 0, k->in[0], &out));
  TRY(kernel_output_like(k, 3, k->in[0], &sum_out));
  TRY(float_input(k, 0, &copies[0], &x));
  TRY(float_input(k, 1, &copies[1], &skip));
  TRY(float_input(k, 2, &copies[2], &gamma));
  if (p->centre) TRY(float_input(k, 3, &copies[3], &beta));
  TRY(float_input(k, bias_at, &copies[4], &bias));
  if (x->type != ORTC_FLOAT) return ERROR(NOT_IMPLEMENTED, "%s computes in float only", k->node->op_type);
  int64_t n = x->rank ? x->dims[x->rank - 1] : 1;
  if (skip->count > 0 && (x->count % skip->count || skip->count % (n ? n : 1)))
    return ERROR(INVALID_ARGUMENT, "skip has %lld elements, which do not repeat evenly over the input's %lld", (long long)skip->count, (long long)x->count);
  TRY(check_count(k, gamma, "gamma", n));
  TRY(check_count(k, beta, "beta", n));
  TRY(check_count(k, bias, "bias", n));
  TRY(float_output(k, out, &out_copy, &work));
  if (!x->count) return OK;
  void *sum;
  TRY(kernel_scratch(k, (size_t)x->count * sizeof(float), &sum));
  for (int64_t i = 0; i < x->count; ++i)
    ((float *)sum)[i] = ((const float *)x->data)[i] + ((const float *)skip->data)[i % skip->count] + (bias ? ((const float *)bias->data)[i % n] : 0);
  if (sum_out) {
    tensor view = *work;
    view.data = sum;
    if (sum_out->type == ORTC_FLOAT) memcpy(sum_out->data, sum, (size_t)x->count * sizeof(float));
    else float_finish(sum_out, &view);
  }
  norm_work w = {.fn = norm_for(x->type), .rows = {.x = sum, .y = work->data, .n = n, .epsilon = p->epsilon, .centre = p->centre, .scale = gamma->data,
                                                   .bias = beta ? beta->data : NULL}};
  TRY(run_rows(k, &w, x->count / (n ? n : 1)));
  float_finish(out, work);
  return OK;
}

/* ---- InstanceNormalization, GroupNormalization: [N, C, ...] ---------------------------------------------------------------------------- */

/* As floats where they are halves; `work` is the output, or stands for it until float_finish(). */
typedef struct channel_operands {
  const tensor *x, *scale, *bias;
  tensor *out, *work, copies[4];
} channel_operands;

static status channel_operands_get(kernel_ctx *k, channel_operands *c) {
  TRY(kernel_output_like(k, 0, k->in[0], &c->out));
  TRY(float_input(k, 0, &c->copies[0], &c->x));
  TRY(float_input(k, 1, &c->copies[1], &c->scale));
  TRY(float_input(k, 2, &c->copies[2], &c->bias));
  if (c->x->rank < 2) return ERROR(INVALID_ARGUMENT, "the input must have at least the dims N and C, but has rank %d", c->x->rank);
  return float_output(k, c->out, &c->copies[3], &c->work);
}

static status instance_run(kernel_ctx *k) {
  const norm_params *p = k->params;
  channel_operands c;
  TRY(channel_operands_get(k, &c));
  const tensor *x = c.x;
  TRY(check_count(k, c.scale, "scale", x->dims[1]));
  TRY(check_count(k, c.bias, "B", x->dims[1]));
  if (!x->count) return OK;
  norm_work w = {.fn = norm_for(x->type), .rows = {.x = x->data, .y = c.work->data, .n = dims_product(x->dims, 2, x->rank), .per_row = x->dims[1],
                                                   .epsilon = p->epsilon, .centre = true, .scale = c.scale->data, .bias = c.bias->data}};
  TRY(run_rows(k, &w, x->dims[0] * x->dims[1]));
  float_finish(c.out, c.work);
  return OK;
}

/* Scale and bias have an element a channel, or a group (before opset 21): spread over the channels. */
static status per_channel(kernel_ctx *k, const tensor *t, const char *name, int64_t channels, int64_t groups, const void **out) {
  *out = t->data;
  if (t->count == channels) return OK;
  TRY(check_count(k, t, name, groups));
  size_t width = (size_t)tensor_width(t);
  void *spread;
  TRY(kernel_scratch(k, (size_t)channels * width, &spread));
  for (int64_t c = 0; c < channels; ++c) memcpy((char *)spread + (size_t)c * width, (const char *)t->data + (size_t)(c / (channels / groups)) * width, width);
  *out = spread;
  return OK;
}

static status group_run(kernel_ctx *k) {
  const norm_params *p = k->params;
  channel_operands c;
  TRY(channel_operands_get(k, &c));
  const tensor *x = c.x;
  if (p->groups < 1 || x->dims[1] % p->groups)
    return ERROR(INVALID_ARGUMENT, "num_groups is %lld, which must divide the input's channels (dim 1)", (long long)p->groups);
  if (!x->count) return OK;
  channel_affine a = {.x = c.work->data, .y = c.work->data, .batch = x->dims[0], .channels = x->dims[1], .inner = dims_product(x->dims, 2, x->rank)};
  TRY(per_channel(k, c.scale, "scale", x->dims[1], p->groups, &a.factor));
  TRY(per_channel(k, c.bias, "bias", x->dims[1], p->groups, &a.offset));
  norm_work w = {.fn = norm_for(x->type), .rows = {.x = x->data, .y = c.work->data, .n = x->dims[1] / p->groups * a.inner, .epsilon = p->epsilon, .centre = true}};
  TRY(run_rows(k, &w, x->dims[0] * p->groups));
  affine_channels(&a, x->type, k->threads);
  float_finish(c.out, c.work);
  return OK;
}

#define LAYER(op_name, op_domain, since_version, op_signature, rms) \
  {.name = op_name, .domain = op_domain, .since = since_version, .signature = op_signature, .T = TS_FLOAT, .T1 = TS_FLOAT, .infer = layer_infer, .prepare = norm_prepare, \
   .run = layer_run, .data = rms}
#define STATISTICS " -> Y:T Mean:f32? InvStdDev:f32?"

OP_FAMILY(norm) = {
  LAYER("LayerNormalization", NULL, 1, "X:T Scale:T B:T?" STATISTICS, NULL),
  LAYER("SimplifiedLayerNormalization", NULL, 1, "X:T scale:T" " -> Y:T inv_std_var:f32?", ""),
  LAYER("SimplifiedLayerNormalization", "com.microsoft", 1, "X:T scale:T" " -> Y:T inv_std_var:f32?", ""),
  LAYER("RMSNormalization", NULL, 23, "X:T scale:T1 -> Y:T1", ""),
  {.name = "SkipLayerNormalization", .domain = "com.microsoft", .since = 1, .signature = "input:T skip:T gamma:T beta:T? bias:T? -> output:T mean:f32? inv_std_var:f32? sum:T?",
   .T = TS(FLOAT) | TS_HALF, .infer = skip_infer, .prepare = norm_prepare, .run = skip_run},
  {.name = "SkipSimplifiedLayerNormalization", .domain = "com.microsoft", .since = 1, .signature = "input:T skip:T gamma:T bias:T? -> output:T mean:f32? inv_std_var:f32? sum:T?",
   .T = TS(FLOAT) | TS_HALF, .infer = skip_infer, .prepare = norm_prepare, .run = skip_run, .data = ""},
  {.name = "InstanceNormalization", .since = 1, .signature = "input:T scale:T B:T -> output:T", .T = TS_FLOAT, .prepare = norm_prepare, .run = instance_run},
  {.name = "GroupNormalization", .since = 18, .signature = "X:T scale:T bias:T -> Y:T", .T = TS_FLOAT, .prepare = norm_prepare, .run = group_run},
  {0}};
