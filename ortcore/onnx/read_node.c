/* NodeProto and AttributeProto. */
#include <ortcore/onnx/reader.h>
#include <ortcore/ops/op.h>
#include <stdlib.h>
#include <string.h>

enum { N_INPUT = 1, N_OUTPUT = 2, N_NAME = 3, N_OP = 4, N_ATTRIBUTE = 5, N_DOMAIN = 7, N_OVERLOAD = 8 };
enum { A_NAME = 1, A_F = 2, A_I = 3, A_S = 4, A_T = 5, A_G = 6, A_FLOATS = 7, A_INTS = 8, A_STRINGS = 9, A_TENSORS = 10, A_TYPE_PROTO = 14, A_TYPE = 20, A_REF = 21, A_SPARSE = 22 };

/* ---- Attributes --------------------------------------------------------------------------------------------------------------------------- */

/* Numbers of a repeated field, packed or not: counts with out NULL. */
static int64_t numbers(wire w, uint32_t number, bool floats, void *out) {
  wire_field f;
  int64_t n = 0;
  while (wire_next(&w, &f)) {
    if (f.number != number) continue;
    wire packed = f.type == WIRE_BYTES ? wire_message(&f) : (wire){0};
    for (bool first = f.type != WIRE_BYTES; first || packed.at != packed.end; first = false) {
      uint64_t bits = f.scalar;
      uint32_t narrow = (uint32_t)f.scalar;
      if (f.type == WIRE_BYTES && (floats ? !wire_fixed32(&packed, &narrow) : !wire_varint(&packed, &bits))) return -1;
      if (out && floats) memcpy((float *)out + n, &narrow, 4);
      else if (out) ((int64_t *)out)[n] = (int64_t)bits;
      ++n;
      if (f.type != WIRE_BYTES) break;
    }
  }
  return w.bad ? -1 : n;
}

static status read_numbers(reader *r, wire w, uint32_t number, bool floats, attr *a) {
  a->count = numbers(w, number, floats, NULL);
  void *data = a->count < 0 ? NULL : zone_alloc_array(r->m->memory, (size_t)a->count + 1, floats ? sizeof(float) : sizeof(int64_t));
  if (a->count < 0) return malformed("a list attribute");
  if (!data) return status_out_of_memory();
  numbers(w, number, floats, data);
  if (floats) a->floats = data;
  else a->ints = data;
  return OK;
}

static status read_strings(reader *r, wire w, attr *a) {
  wire_field f;
  for (wire again = w; wire_next(&again, &f);) a->count += f.number == A_STRINGS;
  text *list = ZONE_ARRAY(r->m->memory, a->count + 1, text);
  if (!list) return status_out_of_memory();
  int64_t n = 0;
  while (wire_next(&w, &f)) {
    if (f.number != A_STRINGS) continue;
    list[n] = (text){wire_text(r->m->memory, &f), f.bytes};
    if (!list[n++].data) return status_out_of_memory();
  }
  a->strings = list;
  return OK;
}

static status read_tensors(reader *r, wire w, uint32_t number, attr *a) {
  wire_field f;
  for (wire again = w; wire_next(&again, &f);) a->count += f.number == number;
  tensor **list = ZONE_ARRAY(r->m->memory, a->count + 1, tensor *);
  if (!list) return status_out_of_memory();
  int64_t n = 0;
  while (wire_next(&w, &f)) {
    if (f.number != number) continue;
    buffer *memory;
    if (!(list[n] = ZONE_NEW(r->m->memory, tensor))) return status_out_of_memory();
    TRY(read_tensor(r, wire_message(&f), list[n++], &memory, NULL));
  }
  a->tensors = list;
  return OK;
}

static status read_sparse(reader *r, const wire_field *f, attr *a) {
  buffer *memory;
  if (!(a->t = ZONE_NEW(r->m->memory, tensor))) return status_out_of_memory();
  a->kind = ATTR_TENSOR;                                     /* it is dense from here on */
  return read_sparse_tensor(r, wire_message(f), a->t, &memory, NULL);
}

/* Subgraphs need their node, whose captures they extend. */
typedef struct node_builder { reader *r; scope *s; node *n; int32_t attr_capacity; int32_t capture_capacity; } node_builder;

