/* Ensembles of decision trees on a GPU, for C. */
#ifndef ORTCORE_KERNELS_CUDA_ML_TREES_H
#define ORTCORE_KERNELS_CUDA_ML_TREES_H

#include "ml.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A branch asks `x[feature] mode threshold` and goes on at `next`, or one behind it if the answer is no; a leaf has `feature` weights from `next`
 * on. `ask` holds the mode, whether NaN answers yes, and for a mode of TREE_MEMBER the number of its set. */
enum { CUDA_TREE_MODE = 7, CUDA_TREE_MISSING = 8, CUDA_TREE_SET_SHIFT = 4 };
typedef struct cuda_tree_node { float threshold; int32_t feature; uint32_t ask; int32_t next; } cuda_tree_node;
typedef struct cuda_tree_weight { float value; int32_t target; } cuda_tree_weight;
typedef struct cuda_tree_set { int32_t first, count; } cuda_tree_set;
/* The same in double. */
typedef struct cuda_wide_node { double threshold; int32_t feature; uint32_t ask; int32_t next, unused; } cuda_wide_node;
typedef struct cuda_wide_weight { double value; int32_t target, unused; } cuda_wide_weight;

/* Tables in device memory. For features of f64 they are wide, and sums are doubles. */
typedef struct cuda_trees {
  const void *nodes;                                       /* the roots first; then the two that a branch goes on at are neighbours */
  const void *weights;                                     /* those of a leaf in the order of their targets */
  const cuda_tree_set *sets;
  const void *members;                                     /* of all sets: f32 or f64 */
  const float *bases;                                      /* base_count of them, one for all or one for each target */
  const int64_t *labels;                                   /* of a classifier; NULL: a regressor */
  int32_t root_count, base_count;
  int64_t targets;
  tree_aggregate how;
  post_transform post;
  bool dense;                                              /* each leaf has one weight for each target */
  bool binary, all_positive;                               /* a classifier of two labels, of which the leaves name one */
} cuda_trees;

typedef struct cuda_tree_outputs {
  void *scores;                                            /* [rows, targets]; NULL: not wanted */
  dtype type;                                              /* of the scores: f32, f64 */
  int64_t *labels;                                         /* [rows]; NULL: not wanted */
} cuda_tree_outputs;

size_t cuda_trees_scratch_bytes(const cuda_trees *t, const cuda_features *x);
/* Returns a cudaError_t. */
int cuda_trees_run(const cuda_trees *t, const cuda_features *x, const cuda_tree_outputs *y, void *scratch, void *stream);

#ifdef __cplusplus
}
#endif
#endif
