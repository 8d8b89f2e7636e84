/* Folding and fusing leave constants behind that nobody reads: their memory is given back. */
#include <ortcore/base/mem.h>
#include <ortcore/ir/graph.h>
#include <stdlib.h>

/* A buffer that the model holds, sorted by address. Callers' buffers may overlap: reach is the end of the farthest up to here. */
typedef struct held { uintptr_t begin, end, reach; buffer *memory; bool is_used; } held;

static int by_address(const void *a, const void *b) {
  const held *x = a, *y = b;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

typedef struct survey { held *items; int32_t count; } survey;

/* The buffer that the tensor's data lies in is needed; zone memory is in none. */
static void keep(survey *s, const tensor *t) {
  uintptr_t at = t && t->count ? (uintptr_t)t->data : 0;
  int32_t low = 0, high = s->count;
  while (low < high) {                                      /* the first that begins behind it */
    int32_t middle = low + (high - low) / 2;
    if (s->items[middle].begin <= at) low = middle + 1;
    else high = middle;
  }
  for (int32_t i = low - 1; i >= 0 && at < s->items[i].reach; --i)
    if (at < s->items[i].end) s->items[i].is_used = true;
}

static status survey_graph(survey *s, graph *g);

static status survey_node(survey *s, const node *n) {
  for (int32_t a = 0; a < n->attr_count; ++a) {
    const attr *of = &n->attrs[a];
    if (of->kind == ATTR_TENSOR) keep(s, of->t);
    for (int64_t i = 0; of->kind == ATTR_TENSORS && i < of->count; ++i) keep(s, of->tensors[i]);
    if (of->kind == ATTR_GRAPH) TRY(survey_graph(s, of->g));
  }
  return OK;
}

static status survey_graph(survey *s, graph *g) {
  int32_t *uses = graph_count_uses(g);
  if (!uses) return status_out_of_memory();
  for (int32_t v = 0; v < g->value_count; ++v) {
    value *of = &g->values[v];
    const tensor *contents = of->default_value ? of->default_value : of->fact.value;
    if (contents && !contents->count) of->memory = NULL;    /* nothing lies in it */
    keep(s, of->default_value);
    if (uses[v] || of->is_input || of->is_capture) {
      keep(s, of->fact.value);
    } else if (of->fact.value) {
      of->fact.value = NULL;
      of->memory = NULL;
    }
  }
  mem_free(uses);
  for (int32_t i = 0; i < g->node_count; ++i) TRY(survey_node(s, g->nodes[i]));
  return OK;
}

status model_drop_unused(model *m) {
  survey s = {.count = m->buffer_count, .items = mem_alloc(((size_t)m->buffer_count + 1) * sizeof *s.items)};
  if (!s.items) return status_out_of_memory();
  for (int32_t i = 0; i < s.count; ++i) {
    buffer *b = m->buffers[i];
    s.items[i] = (held){.begin = (uintptr_t)b->data, .end = (uintptr_t)b->data + b->bytes, .memory = b};
  }
  qsort(s.items, (size_t)s.count, sizeof *s.items, by_address);
  for (int32_t i = 0; i < s.count; ++i) s.items[i].reach = i && s.items[i - 1].reach > s.items[i].end ? s.items[i - 1].reach : s.items[i].end;
  status result = survey_graph(&s, m->main);
  for (int32_t i = 0, kept = 0; i < s.count && !result; ++i) {
    if (s.items[i].is_used) m->buffers[kept++] = s.items[i].memory;
    else buffer_release(s.items[i].memory);
    m->buffer_count = kept;
  }
  mem_free(s.items);
  return result;
}