static status capture_slot(node_builder *b, int32_t outer, int32_t *out_slot) {
  node *n = b->n;
  for (int32_t i = 0; i < n->capture_count; ++i)
    if (n->captures[i] == outer) {
      *out_slot = i;
      return OK;
    }
  if (n->capture_count == b->capture_capacity) {
    int32_t wanted = b->capture_capacity ? b->capture_capacity * 2 : 8;
    int32_t *captures = ZONE_ARRAY(b->r->m->memory, wanted, int32_t);
    if (!captures) return status_out_of_memory();
    if (n->capture_count) memcpy(captures, n->captures, (size_t)n->capture_count * sizeof *captures);
    n->captures = captures;
    b->capture_capacity = wanted;
  }
  *out_slot = n->capture_count;
  n->captures[n->capture_count++] = outer;
  return OK;
}

static status read_subgraph(node_builder *b, wire w, graph **out) {
  scope inner;
  status s = read_graph(b->r, w, b->s, b->s->depth + 1, out, &inner);
  if (!s) {
    graph *g = *out;
    g->captures = ZONE_ARRAY(b->r->m->memory, inner.capture_count + 1, capture);
    if (!g->captures) s = status_out_of_memory();
    for (int32_t i = 0; i < inner.capture_count && !s; ++i) {
      capture *c = &g->captures[g->capture_count++];
      c->inner = inner.captures[i].inner;
      s = capture_slot(b, inner.captures[i].outer, &c->slot);
    }
  }
  scope_deinit(&inner);
  return s;
}

static attr_kind guess_kind(wire w) {
  static const struct { uint32_t field; attr_kind kind; } kinds[] = {
    {A_F, ATTR_FLOAT}, {A_I, ATTR_INT}, {A_S, ATTR_STRING}, {A_T, ATTR_TENSOR}, {A_G, ATTR_GRAPH}, {A_FLOATS, ATTR_FLOATS}, {A_INTS, ATTR_INTS},
    {A_STRINGS, ATTR_STRINGS}, {A_TENSORS, ATTR_TENSORS}, {A_TYPE_PROTO, ATTR_TYPE_PROTO}, {A_SPARSE, ATTR_SPARSE_TENSOR}};
  wire_field f;
  while (wire_next(&w, &f))
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
      if (kinds[i].field == f.number) return kinds[i].kind;
  return (attr_kind)0;
}

static status read_one(node_builder *b, const wire_field *f, attr *a) {
  reader *r = b->r;
  uint32_t bits = (uint32_t)f->scalar;
  buffer *memory;
  switch (f->number) {
    case A_F:
      memcpy(&a->f, &bits, 4);
      return OK;
    case A_I:
      a->i = (int64_t)f->scalar;
      return OK;
    case A_S:
      a->s = (text){wire_text(r->m->memory, f), f->bytes};
      return a->s.data ? OK : status_out_of_memory();
    case A_T:
      if (!(a->t = ZONE_NEW(r->m->memory, tensor))) return status_out_of_memory();
      return read_tensor(r, wire_message(f), a->t, &memory, NULL);
    case A_G: return read_subgraph(b, wire_message(f), &a->g);
    case A_TYPE_PROTO:
      if (!(a->type = ZONE_NEW(r->m->memory, fact))) return status_out_of_memory();
      return read_type(r, wire_message(f), a->type);
    case A_SPARSE: return read_sparse(r, f, a);
    default: return OK;
  }
}

static uint32_t scalar_field(attr_kind kind) {
  switch (kind) {
    case ATTR_FLOAT: return A_F;
    case ATTR_INT: return A_I;
    case ATTR_STRING: return A_S;
    case ATTR_TENSOR: return A_T;
    case ATTR_GRAPH: return A_G;
    case ATTR_TYPE_PROTO: return A_TYPE_PROTO;
    case ATTR_SPARSE_TENSOR: return A_SPARSE;
    default: return 0;
  }
}

