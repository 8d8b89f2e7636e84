/* From the attributes of a tree ensemble to a packed forest. */
#ifndef ORTCORE_OPS_ML_TREE_READ_H
#define ORTCORE_OPS_ML_TREE_READ_H

#include <ortcore/kernels/cpu/tree.h>
#include <ortcore/ops/op.h>

/* What describes a forest, whatever the operator: nodes, and for each leaf a run of weights. */
typedef struct tree_source {
  int64_t node_count;
  const int64_t *features, *missing_true;                   /* missing_true may be NULL */
  const double *values;
  const uint8_t *modes;                                     /* tree_mode */
  const int64_t *true_child, *false_child;                  /* node indexes */
  const int64_t *weight_first, *weight_count;               /* of leaves, into weights */
  int64_t root_count;
  const int64_t *roots;
  const int64_t *set_first;                                 /* of MEMBER nodes, into the forest's sets; may be NULL */
} tree_source;

/* Sets nodes, roots, tree_count, features and plain; refuses what is no forest. */
status forest_pack(zone *memory, const tree_source *s, forest *f) MUST_CHECK;

/* TreeEnsembleClassifier ("class") and TreeEnsembleRegressor ("target"): also sets weights. `f->targets` is known. */
status forest_read_legacy(prepare_ctx *c, const char *prefix, forest *f) MUST_CHECK;
/* TreeEnsemble of version 5. */
status forest_read(prepare_ctx *c, forest *f) MUST_CHECK;
/* The numbers of attribute `name`, or of the tensor attribute `name`_as_tensor; NULL if there is neither. */
status tree_floats(prepare_ctx *c, const char *name, int64_t *out_count, const double **out) MUST_CHECK;

#endif
