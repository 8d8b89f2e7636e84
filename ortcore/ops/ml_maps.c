/* The operators on maps: ZipMap, CastMap, DictVectorizer. */
#include <ortcore/ops/ml.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- ZipMap: a map from class label to score for each row ------------------------------------------------------------------------------------------- */

static status zipmap_infer(infer_ctx *c) {
  labels l = labels_of(c->node, "classlabels_int64s", "classlabels_strings");
  *c->out[0] = (fact){.kind = KIND_SEQUENCE, .type = ORTC_FLOAT, .key = l.strings ? ORTC_STRING : ORTC_INT64, .rank = RANK_UNKNOWN};
  return OK;
}

static status zipmap_keys(const labels *l, ortc_value **out) {
  TRY(ort_value_create_tensor(NULL, l->strings ? ORTC_STRING : ORTC_INT64, 1, &l->count, out));
  for (int64_t i = 0; i < l->count; ++i) TRY(labels_put(l, &(*out)->view, i, i));
  return OK;
}

/* The maps share their keys, and the memory of the scores. */
static status zipmap_row(int64_t row, buffer *scores, ortc_value *keys, ortc_value **out) {
  tensor view;
  ortc_value *values;
  TRY(tensor_init(&view, ORTC_FLOAT, 1, &keys->view.count));
  view.data = (float *)scores->data + row * view.count;
  TRY(ort_value_from_tensor(&view, scores, &values));
  status s = ort_value_create_map(keys, values, out);
  ort_value_release(values);
  return s;
}

static status zipmap_run(kernel_ctx *k) {
  labels l = labels_of(k->node, "classlabels_int64s", "classlabels_strings");
  int64_t rows, columns, made = 0;
  TRY(features_shape(k->in[0], &rows, &columns));
  if (columns != l.count) return ERROR(INVALID_ARGUMENT, "X has %lld columns, but there are %lld class labels", (long long)columns, (long long)l.count);
  ortc_value *keys = NULL, *sequence = NULL, **items = calloc((size_t)rows + 1, sizeof *items);
  buffer *scores = NULL;
  status s = items ? zipmap_keys(&l, &keys) : status_out_of_memory();
  if (!s) s = buffer_create(NULL, tensor_bytes(k->in[0]), &scores);
  if (!s && k->in[0]->count) memcpy(scores->data, k->in[0]->data, tensor_bytes(k->in[0]));
  for (; made < rows && !s; ++made) s = zipmap_row(made, scores, keys, &items[made]);
  if (!s) s = ort_value_create_sequence(ORTC_FLOAT, rows, items, &sequence);
  for (int64_t i = 0; items && i < rows; ++i) ort_value_release(items[i]);
  ort_value_release(keys);
  buffer_release(scores);
  free(items);
  if (!s) kernel_set_value(k, 0, sequence);
  return s;
}

/* ---- CastMap and DictVectorizer: maps to tensors ----------------------------------------------------------------------------------------------------- */

static status castmap_infer(infer_ctx *c) {
  text to = attr_string_or(c->node, "cast_to", "TO_FLOAT");
  c->out[0]->type = !strcmp(to.data, "TO_FLOAT") ? ORTC_FLOAT : !strcmp(to.data, "TO_INT64") ? ORTC_INT64 : ORTC_STRING;
  fact_set_shape(c->out[0], 2, (dim[]){1, DIM_UNKNOWN});
  return OK;
}

static double map_number(const tensor *values, int64_t i) {
  return values->type == ORTC_STRING ? strtod(rcstr_text(((rcstr *const *)values->data)[i]), NULL) : feature_at(values, i);
}

static status put_map_value(tensor *out, int64_t at, const tensor *values, int64_t i) {
  char text_of[32];
  switch (out->type) {
    case ORTC_FLOAT: ((float *)out->data)[at] = (float)map_number(values, i); return OK;
    case ORTC_DOUBLE: ((double *)out->data)[at] = map_number(values, i); return OK;
    case ORTC_INT64: ((int64_t *)out->data)[at] = values->type == ORTC_INT64 ? ((const int64_t *)values->data)[i] : (int64_t)map_number(values, i); return OK;
    default: break;
  }
  rcstr **into = (rcstr **)out->data + at;
  if (values->type == ORTC_STRING) {
    *into = rcstr_retain(((rcstr *const *)values->data)[i]);
    return OK;
  }
  int n = snprintf(text_of, sizeof text_of, "%g", map_number(values, i));
  *into = rcstr_create(text_of, (size_t)n);
  return *into ? OK : status_out_of_memory();
}

