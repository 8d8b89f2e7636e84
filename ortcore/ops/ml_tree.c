/* TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble. */
#include <ortcore/base/checked.h>
#include <ortcore/base/threads.h>
#include <ortcore/ops/float_io.h>
#include <ortcore/ops/ml_common.h>
#include <ortcore/ops/ml_tree_read.h>
#include <string.h>

typedef struct tree_params {
  forest forest;
  post_transform transform;
  int64_t base_count;
  const double *base;
  class_labels labels;                                      /* count 0: no classifier */
  /* Two classes of which only one has weights: its score speaks for both. */
  bool one_sided, all_positive;
} tree_params;

static void tree_dispose(void *params) { class_labels_dispose(&((tree_params *)params)->labels); }

static tree_params *tree_params_new(prepare_ctx *c) {
  tree_params *p = ZONE_NEW(c->memory, tree_params);
  if (p) {
    p->forest.type = c->in[0]->type == ORTC_DOUBLE ? ORTC_DOUBLE : ORTC_FLOAT;
    p->forest.aggregate = TREE_SUM;
  }
  return p;
}

static status read_base(prepare_ctx *c, tree_params *p) {
  TRY(tree_floats(c, "base_values", &p->base_count, &p->base));
  if (p->base_count <= p->forest.targets) return OK;
  return ERROR(INVALID_ARGUMENT, "attribute 'base_values' has %lld elements, but there are %lld outputs", (long long)p->base_count, (long long)p->forest.targets);
}

static status classifier_read(prepare_ctx *c, tree_params *p) {
  int64_t count;
  const int64_t *ids = attr_ints(c->node, "class_ids", &count);
  TRY(class_labels_read(c, "classlabels_int64s", "classlabels_strings", &p->labels));
  if (!p->labels.count) return ERROR(INVALID_ARGUMENT, "attributes 'classlabels_int64s' and 'classlabels_strings' are both missing");
  p->forest.targets = p->labels.count;
  TRY(post_transform_read(c->node, &p->transform));
  TRY(read_base(c, p));
  TRY(forest_read_legacy(c, "class", &p->forest));
  p->one_sided = p->labels.count == 2 && count > 0;
  p->all_positive = true;
  for (int64_t i = 0; i < count; ++i) {
    p->one_sided &= ids[i] == ids[0];
    p->all_positive &= p->forest.weights[i].value >= 0;
  }
  return OK;
}

static status classifier_prepare(prepare_ctx *c, void **out_params) {
  tree_params *p = tree_params_new(c);
  if (!p) return status_out_of_memory();
  status s = classifier_read(c, p);
  if (s) tree_dispose(p);
  else *out_params = p;
  return s;
}

static status regressor_prepare(prepare_ctx *c, void **out_params) {
  static const char *const names[] = {[TREE_AVERAGE] = "AVERAGE", [TREE_SUM] = "SUM", [TREE_MIN] = "MIN", [TREE_MAX] = "MAX"};
  tree_params *p = *out_params = tree_params_new(c);
  if (!p) return status_out_of_memory();
  text aggregate = attr_string_or(c->node, "aggregate_function", "SUM");
  int a = 0;
  while (a < 4 && strcmp(aggregate.data, names[a])) ++a;
  if (a == 4) return ERROR(INVALID_ARGUMENT, "attribute 'aggregate_function' is '%s', expected SUM, AVERAGE, MIN or MAX", aggregate.data);
  p->forest.aggregate = (tree_aggregate)a;
  p->forest.targets = attr_int_or(c->node, "n_targets", 1);
  if (p->forest.targets < 1) return ERROR(INVALID_ARGUMENT, "attribute 'n_targets' is %lld, expected at least 1", (long long)p->forest.targets);
  TRY(post_transform_read(c->node, &p->transform));
  TRY(read_base(c, p));
  return forest_read_legacy(c, "target", &p->forest);
}

static status ensemble_prepare(prepare_ctx *c, void **out_params) {
  tree_params *p = *out_params = tree_params_new(c);
  if (!p) return status_out_of_memory();
  int64_t aggregate = attr_int_or(c->node, "aggregate_function", TREE_SUM), transform = attr_int_or(c->node, "post_transform", POST_NONE);
  if (aggregate < TREE_AVERAGE || aggregate > TREE_MAX) return ERROR(INVALID_ARGUMENT, "attribute 'aggregate_function' is %lld, expected 0 to 3", (long long)aggregate);
  if (transform < POST_NONE || transform > POST_PROBIT) return ERROR(INVALID_ARGUMENT, "attribute 'post_transform' is %lld, expected 0 to 4", (long long)transform);
  p->forest.aggregate = (tree_aggregate)aggregate;
  p->transform = (post_transform)transform;
  p->forest.targets = attr_int_or(c->node, "n_targets", 1);
  if (p->forest.targets < 1) return ERROR(INVALID_ARGUMENT, "attribute 'n_targets' is %lld, expected at least 1", (long long)p->forest.targets);
  return forest_read(c, &p->forest);
}

/* ---- From scores to results --------------------------------------------------------------------------------------------------------------- */

/* The score of one class gives that of the other: its complement to 1 if all weights are positive (a probability), else its negative. */
static int64_t finish_one_sided(const tree_params *p, double *scores, const uint8_t *hit) {
  double score = hit[1] ? scores[1] : scores[0];
  if (hit[1]) post_transform_apply(p->transform, scores, 2);
  else {
    scores[1] = score;
    scores[0] = p->transform == POST_LOGISTIC || !p->all_positive ? -score : 1 - score;
    if (p->transform == POST_LOGISTIC || p->transform == POST_PROBIT) post_transform_apply(p->transform, scores, 2);
  }
  return score > (p->all_positive ? 0.5 : 0);
}

