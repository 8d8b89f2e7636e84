/* Rewrites of a model before it is planned. A pass has a name, by which it can be switched off, and the lowest optimisation level that runs it. */
#ifndef ORTCORE_PASSES_PASS_H
#define ORTCORE_PASSES_PASS_H

#include <ortcore/provider/provider.h>

struct rewriter;

/* What passes need from below. */
typedef struct pass_env {
  /* Computes a node from constants: out[i] is a tensor of its own, NULL where out_facts[i] is NULL. */
  status (*eval_node)(void *user, const node *n, int32_t in_count, const fact *const *in, int32_t out_count, const fact *const *out_facts, ortc_value **out);
  void *user;
  const _Atomic bool *cancel;                               /* may be NULL */
  const provider *device;                                   /* of the session's first provider, if that is not the CPU; else NULL */
  int64_t constant_folding_limit;                           /* bytes of one folded output; 0: the default */
} pass_env;

/* Is there a kernel for the node on the session's device? Passes ask it of what they make, and of what only a device profits from. */
bool pass_on_device(const pass_env *env, const graph *g, const node *n);

typedef enum pass_scope { PASS_ALWAYS, PASS_CPU_ONLY, PASS_DEVICE_ONLY } pass_scope;

typedef struct pass {
  const char *name;
  int level;                                                /* 1 basic, 2 extended, 3 layout, 99 all */
  /* One of the two: over a whole graph, or at each node of it (rewrite.h). */
  status (*run)(graph *g, const pass_env *env, bool *out_changed);
  status (*visit)(struct rewriter *w, int32_t index);
  pass_scope scope;                                         /* sessions that it is for */
} pass;

/* Infers facts, then runs the passes of `level` and below that `disabled` (names separated by ';', or NULL) does not name, on the main graph and
 * all subgraphs. Names of the main graph's inputs and the order of its outputs stay. */
status passes_run(model *m, int level, const char *disabled, const pass_env *env) MUST_CHECK;
/* The table, for tests; NULL out of range. */
const pass *pass_at(size_t index);

status pass_fold(graph *g, const pass_env *env, bool *out_changed) MUST_CHECK;
status pass_winograd(graph *g, const pass_env *env, bool *out_changed) MUST_CHECK;
status pass_layout(graph *g, const pass_env *env, bool *out_changed) MUST_CHECK;
status pass_eliminate(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_common(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_join(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_reshape_dims(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_conv_batchnorm(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_batchnorm_affine(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_affine_chain(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_conv_affine(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_quantised_product(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_quantised_conv(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_quantised_sum(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_quantised_pool(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_scaled_product(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_quantised_bias(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_fuse_layer_norm(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_fuse_gelu(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_fuse_swish(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_fuse_hard_swish(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_fuse_attention(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_attention_caches(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_join_heads(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_fuse_transpose(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_fuse_scale(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_fuse_sum(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_fuse_elementwise(struct rewriter *w, int32_t index) MUST_CHECK;
status pass_fuse_activation(struct rewriter *w, int32_t index) MUST_CHECK;

#endif
