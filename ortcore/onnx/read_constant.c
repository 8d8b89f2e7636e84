/* Constant nodes, which become constants of the graph. */
#include <ortcore/onnx/reader.h>
#include <string.h>

static status constant_numbers(reader *r, dtype type, int rank, int64_t count, const void *numbers, tensor *t, buffer **out) {
  TRY(tensor_init(t, type, rank, &count));
  TRY(buffer_create(NULL, tensor_bytes(t), out));
  TRY(model_hold_buffer(r->m, *out));
  t->data = (*out)->data;
  if (t->count) memcpy(t->data, numbers, tensor_bytes(t));
  return OK;
}

static status constant_strings(reader *r, const text *items, int64_t count, tensor *t, buffer **out) {
  TRY(buffer_create_strings(NULL, count, out));
  t->data = (*out)->data;
  TRY(model_hold_buffer(r->m, *out));
  for (int64_t i = 0; i < count; ++i)
    if (!(((rcstr **)t->data)[i] = rcstr_create(items[i].data, items[i].bytes))) return status_out_of_memory();
  return OK;
}

/* A Constant node is no node: its value is a constant of the graph. */
status make_constant(reader *r, scope *s, const node *n) {
  const attr *a = n->attr_count ? &n->attrs[0] : NULL;
  if (!a || n->output_count != 1 || n->outputs[0] == NO_VALUE) return ERROR(INVALID_GRAPH, "a Constant has one attribute and one output");
  tensor t;
  buffer *memory = a->memory;
  switch (a->kind) {
    case ATTR_TENSOR: t = *a->t; break;
    case ATTR_FLOAT: TRY(constant_numbers(r, ORTC_FLOAT, 0, 1, &a->f, &t, &memory)); break;
    case ATTR_INT: TRY(constant_numbers(r, ORTC_INT64, 0, 1, &a->i, &t, &memory)); break;
    case ATTR_FLOATS: TRY(constant_numbers(r, ORTC_FLOAT, 1, a->count, a->floats, &t, &memory)); break;
    case ATTR_INTS: TRY(constant_numbers(r, ORTC_INT64, 1, a->count, a->ints, &t, &memory)); break;
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
  return graph_set_constant(s->g, n->outputs[0], &t, memory);
}
