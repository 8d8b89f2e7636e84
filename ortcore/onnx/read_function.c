/* Model-local functions, which are inlined where they are called. */
#include <ortcore/onnx/reader.h>
#include <string.h>

enum { F_NAME = 1, F_INPUT = 4, F_OUTPUT = 5, F_NODE = 7, F_IMPORT = 9 };

static char *function_key(zone *z, const char *domain, const char *name, const char *overload) { return zone_printf(z, "%s\n%s\n%s", domain, name, overload); }

status index_functions(reader *r) {
  for (int32_t i = 0; i < r->function_count; ++i) {
    const function *f = &r->functions[i];
    char *key = function_key(r->m->memory, f->domain, f->name, f->overload);
    int64_t present;
    if (key && strmap_get(&r->function_ids, key, &present)) return ERROR(FAIL, "function %s of domain '%s' is defined twice", f->name, f->domain);
    if (!key || !strmap_put(&r->function_ids, key, i)) return status_out_of_memory();
  }
  return OK;
}

function *find_function(const reader *r, const char *domain, const char *name, const char *overload) {
  int64_t index;
  if (!r->function_count) return NULL;
  char *key = function_key(r->m->memory, domain, name, overload);
  return key && strmap_get(&r->function_ids, key, &index) ? &r->functions[index] : NULL;
}

static status read_imports(reader *r, const function *f, scope *s) {
  int32_t count;
  wire_field field;
  TRY(count_fields(f->body, F_IMPORT, &count));
  import *imports = ZONE_ARRAY(r->m->memory, (size_t)count + 1, import);
  if (!imports) return status_out_of_memory();
  for (wire w = f->body; wire_next(&w, &field);)
    if (field.number == F_IMPORT) TRY(read_import(r, &field, &imports[s->import_count++]));
  s->imports = imports;
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

static status check_results(const function *f, const scope *s, const node *call) {
  for (int32_t i = 0; i < call->output_count; ++i) {
    if (call->outputs[i] == NO_VALUE) continue;
    const value *v = &s->g->values[call->outputs[i]];
    if (v->producer < 0 && !v->is_initializer) return ERROR(INVALID_GRAPH, "function %s does not compute its output %d", f->name, i);
  }
  return OK;
}

static status read_inlined(reader *r, scope *inner, const function *f, const node *call) {
  TRY(read_imports(r, f, inner));
  TRY(bind_names(r, f, inner, F_INPUT, call->input_count, call->inputs));
  TRY(bind_names(r, f, inner, F_OUTPUT, call->output_count, call->outputs));
  TRY(declare_locals(r, f, inner));
  TRY(read_body(r, f, inner));
  return check_results(f, inner, call);
}

/* Tensor data lies where it is, however often a function is called; the rest of its body costs its size each time. */
static status charge(reader *r, const function *f, size_t payload_before) {
  size_t size = (size_t)(f->body.end - f->body.at), payload = r->payload_bytes - payload_before;
  r->inlined_bytes += 64 + (size > payload ? size - payload : 0);
  r->payload_bytes = payload_before;
  if (r->inlined_bytes <= MAX_INLINED_BYTES) return OK;
  return ERROR(INVALID_GRAPH, "the model's functions, inlined where they are called, exceed %zu MiB", MAX_INLINED_BYTES >> 20);
}

status inline_function(reader *r, scope *s, function *f, const node *call) {
  if (f->active) return ERROR(INVALID_GRAPH, "function %s calls itself", f->name);
  if (s->depth + 1 > MAX_DEPTH) return ERROR(INVALID_GRAPH, "functions call each other more than %d deep", MAX_DEPTH);
  const char *own = *call->name ? call->name : zone_printf(r->m->memory, "%s_%d", call->op_type, s->g->value_count);
  if (!own) return status_out_of_memory();
  scope inner;
  scope_init(&inner, s->g, NULL);
  inner.caller = call;
  inner.defaults = &f->body;
  inner.depth = s->depth + 1;
  inner.prefix = own;
  size_t payload = r->payload_bytes;
  f->active = true;
  status result = read_inlined(r, &inner, f, call);
  f->active = false;
  scope_deinit(&inner);
  return result ? result : charge(r, f, payload);
}
