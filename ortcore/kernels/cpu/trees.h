/* Ensembles of decision trees, flattened when a model is loaded. */
#ifndef ORTCORE_KERNELS_CPU_TREES_H
#define ORTCORE_KERNELS_CPU_TREES_H

#include <ortcore/ops/params/ml.h>
#include <ortcore/value/tensor.h>

/* A branch asks `x[feature] mode threshold` and goes on at `yes` or `no`; a leaf adds its weights [first, first + count). */
typedef struct tree_node {
  double threshold;
  int32_t feature;
  uint8_t mode;
  bool missing_is_yes;                                       /* where NaN goes */
  int32_t yes, no;                                           /* branch: nodes; leaf: first weight and their number */
  int32_t member_first, member_count;                        /* MEMBER: the set, in trees.members */
} tree_node;

typedef struct tree_weight { int32_t target; float weight; double wide; } tree_weight;

typedef struct trees {
  int64_t node_count, root_count, weight_count, targets;
  tree_node *nodes;
  int32_t *roots;
  tree_weight *weights;
  const double *members;
  int64_t member_count;
  int32_t max_feature;
  bool uniform;                                              /* every branch is LEQ and sends NaN to `no`: one comparison decides */
} trees;

/* Adds up what the trees say of one row; scores and seen have `targets` elements. `seen` tells which targets a leaf named. */
void trees_score_f32(const trees *t, tree_aggregate how, const float *x, float *scores, bool *seen);
void trees_score_f64(const trees *t, tree_aggregate how, const double *x, double *scores, bool *seen);

#endif