static status read_value(node_builder *b, wire w, attr *a) {
  a->count = 1;
  a->i = 0;
  switch (a->kind) {
    case ATTR_INTS: a->count = 0; return read_numbers(b->r, w, A_INTS, false, a);
    case ATTR_FLOATS: a->count = 0; return read_numbers(b->r, w, A_FLOATS, true, a);
    case ATTR_STRINGS: a->count = 0; return read_strings(b->r, w, a);
    case ATTR_TENSORS: a->count = 0; return read_tensors(b->r, w, A_TENSORS, a);
    default: break;
  }
  if (a->kind == ATTR_STRING) a->s = (text){"", 0};
  uint32_t number = scalar_field(a->kind);
  if (!number) return ERROR(NOT_IMPLEMENTED, "attribute '%s' has kind %d, which is not supported", a->name, (int)a->kind);
  wire_field f;
  while (wire_next(&w, &f))
    if (f.number == number) TRY(read_one(b, &f, a));
  return OK;
}

static attr *add_attr(node_builder *b) {
  node *n = b->n;
  if (n->attr_count == b->attr_capacity) {
    int32_t wanted = b->attr_capacity ? b->attr_capacity * 2 : 4;
    attr *attrs = ZONE_ARRAY(b->r->m->memory, wanted, attr);
    if (!attrs) return NULL;
    if (n->attr_count) memcpy(attrs, n->attrs, (size_t)n->attr_count * sizeof *attrs);
    n->attrs = attrs;
    b->attr_capacity = wanted;
  }
  n->attrs[n->attr_count] = (attr){0};
  return &n->attrs[n->attr_count++];
}

static status read_attribute(node_builder *b, wire w);

/* In a function's body an attribute may be the caller's, by name; or the function's default for it; or absent. */
static status refer(node_builder *b, const char *name, const char *caller_name) {
  if (!b->s->caller) return ERROR(INVALID_GRAPH, "attribute '%s' refers to an attribute of a function, but is in none", name);
  const attr *from = attr_find(b->s->caller, caller_name);
  if (from) {
    attr *a = add_attr(b);
    if (!a) return status_out_of_memory();
    *a = *from;
    a->name = name;
    return OK;
  }
  wire_field f, g;
  for (wire w = *b->s->defaults; wire_next(&w, &f);) {
    if (f.number != 11) continue;                            /* FunctionProto.attribute_proto */
    for (wire d = wire_message(&f); wire_next(&d, &g);)
      if (g.number == A_NAME && g.bytes == strlen(caller_name) && !memcmp(g.data, caller_name, g.bytes)) {
        TRY(read_attribute(b, wire_message(&f)));
        b->n->attrs[b->n->attr_count - 1].name = name;
        return OK;
      }
  }
  return OK;
}

static status read_attribute(node_builder *b, wire w) {
  attr parsed = {.kind = 0};
  char *reference = NULL;
  wire_field f;
  for (wire again = w; wire_next(&again, &f);) {
    if (f.number == A_NAME && !(parsed.name = wire_text(b->r->m->memory, &f))) return status_out_of_memory();
    if (f.number == A_TYPE) parsed.kind = (attr_kind)f.scalar;
    if (f.number == A_REF && f.bytes && !(reference = wire_text(b->r->m->memory, &f))) return status_out_of_memory();
  }
  if (!parsed.name) return ERROR(INVALID_GRAPH, "an attribute has no name");
  if (reference) return refer(b, parsed.name, reference);
  if (!parsed.kind) parsed.kind = guess_kind(w);
  if (!parsed.kind) return OK;
  TRY(status_context(read_value(b, w, &parsed), "attribute '%s'", parsed.name));
  attr *a = add_attr(b);
  if (!a) return status_out_of_memory();
  *a = parsed;
  return OK;
}

/* ---- Constant ------------------------------------------------------------------------------------------------------------------------------- */

static status constant_strings(reader *r, const text *items, int64_t count, tensor *t, buffer **out) {
  TRY(buffer_create_strings(NULL, count, out));
  t->data = (*out)->data;
  TRY(model_hold_buffer(r->m, *out));
  for (int64_t i = 0; i < count; ++i)
    if (!(((rcstr **)t->data)[i] = rcstr_create(items[i].data, items[i].bytes))) return status_out_of_memory();
  return OK;
}

