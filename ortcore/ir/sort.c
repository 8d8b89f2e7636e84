/* Topological order: depth first over producers, with an explicit stack, since chains can be long. */
#include <ortcore/base/mem.h>
#include <ortcore/ir/graph.h>

typedef struct visit { int32_t node, next; } visit;

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
    int32_t v = node_operand(n, top->next++), producer = v == NO_VALUE ? -1 : g->values[v].producer;
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
      int32_t v = node_operand(g->nodes[i], j);
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
