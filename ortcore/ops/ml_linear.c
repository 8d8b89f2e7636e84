/* LinearClassifier and LinearRegressor: X coefficients^T + intercepts. */
#include <ortcore/ops/ml_params.h>

static status read(prepare_ctx *c, linear_params **out, int64_t outputs) {
  linear_params *p = *out = ZONE_NEW(c->memory, linear_params);
  if (!p) return status_out_of_memory();
  int64_t coefficient_count, intercept_count;
  p->coefficients = attr_floats(c->node, "coefficients", &coefficient_count);
  p->intercepts = attr_floats(c->node, "intercepts", &intercept_count);
  p->outputs = outputs > 0 ? outputs : intercept_count;
  if (p->outputs < 1 || coefficient_count % p->outputs)
    return ERROR(INVALID_ARGUMENT, "%lld coefficients do not divide among %lld outputs", (long long)coefficient_count, (long long)p->outputs);
  if (intercept_count && intercept_count != p->outputs)
    return ERROR(INVALID_ARGUMENT, "there are %lld intercepts for %lld outputs", (long long)intercept_count, (long long)p->outputs);
  p->features = coefficient_count / p->outputs;
  return post_transform_of(c->node, &p->post);
}

/* Models in the wild list more coefficients than X has features; onnxruntime reads as many a row as X has, and so does this. */
static status check_columns(const linear_params *p, int64_t columns) {
  if (columns <= p->features) return OK;
  return ERROR(INVALID_ARGUMENT, "X has %lld features, but the coefficients are for %lld", (long long)columns, (long long)p->features);
}

static void scores_of(const linear_params *p, const float *x, int64_t columns, float *scores) {
  for (int64_t o = 0; o < p->outputs; ++o) {
    const float *w = p->coefficients + o * columns;
    float sum = p->intercepts ? p->intercepts[o] : 0;
    for (int64_t i = 0; i < columns; ++i) sum += x[i] * w[i];
    scores[o] = sum;
  }
}

/* ---- Classifier --------------------------------------------------------------------------------------------------------------------------- */

static status classifier_infer_shape(infer_ctx *c) {
  labels l = labels_of(c->node, "classlabels_ints", "classlabels_strings");
  int64_t count;
  attr_floats(c->node, "intercepts", &count);
  return classifier_infer(c, &l, count == 1 && l.count == 2 ? 2 : count > 0 ? count : l.count);
}

static status classifier_prepare(prepare_ctx *c, void **out_params) {
  labels l = labels_of(c->node, "classlabels_ints", "classlabels_strings");
  linear_params *p;
  int64_t intercepts;
  attr_floats(c->node, "intercepts", &intercepts);
  TRY(read(c, &p, intercepts ? intercepts : l.count));
  p->classes = l;
  *out_params = p;
  return OK;
}

static void add_class(const linear_params *p, float *scores) {
  float s = scores[0];
  if (p->post == POST_LOGISTIC) {
    scores[1] = post_logistic(s);
    scores[0] = 1 - scores[1];
  } else {
    scores[1] = s;
    scores[0] = -s;
    if (p->post != POST_NONE) post_apply(p->post, scores, 2);
  }
}

static status classifier_run(kernel_ctx *k) {
  const linear_params *p = k->params;
  int64_t rows, columns, width = linear_adds_class(p) ? 2 : p->outputs;
  tensor *label, *out;
  const float *x;
  TRY(features_shape(k->in[0], &rows, &columns));
  TRY(check_columns(p, columns));
  TRY(features_as_float(k, k->in[0], &x));
  TRY(labels_output(k, 0, rows, &label));
  TRY(kernel_output(k, 1, 2, (int64_t[]){rows, width}, &out));
  void *spare = NULL;
  if (!out) TRY(kernel_scratch(k, (size_t)width * sizeof(float), &spare));
  for (int64_t r = 0; r < rows; ++r) {
    float *scores = out ? (float *)out->data + r * width : spare;
    scores_of(p, x + r * columns, columns, scores);
    int64_t best = 0;
    if (p->outputs == 1) best = scores[0] > 0;
    for (int64_t o = 1; o < p->outputs; ++o)
      if (scores[o] > scores[best]) best = o;
    if (p->outputs == 1 && p->classes.count == 1) best = 0;
    if (label) TRY(labels_put(&p->classes, label, r, best));
    if (linear_adds_class(p)) add_class(p, scores);
    else post_apply(p->post, scores, width);
  }
  return OK;
}

/* ---- Regressor ------------------------------------------------------------------------------------------------------------------------------ */

static status regressor_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  dim rows = x->rank == 2 ? x->dims[0] : x->rank == 1 ? 1 : DIM_UNKNOWN;
  fact_set_shape(c->out[0], 2, (dim[]){rows, attr_int_or(c->node, "targets", 1)});
  return OK;
}

static status regressor_prepare(prepare_ctx *c, void **out_params) { return read(c, (linear_params **)out_params, attr_int_or(c->node, "targets", 1)); }

static status regressor_run(kernel_ctx *k) {
  const linear_params *p = k->params;
  int64_t rows, columns;
  tensor *out;
  const float *x;
  TRY(features_shape(k->in[0], &rows, &columns));
  TRY(check_columns(p, columns));
  TRY(features_as_float(k, k->in[0], &x));
  TRY(kernel_output(k, 0, 2, (int64_t[]){rows, p->outputs}, &out));
  for (int64_t r = 0; r < rows; ++r) {
    float *scores = (float *)out->data + r * p->outputs;
    scores_of(p, x + r * columns, columns, scores);
    post_apply(p->post, scores, p->outputs);
  }
  return OK;
}

OP_FAMILY(ml_linear) = {
  {.name = "LinearClassifier", .domain = "ai.onnx.ml", .since = 1, .signature = "X:T1 -> Y:T2 Z:f32?", .T1 = TS_FEATURES, .T2 = TS(STRING) | TS(INT64),
   .infer = classifier_infer_shape, .prepare = classifier_prepare, .run = classifier_run},
  {.name = "LinearRegressor", .domain = "ai.onnx.ml", .since = 1, .signature = "X:T -> Y:f32", .T = TS_FEATURES, .infer = regressor_infer, .prepare = regressor_prepare,
   .run = regressor_run},
  {0}};
