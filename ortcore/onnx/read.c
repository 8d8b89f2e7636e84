/* ModelProto. */
#include <ortcore/base/mem.h>
#include <ortcore/onnx/file.h>
#include <ortcore/onnx/reader.h>
#include <string.h>

enum { M_IR = 1, M_PRODUCER = 2, M_PRODUCER_VERSION = 3, M_DOMAIN = 4, M_VERSION = 5, M_DOC = 6, M_GRAPH = 7, M_IMPORT = 8, M_METADATA = 14, M_FUNCTION = 25 };

status malformed(const char *what) { return ERROR(INVALID_PROTOBUF, "%s is malformed: the model is truncated or is no ONNX model", what); }

char *wire_text(zone *z, const wire_field *f) { return zone_strndup(z, f->data ? (const char *)f->data : "", f->bytes); }

status check_cancelled(const reader *r) {
  return r->options->cancel && *r->options->cancel ? ERROR(MODEL_LOAD_CANCELED, "loading was cancelled") : OK;
}

status count_fields(wire w, uint32_t number, int32_t *out) {
  wire_field f;
  int32_t n = 0;
  *out = 0;
  while (wire_next(&w, &f)) {
    if (f.number != number) continue;
    if (n == INT32_MAX - 1) return malformed("a list of more items than can be counted");
    ++n;
  }
  *out = n;
  return OK;
}

status read_import(reader *r, const wire_field *field, import *out) {
  wire_field f;
  wire w = wire_message(field);
  *out = (import){.domain = ""};
  while (wire_next(&w, &f)) {
    if (f.number == 1 && !(out->domain = wire_text(r->m->memory, &f))) return status_out_of_memory();
    if (f.number == 2) out->version = (int64_t)f.scalar;
  }
  if (!strcmp(out->domain, "ai.onnx")) out->domain = "";
  return w.bad ? malformed("an opset import") : OK;
}

static status read_model_import(reader *r, const wire_field *field) {
  import i;
  TRY(read_import(r, field, &i));
  r->m->imports[r->m->import_count].domain = i.domain;
  r->m->imports[r->m->import_count++].version = i.version;
  return OK;
}

static status read_metadata(reader *r, const wire_field *field) {
  model *m = r->m;
  int32_t i = m->metadata_count++;
  m->metadata_keys[i] = m->metadata_values[i] = "";
  wire_field f;
  for (wire w = wire_message(field); wire_next(&w, &f);) {
    const char **into = f.number == 1 ? &m->metadata_keys[i] : f.number == 2 ? &m->metadata_values[i] : NULL;
    if (into && !(*into = wire_text(m->memory, &f))) return status_out_of_memory();
  }
  return OK;
}

static status read_function(reader *r, const wire_field *field) {
  function *into = &r->functions[r->function_count++];
  *into = (function){.domain = "", .name = "", .overload = "", .body = wire_message(field)};
  wire_field f;
  wire w = into->body;
  while (wire_next(&w, &f)) {
    const char **text = f.number == 1 ? &into->name : f.number == 10 ? &into->domain : f.number == 13 ? &into->overload : NULL;
    if (text && !(*text = wire_text(r->m->memory, &f))) return status_out_of_memory();
  }
  if (!strcmp(into->domain, "ai.onnx")) into->domain = "";
  return w.bad ? malformed("a function") : OK;
}

static status read_header(reader *r, wire w, wire *out_graph) {
  model *m = r->m;
  int32_t imports, metadata, functions;
  TRY(count_fields(w, M_IMPORT, &imports));
  TRY(count_fields(w, M_METADATA, &metadata));
  TRY(count_fields(w, M_FUNCTION, &functions));
  m->imports = zone_alloc_array(m->memory, (size_t)imports + 1, sizeof *m->imports);
  m->metadata_keys = ZONE_ARRAY(m->memory, metadata + 1, const char *);
  m->metadata_values = ZONE_ARRAY(m->memory, metadata + 1, const char *);
  r->functions = ZONE_ARRAY(m->memory, functions + 1, function);
  if (!m->imports || !m->metadata_keys || !m->metadata_values || !r->functions) return status_out_of_memory();
  wire_field f;
  while (wire_next(&w, &f)) {
    const char **text = f.number == M_PRODUCER ? &m->producer_name : f.number == M_PRODUCER_VERSION ? &m->producer_version : f.number == M_DOMAIN ? &m->domain
                        : f.number == M_DOC ? &m->description : NULL;
    if (text && !(*text = wire_text(m->memory, &f))) return status_out_of_memory();
    if (f.number == M_IR) m->ir_version = (int64_t)f.scalar;
    if (f.number == M_VERSION) m->version = (int64_t)f.scalar;
    if (f.number == M_IMPORT) TRY(read_model_import(r, &f));
    if (f.number == M_METADATA) TRY(read_metadata(r, &f));
    if (f.number == M_FUNCTION) TRY(read_function(r, &f));
    if (f.number == M_GRAPH) *out_graph = wire_message(&f);
  }
  return w.bad ? ERROR(INVALID_PROTOBUF, "Protobuf parsing failed: the file is truncated or is no ONNX model") : OK;
}

