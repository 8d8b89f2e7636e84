/* Inside the layout pass: its state, and the table of operators that can be turned to channels last. */
#ifndef ORTCORE_PASSES_LAYOUT_H
#define ORTCORE_PASSES_LAYOUT_H

#include <ortcore/passes/pass.h>

typedef struct layout_pass {
  graph *g;
  int32_t count;                                            /* values that were there before; only these have entries below */
  int32_t *twins;                                           /* by value: its twin, or NO_VALUE */
  bool *only_twin;                                          /* the value itself is not computed any more */
  bool changed;
} layout_pass;

int layout_rank(layout_pass *l, int32_t v);                 /* RANK_UNKNOWN for what is no tensor, and NO_VALUE */
bool layout_has_twin(const layout_pass *l, int32_t v);
int layout_axis(int axis, int rank);                        /* where an axis of the image lies in its twin */
status layout_twin(layout_pass *l, int32_t v, int rank, int32_t *out) MUST_CHECK;
status layout_new_twin(layout_pass *l, int32_t v, int32_t *out) MUST_CHECK;
status layout_turn_outputs(layout_pass *l, node *n) MUST_CHECK;
status layout_constant(layout_pass *l, int64_t count, const int64_t *elements, int32_t *out) MUST_CHECK;
/* Turns the node if it gains by it. */
status layout_turn(layout_pass *l, node *n, bool *out_turned) MUST_CHECK;

#endif
