/* TreeEnsembleClassifier, TreeEnsembleRegressor, TreeEnsemble: the ensemble is laid out for the device when a model is loaded. */
#include <ortcore/base/mem.h>
#include <ortcore/kernels/cuda/ml_trees.h>
#include <ortcore/ops/ml_trees.h>
#include <ortcore/provider/cuda/ml.h>
#include <stdlib.h>

typedef struct trees_params {
  ml_params ml;                                            /* first */
  bool wide, dense;                                        /* for doubles; each leaf has one weight for each target */
  size_t nodes, weights, sets, members, bases, labels;
} trees_params;

/* ---- Weights: those of a leaf in the order of their targets ------------------------------------------------------------------------- */

typedef struct place { int32_t target, from; } place;

static int by_target(const void *a, const void *b) {
  const place *x = a, *y = b;
  return x->target != y->target ? (x->target < y->target ? -1 : 1) : x->from < y->from ? -1 : x->from > y->from;
}

static void put_weight(trees_params *p, int64_t at, const tree_weight *w) {
  if (p->wide) ((cuda_wide_weight *)(p->ml.tables + p->weights))[at] = (cuda_wide_weight){.value = w->wide, .target = w->target};
  else ((cuda_tree_weight *)(p->ml.tables + p->weights))[at] = (cuda_tree_weight){w->weight, w->target};
}

static status lay_weights(trees_params *p, const trees *t) {
  place *places = mem_alloc(((size_t)t->weight_count + 1) * sizeof *places);
  if (!places) return status_out_of_memory();
  p->dense = true;
  for (int64_t i = 0; i < t->node_count; ++i) {
    const tree_node *leaf = &t->nodes[i];
    if (leaf->mode != TREE_LEAF) continue;
    for (int32_t j = 0; j < leaf->no; ++j) places[j] = (place){t->weights[leaf->yes + j].target, leaf->yes + j};
    qsort(places, (size_t)leaf->no, sizeof *places, by_target);
    p->dense &= leaf->no == t->targets;
    for (int32_t j = 0; j < leaf->no; ++j) {
      p->dense &= places[j].target == j;
      put_weight(p, leaf->yes + j, &t->weights[places[j].from]);
    }
  }
  mem_free(places);
  return OK;
}

/* ---- Nodes: the roots, then the two that each branch goes on at ----------------------------------------------------------------------- */

static void put_node(trees_params *p, int32_t at, const tree_node *n, uint32_t ask, int32_t feature, int32_t next) {
  char *nodes = p->ml.tables + p->nodes;
  if (p->wide) ((cuda_wide_node *)nodes)[at] = (cuda_wide_node){.threshold = n->threshold, .feature = feature, .ask = ask, .next = next};
  else ((cuda_tree_node *)nodes)[at] = (cuda_tree_node){(float)n->threshold, feature, ask, next};
}

static status lay_nodes(trees_params *p, const trees *t) {
  int32_t *order = mem_alloc(((size_t)t->node_count + 1) * sizeof *order), count = 0;
  cuda_tree_set *sets = (cuda_tree_set *)(p->ml.tables + p->sets);
  uint32_t set_count = 0;
  if (!order) return status_out_of_memory();
  for (int64_t r = 0; r < t->root_count; ++r) order[count++] = t->roots[r];
  for (int32_t i = 0; i < count; ++i) {
    const tree_node *n = &t->nodes[order[i]];
    uint32_t ask = n->mode | (n->missing_is_yes ? CUDA_TREE_MISSING : 0);
    if (n->mode == TREE_LEAF) {
      put_node(p, i, n, ask, n->no, n->yes);
      continue;
    }
    if (n->mode == TREE_MEMBER) {
      sets[set_count] = (cuda_tree_set){n->member_first, n->member_count};
      ask |= set_count++ << CUDA_TREE_SET_SHIFT;
    }
    put_node(p, i, n, ask, n->feature, count);
    order[count++] = n->yes;
    order[count++] = n->no;
  }
  mem_free(order);
  return OK;
}

/* ---- Preparation ---------------------------------------------------------------------------------------------------------------------- */

