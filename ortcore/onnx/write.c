#include <errno.h>
#include <ortcore/base/mem.h>
#include <ortcore/onnx/write.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Wire ------------------------------------------------------------------------------------------------------------------------------- */

/* A message that grows. Without memory it turns bad and stays so, which is asked once, at the end. */
typedef struct bytes { uint8_t *data; size_t count, capacity; bool bad; } bytes;

static void put(bytes *b, const void *data, size_t count) {
  if (b->count + count > b->capacity) {
    size_t wanted = (b->count + count) * 2 + 64;
    uint8_t *larger = b->bad ? NULL : mem_realloc(b->data, wanted);
    if (!larger) {
      b->bad = true;
      return;
    }
    b->data = larger;
    b->capacity = wanted;
  }
  if (count) memcpy(b->data + b->count, data, count);
  b->count += count;
}

static void put_varint(bytes *b, uint64_t v) {
  uint8_t digits[10];
  size_t n = 0;
  do {
    digits[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
    v >>= 7;
  } while (v);
  put(b, digits, n);
}

static void put_int(bytes *b, uint32_t field, int64_t v) {
  put_varint(b, field << 3);
  put_varint(b, (uint64_t)v);
}

static void put_float(bytes *b, uint32_t field, float v) {
  put_varint(b, field << 3 | 5);
  put(b, &v, sizeof v);
}

static void put_bytes(bytes *b, uint32_t field, const void *data, size_t count) {
  put_varint(b, field << 3 | 2);
  put_varint(b, count);
  put(b, data, count);
}

static void put_text(bytes *b, uint32_t field, const char *text) { put_bytes(b, field, text, strlen(text)); }

/* Takes the message's memory. */
static void put_message(bytes *b, uint32_t field, bytes *message) {
  b->bad |= message->bad;
  put_bytes(b, field, message->data, message->bad ? 0 : message->count);
  mem_free(message->data);
  *message = (bytes){0};
}

/* ---- Tensors, types, values ---------------------------------------------------------------------------------------------------------------- */

static void put_tensor(bytes *b, uint32_t field, const char *name, const tensor *t) {
  bytes message = {0};
  for (int d = 0; d < t->rank; ++d) put_int(&message, 1, t->dims[d]);
  put_int(&message, 2, t->type);
  if (name) put_text(&message, 8, name);
  if (t->type == ORTC_STRING)
    for (int64_t i = 0; i < t->count; ++i) {
      const rcstr *s = ((rcstr *const *)t->data)[i];
      put_bytes(&message, 6, rcstr_text(s), rcstr_bytes(s));
    }
  else put_bytes(&message, 9, t->data, tensor_bytes(t));
  put_message(b, field, &message);
}

static bytes shape_of(const model *m, const fact *f) {
  bytes shape = {0};
  for (int d = 0; d < f->rank; ++d) {
    bytes one = {0};
    const char *symbol = model_symbol_name(m, f->dims[d]);
    if (dim_known(f->dims[d])) put_int(&one, 1, f->dims[d]);
    else if (symbol) put_text(&one, 2, symbol);
    put_message(&shape, 1, &one);
  }
  return shape;
}

static bytes tensor_type(const model *m, const fact *f, dtype type, bool with_shape) {
  bytes inner = {0};
  put_int(&inner, 1, type);
  if (with_shape && f->rank >= 0) {
    bytes shape = shape_of(m, f);
    put_message(&inner, 2, &shape);
  }
  return inner;
}

/* TypeProto around `inner`, as field `number` of it. */
static bytes wrapped(uint32_t number, bytes inner) {
  bytes type = {0};
  put_message(&type, number, &inner);
  return type;
}

static bytes map_type(const model *m, const fact *f) {
  bytes map = {0}, value = wrapped(1, tensor_type(m, f, f->type, false));
  put_int(&map, 1, f->key);
  put_message(&map, 2, &value);
  return wrapped(5, map);
}

static bytes type_of(const model *m, const fact *f) {
  bytes type;
  switch (f->kind) {
    case KIND_MAP: type = map_type(m, f); break;
    case KIND_SEQUENCE: type = wrapped(4, wrapped(1, f->key ? map_type(m, f) : wrapped(1, tensor_type(m, f, f->type, false)))); break;
    case KIND_SPARSE: type = wrapped(8, tensor_type(m, f, f->type, true)); break;
    default: type = wrapped(1, tensor_type(m, f, f->type, true)); break;
  }
  return f->optional ? wrapped(9, wrapped(1, type)) : type;
}

static void put_value_info(bytes *b, uint32_t field, const model *m, const char *name, const fact *f) {
  bytes info = {0}, type = type_of(m, f);
  put_text(&info, 1, name);
  if (f->kind != KIND_UNKNOWN) put_message(&info, 2, &type);
  else mem_free(type.data);
  put_message(b, field, &info);
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------------------------------------ */

/* What a value is called in the file: captures have the name of what they stand for, graph outputs their own. */
typedef struct naming { const graph *g; const char *const *names; } naming;

static bytes graph_message(const model *m, const graph *g, const char *const *output_names, const naming *around, const node *owner);

static void put_attr(bytes *b, const model *m, const attr *a, const naming *around, const node *owner) {
  bytes message = {0}, sub;
  put_text(&message, 1, a->name);
  switch (a->kind) {
    case ATTR_FLOAT: put_float(&message, 2, a->f); break;
    case ATTR_INT: put_int(&message, 3, a->i); break;
    case ATTR_STRING: put_bytes(&message, 4, a->s.data, a->s.bytes); break;
    case ATTR_TENSOR: put_tensor(&message, 5, NULL, a->t); break;
    case ATTR_GRAPH:
      sub = graph_message(m, a->g, NULL, around, owner);
      put_message(&message, 6, &sub);
      break;
    case ATTR_FLOATS:
      for (int64_t i = 0; i < a->count; ++i) put_float(&message, 7, a->floats[i]);
      break;
    case ATTR_INTS:
      for (int64_t i = 0; i < a->count; ++i) put_int(&message, 8, a->ints[i]);
      break;
    case ATTR_STRINGS:
      for (int64_t i = 0; i < a->count; ++i) put_bytes(&message, 9, a->strings[i].data, a->strings[i].bytes);
      break;
    case ATTR_TYPE_PROTO:
      sub = type_of(m, a->type);
      put_message(&message, 14, &sub);
      break;
    default: break;
  }
  put_int(&message, 20, a->kind);
  put_message(b, 5, &message);
}

static void put_node(bytes *b, const model *m, const node *n, const naming *names) {
  bytes message = {0};
  for (int32_t i = 0; i < n->input_count; ++i) put_text(&message, 1, n->inputs[i] == NO_VALUE ? "" : names->names[n->inputs[i]]);
  for (int32_t i = 0; i < n->output_count; ++i) put_text(&message, 2, n->outputs[i] == NO_VALUE ? "" : names->names[n->outputs[i]]);
  put_text(&message, 3, n->name);
  put_text(&message, 4, n->op_type);
  for (int32_t i = 0; i < n->attr_count; ++i) put_attr(&message, m, &n->attrs[i], names, n);
  if (*n->domain) put_text(&message, 7, n->domain);
  put_message(b, 1, &message);
}

/* ---- Graphs and models ---------------------------------------------------------------------------------------------------------------------------- */

static const char **names_of(const graph *g, const char *const *output_names, const naming *around, const node *owner) {
  const char **names = mem_calloc((size_t)g->value_count + 1, sizeof *names);
  if (!names) return NULL;
  for (int32_t v = 0; v < g->value_count; ++v) names[v] = g->values[v].name;
  for (int32_t c = 0; around && c < g->capture_count; ++c) names[g->captures[c].inner] = around->names[owner->captures[g->captures[c].slot]];
  for (int32_t o = 0; output_names && o < g->output_count; ++o) {
    const value *v = &g->values[g->outputs[o]];
    if (v->producer >= 0) names[g->outputs[o]] = output_names[o];
  }
  return names;
}

/* An output that is an input, a constant, or named twice gets a node of its own to carry its name. */
static void put_output(bytes *b, const model *m, const graph *g, int32_t o, const char *name, const naming *names) {
  const char *given = names->names[g->outputs[o]];
  if (strcmp(given, name)) {
    bytes identity = {0};
    put_text(&identity, 1, given);
    put_text(&identity, 2, name);
    put_text(&identity, 4, "Identity");
    put_message(b, 1, &identity);
  }
  put_value_info(b, 12, m, name, &g->values[g->outputs[o]].fact);
}

static bytes graph_message(const model *m, const graph *g, const char *const *output_names, const naming *around, const node *owner) {
  bytes b = {0};
  const char **names = names_of(g, output_names, around, owner);
  if (!names) return (bytes){.bad = true};
  naming own = {g, names};
  for (int32_t i = 0; i < g->node_count; ++i) put_node(&b, m, g->nodes[i], &own);
  put_text(&b, 2, g->name && *g->name ? g->name : "graph");
  for (int32_t v = 0; v < g->value_count; ++v) {
    const value *c = &g->values[v];
    const tensor *t = c->is_capture ? NULL : c->fact.value ? c->fact.value : c->default_value;
    if (t && c->producer < 0) put_tensor(&b, 5, names[v], t);
  }
  for (int32_t i = 0; i < g->input_count; ++i) put_value_info(&b, 11, m, names[g->inputs[i]], &g->values[g->inputs[i]].fact);
  for (int32_t o = 0; o < g->output_count; ++o) put_output(&b, m, g, o, output_names ? output_names[o] : names[g->outputs[o]], &own);
  mem_free(names);
  return b;
}

static bytes model_message(const model *m, const char *const *output_names) {
  bytes b = {0}, graph = graph_message(m, m->main, output_names, NULL, NULL);
  bool own_domain = false;
  put_int(&b, 1, m->ir_version < 4 ? 4 : m->ir_version);
  put_text(&b, 2, m->producer_name);
  put_text(&b, 4, m->domain);
  if (m->version != INT64_MAX) put_int(&b, 5, m->version);
  put_message(&b, 7, &graph);
  for (int32_t i = 0; i < m->import_count; ++i) {
    bytes import = {0};
    put_text(&import, 1, m->imports[i].domain);
    put_int(&import, 2, m->imports[i].version);
    put_message(&b, 8, &import);
    own_domain |= !strcmp(m->imports[i].domain, "ortcore");
  }
  if (!own_domain) {
    bytes import = {0};
    put_text(&import, 1, "ortcore");
    put_int(&import, 2, 1);
    put_message(&b, 8, &import);
  }
  for (int32_t i = 0; i < m->metadata_count; ++i) {
    bytes entry = {0};
    put_text(&entry, 1, m->metadata_keys[i]);
    put_text(&entry, 2, m->metadata_values[i]);
    put_message(&b, 14, &entry);
  }
  return b;
}

static status write_file(const bytes *b, const char *path) {
  FILE *file = fopen(path, "wb");
  if (!file)
    return ERROR(INVALID_ARGUMENT, "the optimised model cannot be written to '%s': %s; choose another optimized_model_filepath", path, strerror(errno));
  status s = OK;
  if (fwrite(b->data, 1, b->count, file) != b->count) s = ERROR(FAIL, "writing the optimised model to '%s' failed: %s", path, strerror(errno));
  if (fclose(file) && !s) s = ERROR(FAIL, "writing the optimised model to '%s' failed: %s", path, strerror(errno));
  return s;
}

/* Beside a file that is there already, and then in its place: sessions may have it mapped, this one too. */
static status replace_file(const bytes *b, const char *path) {
  size_t length = strlen(path);
  char *beside = mem_alloc(length + sizeof ".part");
  if (!beside) return status_out_of_memory();
  memcpy(beside, path, length);
  memcpy(beside + length, ".part", sizeof ".part");
  status s = write_file(b, beside);
  if (!s && rename(beside, path)) s = ERROR(FAIL, "the optimised model cannot be put in place of '%s': %s", path, strerror(errno));
  if (s) remove(beside);
  mem_free(beside);
  return s;
}

status onnx_write_file(const model *m, const char *const *output_names, const char *path) {
  struct stat there;
  bytes b = model_message(m, output_names);
  status s = b.bad ? status_out_of_memory() : !stat(path, &there) && S_ISREG(there.st_mode) ? replace_file(&b, path) : write_file(&b, path);
  mem_free(b.data);
  return s;
}
