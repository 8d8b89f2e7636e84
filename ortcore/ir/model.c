#include <ortcore/ir/graph.h>
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
  m->version = INT64_MAX;
  m->producer_name = m->producer_version = m->domain = m->description = m->graph_description = "";
  *out = m;
  return OK;
}

void model_release(model *m) {
  if (!m) return;
  for (int32_t i = 0; i < m->buffer_count; ++i) buffer_release(m->buffers[i]);
  zone_release(m->memory);
}

/* Room for one more item in a zone array that doubles; NULL without memory. What it leaves behind goes with the zone. */
static void *grow(zone *z, void *items, int32_t count, int32_t *capacity, size_t size) {
  if (count < *capacity) return items;
  int32_t wanted = *capacity ? *capacity * 2 : 8;
  void *larger = zone_alloc_array(z, (size_t)wanted, size);
  if (!larger) return NULL;
  if (count) memcpy(larger, items, (size_t)count * size);
  *capacity = wanted;
  return larger;
}

dim model_symbol(model *m, const char *name) {
  for (int32_t i = 0; i < m->symbol_count; ++i)
    if (!strcmp(m->symbols[i], name)) return -2 - (dim)i;
  const char **symbols = grow(m->memory, m->symbols, m->symbol_count, &m->symbol_capacity, sizeof *symbols);
  if (!symbols) return DIM_UNKNOWN;
  m->symbols = symbols;
  if (!(symbols[m->symbol_count] = zone_strdup(m->memory, name))) return DIM_UNKNOWN;
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
  buffer **buffers = grow(m->memory, m->buffers, m->buffer_count, &m->buffer_capacity, sizeof *buffers);
  if (!buffers) {
    buffer_release(b);
    return status_out_of_memory();
  }
  m->buffers = buffers;
  buffers[m->buffer_count++] = b;
  return OK;
}

static void replace_dim(graph *g, dim from, int64_t to) {
  for (int32_t v = 0; v < g->value_count; ++v) {
    fact *f = &g->values[v].fact;
    for (int d = 0; d < f->rank; ++d)
      if (f->dims[d] == from) f->dims[d] = to;
  }
  for (int32_t i = 0; i < g->node_count; ++i)
    for (int32_t a = 0; a < g->nodes[i]->attr_count; ++a)
      if (g->nodes[i]->attrs[a].kind == ATTR_GRAPH) replace_dim(g->nodes[i]->attrs[a].g, from, to);
}

void model_override_dim(model *m, const char *symbol, int64_t to) {
  for (int32_t i = 0; i < m->symbol_count; ++i)
    if (!strcmp(m->symbols[i], symbol)) replace_dim(m->main, -2 - (dim)i, to);
}

void model_override_denotation(model *m, const char *denotation, int64_t to) {
  for (int32_t i = 0; i < m->denotation_count; ++i) {
    if (strcmp(m->denotations[i].name, denotation)) continue;
    dim *d = &m->main->values[m->main->inputs[m->denotations[i].input]].fact.dims[m->denotations[i].axis];
    if (*d <= -2) replace_dim(m->main, *d, to);
    else if (*d == DIM_UNKNOWN) *d = to;
  }
}
