#include <ortcore/passes/infer.h>
#include <ortcore/passes/pass.h>
#include <ortcore/passes/resolve.h>
#include <ortcore/passes/rewrite.h>
#include <string.h>

/* In the order in which they run, until none of them finds anything. A pass that changes something is followed by inference. */
static const pass passes[] = {
  {.name = "QDQMatMulFusion", .level = 2, .visit = pass_quantised_product},      /* before its constant operand is folded to floats */
  {.name = "QDQConvFusion", .level = 2, .visit = pass_quantised_conv, .scope = PASS_CPU_ONLY},           /* the same */
  {.name = "QDQAddFusion", .level = 2, .visit = pass_quantised_sum, .scope = PASS_CPU_ONLY},
  {.name = "QDQMaxPoolFusion", .level = 2, .visit = pass_quantised_pool, .scope = PASS_CPU_ONLY},
  {.name = "ConstantFolding", .level = 1, .run = pass_fold},
  {.name = "NoopElimination", .level = 1, .visit = pass_eliminate},
  {.name = "ReshapeFusion", .level = 1, .visit = pass_join},
  {.name = "ReshapeDimsFusion", .level = 1, .visit = pass_reshape_dims},
  {.name = "ConvBNFusion", .level = 1, .visit = pass_conv_batchnorm},
  {.name = "ConvAffineFusion", .level = 1, .visit = pass_conv_affine},
  {.name = "MatMulIntegerToFloatFusion", .level = 2, .visit = pass_scaled_product},
  {.name = "QuantisedBiasFusion", .level = 2, .visit = pass_quantised_bias},
  {.name = "AffineChainFusion", .level = 2, .visit = pass_affine_chain},
  {.name = "LayerNormFusion", .level = 2, .visit = pass_fuse_layer_norm},
  {.name = "GeluFusion", .level = 2, .visit = pass_fuse_gelu},
  {.name = "SwishFusion", .level = 2, .visit = pass_fuse_swish},
  {.name = "HardSwishFusion", .level = 2, .visit = pass_fuse_hard_swish},
  {.name = "AttentionFusion", .level = 2, .visit = pass_fuse_attention, .scope = PASS_DEVICE_ONLY},   /* before its products take on scales and sums */
  {.name = "AttentionCacheFusion", .level = 2, .visit = pass_attention_caches, .scope = PASS_DEVICE_ONLY},
  {.name = "AttentionHeadsFusion", .level = 2, .visit = pass_join_heads, .scope = PASS_DEVICE_ONLY},
  {.name = "MatMulTransposeFusion", .level = 2, .visit = pass_fuse_transpose},
  {.name = "MatMulScaleFusion", .level = 2, .visit = pass_fuse_scale},
  {.name = "ProductSumFusion", .level = 2, .visit = pass_fuse_sum},
  {.name = "ProductActivationFusion", .level = 2, .visit = pass_fuse_activation},
  {.name = "BatchNormToAffine", .level = 3, .visit = pass_batchnorm_affine},
  {.name = "ElementwiseFusion", .level = 3, .visit = pass_fuse_elementwise, .scope = PASS_DEVICE_ONLY},
  {.name = "CommonSubexpressionElimination", .level = 3, .visit = pass_common},   /* fusions want values that are read once */
  {.name = "ChannelsLast", .level = 3, .run = pass_layout, .scope = PASS_CPU_ONLY},
  {.name = "Winograd", .level = 99, .run = pass_winograd, .scope = PASS_CPU_ONLY},
};

#define MOST_ROUNDS 8                                        /* each round makes the graph smaller; this bounds what a mistake could cost */

const pass *pass_at(size_t index) { return index < sizeof passes / sizeof *passes ? &passes[index] : NULL; }

static bool is_disabled(const char *list, const char *name) {
  size_t n = strlen(name);
  for (const char *at = list; at && (at = strstr(at, name)); at += n)
    if ((at == list || at[-1] == ';') && (!at[n] || at[n] == ';')) return true;
  return false;
}

bool pass_on_device(const pass_env *env, const graph *g, const node *n) {
  const fact *in[64];
  if (!env->device || n->input_count > (int32_t)(sizeof in / sizeof *in)) return false;
  for (int32_t i = 0; i < n->input_count; ++i) in[i] = n->inputs[i] == NO_VALUE ? NULL : &g->values[n->inputs[i]].fact;
  return n->op && provider_find_kernel(env->device, n, in);
}

static bool is_for(const pass *p, const pass_env *env) { return p->scope == PASS_ALWAYS || (p->scope == PASS_DEVICE_ONLY) == (env->device != NULL); }

static status run_on(const pass *p, graph *g, const pass_env *env, bool *changed) {
  for (int32_t i = 0; i < g->node_count; ++i)
    for (int32_t a = 0; a < g->nodes[i]->attr_count; ++a)
      if (g->nodes[i]->attrs[a].kind == ATTR_GRAPH) TRY(run_on(p, g->nodes[i]->attrs[a].g, env, changed));
  return p->run ? p->run(g, env, changed) : rewrite_each(g, env, p->visit, changed);
}

static status run_round(model *m, int lowest, int level, const char *disabled, const pass_env *env, bool *any) {
  for (size_t i = 0; i < sizeof passes / sizeof *passes; ++i) {
    const pass *p = &passes[i];
    bool changed = false;
    if (p->level < lowest || p->level > level || !is_for(p, env) || is_disabled(disabled, p->name)) continue;
    if (env->cancel && *env->cancel) return ERROR(MODEL_LOAD_CANCELED, "loading was cancelled");
    TRY(status_context(run_on(p, m->main, env, &changed), "pass %s", p->name));
    if (changed) TRY(infer_graph(m->main));
    *any |= changed;
  }
  return OK;
}

static status run_rounds(model *m, int level, const char *disabled, const pass_env *env) {
  bool any = true;
  for (int round = 0; any && round < MOST_ROUNDS; ++round) {
    any = false;
    TRY(run_round(m, 1, level, disabled, env, &any));
  }
  return OK;
}

status passes_run(model *m, int level, const char *disabled, const pass_env *env) {
  bool turned = false;
  TRY(resolve_graph(m->main));
  TRY(infer_graph(m->main));
  TRY(run_rounds(m, level < 2 ? level : 2, disabled, env));
  /* Layouts come last, when nothing is left to fuse; then transposed constants are folded. */
  TRY(run_round(m, 3, level, disabled, env, &turned));
  if (turned) TRY(run_rounds(m, level < 2 ? level : 2, disabled, env));
  return model_drop_unused(m);
}