/* A Constant node is no node: its value is a constant of the graph. */
static status make_constant(reader *r, scope *s, const node *n) {
  const attr *a = n->attr_count ? &n->attrs[0] : NULL;
  if (!a || n->output_count != 1) return ERROR(INVALID_GRAPH, "a Constant has one attribute and one output");
  tensor t;
  buffer *memory = NULL;
  switch (a->kind) {
    case ATTR_TENSOR: t = *a->t; break;
    case ATTR_FLOAT:
    case ATTR_INT:
      TRY(tensor_init(&t, a->kind == ATTR_INT ? ORTC_INT64 : ORTC_FLOAT, 0, NULL));
      t.data = zone_copy(r->m->memory, &a->i, sizeof a->i);
      break;
    case ATTR_INTS:
    case ATTR_FLOATS:
      TRY(tensor_init(&t, a->kind == ATTR_INTS ? ORTC_INT64 : ORTC_FLOAT, 1, &a->count));
      t.data = (void *)(uintptr_t)(a->kind == ATTR_INTS ? (const void *)a->ints : (const void *)a->floats);
      break;
    case ATTR_STRING:
      TRY(tensor_init(&t, ORTC_STRING, 0, NULL));
      TRY(constant_strings(r, &a->s, 1, &t, &memory));
      break;
    case ATTR_STRINGS:
      TRY(tensor_init(&t, ORTC_STRING, 1, &a->count));
      TRY(constant_strings(r, a->strings, a->count, &t, &memory));
      break;
    default: return ERROR(INVALID_GRAPH, "a Constant has the attribute '%s', which is none of its kinds of value", a->name);
  }
  if (!t.data && t.count) return status_out_of_memory();
  return graph_set_constant(s->g, n->outputs[0], &t, memory);
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------------------------------------ */

static status read_operands(node_builder *b, wire w, uint32_t number, int32_t *count, int32_t **list) {
  wire_field f;
  for (wire again = w; wire_next(&again, &f);) *count += f.number == number;
  *list = ZONE_ARRAY(b->r->m->memory, *count + 1, int32_t);
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

static status unknown_operator(const reader *r, const node *n) {
  (void)r;
  const op_def *op = op_find(n->domain, n->op_type, INT64_MAX);
  const char *domain = *n->domain ? n->domain : "ai.onnx";
  if (op)
    return ERROR(NOT_IMPLEMENTED, "operator %s of domain %s exists since opset %d here, but the model imports opset %lld", n->op_type, domain, op->since, (long long)n->opset);
  if (*n->domain && !n->opset && strcmp(n->domain, "com.microsoft"))
    return ERROR(FAIL, "operator %s is of domain '%s', which the model does not import and ortcore does not know", n->op_type, domain);
  return ERROR(INVALID_GRAPH, "there is no operator %s in domain %s (opset %lld)", n->op_type, domain, (long long)n->opset);
}

static status finish_node(reader *r, scope *s, node *n, char *overload) {
  const function *f = find_function(r, n->domain, n->op_type, overload ? overload : "");
  if (f) return inline_function(r, s, f, n);
  if (!*n->domain && !strcmp(n->op_type, "Constant")) return make_constant(r, s, n);
  /* com.microsoft is used without being imported by some exporters; its operators have one version. */
  int64_t opset = n->opset ? n->opset : *n->domain ? 1 : 0;
  n->op = op_find(n->domain, n->op_type, opset);
  if (!n->op) return unknown_operator(r, n);
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
  char *overload = NULL;
  wire_field f;
  for (wire again = w; wire_next(&again, &f);) {
    const char **into = f.number == N_NAME ? &n.name : f.number == N_OP ? &n.op_type : f.number == N_DOMAIN ? &n.domain : NULL;
    if (into && !(*into = wire_text(r->m->memory, &f))) return status_out_of_memory();
    if (f.number == N_OVERLOAD && !(overload = wire_text(r->m->memory, &f))) return status_out_of_memory();
  }
  if (!strcmp(n.domain, "ai.onnx")) n.domain = "";
  if (*s->prefix && *n.name && !(n.name = zone_printf(r->m->memory, "%s/%s", s->prefix, n.name))) return status_out_of_memory();
  n.opset = scope_opset(r, s, n.domain);
  status result = read_operands(&b, w, N_INPUT, &n.input_count, &n.inputs);
  if (!result) result = read_operands(&b, w, N_OUTPUT, &n.output_count, &n.outputs);
  while (!result && wire_next(&w, &f))
    if (f.number == N_ATTRIBUTE) result = read_attribute(&b, wire_message(&f));
  if (!result) result = finish_node(r, s, &n, overload);
  if (!result) return OK;
  return status_at_node(status_context(result, "node '%s' (%s)", n.name, n.op_type), n.name);
}
