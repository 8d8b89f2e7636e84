/* TreeEnsembleClassifier, TreeEnsembleRegressor, TreeEnsemble. */
#include <ortcore/base/threads.h>
#include <ortcore/ops/ml_trees.h>

static status read_aggregate(const node *n, tree_aggregate *out) {
  static const char *const names[] = {"SUM", "AVERAGE", "MIN", "MAX"};
  text given = attr_string_or(n, "aggregate_function", "SUM");
  for (int i = 0; i < 4; ++i)
    if (!strcmp(given.data, names[i])) {
      *out = (tree_aggregate)i;
      return OK;
    }
  return ERROR(INVALID_ARGUMENT, "aggregate_function is '%s', but must be SUM, AVERAGE, MIN or MAX", given.data);
}

/* base_values, or base_values_as_tensor in double. */
static status read_bases(prepare_ctx *c, tree_params *p) {
  p->bases = attr_floats(c->node, "base_values", &p->base_count);
  const tensor *wide;
  TRY(features_of_attr(c->node, "base_values_as_tensor", &wide));
  if (p->base_count || !wide) return OK;
  float *bases = ZONE_ARRAY(c->memory, wide->count + 1, float);
  if (!bases) return status_out_of_memory();
  for (int64_t i = 0; i < wide->count; ++i) bases[i] = (float)feature_at(wide, i);
  p->bases = bases;
  p->base_count = wide->count;
  return OK;
}

/* ---- Scoring rows on several threads -------------------------------------------------------------------------------------------------------- */

typedef struct scoring {
  const tree_params *p;
  const tensor *x;
  const float *floats;                                       /* x as float, unless it is double */
  int64_t columns;
  status (*finish)(const struct scoring *s, int64_t row, float *scores, bool *seen);
  tensor *labels, *out;
  float *scores;                                             /* targets a row, scratch */
  double *wide;
  bool *seen;
  _Atomic(status) failure;
} scoring;

static void score_rows(void *context, int64_t begin, int64_t end) {
  scoring *s = context;
  int64_t n = s->p->t.targets;
  for (int64_t r = begin; r < end; ++r) {
    float *scores = s->scores + r * n;
    bool *seen = s->seen + r * n;
    if (s->x->type == ORTC_DOUBLE) {
      double *wide = s->wide + r * n;
      trees_score_f64(&s->p->t, s->p->how, (const double *)s->x->data + r * s->columns, wide, seen);
      for (int64_t i = 0; i < n; ++i) scores[i] = (float)wide[i];
    } else {
      trees_score_f32(&s->p->t, s->p->how, s->floats + r * s->columns, scores, seen);
    }
    status failed = s->finish(s, r, scores, seen), none = NULL;
    if (failed && !__atomic_compare_exchange_n((status *)&s->failure, &none, failed, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) ortc_status_release(failed);
  }
}

static status score(kernel_ctx *k, scoring *s, int64_t rows) {
  const trees *t = &s->p->t;
  void *scores, *seen, *wide = NULL;
  if (t->root_count && s->columns <= t->max_feature)
    return ERROR(INVALID_ARGUMENT, "X has %lld features, but the trees ask for feature %d", (long long)s->columns, t->max_feature);
  if (s->x->type != ORTC_DOUBLE) TRY(features_as_float(k, s->x, &s->floats));
  else TRY(kernel_scratch(k, (size_t)(rows * t->targets) * sizeof(double), &wide));
  TRY(kernel_scratch(k, (size_t)(rows * t->targets) * sizeof(float), &scores));
  TRY(kernel_scratch(k, (size_t)(rows * t->targets), &seen));
  s->scores = scores;
  s->seen = seen;
  s->wide = wide;
  int64_t work = t->root_count * 64 + 1;                     /* about the steps of one row */
  parallel_for(k->threads, rows, work < 20000 ? 20000 / work + 1 : 1, score_rows, s);
  return s->failure;
}

/* ---- Regressor ------------------------------------------------------------------------------------------------------------------------------ */

static status targets_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  dim rows = x->rank == 2 ? x->dims[0] : x->rank == 1 ? 1 : DIM_UNKNOWN;
  fact_set_shape(c->out[0], 2, (dim[]){rows, attr_int_or(c->node, "n_targets", 1)});
  return OK;
}

