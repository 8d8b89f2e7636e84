/* Names and what they stand for while a graph or a function's body is read. */
#include <ortcore/base/mem.h>
#include <ortcore/base/utf8.h>
#include <ortcore/onnx/reader.h>
#include <string.h>

void scope_init(scope *s, graph *g, scope *parent) {
  *s = (scope){.g = g, .parent = parent, .prefix = ""};
  strmap_init(&s->names);
  if (!parent) return;
  s->caller = parent->caller;
  s->defaults = parent->defaults;
  s->import_count = parent->import_count;
  s->imports = parent->imports;
  s->depth = parent->depth + 1;
}

int64_t scope_opset(const reader *r, const scope *s, const char *domain) {
  for (int32_t i = 0; i < s->import_count; ++i)
    if (!strcmp(s->imports[i].domain, domain)) return s->imports[i].version;
  return model_opset(r->m, domain);
}

void scope_deinit(scope *s) {
  strmap_deinit(&s->names);
  mem_free(s->captures);
}

status scope_define(scope *s, const char *name, int32_t *out_id) {
  int64_t present;
  /* Names travel through APIs that take UTF-8 only. */
  if (!utf8_is_valid(name)) return ERROR(INVALID_PROTOBUF, "a value's name is not valid UTF-8: the model is damaged");
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
