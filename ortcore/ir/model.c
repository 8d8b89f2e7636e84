/* Models: symbols of dims, overrides of dims, and the memory that constants lie in. */
#include <ortcore/ir/graph.h>
#include <ortcore/ir/grow.h>
#include <string.h>

status model_create(model **out) {
  *out = NULL;
  zone *memory = zone_create();
  model *m = memory ? ZONE_NEW(memory, model) : NULL;
  if (!m) {
    zone_release(memory);
    return status_out_of_memory();
  }
  m->memory = memory;
  strmap_init(&m->symbol_ids);
  m->version = INT64_MAX;
  m->producer_name = m->producer_version = m->domain = m->description = m->graph_description = "";
  *out = m;
  return OK;
}

void model_release(model *m) {
  if (!m) return;
  for (int32_t i = 0; i < m->buffer_count; ++i) buffer_release(m->buffers[i]);
  strmap_deinit(&m->symbol_ids);
  zone_release(m->memory);
}

dim model_symbol(model *m, const char *name) {
  int64_t known;
  if (strmap_get(&m->symbol_ids, name, &known)) return -2 - (dim)known;
  if (!zone_grow(m->memory, &m->symbols, m->symbol_count, &m->symbol_capacity, sizeof *m->symbols)) return DIM_UNKNOWN;
  const char *copy = zone_strdup(m->memory, name);
  if (!copy || !strmap_put(&m->symbol_ids, copy, m->symbol_count)) return DIM_UNKNOWN;
  m->symbols[m->symbol_count] = copy;
  return -2 - (dim)m->symbol_count++;
}

const char *model_symbol_name(const model *m, dim d) {
  return d <= -2 && -2 - d < m->symbol_count ? m->symbols[-2 - d] : NULL;
}

int64_t model_opset(const model *m, const char *domain) {
  for (int32_t i = 0; i < m->import_count; ++i)
    if (!strcmp(m->imports[i].domain, domain)) return m->imports[i].version;
  return 0;
}

status model_hold_buffer(model *m, buffer *b) {
  if (m->buffer_count && m->buffers[m->buffer_count - 1] == b) {   /* weights of one file come one after the other */
    buffer_release(b);
    return OK;
  }
  if (!zone_grow(m->memory, &m->buffers, m->buffer_count, &m->buffer_capacity, sizeof *m->buffers)) {
    buffer_release(b);
    return status_out_of_memory();
  }
  m->buffers[m->buffer_count++] = b;
  return OK;
}

static void replace_in_fact(fact *f, dim from, int64_t to) {
  for (int d = 0; d < f->rank; ++d)
    if (f->dims[d] == from) f->dims[d] = to;
}

static void replace_dim(graph *g, dim from, int64_t to) {
  for (int32_t v = 0; v < g->value_count; ++v) {
    replace_in_fact(&g->values[v].fact, from, to);
    if (g->values[v].declared) replace_in_fact((fact *)(uintptr_t)g->values[v].declared, from, to);   /* the model's zone holds it */
  }
  for (int32_t i = 0; i < g->node_count; ++i)
    for (int32_t a = 0; a < g->nodes[i]->attr_count; ++a)
      if (g->nodes[i]->attrs[a].kind == ATTR_GRAPH) replace_dim(g->nodes[i]->attrs[a].g, from, to);
}

void model_override_dim(model *m, const char *symbol, int64_t to) {
  int64_t known;
  if (strmap_get(&m->symbol_ids, symbol, &known)) replace_dim(m->main, -2 - (dim)known, to);
}

void model_override_denotation(model *m, const char *denotation, int64_t to) {
  for (int32_t i = 0; i < m->denotation_count; ++i) {
    if (strcmp(m->denotations[i].name, denotation)) continue;
    dim *d = &m->main->values[m->denotations[i].input].fact.dims[m->denotations[i].axis];
    if (*d <= -2) replace_dim(m->main, *d, to);
    else if (*d == DIM_UNKNOWN) *d = to;
  }
}