static status regressor_prepare(prepare_ctx *c, void **out_params) {
  tree_params *p = *out_params = ZONE_NEW(c->memory, tree_params);
  if (!p) return status_out_of_memory();
  int64_t targets = attr_int_or(c->node, "n_targets", 1);
  if (targets < 1) return ERROR(INVALID_ARGUMENT, "n_targets is %lld, but must be at least 1", (long long)targets);
  TRY(read_aggregate(c->node, &p->how));
  TRY(post_transform_of(c->node, &p->post));
  TRY(read_bases(c, p));
  if (p->base_count && p->base_count != 1 && p->base_count != targets)
    return ERROR(INVALID_ARGUMENT, "base_values has %lld elements for %lld targets", (long long)p->base_count, (long long)targets);
  return trees_read_named(c, "target_", targets, &p->t);
}

static status finish_targets(const scoring *s, int64_t row, float *scores, bool *seen) {
  const tree_params *p = s->p;
  (void)seen;
  for (int64_t i = 0; i < p->t.targets; ++i)
    if (p->base_count) scores[i] += p->bases[p->base_count == 1 ? 0 : i];
  post_apply(p->post, scores, p->t.targets);
  if (s->out->type == ORTC_DOUBLE)
    for (int64_t i = 0; i < p->t.targets; ++i) ((double *)s->out->data)[row * p->t.targets + i] = p->post == POST_NONE ? s->wide[row * p->t.targets + i] : (double)scores[i];
  else memcpy((float *)s->out->data + row * p->t.targets, scores, (size_t)p->t.targets * sizeof(float));
  return OK;
}

static status targets_run(kernel_ctx *k) {
  const tree_params *p = k->params;
  scoring s = {.p = p, .x = k->in[0], .finish = finish_targets};
  int64_t rows;
  TRY(features_shape(s.x, &rows, &s.columns));
  TRY(kernel_output(k, 0, 2, (int64_t[]){rows, p->t.targets}, &s.out));
  return score(k, &s, rows);
}

static status ensemble_prepare(prepare_ctx *c, void **out_params) {
  static const post_transform posts[] = {POST_NONE, POST_SOFTMAX, POST_LOGISTIC, POST_SOFTMAX_ZERO, POST_PROBIT};
  static const tree_aggregate hows[] = {TREE_AVERAGE, TREE_SUM, TREE_MIN, TREE_MAX};
  tree_params *p = *out_params = ZONE_NEW(c->memory, tree_params);
  if (!p) return status_out_of_memory();
  int64_t how = attr_int_or(c->node, "aggregate_function", 1), post = attr_int_or(c->node, "post_transform", 0);
  if (how < 0 || how > 3 || post < 0 || post > 4) return ERROR(INVALID_ARGUMENT, "aggregate_function must lie in 0..3 and post_transform in 0..4");
  p->how = hows[how];
  p->post = posts[post];
  p->t.targets = attr_int_or(c->node, "n_targets", 1);
  if (p->t.targets < 1) return ERROR(INVALID_ARGUMENT, "n_targets must be at least 1");
  return trees_read_indexed(c, &p->t);
}

/* ---- Classifier ------------------------------------------------------------------------------------------------------------------------------- */

static status classifier_shape(infer_ctx *c) {
  labels l = labels_of(c->node, "classlabels_int64s", "classlabels_strings");
  return classifier_infer(c, &l, l.count);
}