static status need_map(const kernel_ctx *k, const ortc_value **out) {
  *out = kernel_in_value(k, 0);
  return *out && (*out)->kind == ORTC_VALUE_MAP ? OK : ERROR(INVALID_ARGUMENT, "X must be a map");
}

static status castmap_run(kernel_ctx *k) {
  const ortc_value *map;
  TRY(need_map(k, &map));
  const tensor *keys = &map->keys->view, *values = &map->values->view;
  bool sparse = !strcmp(attr_string_or(k->node, "map_form", "DENSE").data, "SPARSE");
  int64_t width = sparse ? attr_int_or(k->node, "max_map", 1) : keys->count;
  if (keys->type != ORTC_INT64 || width < 0) return ERROR(INVALID_ARGUMENT, "the keys of a map to cast must be int64, and max_map must not be negative");
  tensor *out;
  TRY(kernel_output(k, 0, 2, (int64_t[]){1, width}, &out));
  if (out->count && out->type != ORTC_STRING) memset(out->data, 0, tensor_bytes(out));
  const int64_t *key = keys->data;
  for (int64_t i = 0; i < keys->count; ++i) {
    int64_t at = sparse ? key[i] : 0;
    for (int64_t j = 0; !sparse && j < keys->count; ++j) at += key[j] < key[i];       /* maps are in the order of their keys */
    if (at < 0 || at >= width) return ERROR(INVALID_ARGUMENT, "key %lld does not fit the %lld places of max_map", (long long)key[i], (long long)width);
    TRY(put_map_value(out, at, values, i));
  }
  return OK;
}

static status vectorizer_infer(infer_ctx *c) {
  int64_t strings, ints;
  attr_strings(c->node, "string_vocabulary", &strings);
  attr_ints(c->node, "int64_vocabulary", &ints);
  c->out[0]->type = c->in[0]->type;
  fact_set_shape(c->out[0], 2, (dim[]){1, strings ? strings : ints});
  return OK;
}

static status vectorizer_run(kernel_ctx *k) {
  const ortc_value *map;
  TRY(need_map(k, &map));
  int64_t count;
  const int64_t *ints = NULL;
  const text *strings = attr_strings(k->node, "string_vocabulary", &count);
  if (!strings) ints = attr_ints(k->node, "int64_vocabulary", &count);
  const tensor *keys = &map->keys->view;
  if ((keys->type == ORTC_STRING) != (strings != NULL)) return ERROR(INVALID_ARGUMENT, "the vocabulary and the map's keys must be of one type");
  tensor *out;
  TRY(kernel_output(k, 0, 2, (int64_t[]){1, count}, &out));
  if (out->count && out->type != ORTC_STRING) memset(out->data, 0, tensor_bytes(out));
  for (int64_t v = 0; v < count; ++v)
    for (int64_t i = 0; i < keys->count; ++i) {
      bool same = strings ? !strcmp(strings[v].data, rcstr_text(((rcstr *const *)keys->data)[i])) : ints[v] == ((const int64_t *)keys->data)[i];
      if (!same) continue;
      TRY(put_map_value(out, v, &map->values->view, i));
      break;
    }
  return OK;
}

OP_FAMILY(ml_maps) = {
  {.name = "ZipMap", .domain = "ai.onnx.ml", .since = 1, .signature = "X:f32 -> Z:any", .flags = OP_VALUES, .infer = zipmap_infer, .run = zipmap_run},
  {.name = "CastMap", .domain = "ai.onnx.ml", .since = 1, .signature = "X:any -> Y:T2", .T2 = TS(STRING) | TS(FLOAT) | TS(INT64), .flags = OP_VALUES, .infer = castmap_infer,
   .run = castmap_run},
  {.name = "DictVectorizer", .domain = "ai.onnx.ml", .since = 1, .signature = "X:any -> Y:T2", .T2 = TS(STRING) | TS(FLOAT) | TS(INT64) | TS(DOUBLE), .flags = OP_VALUES,
   .infer = vectorizer_infer, .run = vectorizer_run},
  {0}};
