/* Nodes whose inputs are constant are computed once, here. */
#include <ortcore/passes/infer.h>
#include <ortcore/passes/pass.h>
#include <stdlib.h>
#include <string.h>

/* A larger result costs more memory than computing it costs time (ConstantOfShape, Expand, Tile). */
#define DEFAULT_LIMIT ((int64_t)64 << 20)

static bool is_foldable(const graph *g, const node *n, int64_t limit) {
  if (!n->op || !n->op->run || (n->op->flags & (OP_NONDETERMINISTIC | OP_SUBGRAPHS | OP_VALUES))) return false;
  for (int32_t i = 0; i < n->input_count; ++i) {
    if (n->inputs[i] == NO_VALUE) continue;
    const fact *f = &g->values[n->inputs[i]].fact;
    if (!f->value && !((n->op->flags & OP_SHAPE_ONLY) && f->kind == KIND_TENSOR && fact_is_static(f))) return false;
  }
  for (int32_t i = 0; i < n->output_count; ++i) {
    if (n->outputs[i] == NO_VALUE) continue;
    const fact *f = &g->values[n->outputs[i]].fact;
    int64_t count = fact_count(f);
    if (f->kind != KIND_TENSOR || count > limit / (dtype_width(f->type) ? dtype_width(f->type) : 1)) return false;
  }
  return true;
}

/* An input of which only the dims matter stands in as a tensor without data. */
static status stand_in(fact *f, zone *scratch) {
  if (f->value) return OK;
  tensor *t = ZONE_NEW(scratch, tensor);
  if (!t) return status_out_of_memory();
  TRY(tensor_init(t, f->type, f->rank, f->dims));
  f->value = t;
  return OK;
}

static status fold(graph *g, const node *n, const pass_env *env, zone *scratch, bool *out_folded) {
  fact *facts = ZONE_ARRAY(scratch, n->input_count + 1, fact);
  const fact **in = ZONE_ARRAY(scratch, n->input_count + 1, const fact *), **out = ZONE_ARRAY(scratch, n->output_count + 1, const fact *);
  ortc_value **values = ZONE_ARRAY(scratch, n->output_count + 1, ortc_value *);
  if (!facts || !in || !out || !values) return status_out_of_memory();
  for (int32_t i = 0; i < n->input_count; ++i) {
    if (n->inputs[i] == NO_VALUE) continue;
    facts[i] = g->values[n->inputs[i]].fact;
    TRY(stand_in(&facts[i], scratch));
    in[i] = &facts[i];
  }
  for (int32_t i = 0; i < n->output_count; ++i) out[i] = n->outputs[i] == NO_VALUE ? NULL : &g->values[n->outputs[i]].fact;
  status s = env->eval_node(env->user, n, n->input_count, in, n->output_count, out, values);
  if (s) {
    /* The node may never run (a branch that is not taken), so its failure is not the model's: it stays, and fails if it is reached. */
    ortc_status_release(s);
    return OK;
  }
  for (int32_t i = 0; i < n->output_count && !s; ++i) {
    if (!values[i]) continue;
    g->values[n->outputs[i]].producer = -1;
    s = graph_set_constant(g, n->outputs[i], &values[i]->view, values[i]->memory);
  }
  for (int32_t i = 0; i < n->output_count; ++i) ort_value_release(values[i]);
  *out_folded = true;
  return s;
}

status pass_fold(graph *g, const pass_env *env, bool *out_changed) {
  zone *scratch = zone_create();
  status s = scratch ? OK : status_out_of_memory();
  int64_t limit = env->constant_folding_limit > 0 ? env->constant_folding_limit : DEFAULT_LIMIT;
  bool changed = false;
  for (int32_t i = 0; i < g->node_count && !s; ++i) {
    const node *n = g->nodes[i];
    bool folded = false;
    if (is_foldable(g, n, limit)) s = fold(g, n, env, scratch, &folded);
    if (!folded || s) continue;
    g->nodes[i] = NULL;
    changed = true;
  }
  zone_release(scratch);
  graph_compact(g);
  *out_changed |= changed;
  return s;
}
