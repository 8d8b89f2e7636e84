/* Reading the attributes of tree ensembles into kernels/cpu/trees.h. */
#ifndef ORTCORE_OPS_ML_TREES_H
#define ORTCORE_OPS_ML_TREES_H

#include <ortcore/kernels/cpu/trees.h>
#include <ortcore/ops/ml.h>

/* What prepare makes of any of the operators. */
typedef struct tree_params {
  trees t;
  tree_aggregate how;
  post_transform post;
  int64_t base_count;
  const float *bases;
  labels classes;
  bool binary, all_positive;                                 /* classifier with two labels of which the leaves name one */
} tree_params;

/* TreeEnsembleClassifier ("class_") and TreeEnsembleRegressor ("target_"): nodes named by (tree, node). */
status trees_read_named(prepare_ctx *c, const char *prefix, int64_t targets, trees *out) MUST_CHECK;
/* TreeEnsemble of opset 5: nodes and leaves by index. */
status trees_read_indexed(prepare_ctx *c, trees *out) MUST_CHECK;
/* From each root every node is reached at most once: a walk ends, whatever the file says. */
status trees_check(trees *t) MUST_CHECK;

#endif
