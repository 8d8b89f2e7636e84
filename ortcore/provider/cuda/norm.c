/* LayerNormalization, RMSNormalization, GroupNormalization, InstanceNormalization, and onnxruntime's fused forms: rows for one kernel. */
#include <ortcore/kernels/cuda/norm.h>
#include <ortcore/ops/params/norm.h>
#include <ortcore/provider/cuda/plugin.h>

static const tensor *input(const kernel_ctx *k, int32_t i) { return i < k->in_count ? k->in[i] : NULL; }
static void *data_of(const tensor *t) { return t ? t->data : NULL; }

/* Whatever is normalised, scaled or shifted is of one type: the kernel reads it all as the input's. */
static bool of_one_type(const node *n, const fact *const *in) {
  for (int32_t i = 1; i < n->input_count; ++i)
    if (in[i] && in[i]->type != in[0]->type) return false;
  return true;
}

static status check_count(const kernel_ctx *k, const tensor *t, const char *name, int64_t count) {
  if (!t || t->count == count) return OK;
  return ERROR(INVALID_ARGUMENT, "%s of %s has %lld elements, but %lld are needed for this shape of the input", name, k->node->op_type,
               (long long)t->count, (long long)count);
}

enum { LONGEST_ROW = 1 << 30 };

static status launch_rows(kernel_ctx *k, cuda_norm *a, stream *on) {
  const norm_params *p = k->params;
  a->type = k->in[0]->type;
  a->epsilon = p->epsilon;
  a->centre = p->centre;
  if (!a->skip) a->skip_rows = 1;
  if (a->n > LONGEST_ROW)
    return ERROR(NOT_IMPLEMENTED, "%s over %lld elements is more than the CUDA kernel can count (%d): run the node on the CPU", k->node->op_type,
                 (long long)a->n, LONGEST_ROW);
  return cuda_launched(cuda_norm_rows(a, cuda_raw(on)));
}

/* ---- LayerNormalization, RMSNormalization ---------------------------------------------------------------------------------------------------- */

/* Scale and bias have an element for each of a row, or both one for all of them. */
static status row_parameters(const kernel_ctx *k, const tensor *scale, const tensor *bias, cuda_norm *a) {
  a->scale = data_of(scale);
  a->bias = data_of(bias);
  a->period = 1;
  a->each = 1;
  if (scale->count == 1 && a->n != 1 && (!bias || bias->count == 1)) {
    a->each = a->n;
    return OK;
  }
  TRY(check_count(k, scale, "Scale", a->n));
  return check_count(k, bias, "B", a->n);
}

static status statistic(kernel_ctx *k, int32_t output, const tensor *x, int axis, float **out) {
  int64_t dims[MAX_RANK];
  tensor *t;
  for (int d = 0; d < x->rank; ++d) dims[d] = d < axis ? x->dims[d] : 1;
  *out = NULL;
  if (output >= k->out_count || !kernel_wants(k, output)) return OK;
  TRY(kernel_output(k, output, x->rank, dims, &t));
  *out = data_of(t);
  return OK;
}

static status layer_launch(kernel_ctx *k, stream *on) {
  const norm_params *p = k->params;
  const tensor *x = k->in[0];
  tensor *y;
  int axis;
  TRY(axis_normalise(p->axis, x->rank, "axis", &axis));
  TRY(kernel_output_like(k, 0, x, &y));
  cuda_norm a = {.x = x->data, .y = data_of(y), .rows = dims_product(x->dims, 0, axis), .n = dims_product(x->dims, axis, x->rank)};
  if (p->centre) TRY(statistic(k, 1, x, axis, &a.means));
  TRY(statistic(k, p->centre ? 2 : 1, x, axis, &a.inverses));
  if (!x->count || !y) return OK;
  TRY(row_parameters(k, k->in[1], input(k, 2), &a));
  return launch_rows(k, &a, on);
}

/* ---- Skip forms ------------------------------------------------------------------------------------------------------------------------------ */

