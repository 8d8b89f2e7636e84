/* Attributes of nodes, by name. */
#include <ortcore/ir/graph.h>
#include <string.h>

const attr *attr_find(const node *n, const char *name) {
  for (int32_t i = 0; i < n->attr_count; ++i)
    if (!strcmp(n->attrs[i].name, name)) return &n->attrs[i];
  return NULL;
}

static const attr *of_kind(const node *n, const char *name, attr_kind kind) {
  const attr *a = attr_find(n, name);
  return a && a->kind == kind ? a : NULL;
}

int64_t attr_int_or(const node *n, const char *name, int64_t fallback) {
  const attr *a = of_kind(n, name, ATTR_INT);
  return a ? a->i : fallback;
}

float attr_float_or(const node *n, const char *name, float fallback) {
  const attr *a = of_kind(n, name, ATTR_FLOAT);
  return a ? a->f : fallback;
}

text attr_string_or(const node *n, const char *name, const char *fallback) {
  const attr *a = of_kind(n, name, ATTR_STRING);
  return a ? a->s : (text){fallback, strlen(fallback)};
}

#define LIST_GETTER(function, type, kind, member) \
  const type *function(const node *n, const char *name, int64_t *out_count) { \
    const attr *a = of_kind(n, name, kind); \
    *out_count = a ? a->count : 0; \
    return a ? a->member : NULL; \
  }
LIST_GETTER(attr_ints, int64_t, ATTR_INTS, ints)
LIST_GETTER(attr_floats, float, ATTR_FLOATS, floats)
LIST_GETTER(attr_strings, text, ATTR_STRINGS, strings)

const tensor *attr_tensor(const node *n, const char *name) {
  const attr *a = of_kind(n, name, ATTR_TENSOR);
  return a ? a->t : NULL;
}

graph *attr_graph(const node *n, const char *name) {
  const attr *a = of_kind(n, name, ATTR_GRAPH);
  return a ? a->g : NULL;
}

/* The attribute of that name, new if need be; NULL without memory. */
static attr *attr_slot(graph *g, node *n, const char *name) {
  for (int32_t i = 0; i < n->attr_count; ++i)
    if (!strcmp(n->attrs[i].name, name)) return &n->attrs[i];
  attr *attrs = ZONE_ARRAY(g->memory, n->attr_count + 1, attr);
  char *copy = zone_strdup(g->memory, name);
  if (!attrs || !copy) return NULL;
  if (n->attr_count) memcpy(attrs, n->attrs, (size_t)n->attr_count * sizeof *attrs);
  n->attrs = attrs;
  attrs[n->attr_count].name = copy;
  return &attrs[n->attr_count++];
}

static status set_attr(graph *g, node *n, const char *name, attr value) {
  attr *a = attr_slot(g, n, name);
  if (!a) return status_out_of_memory();
  value.name = a->name;
  *a = value;
  return OK;
}

status node_set_attr_int(graph *g, node *n, const char *name, int64_t v) { return set_attr(g, n, name, (attr){.kind = ATTR_INT, .count = 1, .i = v}); }
status node_set_attr_float(graph *g, node *n, const char *name, float v) { return set_attr(g, n, name, (attr){.kind = ATTR_FLOAT, .count = 1, .f = v}); }

status node_set_attr_ints(graph *g, node *n, const char *name, int64_t count, const int64_t *v) {
  int64_t *copy = ZONE_ARRAY(g->memory, count + 1, int64_t);
  if (!copy) return status_out_of_memory();
  if (count) memcpy(copy, v, (size_t)count * sizeof *v);
  return set_attr(g, n, name, (attr){.kind = ATTR_INTS, .count = count, .ints = copy});
}

status node_set_attr_string(graph *g, node *n, const char *name, const char *v) {
  char *copy = zone_strdup(g->memory, v);
  if (!copy) return status_out_of_memory();
  return set_attr(g, n, name, (attr){.kind = ATTR_STRING, .count = 1, .s = {copy, strlen(v)}});
}

status node_set_attr_floats(graph *g, node *n, const char *name, int64_t count, const float *v) {
  float *copy = ZONE_ARRAY(g->memory, count + 1, float);
  if (!copy) return status_out_of_memory();
  if (count) memcpy(copy, v, (size_t)count * sizeof *v);
  return set_attr(g, n, name, (attr){.kind = ATTR_FLOATS, .count = count, .floats = copy});
}
