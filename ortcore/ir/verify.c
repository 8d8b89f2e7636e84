/* The invariants that graph.h states, checked. */
#include <ortcore/ir/graph.h>
#include <string.h>

static bool is_value(const graph *g, int32_t v) { return v >= 0 && v < g->value_count; }

static status verify_operands(const graph *g, int32_t i) {
  const node *n = g->nodes[i];
  for (int32_t j = 0; j < n->input_count + n->capture_count; ++j) {
    int32_t v = node_operand(n, j);
    if (v == NO_VALUE && j < n->input_count) continue;
    if (!is_value(g, v)) return ERROR(INVALID_GRAPH, "node '%s' reads a value that does not exist", n->name);
    const value *from = &g->values[v];
    if (from->producer >= i) return ERROR(INVALID_GRAPH, "node '%s' reads '%s' before it is computed", n->name, from->name);
    if (from->producer < 0 && !from->is_input && !from->is_initializer && !from->is_capture)
      return ERROR(INVALID_GRAPH, "node '%s' reads '%s', which nothing computes", n->name, from->name);
  }
  return OK;
}

static status verify_outputs(const graph *g, int32_t i) {
  const node *n = g->nodes[i];
  for (int32_t j = 0; j < n->output_count; ++j) {
    int32_t v = n->outputs[j];
    if (v == NO_VALUE) continue;
    if (!is_value(g, v) || g->values[v].producer != i) return ERROR(INVALID_GRAPH, "output %d of node '%s' does not name it as its producer", j, n->name);
    if (g->values[v].fact.value) return ERROR(INVALID_GRAPH, "output %d of node '%s' is a constant as well", j, n->name);
  }
  return OK;
}

static status verify_subgraph(const graph *g, const node *n, const attr *a) {
  const graph *sub = a->g;
  if (sub->parent != g) return ERROR(INVALID_GRAPH, "the graph in '%s' of node '%s' has another parent", a->name, n->name);
  for (int32_t c = 0; c < sub->capture_count; ++c) {
    const capture *k = &sub->captures[c];
    if (!is_value(sub, k->inner) || !sub->values[k->inner].is_capture || k->slot < 0 || k->slot >= n->capture_count)
      return ERROR(INVALID_GRAPH, "capture %d of the graph in '%s' of node '%s' is out of range", c, a->name, n->name);
  }
  return graph_verify(sub);
}

static status verify_values(const graph *g) {
  for (int32_t i = 0; i < g->value_count; ++i) {
    const value *v = &g->values[i];
    if (v->producer >= g->node_count) return ERROR(INVALID_GRAPH, "the producer of '%s' does not exist", v->name);
    if (v->fact.value && v->fact.rank >= 0 && !dims_equal(v->fact.rank, v->fact.dims, v->fact.value->rank, v->fact.value->dims))
      return ERROR(INVALID_GRAPH, "the constant '%s' has another shape than its fact", v->name);
    if (v->is_input && v->is_initializer && v->fact.value) return ERROR(INVALID_GRAPH, "the overridable initializer '%s' is treated as a constant", v->name);
  }
  return OK;
}

status graph_verify(const graph *g) {
  TRY(verify_values(g));
  for (int32_t i = 0; i < g->input_count; ++i)
    if (!is_value(g, g->inputs[i]) || !g->values[g->inputs[i]].is_input) return ERROR(INVALID_GRAPH, "input %d is no input value", i);
  for (int32_t i = 0; i < g->node_count; ++i) {
    const node *n = g->nodes[i];
    if (!n->op) return ERROR(INVALID_GRAPH, "node '%s' has no operator", n->name);
    TRY(verify_operands(g, i));
    TRY(verify_outputs(g, i));
    for (int32_t a = 0; a < n->attr_count; ++a)
      if (n->attrs[a].kind == ATTR_GRAPH) TRY(verify_subgraph(g, n, &n->attrs[a]));
  }
  for (int32_t i = 0; i < g->output_count; ++i) {
    if (!is_value(g, g->outputs[i])) return ERROR(INVALID_GRAPH, "output %d does not exist", i);
    const value *v = &g->values[g->outputs[i]];
    if (v->producer < 0 && !v->is_input && !v->is_initializer && !v->is_capture) return ERROR(INVALID_GRAPH, "output '%s' is computed by nothing", v->name);
  }
  return OK;
}