static status skip_launch(kernel_ctx *k, stream *on) {
  const norm_params *p = k->params;
  const tensor *x = k->in[0], *skip = k->in[1], *beta = p->centre ? input(k, 3) : NULL, *added = input(k, p->centre ? 4 : 3);
  tensor *y, *sum = NULL;
  TRY(kernel_output_like(k, 0, x, &y));
  if (k->out_count > 3 && kernel_wants(k, 3)) TRY(kernel_output_like(k, 3, x, &sum));
  if (!x->count || !y) return OK;
  int64_t n = x->rank ? x->dims[x->rank - 1] : 1;
  if (!skip->count || x->count % skip->count || skip->count % n)
    return ERROR(INVALID_ARGUMENT, "skip has %lld elements, which do not repeat evenly over the input's %lld", (long long)skip->count,
                 (long long)x->count);
  cuda_norm a = {.x = x->data, .skip = skip->data, .added = data_of(added), .y = y->data, .sum = data_of(sum), .rows = x->count / n, .n = n,
                 .skip_rows = skip->count / n, .scale = k->in[2]->data, .bias = data_of(beta), .period = 1, .each = 1};
  TRY(check_count(k, k->in[2], "gamma", n));
  TRY(check_count(k, beta, "beta", n));
  TRY(check_count(k, added, "bias", n));
  return launch_rows(k, &a, on);
}

/* ---- InstanceNormalization, GroupNormalization: [N, C, ...] ---------------------------------------------------------------------------------- */

/* Instances are groups of one channel. Scale and bias have an element a channel, or a group (before opset 21). */
static status group_launch(kernel_ctx *k, stream *on) {
  const norm_params *p = k->params;
  const tensor *x = k->in[0], *scale = k->in[1], *bias = k->in[2];
  tensor *y;
  TRY(kernel_output_like(k, 0, x, &y));
  if (x->rank < 2) return ERROR(INVALID_ARGUMENT, "the input must have at least the dims N and C, but has rank %d", x->rank);
  int64_t channels = x->dims[1], groups = k->data ? channels : p->groups, inner = dims_product(x->dims, 2, x->rank);
  if (!x->count || !y) return OK;
  if (groups < 1 || channels % groups)
    return ERROR(INVALID_ARGUMENT, "num_groups is %lld, which must divide the input's channels (dim 1)", (long long)groups);
  cuda_norm a = {.x = x->data, .y = y->data, .scale = scale->data, .bias = bias->data, .rows = x->dims[0] * groups, .n = channels / groups * inner,
                 .period = groups};
  bool by_group = scale->count == groups && bias->count == groups;
  a.step = by_group ? 1 : channels / groups;
  a.each = by_group ? a.n : inner;
  TRY(check_count(k, scale, "scale", by_group ? groups : channels));
  TRY(check_count(k, bias, "B", by_group ? groups : channels));
  return launch_rows(k, &a, on);
}

#define LAYER(name, of_domain, first) {.op = name, .domain = of_domain, .since = first, .types = TS_FLOAT, .supports = of_one_type, .launch = layer_launch}
#define SKIP(name) \
  {.op = name, .domain = "com.microsoft", .since = 1, .types = TS(FLOAT) | TS_HALF, .supports = of_one_type, .launch = skip_launch}

KERNEL_FAMILY(norm) = {
  LAYER("LayerNormalization", NULL, 1), LAYER("SimplifiedLayerNormalization", NULL, 1), LAYER("SimplifiedLayerNormalization", "com.microsoft", 1),
  LAYER("RMSNormalization", NULL, 23),
  SKIP("SkipLayerNormalization"), SKIP("SkipSimplifiedLayerNormalization"),
  {.op = "InstanceNormalization", .since = 1, .types = TS_FLOAT, .launch = group_launch, .data = ""},
  {.op = "GroupNormalization", .since = 18, .types = TS_FLOAT, .launch = group_launch},
  {0}};
