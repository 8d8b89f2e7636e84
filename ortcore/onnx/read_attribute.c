/* AttributeProto. */
#include <ortcore/ir/grow.h>
#include <ortcore/onnx/reader.h>
#include <string.h>

enum { A_NAME = 1, A_F = 2, A_I = 3, A_S = 4, A_T = 5, A_G = 6, A_FLOATS = 7, A_INTS = 8, A_STRINGS = 9, A_TENSORS = 10, A_TYPE_PROTO = 14, A_TYPE = 20, A_REF = 21, A_SPARSE = 22 };

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
  if (!(a->t = ZONE_NEW(r->m->memory, tensor))) return status_out_of_memory();
  a->kind = ATTR_TENSOR;                                     /* it is dense from here on */
  return read_sparse_tensor(r, wire_message(f), a->t, &a->memory, NULL);
}

/* Captures of the node's subgraphs lie one after the other in its list; two subgraphs may capture the same value. */
static status add_captures(node_builder *b, const scope *inner, graph *g) {
  node *n = b->n;
  zone *z = b->r->m->memory;
  g->captures = ZONE_ARRAY(z, inner->capture_count + 1, capture);
  if (!g->captures) return status_out_of_memory();
  for (int32_t i = 0; i < inner->capture_count; ++i) {
    if (!zone_grow(z, &n->captures, n->capture_count, &b->capture_capacity, sizeof *n->captures)) return status_out_of_memory();
    g->captures[g->capture_count++] = (capture){.inner = inner->captures[i].inner, .slot = n->capture_count};
    n->captures[n->capture_count++] = inner->captures[i].outer;
  }
  return OK;
}

static status read_subgraph(node_builder *b, wire w, graph **out) {
  scope inner;
  status s = read_graph(b->r, w, b->s, out, &inner);
  if (!s) s = add_captures(b, &inner, *out);
  scope_deinit(&inner);
  return s;
}

/* Where each kind has its value. */
static const struct { uint32_t field; attr_kind kind; bool is_list; } kinds[] = {
  {A_F, ATTR_FLOAT, false}, {A_I, ATTR_INT, false}, {A_S, ATTR_STRING, false}, {A_T, ATTR_TENSOR, false}, {A_G, ATTR_GRAPH, false},
  {A_TYPE_PROTO, ATTR_TYPE_PROTO, false}, {A_SPARSE, ATTR_SPARSE_TENSOR, false},
  {A_FLOATS, ATTR_FLOATS, true}, {A_INTS, ATTR_INTS, true}, {A_STRINGS, ATTR_STRINGS, true}, {A_TENSORS, ATTR_TENSORS, true}};

/* Files of IR version 1 do not say the kind: the field that is present does. */
static attr_kind guess_kind(wire w) {
  wire_field f;
  while (wire_next(&w, &f))
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
      if (kinds[i].field == f.number) return kinds[i].kind;
  return (attr_kind)0;
}

static status read_one(node_builder *b, const wire_field *f, attr *a) {
  reader *r = b->r;
  uint32_t bits = (uint32_t)f->scalar;
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
      return read_tensor(r, wire_message(f), a->t, &a->memory, NULL);
    case A_G: return read_subgraph(b, wire_message(f), &a->g);
    case A_TYPE_PROTO:
      if (!(a->type = ZONE_NEW(r->m->memory, fact))) return status_out_of_memory();
      return read_type(r, wire_message(f), a->type);
    case A_SPARSE: return read_sparse(r, f, a);
    default: return OK;
  }
}

static uint32_t scalar_field(attr_kind kind) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
    if (kinds[i].kind == kind && !kinds[i].is_list) return kinds[i].field;
  return 0;
}

static bool is_absent(const attr *a) {
  return (a->kind == ATTR_TENSOR || a->kind == ATTR_SPARSE_TENSOR) ? !a->t : a->kind == ATTR_GRAPH ? !a->g : a->kind == ATTR_TYPE_PROTO && !a->type;
}

static status read_value(node_builder *b, wire w, attr *a) {
  a->count = 1;
  a->t = NULL;
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
  return is_absent(a) ? ERROR(INVALID_GRAPH, "it has no value") : OK;
}

static attr *add_attr(node_builder *b) {
  node *n = b->n;
  if (!zone_grow(b->r->m->memory, &n->attrs, n->attr_count, &b->attr_capacity, sizeof *n->attrs)) return NULL;
  n->attrs[n->attr_count] = (attr){0};
  return &n->attrs[n->attr_count++];
}

static status read_plain(node_builder *b, wire w, const char *name, attr_kind kind) {
  attr parsed = {.name = name, .kind = kind ? kind : guess_kind(w)};
  if (!parsed.kind) return OK;
  TRY(status_context(read_value(b, w, &parsed), "attribute '%s'", name));
  attr *a = add_attr(b);
  if (!a) return status_out_of_memory();
  *a = parsed;
  return OK;
}

typedef struct heading { const char *name, *reference; attr_kind kind; } heading;

static status read_heading(reader *r, wire w, heading *out) {
  wire_field f;
  *out = (heading){0};
  while (wire_next(&w, &f)) {
    if (f.number == A_NAME && !(out->name = wire_text(r->m->memory, &f))) return status_out_of_memory();
    if (f.number == A_TYPE) out->kind = (attr_kind)f.scalar;
    if (f.number == A_REF && f.bytes && !(out->reference = wire_text(r->m->memory, &f))) return status_out_of_memory();
  }
  if (w.bad) return malformed("an attribute");
  return out->name ? OK : ERROR(INVALID_GRAPH, "an attribute has no name");
}

/* In a function's body an attribute may be the caller's, by name; or the function's default for it; or absent. */
static status refer(node_builder *b, const char *name, const char *caller_name) {
  if (!b->s->caller) return ERROR(INVALID_GRAPH, "attribute '%s' refers to an attribute of a function, but is in none", name);
  const attr *from = attr_find(b->s->caller, caller_name);
  if (from) {
    if (from->kind == ATTR_GRAPH) return ERROR(NOT_IMPLEMENTED, "attribute '%s' passes a graph to a function, which is not supported", name);
    attr *a = add_attr(b);
    if (!a) return status_out_of_memory();
    *a = *from;
    a->name = name;
    return OK;
  }
  wire_field f;
  for (wire w = *b->s->defaults; wire_next(&w, &f);) {
    if (f.number != 11) continue;                            /* FunctionProto.attribute_proto */
    heading h;
    TRY(read_heading(b->r, wire_message(&f), &h));
    if (!strcmp(h.name, caller_name)) return read_plain(b, wire_message(&f), name, h.kind);
  }
  return OK;
}

status read_attribute(node_builder *b, wire w) {
  heading h;
  TRY(read_heading(b->r, w, &h));
  return h.reference ? refer(b, h.name, h.reference) : read_plain(b, w, h.name, h.kind);
}
