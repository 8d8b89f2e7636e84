/* TypeProto and ValueInfoProto to facts. */
#include <ortcore/base/utf8.h>
#include <ortcore/onnx/reader.h>
#include <string.h>

static status read_dim(reader *r, wire w, dim *out) {
  wire_field f;
  *out = DIM_UNKNOWN;
  while (wire_next(&w, &f)) {
    if (f.number == 1) *out = (int64_t)f.scalar >= 0 ? (int64_t)f.scalar : DIM_UNKNOWN;
    if (f.number == 2 && f.bytes) {
      char *name = wire_text(r->m->memory, &f);
      if (!name) return status_out_of_memory();
      if (!utf8_is_valid(name)) return ERROR(INVALID_PROTOBUF, "a dim's name is not valid UTF-8: the model is damaged");
      *out = model_symbol(r->m, name);
    }
  }
  return w.bad ? malformed("a dim") : OK;
}

static status read_shape(reader *r, wire w, fact *out) {
  wire_field f;
  dim dims[MAX_RANK];
  int rank = 0;
  while (wire_next(&w, &f)) {
    if (f.number != 1) continue;
    if (rank == MAX_RANK) return ERROR(NOT_IMPLEMENTED, "a value has rank above %d, the most of ortcore's tensors", MAX_RANK);
    TRY(read_dim(r, wire_message(&f), &dims[rank++]));
  }
  fact_set_shape(out, rank, dims);
  return w.bad ? malformed("a shape") : OK;
}

static status read_element_type(uint64_t number, dtype *out) {
  if (number >= ORTC_ELEMENT_TYPE_COUNT) return ERROR(INVALID_GRAPH, "element type %llu is none that ONNX defines", (unsigned long long)number);
  *out = (dtype)number;
  return OK;
}

static status read_tensor_type(reader *r, wire w, fact *out) {
  wire_field f;
  out->kind = KIND_TENSOR;
  out->rank = RANK_UNKNOWN;
  while (wire_next(&w, &f)) {
    if (f.number == 1) TRY(read_element_type(f.scalar, &out->type));
    if (f.number == 2) TRY(read_shape(r, wire_message(&f), out));
  }
  return w.bad ? malformed("a tensor type") : OK;
}

/* One level of a sequence or optional: the type inside. */
static status read_inner(reader *r, wire w, int depth, fact *out);

static status read_map(reader *r, wire w, int depth, fact *out) {
  wire_field f;
  dtype key = ORTC_UNDEFINED;
  while (wire_next(&w, &f)) {
    if (f.number == 1) TRY(read_element_type(f.scalar, &key));
    if (f.number == 2) TRY(read_inner(r, wire_message(&f), depth + 1, out));
  }
  if (out->kind != KIND_TENSOR || out->optional) return ERROR(NOT_IMPLEMENTED, "maps to anything but tensors are not supported");
  out->kind = KIND_MAP;
  out->key = key;
  out->rank = RANK_UNKNOWN;
  return w.bad ? malformed("a map type") : OK;
}

static status read_element(reader *r, wire w, int depth, fact *out) {
  wire_field f;
  while (wire_next(&w, &f))
    if (f.number == 1) TRY(read_inner(r, wire_message(&f), depth + 1, out));
  return w.bad ? malformed("a type") : OK;
}

static status read_inner(reader *r, wire w, int depth, fact *out) {
  wire_field f;
  if (depth > 4) return malformed("a type that nests too deep");
  while (wire_next(&w, &f)) {
    switch (f.number) {
      case 1: TRY(read_tensor_type(r, wire_message(&f), out)); break;
      case 4:
        TRY(read_element(r, wire_message(&f), depth, out));
        if ((out->kind != KIND_TENSOR && out->kind != KIND_MAP) || out->optional)
          return ERROR(NOT_IMPLEMENTED, "sequences of anything but tensors and maps are not supported");
        out->kind = KIND_SEQUENCE;
        out->rank = RANK_UNKNOWN;
        break;
      case 5: TRY(read_map(r, wire_message(&f), depth, out)); break;
      case 7: return ERROR(NOT_IMPLEMENTED, "opaque types are not supported");
      case 8:
        TRY(read_tensor_type(r, wire_message(&f), out));
        out->kind = KIND_SPARSE;
        break;
      case 9:
        TRY(read_element(r, wire_message(&f), depth, out));
        out->optional = true;
        break;
      default: break;
    }
  }
  return w.bad ? malformed("a type") : OK;
}

status read_type(reader *r, wire w, fact *out) {
  *out = (fact){.rank = RANK_UNKNOWN};
  return read_inner(r, w, 0, out);
}

status read_value_info(reader *r, wire w, char **out_name, fact *out) {
  wire_field f;
  *out_name = NULL;
  *out = (fact){.rank = RANK_UNKNOWN};
  while (wire_next(&w, &f)) {
    if (f.number == 1 && !(*out_name = wire_text(r->m->memory, &f))) return status_out_of_memory();
    if (f.number == 2) TRY(read_type(r, wire_message(&f), out));
  }
  if (w.bad) return malformed("a value's description");
  return *out_name ? OK : ERROR(INVALID_GRAPH, "a value of the graph has no name");
}
