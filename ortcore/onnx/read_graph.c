/* GraphProto. Names are declared before nodes are read, so that the order of nodes in the file does not matter. */
#include <ortcore/ir/grow.h>
#include <ortcore/onnx/reader.h>
#include <string.h>

enum { G_NODE = 1, G_NAME = 2, G_INITIALIZER = 5, G_DOC = 10, G_INPUT = 11, G_OUTPUT = 12, G_VALUE_INFO = 13, G_SPARSE = 15 };

/* ---- Inputs ---------------------------------------------------------------------------------------------------------------------------- */

static status note_denotation(model *m, const wire_field *f, int32_t input, int32_t axis) {
  char *name = wire_text(m->memory, f);
  if (!name || !zone_grow(m->memory, &m->denotations, m->denotation_count, &m->denotation_capacity, sizeof *m->denotations)) return status_out_of_memory();
  m->denotations[m->denotation_count].name = name;
  m->denotations[m->denotation_count].input = input;
  m->denotations[m->denotation_count++].axis = axis;
  return OK;
}

static status note_denotations(reader *r, wire info, int32_t input) {
  /* ValueInfoProto.type.tensor_type.shape.dim[i].denotation */
  static const uint32_t path[] = {2, 1, 2};
  wire w = info;
  wire_field f, g;
  for (size_t level = 0; level < sizeof path / sizeof *path; ++level) {
    bool found = false;
    while (!found && wire_next(&w, &f)) found = f.number == path[level] && f.type == WIRE_BYTES;
    if (!found) return OK;
    w = wire_message(&f);
  }
  for (int32_t axis = 0; wire_next(&w, &f);) {
    if (f.number != 1) continue;
    if (axis == r->m->main->values[input].fact.rank) return OK;
    for (wire d = wire_message(&f); wire_next(&d, &g);)
      if (g.number == 3 && g.bytes) TRY(note_denotation(r->m, &g, input, axis));
    ++axis;
  }
  return OK;
}

static status check_input_type(const char *name, const fact *f) {
  if (f->kind != KIND_UNKNOWN && (f->type != ORTC_UNDEFINED || f->kind != KIND_TENSOR)) return OK;
  return ERROR(INVALID_GRAPH, "input '%s' of the graph has no type; every input needs one", name);
}

static status read_inputs(reader *r, scope *s, wire w) {
  graph *g = s->g;
  int32_t capacity;
  wire_field f;
  TRY(count_fields(w, G_INPUT, &capacity));
  if (!(g->inputs = ZONE_ARRAY(g->memory, (size_t)capacity + 1, int32_t))) return status_out_of_memory();
  while (wire_next(&w, &f)) {
    if (f.number != G_INPUT) continue;
    char *name;
    fact declared;
    int32_t id;
    TRY(read_value_info(r, wire_message(&f), &name, &declared));
    if (!g->parent) TRY(check_input_type(name, &declared));
    TRY(scope_define(s, name, &id));
    g->values[id].fact = declared;
    g->values[id].is_input = true;
    g->inputs[g->input_count++] = id;
    if (!g->parent) TRY(note_denotations(r, wire_message(&f), id));
  }
  return OK;
}

/* ---- Initializers ---------------------------------------------------------------------------------------------------------------------- */

static status read_initializer(reader *r, scope *s, wire w, bool sparse) {
  tensor t;
  buffer *memory;
  const char *name = NULL;
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
  /* Before IR version 4 every initializer had to be listed as an input too: it is a constant like any other. */
  v->is_input = r->m->ir_version >= 4;
  return graph_set_constant(g, id, &t, memory);
}

static status read_initializers(reader *r, scope *s, wire w) {
  wire_field f;
  while (wire_next(&w, &f)) {
    if (f.number != G_INITIALIZER && f.number != G_SPARSE) continue;
    TRY(check_cancelled(r));
    TRY(read_initializer(r, s, wire_message(&f), f.number == G_SPARSE));
  }
  graph *g = s->g;
  int32_t kept = 0;
  for (int32_t i = 0; i < g->input_count; ++i)
    if (g->values[g->inputs[i]].is_input) g->inputs[kept++] = g->inputs[i];
  g->input_count = kept;
  return OK;
}

/* ---- Nodes and what is said of their outputs --------------------------------------------------------------------------------------------- */

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

static status read_nodes(reader *r, scope *s, wire w) {
  wire_field f;
  for (wire again = w; wire_next(&again, &f);)
    if (f.number == G_NODE) TRY(declare_outputs(r, s, wire_message(&f)));
  while (wire_next(&w, &f)) {
    if (f.number != G_NODE) continue;
    TRY(check_cancelled(r));
    TRY(read_node(r, s, wire_message(&f)));
  }
  return OK;
}

static status declare(graph *g, int32_t id, const fact *declared) {
  value *v = &g->values[id];
  if (v->is_input || v->is_initializer || v->is_capture) return OK;
  if (!(v->declared = zone_copy(g->memory, declared, sizeof *declared))) return status_out_of_memory();
  v->fact = *declared;
  return OK;
}

static status read_value_infos(reader *r, scope *s, wire w) {
  wire_field f;
  while (wire_next(&w, &f)) {
    if (f.number != G_VALUE_INFO) continue;
    char *name;
    fact declared;
    int64_t id;
    TRY(read_value_info(r, wire_message(&f), &name, &declared));
    if (strmap_get(&s->names, name, &id)) TRY(declare(s->g, (int32_t)id, &declared));
  }
  return OK;
}

static status read_outputs(reader *r, scope *s, wire w) {
  graph *g = s->g;
  int32_t capacity;
  wire_field f;
  TRY(count_fields(w, G_OUTPUT, &capacity));
  if (!(g->outputs = ZONE_ARRAY(g->memory, (size_t)capacity + 1, int32_t))) return status_out_of_memory();
  while (wire_next(&w, &f)) {
    if (f.number != G_OUTPUT) continue;
    char *name;
    fact declared;
    int32_t id;
    TRY(read_value_info(r, wire_message(&f), &name, &declared));
    TRY(scope_lookup(s, name, &id));
    if (id < 0) return ERROR(INVALID_GRAPH, "output '%s' of the graph is computed by no node", name);
    TRY(declare(g, id, &declared));
    g->values[id].is_output = true;
    g->outputs[g->output_count++] = id;
  }
  return OK;
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------------------------------ */

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

status read_graph(reader *r, wire w, scope *parent, graph **out, scope *own) {
  scope_init(own, NULL, parent);
  if (own->depth > MAX_DEPTH) return ERROR(INVALID_GRAPH, "subgraphs nest more than %d deep", MAX_DEPTH);
  TRY(graph_create(r->m, parent ? parent->g : NULL, out));
  own->g = *out;
  TRY(read_names(r, *out, w));
  TRY(read_inputs(r, own, w));
  TRY(read_initializers(r, own, w));
  TRY(read_nodes(r, own, w));
  TRY(read_value_infos(r, own, w));
  TRY(read_outputs(r, own, w));
  return graph_sort(*out);
}
