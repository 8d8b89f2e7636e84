/* Ensembles of decision trees, packed for walking: nodes lie in the order in which they are visited, the true child right behind its parent. */
#ifndef ORTCORE_KERNELS_CPU_TREE_H
#define ORTCORE_KERNELS_CPU_TREE_H

#include <ortcore/base/dtype.h>

/* The first seven are numbers of TreeEnsemble's nodes_modes. */
typedef enum tree_mode { TREE_LEQ, TREE_LT, TREE_GTE, TREE_GT, TREE_EQ, TREE_NEQ, TREE_MEMBER, TREE_LEAF } tree_mode;
typedef enum tree_aggregate { TREE_AVERAGE, TREE_SUM, TREE_MIN, TREE_MAX } tree_aggregate;

#define TREE_FEATURE_MAX ((1 << 28) - 1)

/* `what` is feature << 4 | missing goes true << 3 | mode. `other` is the false child, or a leaf's first weight; `count` is how many
 * weights a leaf has, `set` where a MEMBER's values begin. */
typedef struct tree_node_f32 { float value; uint32_t what; int32_t other; union { int32_t count; int32_t set; }; } tree_node_f32;
typedef struct tree_node_f64 { double value; uint32_t what; int32_t other; union { int32_t count; int32_t set; }; } tree_node_f64;

typedef struct tree_weight { int32_t target; double value; } tree_weight;

typedef struct forest {
  dtype type;                                               /* of thresholds and rows: float or double */
  int64_t tree_count, targets, features;                    /* rows must have at least `features` numbers */
  const int32_t *roots;
  const void *nodes;
  const tree_weight *weights;
  const double *sets;                                       /* each ends with NaN */
  tree_aggregate aggregate;
  bool plain;                                               /* every inner node is LEQ and sends NaN to the false side */
} forest;

/* Scores [rows, targets] of rows of `width` numbers; `hit`, of the same shape, tells which targets a leaf has spoken for. The others score 0. */
void forest_run_f32(const forest *f, const float *x, int64_t rows, int64_t width, double *scores, uint8_t *hit);
void forest_run_f64(const forest *f, const double *x, int64_t rows, int64_t width, double *scores, uint8_t *hit);

#endif
