/* TensorProto: raw bytes stay in place, typed fields are decoded. */
#include <ortcore/onnx/reader.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { T_DIMS = 1, T_TYPE = 2, T_FLOATS = 4, T_INT32S = 5, T_STRINGS = 6, T_INT64S = 7, T_NAME = 8, T_RAW = 9, T_DOUBLES = 10, T_UINT64S = 11, T_EXTERNAL = 13, T_LOCATION = 14 };

typedef struct proto {
  const char *name;
  int rank;
  int64_t dims[MAX_RANK];
  int64_t type;
  bool has_raw, external;
  const uint8_t *raw;
  size_t raw_bytes;
  wire message;
  char *location;
  int64_t offset, length;
} proto;

/* Repeated integers come packed or one by one. */
static status add_dim(proto *p, uint64_t d) {
  if (p->rank == MAX_RANK) return ERROR(NOT_IMPLEMENTED, "a tensor has rank above %d, the most of ortcore's tensors", MAX_RANK);
  p->dims[p->rank++] = (int64_t)d;
  return OK;
}

static status add_dims(proto *p, const wire_field *f) {
  if (f->type == WIRE_VARINT) return add_dim(p, f->scalar);
  uint64_t d;
  wire w = wire_message(f);
  while (!w.bad && w.at != w.end && wire_varint(&w, &d)) TRY(add_dim(p, d));
  return w.bad ? malformed("a tensor's dims") : OK;
}

static status add_external(reader *r, proto *p, const wire_field *f) {
  char *key = NULL, *value = NULL;
  bool cut = false;                                          /* by a NUL byte, where a C string ends */
  wire_field g;
  wire w = wire_message(f);
  while (wire_next(&w, &g)) {
    if (g.number == 1 && !(key = wire_text(r->m->memory, &g))) return status_out_of_memory();
    if (g.number == 2 && !(value = wire_text(r->m->memory, &g))) return status_out_of_memory();
    if (g.number == 2) cut = strlen(value) < g.bytes;
  }
  if (w.bad || !key || !value) return malformed("external data of a tensor");
  if (cut) return ERROR(FAIL, "external data of a tensor has %s '%s\\0...': no file name and no size holds a NUL byte; the model's file is damaged", key, value);
  if (!strcmp(key, "location")) {
    p->location = value;
    return OK;
  }
  int64_t *into = !strcmp(key, "offset") ? &p->offset : !strcmp(key, "length") ? &p->length : NULL;
  if (!into) return OK;                                      /* a checksum, or what producers note for themselves */
  char *end;
  errno = 0;
  *into = strtoll(value, &end, 10);
  if (errno || end == value || *end || *into < 0) return ERROR(FAIL, "external data of a tensor has %s '%s', which is no size", key, value);
  return OK;
}

static status parse(reader *r, wire w, proto *p) {
  *p = (proto){.name = "", .message = w, .length = -1};
  wire_field f;
  while (wire_next(&w, &f)) {
    switch (f.number) {
      case T_DIMS: TRY(add_dims(p, &f)); break;
      case T_TYPE: p->type = (int64_t)f.scalar; break;
      case T_NAME:
        if (!(p->name = wire_text(r->m->memory, &f))) return status_out_of_memory();
        break;
      case T_RAW:
        p->has_raw = true;
        p->raw = f.data;
        p->raw_bytes = f.bytes;
        break;
      case T_EXTERNAL: TRY(add_external(r, p, &f)); break;
      case T_LOCATION: p->external = f.scalar == 1; break;
      default: break;
    }
  }
  return w.bad ? malformed("a tensor") : OK;
}

/* ---- Typed fields ------------------------------------------------------------------------------------------------------------------ */

/* bits: of an element that comes one an integer although it is packed in memory (the 6-bit floats); else 0. */
typedef struct sink { char *data; size_t bytes, used; int width; int64_t count, put; int bits; } sink;

static bool put_bits(sink *s, uint64_t value) {
  if (s->put == s->count) return false;
  for (int b = 0; b < s->bits; ++b) {
    size_t at = (size_t)s->put * (size_t)s->bits + (size_t)b;
    if (value >> b & 1) s->data[at / 8] = (char)(s->data[at / 8] | 1 << at % 8);
  }
  if (++s->put == s->count) s->used = s->bytes;
  return true;
}

static bool put(sink *s, uint64_t bits) {
  if (s->bits) return put_bits(s, bits);
  if (s->bytes - s->used < (size_t)s->width) return false;
  memcpy(s->data + s->used, &bits, (size_t)s->width);
  s->used += (size_t)s->width;
  return true;
}

static bool put_field(sink *s, const wire_field *f, wire_type unit) {
  if (f->type != WIRE_BYTES) return put(s, f->scalar);
  wire w = wire_message(f);
  uint64_t value = 0;
  uint32_t narrow;
  while (w.at != w.end) {
    if (unit == WIRE_VARINT && !wire_varint(&w, &value)) return false;
    if (unit == WIRE_FIXED64 && !wire_fixed64(&w, &value)) return false;
    if (unit == WIRE_FIXED32) {
      if (!wire_fixed32(&w, &narrow)) return false;
      value = narrow;
    }
    if (!put(s, value)) return false;
  }
  return true;
}

