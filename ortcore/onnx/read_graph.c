/* GraphProto. Names are declared before nodes are read, so that the order of nodes in the file does not matter. */
#include <ortcore/base/mem.h>
#include <ortcore/onnx/reader.h>
#include <string.h>

enum { G_NODE = 1, G_NAME = 2, G_INITIALIZER = 5, G_DOC = 10, G_INPUT = 11, G_OUTPUT = 12, G_VALUE_INFO = 13, G_SPARSE = 15 };

/* ---- Scopes ---------------------------------------------------------------------------------------------------------------------------- */

void scope_deinit(scope *s) {
  strmap_deinit(&s->names);
  mem_free(s->captures);
}

status scope_define(scope *s, const char *name, int32_t *out_id) {
  int64_t present;
  if (strmap_get(&s->names, name, &present)) return ERROR(FAIL, "the name '%s' is given to two values; each must be computed once", name);
  const char *full = *s->prefix ? zone_printf(s->g->memory, "%s/%s", s->prefix, name) : name;
  if (!full) return status_out_of_memory();
  TRY(graph_add_value(s->g, full, out_id));
  const char *key = *s->prefix ? zone_strdup(s->g->memory, name) : s->g->values[*out_id].name;
  return key && strmap_put(&s->names, key, *out_id) ? OK : status_out_of_memory();
}

/* A value of the graph around becomes one of this graph, which stands for it. */
static status add_capture(scope *s, const char *name, int32_t outer, int32_t *out_id) {
  TRY(scope_define(s, name, out_id));
  if (s->capture_count == s->capture_capacity) {
    int32_t wanted = s->capture_capacity ? s->capture_capacity * 2 : 8;
    void *captures = mem_realloc(s->captures, (size_t)wanted * sizeof *s->captures);
    if (!captures) return status_out_of_memory();
    s->captures = captures;
    s->capture_capacity = wanted;
  }
  s->captures[s->capture_count].inner = *out_id;
  s->captures[s->capture_count++].outer = outer;
  value *v = &s->g->values[*out_id];
  v->is_capture = true;
  v->fact = s->parent->g->values[outer].fact;
  return OK;
}

status scope_lookup(scope *s, const char *name, int32_t *out_id) {
  int64_t id;
  *out_id = NO_VALUE;
  if (strmap_get(&s->names, name, &id)) {
    *out_id = (int32_t)id;
    return OK;
  }
  if (!s->parent) return OK;
  int32_t outer;
  TRY(scope_lookup(s->parent, name, &outer));
  if (outer < 0) {
    *out_id = outer;
    return OK;
  }
  return add_capture(s, name, outer, out_id);
}

/* ---- Inputs, initializers, outputs ------------------------------------------------------------------------------------------------------- */

static status append(zone *z, int32_t **list, int32_t *count, int32_t capacity, int32_t id) {
  if (!*list && !(*list = ZONE_ARRAY(z, capacity + 1, int32_t))) return status_out_of_memory();
  (*list)[(*count)++] = id;
  return OK;
}

static int32_t count_fields(wire w, uint32_t number) {
  wire_field f;
  int32_t n = 0;
  while (wire_next(&w, &f)) n += f.number == number;
  return n;
}

static status note_denotations(reader *r, wire info, int32_t input) {
  /* ValueInfoProto.type.tensor_type.shape.dim[i].denotation */
  static const uint32_t path[] = {2, 1, 2};
  wire w = info;
  wire_field f;
  for (size_t level = 0; level < sizeof path / sizeof *path; ++level) {
    bool found = false;
    while (!found && wire_next(&w, &f)) found = f.number == path[level] && f.type == WIRE_BYTES;
    if (!found) return OK;
    w = wire_message(&f);
  }
  for (int32_t axis = 0; wire_next(&w, &f);) {
    if (f.number != 1) continue;
    wire_field g;
    for (wire d = wire_message(&f); wire_next(&d, &g);) {
      if (g.number != 3) continue;
      model *m = r->m;
      void *larger = zone_alloc_array(m->memory, (size_t)m->denotation_count + 1, sizeof *m->denotations);
      char *name = wire_text(m->memory, &g);
      if (!larger || !name) return status_out_of_memory();
      if (m->denotation_count) memcpy(larger, m->denotations, (size_t)m->denotation_count * sizeof *m->denotations);
      m->denotations = larger;
      m->denotations[m->denotation_count].name = name;
      m->denotations[m->denotation_count].input = input;
      m->denotations[m->denotation_count++].axis = axis;
    }
    ++axis;
  }
  return OK;
}

static status read_inputs(reader *r, scope *s, wire w) {
  graph *g = s->g;
  int32_t capacity = count_fields(w, G_INPUT);
  wire_field f;
  while (wire_next(&w, &f)) {
    if (f.number != G_INPUT) continue;
    char *name;
    fact declared;
    int32_t id;
    TRY(read_value_info(r, wire_message(&f), &name, &declared));
    TRY(scope_define(s, name, &id));
    g->values[id].fact = declared;
    g->values[id].is_input = true;
    TRY(append(g->memory, &g->inputs, &g->input_count, capacity, id));
    if (!g->parent) TRY(note_denotations(r, wire_message(&f), g->input_count - 1));
  }
  return OK;
}

