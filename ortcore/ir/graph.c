#include <ortcore/base/mem.h>
#include <ortcore/ir/graph.h>
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

/* Doubles a zone array when it is full. What it leaves behind goes with the zone. */
static bool grow(zone *z, void **items, int32_t count, int32_t *capacity, size_t size) {
  if (count < *capacity) return true;
  int32_t wanted = *capacity ? *capacity * 2 : 16;
  void *larger = wanted > *capacity ? zone_alloc_array(z, (size_t)wanted, size) : NULL;
  if (!larger) return false;
  if (count) memcpy(larger, *items, (size_t)count * size);
  *items = larger;
  *capacity = wanted;
  return true;
}

status graph_add_value(graph *g, const char *name, int32_t *out_id) {
  *out_id = NO_VALUE;
  if (!grow(g->memory, (void **)&g->values, g->value_count, &g->value_capacity, sizeof *g->values)) return status_out_of_memory();
  value *v = &g->values[g->value_count];
  *v = (value){.name = name ? zone_strdup(g->memory, name) : zone_printf(g->memory, "%%%d", g->value_count), .producer = -1, .fact = {.rank = RANK_UNKNOWN}};
  if (!v->name) return status_out_of_memory();
  *out_id = g->value_count++;
  return OK;
}

status graph_add_node(graph *g, const char *op_type, const char *domain, int32_t input_count, const int32_t *inputs, int32_t output_count,
                      const int32_t *outputs, node **out) {
  *out = NULL;
  if (!grow(g->memory, (void **)&g->nodes, g->node_count, &g->node_capacity, sizeof *g->nodes)) return status_out_of_memory();
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
  v->fact.kind = KIND_TENSOR;
  v->fact.type = t->type;
  fact_set_shape(&v->fact, t->rank, t->dims);
  if (v->is_input) v->default_value = copy;
  else v->fact.value = copy;
  return OK;
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

/* ---- Sorting: depth first over producers, with an explicit stack, since chains can be long ------------------------------------- */

typedef struct visit { int32_t node, next; } visit;

/* Operand `i` of a node, its captures after its inputs. */
static int32_t operand(const node *n, int32_t i) { return i < n->input_count ? n->inputs[i] : n->captures[i - n->input_count]; }

static status sort_from(const graph *g, int32_t root, char *state, visit *stack, node **sorted, int32_t *count) {
  int32_t depth = 0;
  if (state[root]) return OK;
  stack[depth++] = (visit){root, 0};
  state[root] = 1;
  while (depth) {
    visit *top = &stack[depth - 1];
    const node *n = g->nodes[top->node];
    if (top->next == n->input_count + n->capture_count) {
      state[top->node] = 2;
      sorted[(*count)++] = g->nodes[top->node];
      --depth;
      continue;
    }
    int32_t v = operand(n, top->next++), producer = v == NO_VALUE ? -1 : g->values[v].producer;
    if (producer < 0 || state[producer] == 2) continue;
    if (state[producer] == 1) return ERROR(INVALID_GRAPH, "nodes '%s' and '%s' need each other's outputs: the graph has a cycle", n->name, g->nodes[producer]->name);
    state[producer] = 1;
    stack[depth++] = (visit){producer, 0};
  }
  return OK;
}

static bool is_sorted(const graph *g) {
  for (int32_t i = 0; i < g->node_count; ++i)
    for (int32_t j = 0; j < g->nodes[i]->input_count + g->nodes[i]->capture_count; ++j) {
      int32_t v = operand(g->nodes[i], j);
      if (v != NO_VALUE && g->values[v].producer >= i) return false;
    }
  return true;
}

status graph_sort(graph *g) {
  if (is_sorted(g)) return OK;
  size_t n = (size_t)g->node_count + 1;
  char *state = mem_calloc(n, 1);
  visit *stack = mem_calloc(n, sizeof *stack);
  node **sorted = ZONE_ARRAY(g->memory, n, node *);
  status s = state && stack && sorted ? OK : status_out_of_memory();
  int32_t count = 0;
  for (int32_t i = 0; i < g->node_count && !s; ++i) s = sort_from(g, i, state, stack, sorted, &count);
  mem_free(state);
  mem_free(stack);
  if (s) return s;
  g->nodes = sorted;
  g->node_capacity = (int32_t)n;
  graph_compact(g);
  return OK;
}

/* ---- Verifying --------------------------------------------------------------------------------------------------------------------- */

static bool is_value(const graph *g, int32_t v) { return v >= 0 && v < g->value_count; }

static status verify_node(const graph *g, int32_t i) {
  const node *n = g->nodes[i];
  if (!n->op) return ERROR(INVALID_GRAPH, "node '%s' has no operator", n->name);
  for (int32_t j = 0; j < n->input_count + n->capture_count; ++j) {
    int32_t v = operand(n, j);
    if (v == NO_VALUE && j < n->input_count) continue;
    if (!is_value(g, v)) return ERROR(INVALID_GRAPH, "node '%s' reads a value that does not exist", n->name);
    if (g->values[v].producer >= i) return ERROR(INVALID_GRAPH, "node '%s' reads '%s' before it is computed", n->name, g->values[v].name);
  }
  for (int32_t j = 0; j < n->output_count; ++j) {
    int32_t v = n->outputs[j];
    if (v == NO_VALUE) continue;
    if (!is_value(g, v) || g->values[v].producer != i) return ERROR(INVALID_GRAPH, "output %d of node '%s' does not name it as its producer", j, n->name);
  }
  for (int32_t a = 0; a < n->attr_count; ++a) {
    if (n->attrs[a].kind != ATTR_GRAPH) continue;
    const graph *sub = n->attrs[a].g;
    for (int32_t c = 0; c < sub->capture_count; ++c)
      if (!is_value(sub, sub->captures[c].inner) || sub->captures[c].slot < 0 || sub->captures[c].slot >= n->capture_count)
        return ERROR(INVALID_GRAPH, "a capture of the graph in '%s' of node '%s' is out of range", n->attrs[a].name, n->name);
    TRY(graph_verify(sub));
  }
  return OK;
}

status graph_verify(const graph *g) {
  for (int32_t i = 0; i < g->input_count; ++i)
    if (!is_value(g, g->inputs[i])) return ERROR(INVALID_GRAPH, "input %d does not exist", i);
  for (int32_t i = 0; i < g->node_count; ++i) TRY(verify_node(g, i));
  for (int32_t i = 0; i < g->output_count; ++i) {
    if (!is_value(g, g->outputs[i])) return ERROR(INVALID_GRAPH, "output %d does not exist", i);
    const value *v = &g->values[g->outputs[i]];
    if (v->producer < 0 && !v->is_input && !v->is_initializer && !v->is_capture) return ERROR(INVALID_GRAPH, "output '%s' is computed by nothing", v->name);
  }
  return OK;
}
