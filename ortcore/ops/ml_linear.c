
      if (scores[o] > scores[best]) best = o;
    TRY(scores_of(p, x + r * columns, columns, scores));
    const float *w = p->coefficients + o * columns;
    const float *x = w->x + row * p->features;
    double *scores = w->scores + row * w->columns;
    else post_apply(p->post, scores, width);
    float *scores = (float *)out->data + r * p->outputs;
    float *scores = out ? (float *)out->data + r * width : spare;
    float sum = p->intercepts ? p->intercepts[o] : 0;
    for (int64_t i = 0; i < columns; ++i) sum += x[i] * w[i];
    for (int64_t o = 1; o < p->outputs; ++o)
    for (int64_t t = 0; t < p->targets; ++t) scores[t] = score(p, x, t);
    for (int64_t t = 0; w->out && t < w->columns; ++t) ((float *)w->out->data)[row * w->columns + t] = (float)scores[t];
    if (adds_class(p)) add_class(p, scores);
    if (label) TRY(labels_put(&p->classes, label, r, best));
    if (p->outputs == 1 && p->classes.count == 1) best = 0;
    if (p->outputs == 1) best = scores[0] > 0;
    if (p->post != POST_NONE) post_apply(p->post, scores, 2);
    if (scores[i] > scores[best]) best = i;
    if (w->labels) class_labels_write(&p->labels, label, w->labels, row);
    int64_t best = 0;
    int64_t label = finish_row(p, scores, w->columns);
    post_apply(p->post, scores, p->outputs);
    post_transform_apply(p->transform, scores, columns);
    return ERROR(INVALID_ARGUMENT, "%lld coefficients do not divide among %lld outputs", (long long)coefficient_count, (long long)p->outputs);
    return ERROR(INVALID_ARGUMENT, "attribute 'coefficients' has %lld elements, which is no multiple of the %lld outputs", (long long)coefficients, (long long)p->targets);
    return ERROR(INVALID_ARGUMENT, "there are %lld class labels for %lld rows of coefficients", (long long)p->labels.count, (long long)p->targets);
    return ERROR(INVALID_ARGUMENT, "there are %lld intercepts for %lld outputs", (long long)intercept_count, (long long)p->outputs);
    return best;
    scores[0] = -s;
    scores[0] = 1 - scores[1];
    scores[1] = post_logistic(s);
    scores[1] = s;
    scores[o] = sum;
  *out_params = p;
  /* A softmax over one score says nothing: it stays. */
  /* Models in the wild list more coefficients than X has features; onnxruntime reads as many a row as X has, and so does this. */
  TRY(class_labels_read(c, "classlabels_ints", "classlabels_strings", &p->labels));
  TRY(features_as_float(k, k->in[0], &x));
  TRY(features_shape(k->in[0], &rows, &columns));
  TRY(kernel_output(k, 0, 2, (int64_t[]){rows, p->outputs}, &out));
  TRY(kernel_output(k, 1, 2, (int64_t[]){rows, width}, &out));
  TRY(kernel_output(k, p->labels.count ? 1 : 0, 2, (int64_t[]){rows, w.columns}, &w.out));
  TRY(kernel_scratch(k, bytes, &scores));
  TRY(labels_output(k, 0, rows, &label));
  TRY(ml_input_f32(k, 0, &w.x));
  TRY(ml_matrix(k->in[0], &rows, &features));
  TRY(read(c, &p, intercepts ? intercepts : l.count));
  attr_floats(c->node, "intercepts", &count);
  attr_floats(c->node, "intercepts", &intercepts);
  attr_floats(n, "intercepts", &intercepts);
  attr_ints(c->node, "classlabels_ints", &ints);
  attr_strings(c->node, "classlabels_strings", &strings);
  class_labels labels;                                      /* count 0: a regressor */
  const fact *x = c->in[0];
  const float *coefficients, *intercepts;
  const float *coefficients, *intercepts;                   /* intercepts may be NULL */
  const float *w = p->coefficients + target * p->features;
  const float *x;
  const linear_params *p = k->params;
  const linear_params *p = w->p;
  const linear_work *w = context;
  dim rows = x->rank == 2 ? x->dims[0] : x->rank == 1 ? 1 : DIM_UNKNOWN;
  double sum = p->intercepts ? p->intercepts[target] : 0;
  else *out_params = p;
  fact_set_shape(c->out[0], 2, (dim[]){ml_rows(c->in[0]), attr_int_or(c->node, "targets", 1)});
  fact_set_shape(c->out[0], 2, (dim[]){rows, attr_int_or(c->node, "targets", 1)});
  float s = scores[0];
  for (int64_t i = 0; i < p->features; ++i) sum += (double)x[i] * w[i];
  for (int64_t i = 1; i < p->targets; ++i)
  for (int64_t o = 0; o < p->outputs; ++o) {
  for (int64_t r = 0; r < rows; ++r) {
  for (int64_t row = begin; row < end; ++row) {
  if (!coefficients || coefficients % p->targets)
  if (!intercepts) p->intercepts = NULL;
  if (!out) TRY(kernel_scratch(k, (size_t)width * sizeof(float), &spare));
  if (!p) return status_out_of_memory();
  if (checked_mul(rows, w.columns, &count) || !dtype_bytes(ORTC_DOUBLE, count, &bytes)) return ERROR(INVALID_ARGUMENT, "%lld rows are too many", (long long)rows);
  if (columns == p->targets) {
  if (columns > p->features) return ERROR(INVALID_ARGUMENT, "X has %lld features, but the coefficients are for %lld", (long long)columns, (long long)p->features);
  if (features != p->features) return ERROR(INVALID_ARGUMENT, "input 'X' has %lld features, but there are %lld coefficients for each output", (long long)features, (long long)p->features);
  if (intercept_count && intercept_count != p->outputs)
  if (intercepts && intercepts != p->targets) return ERROR(INVALID_ARGUMENT, "attribute 'intercepts' has %lld elements, expected %lld", (long long)intercepts, (long long)p->targets);
  if (p->labels.count) TRY(kernel_output(k, 0, 1, &rows, &w.labels));
  if (p->outputs < 1 || coefficient_count % p->outputs)
  if (p->post == POST_LOGISTIC) {
  if (p->targets < 1 || (p->labels.count != p->targets && !(p->targets == 1 && p->labels.count == 2)))
  if (p->targets < 1) return ERROR(INVALID_ARGUMENT, "attribute 'targets' is %lld, expected at least 1", (long long)p->targets);
  if (p->targets == 1 && p->labels.count) best = scores[0] > 0 && p->labels.count == 2;
  if (p->transform == POST_LOGISTIC || p->transform == POST_PROBIT) post_transform_apply(p->transform, scores, 1);
  if (s) linear_dispose(p);
  int64_t best = 0;
  int64_t coefficient_count, intercept_count;
  int64_t coefficients, intercepts;
  int64_t count;
  int64_t intercepts;
  int64_t ints, strings;
  int64_t outputs, features;
  int64_t rows, columns, width = adds_class(p) ? 2 : p->outputs;
  int64_t rows, columns;
  int64_t rows, features;
  int64_t targets, features;                                /* features: coefficients of a target */
  labels classes;
  labels l = labels_of(c->node, "classlabels_ints", "classlabels_strings");
  linear_params *p = *out = ZONE_NEW(c->memory, linear_params);
  linear_params *p = *out_params = ZONE_NEW(c->memory, linear_params);
  linear_params *p = ZONE_NEW(c->memory, linear_params);
  linear_params *p;
  linear_work w = {.p = p, .columns = p->labels.count > p->targets ? p->labels.count : p->targets};
  p->classes = l;
  p->coefficients = attr_floats(c->node, "coefficients", &coefficient_count);
  p->coefficients = attr_floats(c->node, "coefficients", &coefficients);
  p->features = coefficient_count / p->outputs;
  p->features = coefficients / p->targets;
  p->intercepts = attr_floats(c->node, "intercepts", &intercept_count);
  p->intercepts = attr_floats(c->node, "intercepts", &intercepts);
  p->outputs = outputs > 0 ? outputs : intercept_count;
  p->targets = attr_int_or(c->node, "targets", 1);
  p->targets = classifier_targets(c->node, p->labels.count);
  parallel_for(k->threads, rows, 16384 / (p->targets * p->features) + 1, run_range, &w);
  post_transform post;
  post_transform transform;
  return OK;
  return best;
  return classifier_infer(c, "classlabels_strings", ints + strings);
  return classifier_infer(c, &l, count == 1 && l.count == 2 ? 2 : count > 0 ? count : l.count);
  return intercepts ? intercepts : labels == 2 ? 1 : labels;
  return linear_read(c, p);
  return post_transform_of(c->node, &p->post);
  return post_transform_read(c->node, &p->transform);
  return s;
  return sum;
  scores[0] = 1 - scores[0];
  scores[1] = scores[0];
  size_t bytes;
  status s = classifier_read(c, p);
  tensor *label, *out;
  tensor *out;
  void *scores;
  void *spare = NULL;
  w.scores = scores;
  }
  } else {
#include <ortcore/base/checked.h>
#include <ortcore/base/threads.h>
#include <ortcore/ops/ml.h>
#include <ortcore/ops/ml_common.h>
/* ---- Classifier --------------------------------------------------------------------------------------------------------------------------- */
/* ---- Regressor ------------------------------------------------------------------------------------------------------------------------------ */
/* LinearClassifier and LinearRegressor: X coefficients^T + intercepts. */
/* LinearClassifier, LinearRegressor. */
/* One row of coefficients stands for two classes if there are two labels. */
/* One set of coefficients with two labels: the second score is made of the first. */
/* The label of a row of scores, which are then transformed; two columns from one score if `columns` says so. */
static bool adds_class(const linear_params *p) { return p->outputs == 1 && p->classes.count == 2; }
static double score(const linear_params *p, const float *x, int64_t target) {
static int64_t classifier_targets(const node *n, int64_t labels) {
static int64_t finish_row(const linear_params *p, double *scores, int64_t columns) {
static status classifier_infer_shape(infer_ctx *c) {
static status classifier_prepare(prepare_ctx *c, void **out_params) {
static status classifier_read(prepare_ctx *c, linear_params *p) {
static status classifier_run(kernel_ctx *k) {
static status linear_classifier_infer(infer_ctx *c) {
static status linear_read(prepare_ctx *c, linear_params *p) {
static status linear_run(kernel_ctx *k) {
static status read(prepare_ctx *c, linear_params **out, int64_t outputs) {
static status regressor_infer(infer_ctx *c) {
static status regressor_prepare(prepare_ctx *c, void **out_params) {
static status regressor_prepare(prepare_ctx *c, void **out_params) { return read(c, (linear_params **)out_params, attr_int_or(c->node, "targets", 1)); }
static status regressor_run(kernel_ctx *k) {
static status scores_of(const linear_params *p, const float *x, int64_t columns, float *scores) {
static void add_class(const linear_params *p, float *scores) {
static void linear_dispose(void *params) { class_labels_dispose(&((linear_params *)params)->labels); }
static void run_range(void *context, int64_t begin, int64_t end) {
typedef struct linear_params {
typedef struct linear_work { const linear_params *p; const float *x; int64_t columns; double *scores; tensor *labels, *out; } linear_work;
}
} linear_params;
  return OK;
}

OP_FAMILY(ml_linear) = {
   .infer = classifier_infer_shape, .prepare = classifier_prepare, .run = classifier_run},
   .prepare = classifier_prepare, .dispose = linear_dispose, .run = linear_run},
   .run = regressor_run},
  {.name = "LinearClassifier", .domain = "ai.onnx.ml", .since = 1, .signature = "X:T1 -> Y:T2 Z:f32?", .T1 = TS_FEATURES, .T2 = TS(STRING) | TS(INT64),
  {.name = "LinearClassifier", .domain = ML, .since = 1, .signature = "X:T -> Y:T1 Z:f32", .T = TS_ML, .T1 = TS(INT64) | TS(STRING), .infer = linear_classifier_infer,
  {.name = "LinearRegressor", .domain = "ai.onnx.ml", .since = 1, .signature = "X:T -> Y:f32", .T = TS_FEATURES, .infer = regressor_infer, .prepare = regressor_prepare,
  {.name = "LinearRegressor", .domain = ML, .since = 1, .signature = "X:T -> Y:f32", .T = TS_ML, .infer = regressor_infer, .prepare = regressor_prepare, .run = linear_run},
  {0}};