static status read_initializer(reader *r, scope *s, wire w, bool sparse) {
  tensor t;
  buffer *memory;
  char *name;
  if (sparse) TRY(read_sparse_tensor(r, w, &t, &memory, &name));
  else TRY(read_tensor(r, w, &t, &memory, &name));
  if (!name || !*name) return ERROR(INVALID_GRAPH, "an initializer has no name");
  int64_t present;
  int32_t id;
  graph *g = s->g;
  if (!strmap_get(&s->names, name, &present)) {
    TRY(scope_define(s, name, &id));
    return graph_set_constant(g, id, &t, memory);
  }
  id = (int32_t)present;
  value *v = &g->values[id];
  if (!v->is_input || v->is_initializer) return ERROR(FAIL, "the name '%s' is given to two initializers", name);
  if (v->fact.kind == KIND_TENSOR && v->fact.type && v->fact.type != t.type)
    return ERROR(FAIL, "Type Error: initializer '%s' is %s, but the input of that name is declared %s", name, dtype_name(t.type), dtype_name(v->fact.type));
  if (r->m->ir_version >= 4) return graph_set_constant(g, id, &t, memory);
  /* Before IR version 4 every initializer had to be listed as an input too: it is a constant like any other. */
  v->is_input = false;
  int32_t kept = 0;
  for (int32_t i = 0; i < g->input_count; ++i)
    if (g->inputs[i] != id) g->inputs[kept++] = g->inputs[i];
  g->input_count = kept;
  return graph_set_constant(g, id, &t, memory);
}

static status read_initializers(reader *r, scope *s, wire w) {
  wire_field f;
  while (wire_next(&w, &f)) {
    if (r->options->cancel && *r->options->cancel) return ERROR(MODEL_LOAD_CANCELED, "loading was cancelled");
    if (f.number == G_INITIALIZER || f.number == G_SPARSE) TRY(read_initializer(r, s, wire_message(&f), f.number == G_SPARSE));
  }
  return OK;
}

static status declare_outputs(reader *r, scope *s, wire node) {
  wire_field f;
  while (wire_next(&node, &f)) {
    if (f.number != 2 || !f.bytes) continue;
    char *name = wire_text(r->m->memory, &f);
    int32_t id;
    if (!name) return status_out_of_memory();
    TRY(scope_define(s, name, &id));
  }
  return node.bad ? malformed("a node") : OK;
}

static status read_outputs(reader *r, scope *s, wire w) {
  graph *g = s->g;
  int32_t capacity = count_fields(w, G_OUTPUT);
  wire_field f;
  while (wire_next(&w, &f)) {
    if (f.number != G_OUTPUT) continue;
    char *name;
    fact declared;
    int32_t id;
    TRY(read_value_info(r, wire_message(&f), &name, &declared));
    TRY(scope_lookup(s, name, &id));
    if (id < 0) return ERROR(INVALID_GRAPH, "output '%s' of the graph is computed by no node", name);
    value *v = &g->values[id];
    if (!v->is_input && !v->is_initializer && !v->is_capture) v->fact = declared;
    v->is_output = true;
    TRY(append(g->memory, &g->outputs, &g->output_count, capacity, id));
  }
  return OK;
}

static status read_nodes(reader *r, scope *s, wire w) {
  wire_field f;
  for (wire again = w; wire_next(&again, &f);)
    if (f.number == G_NODE) TRY(declare_outputs(r, s, wire_message(&f)));
  while (wire_next(&w, &f))
    if (f.number == G_NODE) TRY(read_node(r, s, wire_message(&f)));
  return w.bad ? malformed("a graph") : OK;
}

static status read_names(reader *r, graph *g, wire w) {
  wire_field f;
  while (wire_next(&w, &f)) {
    char *text;
    if (f.number != G_NAME && f.number != G_DOC) continue;
    if (!(text = wire_text(r->m->memory, &f))) return status_out_of_memory();
    if (f.number == G_NAME) g->name = text;
    else if (!g->parent) r->m->graph_description = text;
  }
  return w.bad ? malformed("a graph") : OK;
}

status read_graph(reader *r, wire w, scope *parent, int depth, graph **out, scope *own) {
  *own = (scope){.parent = parent, .depth = depth, .prefix = ""};
  strmap_init(&own->names);
  if (parent) {
    own->caller = parent->caller;
    own->defaults = parent->defaults;
    own->import_count = parent->import_count;
    memcpy(own->imports, parent->imports, sizeof own->imports);
  }
  if (depth > MAX_DEPTH) return ERROR(INVALID_GRAPH, "subgraphs nest more than %d deep", MAX_DEPTH);
  TRY(graph_create(r->m, parent ? parent->g : NULL, out));
  own->g = *out;
  TRY(read_names(r, *out, w));
  TRY(read_inputs(r, own, w));
  TRY(read_initializers(r, own, w));
  TRY(read_nodes(r, own, w));
  TRY(read_outputs(r, own, w));
  return graph_sort(*out);
}
