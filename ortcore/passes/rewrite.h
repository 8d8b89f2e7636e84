/* What rewriting passes are made of. A pass visits nodes in order; at a node it looks upward, through producers, for what it knows, and
 * replaces the node by a better one, or says that its output is another value. Uses are counted throughout: what nobody reads any more goes
 * at once. Since a replacement stands where the node stood, and reads what is computed before, the order stays right. */
#ifndef ORTCORE_PASSES_REWRITE_H
#define ORTCORE_PASSES_REWRITE_H

#include <ortcore/passes/pass.h>

typedef struct rewriter {
  graph *g;
  const pass_env *env;
  int32_t *uses;                                            /* by value */
  int32_t *alias;                                           /* by value: what stands for it, or NO_VALUE */
  int32_t value_capacity;                                   /* of the two arrays */
  bool changed;
} rewriter;

/* Calls `visit` with the index of each node that is still there. */
typedef status (*rewrite_visit)(rewriter *w, int32_t index);
status rewrite_each(graph *g, const pass_env *env, rewrite_visit visit, bool *out_changed) MUST_CHECK;

/* ---- Looking ---------------------------------------------------------------------------------------------------------------------- */

static inline const fact *rewrite_fact(const rewriter *w, int32_t v) { return &w->g->values[v].fact; }
/* The node is that operator of ai.onnx. */
bool node_is(const node *n, const char *op_type);
/* The node is that operator of the domain "ortcore", which passes make. */
bool node_is_internal(const node *n, const char *op_type);
/* The node that computes `v`, if it is that operator (NULL: any) of ai.onnx; else NULL. */
node *rewrite_producer(const rewriter *w, int32_t v, const char *op_type);
/* Nothing but one operand reads it. */
static inline bool rewrite_used_once(const rewriter *w, int32_t v) { return w->uses[v] == 1; }
/* Input i, or NO_VALUE if it is absent. */
static inline int32_t node_input(const node *n, int32_t i) { return i < n->input_count ? n->inputs[i] : NO_VALUE; }
static inline bool node_has(const node *n, int32_t i) { return node_input(n, i) != NO_VALUE; }
bool rewrite_is_float(const rewriter *w, int32_t v);
/* A constant of one element (any rank) with that value, as near as float32 tells. */
bool rewrite_is_scalar(const rewriter *w, int32_t v, double expected);
bool rewrite_scalar(const rewriter *w, int32_t v, double *out);
/* Of a node with two inputs in any order: the one that is no constant scalar, and the scalar. */
bool rewrite_scalar_operand(const rewriter *w, const node *n, int32_t *out_other, double *out_scalar);
/* Ranks are known and every dim is proved equal. */
bool facts_same_shape(const fact *a, const fact *b);
/* Arithmetic with one number has made `to` of `from`: the shapes are equal if the number brought no dims of its own. */
static inline bool facts_same_rank(const fact *a, const fact *b) { return a->rank >= 0 && a->rank == b->rank; }

/* ---- Changing --------------------------------------------------------------------------------------------------------------------- */

/* The operator exists here in the version that `opset` selects. */
bool rewrite_can_use(const char *domain, const char *op_type, int64_t opset);
/* A new node with the outputs and the name of node `index`, which goes. Attributes are set afterwards. */
status rewrite_replace(rewriter *w, int32_t index, const char *op_type, const char *domain, int64_t opset, int32_t input_count, const int32_t *inputs, node **out) MUST_CHECK;
/* The same for several nodes at once: a new node in place of node `index`, with outputs that it and the nodes of `others` had, which all go. What
 * others computed has no readers before `index`. */
status rewrite_merge(rewriter *w, int32_t index, int32_t other_count, const int32_t *others, const char *op_type, int64_t opset, int32_t input_count,
                     const int32_t *inputs, int32_t output_count, const int32_t *outputs, node **out) MUST_CHECK;
/* A new node with one output, somewhere before its readers; the output has what `like` says of type and shape. */
status rewrite_add(rewriter *w, const char *op_type, int64_t opset, int32_t input_count, const int32_t *inputs, const fact *like, int32_t *out_value, node **out) MUST_CHECK;
/* A new constant: float elements converted to `type`, which is a float type; or int64s. */
status rewrite_constant(rewriter *w, dtype type, int rank, const int64_t *dims, const double *elements, int32_t *out_value) MUST_CHECK;
/* Readers of the only output of node `index` read `to` instead, and the node goes. False if a graph output forbids it. */
bool rewrite_forward(rewriter *w, int32_t index, int32_t to);
/* The same for all outputs of the node, whose readers read those of `to`, an earlier node that computes the same. False also if any of them is an
 * output of the graph, or `to` lacks one that is read. */
bool rewrite_forward_all(rewriter *w, int32_t index, const node *to);
/* Takes over another node's attribute. */
status rewrite_copy_attrs(rewriter *w, const node *from, node *to) MUST_CHECK;

#endif