static status trees_prepare(prepare_ctx *c, void **out_params) {
  TRY(ml_read(c, sizeof(trees_params), out_params));
  trees_params *p = *out_params;
  const tree_params *op = p->ml.of_op;
  const trees *t = &op->t;
  int64_t set_count = 0;
  p->wide = c->in[0]->type == ORTC_DOUBLE;
  for (int64_t i = 0; i < t->node_count; ++i) set_count += t->nodes[i].mode == TREE_MEMBER;
  if (set_count >= 1 << 28) return ERROR(NOT_IMPLEMENTED, "ensembles with %lld sets of members are too large for a GPU", (long long)set_count);
  p->nodes = ml_table(&p->ml, t->node_count, p->wide ? sizeof(cuda_wide_node) : sizeof(cuda_tree_node));
  p->weights = ml_table(&p->ml, t->weight_count, p->wide ? sizeof(cuda_wide_weight) : sizeof(cuda_tree_weight));
  p->sets = ml_table(&p->ml, set_count, sizeof(cuda_tree_set));
  p->members = ml_table(&p->ml, t->member_count, p->wide ? sizeof(double) : sizeof(float));
  p->bases = ml_table(&p->ml, op->base_count, sizeof(float));
  p->labels = ml_table(&p->ml, op->classes.count, sizeof(int64_t));
  TRY(ml_allocate(c, &p->ml));
  ml_fill(&p->ml, p->bases, op->bases, op->base_count, sizeof(float));
  ml_fill(&p->ml, p->labels, op->classes.ints, op->classes.count, sizeof(int64_t));
  for (int64_t i = 0; i < t->member_count; ++i) {
    if (p->wide) ((double *)(p->ml.tables + p->members))[i] = t->members[i];
    else ((float *)(p->ml.tables + p->members))[i] = (float)t->members[i];
  }
  TRY(lay_weights(p, t));
  return lay_nodes(p, t);
}

/* ---- Runs ----------------------------------------------------------------------------------------------------------------------------- */

static status trees_launch(kernel_ctx *k, stream *s) {
  const trees_params *p = k->params;
  const tree_params *op = p->ml.of_op;
  bool classifies = op->classes.count > 0;
  cuda_trees t = {.nodes = ml_at(k, p->nodes), .weights = ml_at(k, p->weights), .sets = ml_at(k, p->sets), .members = ml_at(k, p->members),
                  .bases = ml_at(k, p->bases), .labels = ml_at(k, p->labels), .root_count = (int32_t)op->t.root_count,
                  .base_count = (int32_t)op->base_count, .targets = op->t.targets, .how = op->how, .post = op->post, .dense = p->dense,
                  .binary = op->binary, .all_positive = op->all_positive};
  cuda_features x;
  tensor *scores, *labels = NULL;
  void *scratch;
  TRY(ml_features(k->in[0], &x));
  if (t.root_count && x.columns <= op->t.max_feature)
    return ERROR(INVALID_ARGUMENT, "X has %lld features, but the trees ask for feature %d", (long long)x.columns, op->t.max_feature);
  if (classifies) TRY(ml_output(k, 0, 1, &x.rows, &labels));
  TRY(ml_output(k, classifies, 2, (int64_t[]){x.rows, t.targets}, &scores));
  TRY(kernel_scratch(k, cuda_trees_scratch_bytes(&t, &x), &scratch));
  cuda_tree_outputs y = {.scores = scores ? scores->data : NULL, .type = scores ? scores->type : ORTC_FLOAT, .labels = labels ? labels->data : NULL};
  return cuda_launched(cuda_trees_run(&t, &x, &y, scratch, cuda_raw(s)));
}

static bool classifier_supports(const node *n, const fact *const *in) {
  (void)in;
  return !ml_has_texts(n, "classlabels_strings");
}

#define TREES(name, first, numbers) \
  .op = name, .domain = "ai.onnx.ml", .since = first, .types = numbers, .prepare = trees_prepare, .tables = ml_tables, .launch = trees_launch

KERNEL_FAMILY(ml_trees) = {
  {TREES("TreeEnsembleClassifier", 1, TS_FEATURES), .supports = classifier_supports},
  {TREES("TreeEnsembleClassifier", 3, TS_FEATURES), .supports = classifier_supports},
  {TREES("TreeEnsembleRegressor", 1, TS_FEATURES)}, {TREES("TreeEnsembleRegressor", 3, TS_FEATURES)},
  {TREES("TreeEnsemble", 5, TS(FLOAT) | TS(DOUBLE))},
  {0}};
