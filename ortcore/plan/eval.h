/* Runs one node by itself on tensors: for constant folding, and for shape arithmetic while a shape plan is made. */
#ifndef ORTCORE_PLAN_EVAL_H
#define ORTCORE_PLAN_EVAL_H

#include <ortcore/ops/op.h>

/* With an operator that is prepared already. out_facts: kind and dtype of each output (NULL where not wanted); out_values[i] is a
 * tensor of its own, or NULL where not wanted. Everything is released after an error. */
status eval_prepared(const node *n, const void *params, int32_t in_count, const tensor *const *in, int32_t out_count,
                     const fact *const *out_facts, ortc_value **out_values) MUST_CHECK;
/* Prepares, runs and disposes. in[i]->value must be set for all inputs that are present. */
status eval_node(const node *n, int32_t in_count, const fact *const *in, int32_t out_count, const fact *const *out_facts,
                 ortc_value **out_values) MUST_CHECK;
/* The node's outputs may be computed ahead of runs, given its inputs' contents: a pure tensor operator with a kernel. */
bool eval_is_possible(const node *n);

#endif
