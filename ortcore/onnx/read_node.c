/* NodeProto. Operators are found later: what a name means to the operator registry is not the file format's concern. */
#include <ortcore/base/utf8.h>
#include <ortcore/onnx/reader.h>
#include <string.h>

enum { N_INPUT = 1, N_OUTPUT = 2, N_NAME = 3, N_OP = 4, N_ATTRIBUTE = 5, N_DOMAIN = 7, N_OVERLOAD = 8 };

static status read_operands(node_builder *b, wire w, uint32_t number, int32_t *count, int32_t **list) {
  wire_field f;
  TRY(count_fields(w, number, count));
  *list = ZONE_ARRAY(b->r->m->memory, (size_t)*count + 1, int32_t);
  if (!*list) return status_out_of_memory();
  for (int32_t i = 0; wire_next(&w, &f);) {
    if (f.number != number) continue;
    (*list)[i] = NO_VALUE;
    if (f.bytes) {
      char *name = wire_text(b->r->m->memory, &f);
      if (!name) return status_out_of_memory();
      TRY(scope_lookup(b->s, name, &(*list)[i]));
      if ((*list)[i] == OMITTED) (*list)[i] = NO_VALUE;
      else if ((*list)[i] == NO_VALUE) return ERROR(INVALID_ARGUMENT, "it reads '%s', which no input, initializer or node provides", name);
    }
    ++i;
  }
  return OK;
}

/* A value is computed once. The names within a function cannot be checked when they are declared, since its parameters are the caller's values. */
static status check_outputs(const scope *s, const node *n) {
  for (int32_t i = 0; i < n->output_count; ++i) {
    if (n->outputs[i] == NO_VALUE) continue;
    const value *v = &s->g->values[n->outputs[i]];
    if (v->producer >= 0 || v->is_input || v->is_initializer || v->is_capture) return ERROR(FAIL, "the name '%s' is given to two values; each must be computed once", v->name);
  }
  return OK;
}

/* A node that names no output has no effect. */
static bool is_idle(const node *n) {
  for (int32_t i = 0; i < n->output_count; ++i)
    if (n->outputs[i] != NO_VALUE) return false;
  return true;
}

static status finish_node(reader *r, scope *s, node *n, const char *overload) {
  if (is_idle(n)) return OK;
  function *f = find_function(r, n->domain, n->op_type, overload);
  if (f) return inline_function(r, s, f, n);
  TRY(check_outputs(s, n));
  if (!*n->domain && !strcmp(n->op_type, "Constant")) return make_constant(r, s, n);
  node *added;
  TRY(graph_add_node(s->g, n->op_type, n->domain, n->input_count, n->inputs, n->output_count, n->outputs, &added));
  const char *name = *n->name ? n->name : added->name;
  *added = *n;
  added->name = name;
  return OK;
}

status read_node(reader *r, scope *s, wire w) {
  node n = {.name = "", .op_type = "", .domain = ""};
  node_builder b = {.r = r, .s = s, .n = &n};
  const char *overload = "";
  wire_field f;
  for (wire again = w; wire_next(&again, &f);) {
    const char **into = f.number == N_NAME ? &n.name : f.number == N_OP ? &n.op_type : f.number == N_DOMAIN ? &n.domain
                        : f.number == N_OVERLOAD ? &overload : NULL;
    if (into && !(*into = wire_text(r->m->memory, &f))) return status_out_of_memory();
    /* Names travel through APIs that take UTF-8 only. */
    if (into && !utf8_is_valid(*into)) return ERROR(INVALID_PROTOBUF, "the name, operator or domain of a node is not valid UTF-8: the model is damaged");
  }
  if (!strcmp(n.domain, "ai.onnx")) n.domain = "";
  if (*s->prefix && *n.name && !(n.name = zone_printf(r->m->memory, "%s/%s", s->prefix, n.name))) return status_out_of_memory();
  /* com.microsoft is used without being imported by some exporters; its operators have one version. */
  n.opset = scope_opset(r, s, n.domain);
  if (!n.opset && !strcmp(n.domain, "com.microsoft")) n.opset = 1;
  status result = read_operands(&b, w, N_INPUT, &n.input_count, &n.inputs);
  if (!result) result = read_operands(&b, w, N_OUTPUT, &n.output_count, &n.outputs);
  while (!result && wire_next(&w, &f))
    if (f.number == N_ATTRIBUTE) result = read_attribute(&b, wire_message(&f));
  if (!result) result = finish_node(r, s, &n, overload);
  if (!result) return OK;
  return status_at_node(status_context(result, "node '%s' (%s)", n.name, n.op_type), n.name);
}