static int64_t finish_row(const tree_params *p, double *scores, uint8_t *hit) {
  int64_t n = p->forest.targets, best = 0;
  for (int64_t i = 0; i < p->base_count; ++i) {
    if (p->one_sided && p->base_count == 1 && hit[1]) break;
    scores[i] += p->base[i];
    hit[i] |= !p->one_sided;
  }
  if (p->one_sided) return finish_one_sided(p, scores, hit);
  for (int64_t i = 1; i < n; ++i)
    if (hit[i] && (!hit[best] || scores[i] > scores[best])) best = i;
  post_transform_apply(p->transform, scores, n);
  return best;
}

/* ---- Running ---------------------------------------------------------------------------------------------------------------------------- */

typedef struct tree_work { const tree_params *p; const void *x; int64_t width; double *scores; uint8_t *hit; tensor *labels, *out; } tree_work;

static void run_range(void *context, int64_t begin, int64_t end) {
  const tree_work *w = context;
  const forest *f = &w->p->forest;
  int64_t n = f->targets;
  double *scores = w->scores + begin * n;
  uint8_t *hit = w->hit + begin * n;
  if (f->type == ORTC_DOUBLE) forest_run_f64(f, (const double *)w->x + begin * w->width, end - begin, w->width, scores, hit);
  else forest_run_f32(f, (const float *)w->x + begin * w->width, end - begin, w->width, scores, hit);
  for (int64_t row = begin; row < end; ++row, scores += n, hit += n) {
    int64_t label = finish_row(w->p, scores, hit);
    if (w->labels) class_labels_write(&w->p->labels, label, w->labels, row);
    for (int64_t i = 0; w->out && i < n; ++i) {
      if (w->out->type == ORTC_DOUBLE) ((double *)w->out->data)[row * n + i] = scores[i];
      else ((float *)w->out->data)[row * n + i] = (float)scores[i];
    }
  }
}

static status tree_run(kernel_ctx *k) {
  const tree_params *p = k->params;
  bool classifier = p->labels.count > 0;
  int64_t rows, width, n = p->forest.targets;
  tensor copy, out_copy, *out, *work, *labels = NULL;
  const tensor *x;
  TRY(ml_matrix(k->in[0], &rows, &width));
  if (width < p->forest.features) return ERROR(INVALID_ARGUMENT, "input 'X' has %lld features, but the trees test feature %lld", (long long)width, (long long)p->forest.features - 1);
  if (classifier) TRY(kernel_output(k, 0, 1, &rows, &labels));
  TRY(kernel_output(k, classifier, 2, (int64_t[]){rows, n}, &out));
  TRY(float_output(k, out, &out_copy, &work));
  tree_work w = {.p = p, .width = width, .labels = labels, .out = work};
  TRY(float_input(k, 0, &copy, &x));
  if (is_half(k->in[0]->type)) w.x = x->data;
  else if (p->forest.type == ORTC_DOUBLE) TRY(ml_input_f64(k, 0, (const double **)&w.x));
  else TRY(ml_input_f32(k, 0, (const float **)&w.x));
  int64_t count;
  size_t bytes;
  if (checked_mul(rows, n, &count) || !dtype_bytes(ORTC_DOUBLE, count, &bytes)) return ERROR(INVALID_ARGUMENT, "%lld rows are too many", (long long)rows);
  void *scores, *hit;
  TRY(kernel_scratch(k, bytes, &scores));
  TRY(kernel_scratch(k, (size_t)count, &hit));
  w.scores = scores;
  w.hit = hit;
  int64_t grain = 2000 / (p->forest.tree_count + 1) + 8;
  parallel_for(k->threads, rows, grain, run_range, &w);
  float_finish(out, work);
  return OK;
}

static status tree_classifier_infer(infer_ctx *c) {
  int64_t ints, strings;
  attr_ints(c->node, "classlabels_int64s", &ints);
  attr_strings(c->node, "classlabels_strings", &strings);
  return classifier_infer(c, "classlabels_strings", ints + strings);
}

static status tree_infer(infer_ctx *c) {
  fact_set_shape(c->out[0], 2, (dim[]){ml_rows(c->in[0]), attr_int_or(c->node, "n_targets", 1)});
  return OK;
}

#define CLASSIFIER(since_version) \
  {.name = "TreeEnsembleClassifier", .domain = ML, .since = since_version, .signature = "X:T -> Y:T1 Z:f32", .T = TS_ML, .T1 = TS(INT64) | TS(STRING), \
   .infer = tree_classifier_infer, .prepare = classifier_prepare, .dispose = tree_dispose, .run = tree_run}
#define REGRESSOR(since_version) \
  {.name = "TreeEnsembleRegressor", .domain = ML, .since = since_version, .signature = "X:T -> Y:f32", .T = TS_ML, .infer = tree_infer, .prepare = regressor_prepare, .run = tree_run}

OP_FAMILY(ml_tree) = {
  CLASSIFIER(1),
  REGRESSOR(1),
  {.name = "TreeEnsemble", .domain = ML, .since = 5, .signature = "X:T -> Y:T", .T = TS(FLOAT) | TS(DOUBLE) | TS(FLOAT16), .infer = tree_infer, .prepare = ensemble_prepare,
   .run = tree_run},
  {0}};