/* The field that holds elements of this type, and how they are encoded. */
static uint32_t typed_field(dtype type, wire_type *unit) {
  *unit = WIRE_VARINT;
  switch (type) {
    case ORTC_FLOAT: case ORTC_COMPLEX64: *unit = WIRE_FIXED32; return T_FLOATS;
    case ORTC_DOUBLE: case ORTC_COMPLEX128: *unit = WIRE_FIXED64; return T_DOUBLES;
    case ORTC_INT64: return T_INT64S;
    case ORTC_UINT64: case ORTC_UINT32: return T_UINT64S;
    default: return T_INT32S;
  }
}

static status decode_typed(const proto *p, tensor *t, buffer *memory) {
  wire_type unit;
  uint32_t number = typed_field(t->type, &unit);
  int width = unit == WIRE_FIXED32 ? 4 : unit == WIRE_FIXED64 ? 8 : dtype_width(t->type) ? dtype_width(t->type) : 1;
  bool one_by_one = t->type == ORTC_FLOAT6E2M3 || t->type == ORTC_FLOAT6E3M2;
  sink s = {.data = memory->data, .bytes = tensor_bytes(t), .width = width, .count = t->count, .bits = one_by_one ? 6 : 0};
  if (one_by_one && s.bytes) memset(s.data, 0, s.bytes);
  wire_field f;
  for (wire w = p->message; wire_next(&w, &f);)
    if (f.number == number && !put_field(&s, &f, unit)) return ERROR(INVALID_PROTOBUF, "tensor '%s' holds more elements than its shape says", p->name);
  if (s.used != s.bytes)
    return ERROR(INVALID_PROTOBUF, "tensor '%s' needs %zu bytes of data, but its fields hold %zu", p->name, s.bytes, s.used);
  return OK;
}

static status decode_strings(const proto *p, tensor *t, buffer *memory) {
  rcstr **items = memory->data;
  int64_t n = 0;
  wire_field f;
  for (wire w = p->message; wire_next(&w, &f);) {
    if (f.number != T_STRINGS || f.type != WIRE_BYTES) continue;
    if (n == t->count) return ERROR(INVALID_PROTOBUF, "tensor '%s' holds more strings than its shape says", p->name);
    if (!(items[n++] = rcstr_create((const char *)f.data, f.bytes))) return status_out_of_memory();
  }
  return n == t->count ? OK : ERROR(INVALID_PROTOBUF, "tensor '%s' needs %lld strings, but holds %lld", p->name, (long long)t->count, (long long)n);
}

/* A small file must not make us allocate much: an element takes at least a byte of it (strings, varints), or its own size. */
static status check_typed(const proto *p, const tensor *t) {
  int64_t per_byte = t->type == ORTC_STRING || dtype_width(t->type) ? 1 : 8 / dtype_bits(t->type);
  size_t held = (size_t)(p->message.end - p->message.at);
  if (t->count / (per_byte ? per_byte : 1) <= (int64_t)held) return OK;
  char shape[DIMS_TEXT];
  return ERROR(INVALID_PROTOBUF, "tensor '%s' of shape %s holds fewer elements than that", p->name, dims_format(shape, sizeof shape, t->rank, t->dims));
}

/* Memory of its own that the model keeps. */
static status own_memory(reader *r, tensor *t, buffer **out) {
  if (t->type == ORTC_STRING) TRY(buffer_create_strings(NULL, t->count, out));
  else TRY(buffer_create(NULL, tensor_bytes(t), out));
  t->data = (*out)->data;
  return model_hold_buffer(r->m, *out);
}

static status check_bytes(const proto *p, const tensor *t, size_t have) {
  char shape[DIMS_TEXT];
  if (tensor_bytes(t) == have) return OK;
  return ERROR(INVALID_PROTOBUF, "tensor '%s' of type %s and shape %s needs %zu bytes of data, but has %zu", p->name, dtype_name(t->type),
               dims_format(shape, sizeof shape, t->rank, t->dims), tensor_bytes(t), have);
}

/* The value that the caller gives in place of external data. */
static status place_replacement(const read_replacement *given, tensor *t, buffer **out_memory) {
  char want[DIMS_TEXT], got[DIMS_TEXT];
  const tensor *v = given->view;
  if (v->type != t->type || !dims_equal(v->rank, v->dims, t->rank, t->dims))
    return ERROR(INVALID_ARGUMENT, "initializer '%s' is tensor(%s) of shape %s in the model, but the value given for it is tensor(%s) of shape %s", given->name,
                 dtype_name(t->type), dims_format(want, sizeof want, t->rank, t->dims), dtype_name(v->type), dims_format(got, sizeof got, v->rank, v->dims));
  t->data = v->data;
  *out_memory = given->memory;
  return OK;
}