static status classifier_prepare(prepare_ctx *c, void **out_params) {
  tree_params *p = *out_params = ZONE_NEW(c->memory, tree_params);
  if (!p) return status_out_of_memory();
  p->classes = labels_of(c->node, "classlabels_int64s", "classlabels_strings");
  if (!p->classes.count) return ERROR(INVALID_ARGUMENT, "the classifier has no class labels");
  TRY(post_transform_of(c->node, &p->post));
  TRY(read_bases(c, p));
  if (p->base_count > 1 && p->base_count != p->classes.count)
    return ERROR(INVALID_ARGUMENT, "base_values has %lld elements for %lld classes", (long long)p->base_count, (long long)p->classes.count);
  TRY(trees_read_named(c, "class_", p->classes.count, &p->t));
  int64_t count, first = -1;
  const int64_t *ids = attr_ints(c->node, "class_ids", &count);
  p->binary = p->classes.count == 2;
  p->all_positive = true;
  for (int64_t i = 0; i < count; ++i) {
    if (first < 0) first = ids[i];
    if (ids[i] != first) p->binary = false;
    if (p->t.weights[i].weight < 0) p->all_positive = false;
  }
  return OK;
}

/* Leaves of a binary ensemble speak of one class only. If that is the second, its score stands beside the first's; if it is the first, it counts for
 * the second, and the other score is made of it. The specification leaves this open; so does onnxruntime do it. */
static status finish_binary(const scoring *s, int64_t row, float *scores, const bool *seen, float *out) {
  const tree_params *p = s->p;
  bool second = seen[1];
  float v = second ? scores[1] : scores[0];
  if (p->base_count) v += p->bases[p->base_count == 1 ? 0 : 1];
  int64_t label = p->all_positive ? v > 0.5f : v > 0;
  out[0] = second ? 0 : p->all_positive ? 1 - v : p->post == POST_LOGISTIC ? post_logistic(-v) : -v;
  out[1] = !second && !p->all_positive && p->post == POST_LOGISTIC ? post_logistic(v) : v;
  if (second) post_apply(p->post, out, 2);
  return s->labels ? labels_put(&p->classes, s->labels, row, label) : OK;
}

static status finish_classes(const scoring *s, int64_t row, float *scores, bool *seen) {
  const tree_params *p = s->p;
  int64_t n = p->classes.count, best = 0;
  float *out = s->out ? (float *)s->out->data + row * n : scores;
  if (p->binary) return finish_binary(s, row, scores, seen, out);
  for (int64_t i = 0; i < n; ++i)
    if (p->base_count) scores[i] += p->bases[p->base_count == 1 ? 0 : i];
  for (int64_t i = 1; i < n; ++i)
    if (scores[i] > scores[best]) best = i;
  if (s->labels) TRY(labels_put(&p->classes, s->labels, row, best));
  post_apply(p->post, scores, n);
  if (out != scores) memcpy(out, scores, (size_t)n * sizeof *out);
  return OK;
}

static status classifier_run(kernel_ctx *k) {
  const tree_params *p = k->params;
  scoring s = {.p = p, .x = k->in[0], .finish = finish_classes};
  int64_t rows;
  TRY(features_shape(s.x, &rows, &s.columns));
  TRY(labels_output(k, 0, rows, &s.labels));
  TRY(kernel_output(k, 1, 2, (int64_t[]){rows, p->classes.count}, &s.out));
  return score(k, &s, rows);
}

#define CLASSIFIER(version) \
  {.name = "TreeEnsembleClassifier", .domain = "ai.onnx.ml", .since = version, .signature = "X:T1 -> Y:T2 Z:f32?", .T1 = TS_FEATURES, .T2 = TS(STRING) | TS(INT64), \
   .infer = classifier_shape, .prepare = classifier_prepare, .run = classifier_run}
#define REGRESSOR(version) \
  {.name = "TreeEnsembleRegressor", .domain = "ai.onnx.ml", .since = version, .signature = "X:T -> Y:f32", .T = TS_FEATURES, .infer = targets_infer, \
   .prepare = regressor_prepare, .run = targets_run}

OP_FAMILY(ml_trees) = {
  CLASSIFIER(1),
  CLASSIFIER(3),
  REGRESSOR(1),
  REGRESSOR(3),
  {.name = "TreeEnsemble", .domain = "ai.onnx.ml", .since = 5, .signature = "X:T -> Y:T", .T = TS(FLOAT) | TS(DOUBLE), .infer = targets_infer, .prepare = ensemble_prepare,
   .run = targets_run},
  {0}};
