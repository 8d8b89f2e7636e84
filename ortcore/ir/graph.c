#include <ortcore/base/mem.h>
#include <ortcore/ir/graph.h>
#include <ortcore/ir/grow.h>
#include <string.h>

status graph_create(model *m, graph *parent, graph **out) {
  graph *g = *out = ZONE_NEW(m->memory, graph);
  if (!g) return status_out_of_memory();
  g->owner = m;
  g->parent = parent;
  g->memory = m->memory;
  g->name = "";
  return OK;
}

status graph_add_value(graph *g, const char *name, int32_t *out_id) {
  *out_id = NO_VALUE;
  if (!zone_grow(g->memory, &g->values, g->value_count, &g->value_capacity, sizeof *g->values)) return status_out_of_memory();
  value *v = &g->values[g->value_count];
  *v = (value){.name = name ? zone_strdup(g->memory, name) : zone_printf(g->memory, "%%%d", g->value_count), .producer = -1, .fact = {.rank = RANK_UNKNOWN}};
  if (!v->name) return status_out_of_memory();
  *out_id = g->value_count++;
  return OK;
}

status graph_add_node(graph *g, const char *op_type, const char *domain, int32_t input_count, const int32_t *inputs, int32_t output_count,
                      const int32_t *outputs, node **out) {
  *out = NULL;
  if (!zone_grow(g->memory, &g->nodes, g->node_count, &g->node_capacity, sizeof *g->nodes)) return status_out_of_memory();
  node *n = ZONE_NEW(g->memory, node);
  if (!n) return status_out_of_memory();
  n->op_type = zone_strdup(g->memory, op_type);
  n->domain = zone_strdup(g->memory, domain);
  n->name = zone_printf(g->memory, "%s_%d", op_type, g->node_count);
  n->opset = model_opset(g->owner, n->domain ? n->domain : "");
  n->inputs = ZONE_ARRAY(g->memory, input_count + 1, int32_t);
  n->outputs = ZONE_ARRAY(g->memory, output_count + 1, int32_t);
  if (!n->op_type || !n->domain || !n->name || !n->inputs || !n->outputs) return status_out_of_memory();
  if (input_count) memcpy(n->inputs, inputs, (size_t)input_count * sizeof *inputs);
  if (output_count) memcpy(n->outputs, outputs, (size_t)output_count * sizeof *outputs);
  n->input_count = input_count;
  n->output_count = output_count;
  for (int32_t i = 0; i < output_count; ++i)
    if (outputs[i] != NO_VALUE) g->values[outputs[i]].producer = g->node_count;
  g->nodes[g->node_count++] = *out = n;
  return OK;
}

status graph_set_constant(graph *g, int32_t id, const tensor *t, buffer *memory) {
  tensor *copy = zone_copy(g->memory, t, sizeof *t);
  if (!copy) return status_out_of_memory();
  if (memory) TRY(model_hold_buffer(g->owner, buffer_retain(memory)));
  value *v = &g->values[id];
  v->is_initializer = true;
  v->memory = memory;
  if (v->is_input && v->fact.kind == KIND_TENSOR && v->fact.rank >= 0) {
    v->default_value = copy;
    return OK;
  }
  v->fact = (fact){.kind = KIND_TENSOR, .type = t->type};
  fact_set_shape(&v->fact, t->rank, t->dims);
  if (v->is_input) v->default_value = copy;
  else v->fact.value = copy;
  return OK;
}

int32_t graph_find_value(const graph *g, const char *name) {
  for (int32_t v = 0; v < g->value_count; ++v)
    if (!strcmp(g->values[v].name, name)) return v;
  return NO_VALUE;
}

int32_t *graph_count_uses(const graph *g) {
  int32_t *uses = mem_calloc((size_t)g->value_count + 1, sizeof *uses);
  if (!uses) return NULL;
  for (int32_t i = 0; i < g->node_count; ++i) {
    const node *n = g->nodes[i];
    if (!n) continue;
    for (int32_t j = 0; j < n->input_count; ++j)
      if (n->inputs[j] != NO_VALUE) ++uses[n->inputs[j]];
    for (int32_t j = 0; j < n->capture_count; ++j) ++uses[n->captures[j]];
  }
  for (int32_t i = 0; i < g->output_count; ++i) ++uses[g->outputs[i]];
  return uses;
}

void graph_compact(graph *g) {
  int32_t kept = 0;
  for (int32_t v = 0; v < g->value_count; ++v) g->values[v].producer = -1;
  for (int32_t i = 0; i < g->node_count; ++i) {
    node *n = g->nodes[i];
    if (!n) continue;
    for (int32_t j = 0; j < n->output_count; ++j)
      if (n->outputs[j] != NO_VALUE) g->values[n->outputs[j]].producer = kept;
    g->nodes[kept++] = n;
  }
  g->node_count = kept;
}
