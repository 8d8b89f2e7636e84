/* Model-local functions, which are inlined where they are called. */
#include <ortcore/onnx/reader.h>
#include <string.h>

enum { F_NAME = 1, F_INPUT = 4, F_OUTPUT = 5, F_NODE = 7, F_IMPORT = 9 };

const function *find_function(const reader *r, const char *domain, const char *name, const char *overload) {
  for (int32_t i = 0; i < r->function_count; ++i)
    if (!strcmp(r->functions[i].name, name) && !strcmp(r->functions[i].domain, domain) && !strcmp(r->functions[i].overload, overload)) return &r->functions[i];
  return NULL;
}

int64_t scope_opset(const reader *r, const scope *s, const char *domain) {
  for (int32_t i = 0; i < s->import_count; ++i)
    if (!strcmp(s->imports[i].domain, domain)) return s->imports[i].version;
  return model_opset(r->m, domain);
}

static status read_imports(reader *r, const function *f, scope *s) {
  wire_field field, g;
  for (wire w = f->body; wire_next(&w, &field);) {
    if (field.number != F_IMPORT || s->import_count == (int32_t)(sizeof s->imports / sizeof *s->imports)) continue;
    s->imports[s->import_count].domain = "";
    for (wire d = wire_message(&field); wire_next(&d, &g);) {
      if (g.number == 1 && !(s->imports[s->import_count].domain = wire_text(r->m->memory, &g))) return status_out_of_memory();
      if (g.number == 2) s->imports[s->import_count].version = (int64_t)g.scalar;
    }
    ++s->import_count;
  }
  return OK;
}

/* The function's parameter names stand for the caller's values. */
static status bind_names(reader *r, const function *f, scope *s, uint32_t number, int32_t given_count, const int32_t *given) {
  wire_field field;
  int32_t i = 0;
  for (wire w = f->body; wire_next(&w, &field);) {
    if (field.number != number) continue;
    char *name = wire_text(r->m->memory, &field);
    if (!name) return status_out_of_memory();
    bool is_given = i < given_count && given[i] != NO_VALUE;
    if ((is_given || number == F_INPUT) && !strmap_put(&s->names, name, is_given ? given[i] : OMITTED)) return status_out_of_memory();
    ++i;
  }
  if (given_count > i) return ERROR(INVALID_GRAPH, "function %s takes %d values, but %d are given", f->name, i, given_count);
  return OK;
}

/* Values that the body computes and that are not the function's outputs. */
static status declare_locals(reader *r, const function *f, scope *s) {
  wire_field field, g;
  for (wire w = f->body; wire_next(&w, &field);) {
    if (field.number != F_NODE) continue;
    for (wire n = wire_message(&field); wire_next(&n, &g);) {
      if (g.number != 2 || !g.bytes) continue;
      char *name = wire_text(r->m->memory, &g);
      int64_t present;
      int32_t id;
      if (!name) return status_out_of_memory();
      if (!strmap_get(&s->names, name, &present)) TRY(scope_define(s, name, &id));
    }
  }
  return OK;
}

static status read_body(reader *r, const function *f, scope *s) {
  wire_field field;
  for (wire w = f->body; wire_next(&w, &field);)
    if (field.number == F_NODE) TRY(read_node(r, s, wire_message(&field)));
  return OK;
}

status inline_function(reader *r, scope *s, const function *f, const node *call) {
  if (s->depth + 1 > MAX_DEPTH) return ERROR(INVALID_GRAPH, "functions call each other more than %d deep; a function must not call itself", MAX_DEPTH);
  const char *own = *call->name ? call->name : zone_printf(r->m->memory, "%s_%d", call->op_type, s->g->value_count);
  if (!own) return status_out_of_memory();
  scope inner = {.g = s->g, .caller = call, .defaults = &f->body, .depth = s->depth + 1, .prefix = own};
  strmap_init(&inner.names);
  status result = read_imports(r, f, &inner);
  if (!result) result = bind_names(r, f, &inner, F_INPUT, call->input_count, call->inputs);
  if (!result) result = bind_names(r, f, &inner, F_OUTPUT, call->output_count, call->outputs);
  if (!result) result = declare_locals(r, f, &inner);
  if (!result) result = read_body(r, f, &inner);
  scope_deinit(&inner);
  return result;
}