static status place_external(reader *r, const proto *p, tensor *t, buffer **out_memory) {
  const char *data;
  size_t bytes;
  for (int32_t i = 0; i < r->options->replacement_count; ++i)
    if (!strcmp(r->options->replacements[i].name, p->name)) return place_replacement(&r->options->replacements[i], t, out_memory);
  if (t->type == ORTC_STRING) return ERROR(INVALID_PROTOBUF, "tensor '%s' holds strings, which cannot be external data", p->name);
  if (!p->location) return ERROR(FAIL, "tensor '%s' has external data without a location", p->name);
  int64_t length = p->length < 0 ? (int64_t)tensor_bytes(t) : p->length;
  TRY(status_context(external_data(r, p->location, p->offset, length, &data, &bytes, out_memory), "tensor '%s'", p->name));
  TRY(check_bytes(p, t, bytes));
  t->data = (void *)(uintptr_t)data;
  return OK;
}

static status place(reader *r, const proto *p, tensor *t, buffer **out_memory) {
  if (p->external) return place_external(r, p, t, out_memory);
  if (p->has_raw && t->type != ORTC_STRING) {
    TRY(check_bytes(p, t, p->raw_bytes));
    r->payload_bytes += p->raw_bytes;
    t->data = (void *)(uintptr_t)p->raw;
    *out_memory = r->bytes;
    return OK;
  }
  TRY(check_typed(p, t));
  TRY(own_memory(r, t, out_memory));
  return t->type == ORTC_STRING ? decode_strings(p, t, *out_memory) : decode_typed(p, t, *out_memory);
}

status read_tensor(reader *r, wire w, tensor *out, buffer **out_memory, const char **out_name) {
  proto p;
  *out_memory = NULL;
  TRY(parse(r, w, &p));
  if (out_name) *out_name = p.name;
  if (p.type <= 0 || p.type >= ORTC_ELEMENT_TYPE_COUNT) return ERROR(INVALID_PROTOBUF, "tensor '%s' has element type %lld, which ONNX does not define", p.name, (long long)p.type);
  TRY(status_context(tensor_init(out, (dtype)p.type, p.rank, p.dims), "tensor '%s'", p.name));
  return place(r, &p, out, out_memory);
}

/* ---- Sparse tensors become dense ----------------------------------------------------------------------------------------------------- */

#define MAX_DENSIFIED ((size_t)4 << 30)                      /* a few bytes of a file can describe any size */

static status scatter(const tensor *values, const tensor *indices, tensor *dense) {
  int64_t n = values->count, width = tensor_width(dense);
  bool linear = indices->rank == 1;
  if (indices->type != ORTC_INT64 || values->rank != 1 || !width || (linear ? indices->count != n : indices->rank != 2 || indices->dims[0] != n || indices->dims[1] != dense->rank))
    return malformed("a sparse tensor's indices");
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = 0, part;
    for (int d = 0; d < (linear ? 1 : dense->rank); ++d) {
      memcpy(&part, (const char *)indices->data + (linear ? i : i * dense->rank + d) * 8, 8);
      int64_t limit = linear ? dense->count : dense->dims[d];
      if (part < 0 || part >= limit) return ERROR(INVALID_PROTOBUF, "index %lld of a sparse tensor lies outside its shape", (long long)part);
      at = linear ? part : at * dense->dims[d] + part;
    }
    memcpy((char *)dense->data + at * width, (const char *)values->data + i * width, (size_t)width);
  }
  return OK;
}

status read_sparse_tensor(reader *r, wire w, tensor *out, buffer **out_memory, const char **out_name) {
  tensor values = {.rank = RANK_UNKNOWN}, indices = {.rank = RANK_UNKNOWN};
  buffer *ignored;
  proto shape = {0};
  wire_field f;
  while (wire_next(&w, &f)) {
    if (f.number == 1) TRY(read_tensor(r, wire_message(&f), &values, &ignored, out_name));
    if (f.number == 2) TRY(read_tensor(r, wire_message(&f), &indices, &ignored, NULL));
    if (f.number == 3) TRY(add_dims(&shape, &f));
  }
  if (w.bad || values.rank < 0 || indices.rank < 0) return malformed("a sparse tensor");
  if (values.count && (!values.data || !indices.data)) return malformed("a sparse tensor");
  if (values.type == ORTC_STRING) return ERROR(NOT_IMPLEMENTED, "sparse tensors of strings are not supported");
  TRY(status_context(tensor_init(out, values.type, shape.rank, shape.dims), "a sparse tensor"));
  if (tensor_bytes(out) > MAX_DENSIFIED) return ERROR(NOT_IMPLEMENTED, "a sparse tensor has %zu bytes when dense; at most %zu are supported", tensor_bytes(out), MAX_DENSIFIED);
  TRY(own_memory(r, out, out_memory));
  if (out->count) memset(out->data, 0, tensor_bytes(out));
  return scatter(&values, &indices, out);
}
