/* What a reduction, ArgMax or ArgMin says, and how its axes become blocks, for kernels of every device. */
#ifndef ORTCORE_OPS_PARAMS_REDUCE_H
#define ORTCORE_OPS_PARAMS_REDUCE_H

#include <ortcore/kernels/cpu/reduce.h>
#include <ortcore/ops/movement.h>

typedef struct reduce_params {
  reduce_op op;
  bool keepdims, noop, smallest, last;
  bool axes_known;                                           /* from the attribute or a constant; else they come with each run */
  integers axes;                                             /* as given; for ArgMax and ArgMin the one axis stands at [0] */
} reduce_params;

/* Axes of the node, where they can be told. Absent means all. */
status reduce_known_axes(const node *n, const fact *input, integers *axes, bool *out_known) MUST_CHECK;
/* Axes of a run: those of the params, or of the input that gives them. */
status reduce_axes(const reduce_params *p, const tensor *input, integers *axes) MUST_CHECK;
/* A flag for each reduced dim. */
status reduce_mark(const integers *given, int rank, bool noop, bool *reduced) MUST_CHECK;
/* Dims that are left; returns their number. */
int reduced_shape(int rank, const int64_t *dims, const bool *reduced, bool keepdims, int64_t *out);
/* Neighbouring dims of one sort merge into groups, and dims of 1 go; returns the number of groups, of which is_reduced[g] are reduced. */
int reduce_merge(int rank, const int64_t *dims, const bool *reduced, int64_t *groups, bool *is_reduced);

#endif