/* Domains of the ONNX standard and the versions that are implemented. Other domains may be imported: their operators come from functions. */
static const struct { const char *domain, *shown; int64_t least, most; } supported[] = {
  {"", "ai.onnx", ONNX_MIN_OPSET, ONNX_MAX_OPSET},
  {"ai.onnx.ml", "ai.onnx.ml", 1, ONNX_MAX_ML_OPSET},
  {"com.microsoft", "com.microsoft", 1, 1},
};

static status check_versions(const model *m) {
  if (m->ir_version > ONNX_MAX_IR || m->ir_version < ONNX_MIN_IR)
    return ERROR(FAIL, "the model has IR version %lld; versions %d to %d are supported", (long long)m->ir_version, ONNX_MIN_IR, ONNX_MAX_IR);
  if (!m->import_count) return ERROR(INVALID_GRAPH, "the model does not say which opset it uses (opset_import is missing)");
  for (int32_t i = 0; i < m->import_count; ++i)
    for (size_t j = 0; j < sizeof supported / sizeof *supported; ++j) {
      int64_t version = m->imports[i].version;
      if (strcmp(m->imports[i].domain, supported[j].domain) || (version >= supported[j].least && version <= supported[j].most)) continue;
      return ERROR(FAIL, "the model uses opset %lld of %s; opsets %lld to %lld are supported: convert the model to one of them", (long long)version, supported[j].shown,
                   (long long)supported[j].least, (long long)supported[j].most);
    }
  return OK;
}

/* The flatbuffer format of onnxruntime says so in bytes 4 to 7. */
static bool is_ort_format(const buffer *b) { return b->bytes >= 8 && !memcmp((const char *)b->data + 4, "ORTM", 4); }

static status read_model(reader *r) {
  wire graph_bytes = {0};
  if (!r->bytes->bytes) return ERROR(INVALID_ARGUMENT, "the model is empty: it has no graph");
  if (is_ort_format(r->bytes)) return ERROR(FAIL, "the model is in the .ort format, which is not supported: give the ONNX model that it was made from");
  TRY(read_header(r, wire_over(r->bytes->data, r->bytes->bytes), &graph_bytes));
  if (!graph_bytes.at) return r->m->ir_version || r->m->import_count ? ERROR(INVALID_ARGUMENT, "the model has no graph") : malformed("the model");
  TRY(check_versions(r->m));
  TRY(index_functions(r));
  scope top;
  status s = read_graph(r, graph_bytes, NULL, &r->m->main, &top);
  scope_deinit(&top);
  return s;
}

static status read(buffer *bytes, const char *folder, const char *path, const read_options *options, model **out) {
  static const read_options defaults;
  reader r = {.bytes = bytes, .folder_given = folder, .path = path, .options = options ? options : &defaults};
  *out = NULL;
  TRY(model_create(&r.m));
  strmap_init(&r.function_ids);
  status s = model_hold_buffer(r.m, buffer_retain(bytes));
  if (!s) s = read_model(&r);
  strmap_deinit(&r.function_ids);
  if (s) model_release(r.m);
  else *out = r.m;
  return s;
}

status onnx_read_memory(buffer *bytes, const char *folder, const read_options *options, model **out) { return read(bytes, folder ? folder : ".", NULL, options, out); }

status onnx_read_file(const char *path, const read_options *options, model **out) {
  *out = NULL;
  buffer *bytes;
  TRY(file_open(path, !options || !options->read_whole, &bytes));
  const char *slash = strrchr(path, '/');
  char *folder = slash ? mem_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : mem_strdup(".");
  status s = folder ? read(bytes, folder, path, options, out) : status_out_of_memory();
  mem_free(folder);
  buffer_release(bytes);
  return s;
}
