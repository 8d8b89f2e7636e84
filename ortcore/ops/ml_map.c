/* Operators of ai.onnx.ml on maps: ZipMap, DictVectorizer, CastMap. */
#include <ortcore/ops/ml_common.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ZipMap: each row of scores becomes a map from class labels ---------------------------------------------------------------------------- */

static status zipmap_infer(infer_ctx *c) {
  fact *out = c->out[0];
  out->kind = KIND_SEQUENCE;
  out->key = class_labels_type(c->node, "classlabels_strings");
  out->type = ORTC_FLOAT;
  return OK;
}

static status zipmap_keys(kernel_ctx *k, int64_t columns, ortc_value **out) {
  int64_t ints, strings;
  const int64_t *int_labels = attr_ints(k->node, "classlabels_int64s", &ints);
  const text *labels = attr_strings(k->node, "classlabels_strings", &strings);
  int64_t count = strings ? strings : ints;
  if (count != columns) return ERROR(INVALID_ARGUMENT, "input 'X' has %lld columns, but there are %lld class labels", (long long)columns, (long long)count);
  TRY(ort_value_create_tensor(NULL, strings ? ORTC_STRING : ORTC_INT64, 1, &count, out));
  if (!strings) memcpy((*out)->view.data, int_labels, (size_t)count * sizeof *int_labels);
  for (int64_t i = 0; i < strings; ++i)
    if (!(((rcstr **)(*out)->view.data)[i] = rcstr_create(labels[i].data, labels[i].bytes))) return status_out_of_memory();
  return OK;
}

static status zipmap_row(ortc_value *keys, const float *row, int64_t columns, ortc_value **out) {
  ortc_value *values;
  TRY(ort_value_create_tensor(NULL, ORTC_FLOAT, 1, &columns, &values));
  if (columns) memcpy(values->view.data, row, (size_t)columns * sizeof *row);
  status s = ort_value_create_map(keys, values, out);
  ort_value_release(values);
  return s;
}

static status zipmap_rows(ortc_value *keys, const tensor *x, int64_t rows, int64_t columns, ortc_value **out) {
  TRY(ort_value_create_sequence(ORTC_FLOAT, 0, NULL, out));
  for (int64_t r = 0; r < rows; ++r) {
    ortc_value *map, *longer;
    TRY(zipmap_row(keys, (const float *)x->data + r * columns, columns, &map));
    status s = ort_value_insert_item(*out, r, map, &longer);
    ort_value_release(map);
    *out = longer;                                         /* the old sequence has been consumed */
    if (s) return s;
  }
  return OK;
}

static status zipmap_run(kernel_ctx *k) {
  int64_t rows, columns;
  ortc_value *keys = NULL, *sequence = NULL;
  TRY(ml_matrix(k->in[0], &rows, &columns));
  status s = zipmap_keys(k, columns, &keys);
  if (!s) s = zipmap_rows(keys, k->in[0], rows, columns, &sequence);
  ort_value_release(keys);
  if (!s) kernel_set_value(k, 0, sequence);
  else ort_value_release(sequence);
  return s;
}

/* ---- DictVectorizer: the values of a vocabulary's keys, zero where a map has none ------------------------------------------------------------ */

static status map_input(kernel_ctx *k, const tensor **keys, const tensor **values) {
  ortc_value *v = kernel_in_value(k, 0);
  if (!v || v->kind != ORTC_VALUE_MAP) return ERROR(INVALID_ARGUMENT, "input 'X' is not a map");
  *keys = &v->keys->view;
  *values = &v->values->view;
  return OK;
}

static status dict_infer(infer_ctx *c) {
  int64_t ints, strings;
  attr_ints(c->node, "int64_vocabulary", &ints);
  attr_strings(c->node, "string_vocabulary", &strings);
  c->out[0]->kind = KIND_TENSOR;
  c->out[0]->type = c->in[0]->type;
  fact_set_shape(c->out[0], 2, (dim[]){1, ints + strings});
  return OK;
}

static bool same_text(const rcstr *s, const text *t) { return rcstr_bytes(s) == t->bytes && !memcmp(rcstr_text(s), t->data, t->bytes); }

static status dict_run(kernel_ctx *k) {
  int64_t ints, strings;
  const int64_t *int_words = attr_ints(k->node, "int64_vocabulary", &ints);
  const text *words = attr_strings(k->node, "string_vocabulary", &strings);
  const tensor *keys, *values;
  tensor *out;
  TRY(map_input(k, &keys, &values));
  if ((keys->type == ORTC_STRING) != (strings > 0))
    return ERROR(INVALID_ARGUMENT, "input 'X' has keys of type %s, but the vocabulary is '%s'", dtype_name(keys->type), strings ? "string_vocabulary" : "int64_vocabulary");
  TRY(kernel_output(k, 0, 2, (int64_t[]){1, ints + strings}, &out));
  size_t width = (size_t)tensor_width(out);
  memset(out->data, 0, tensor_bytes(out));
  for (int64_t w = 0; w < ints + strings; ++w)
    for (int64_t i = 0; i < keys->count; ++i) {
      if (strings ? !same_text(((rcstr **)keys->data)[i], &words[w]) : ((const int64_t *)keys->data)[i] != int_words[w]) continue;
      memcpy((char *)out->data + (size_t)w * width, (const char *)values->data + (size_t)i * width, width);
      if (out->type == ORTC_STRING) rcstr_retain(((rcstr **)out->data)[w]);
      break;
    }
  return OK;
}

/* ---- CastMap: a map's values, by ascending key, as a tensor ------------------------------------------------------------------------------------ */

static dtype cast_type(const node *n) {
  text to = attr_string_or(n, "cast_to", "TO_FLOAT");
  return !strcmp(to.data, "TO_STRING") ? ORTC_STRING : !strcmp(to.data, "TO_INT64") ? ORTC_INT64 : ORTC_FLOAT;
}

static bool is_sparse(const node *n) { return !strcmp(attr_string_or(n, "map_form", "DENSE").data, "SPARSE"); }

static status cast_infer(infer_ctx *c) {
  c->out[0]->kind = KIND_TENSOR;
  c->out[0]->type = cast_type(c->node);
  fact_set_shape(c->out[0], 2, (dim[]){1, is_sparse(c->node) ? attr_int_or(c->node, "max_map", 1) : DIM_UNKNOWN});
  return OK;
}

/* One value, from float or string to float, int64 or string. */
static status cast_value(const tensor *values, int64_t i, tensor *out, int64_t at) {
  char number[32];
  if (values->type == ORTC_STRING && out->type == ORTC_STRING) {
    ((rcstr **)out->data)[at] = rcstr_retain(((rcstr **)values->data)[i]);
    return OK;
  }
  if (out->type == ORTC_STRING) {
    snprintf(number, sizeof number, "%f", (double)((const float *)values->data)[i]);
    ((rcstr **)out->data)[at] = rcstr_create(number, strlen(number));
    return ((rcstr **)out->data)[at] ? OK : status_out_of_memory();
  }
  double value = values->type == ORTC_FLOAT ? (double)((const float *)values->data)[i] : 0;
  if (values->type == ORTC_STRING) {
    const char *from = rcstr_text(((rcstr **)values->data)[i]);
    char *end;
    value = strtod(from, &end);
    if (end == from || *end) return ERROR(INVALID_ARGUMENT, "the map's value '%s' is no number", from);
  }
  if (out->type == ORTC_FLOAT) ((float *)out->data)[at] = (float)value;
  else ((int64_t *)out->data)[at] = value >= 0x1p63 ? INT64_MAX : value > -0x1p63 ? (int64_t)value : INT64_MIN;
  return OK;
}

/* The smallest key that is larger than *last (or any, if `first`); -1 if there is none. */
static int64_t next_key(const tensor *keys, bool first, int64_t last) {
  int64_t best = -1;
  const int64_t *at = keys->data;
  for (int64_t i = 0; i < keys->count; ++i)
    if ((first || at[i] > last) && (best < 0 || at[i] < at[best])) best = i;
  return best;
}

static status cast_run(kernel_ctx *k) {
  const tensor *keys, *values;
  tensor *out;
  TRY(map_input(k, &keys, &values));
  if (keys->type != ORTC_INT64) return ERROR(INVALID_ARGUMENT, "input 'X' has keys of type %s, expected int64", dtype_name(keys->type));
  if (values->type != ORTC_FLOAT && values->type != ORTC_STRING) return ERROR(INVALID_ARGUMENT, "input 'X' has values of type %s, expected float or string", dtype_name(values->type));
  bool sparse = is_sparse(k->node);
  int64_t count = sparse ? attr_int_or(k->node, "max_map", 1) : keys->count, at = 0;
  TRY(kernel_output(k, 0, 2, (int64_t[]){1, count}, &out));
  memset(out->data, 0, tensor_bytes(out));
  for (int64_t i = next_key(keys, true, 0); i >= 0; i = next_key(keys, false, ((const int64_t *)keys->data)[i])) {
    int64_t to = sparse ? ((const int64_t *)keys->data)[i] : at++;
    if (to < 0 || to >= count) return ERROR(INVALID_ARGUMENT, "the map has key %lld, expected 0 to %lld (attribute 'max_map')", (long long)to, (long long)count - 1);
    TRY(cast_value(values, i, out, to));
  }
  return OK;
}

OP_FAMILY(ml_map) = {
  {.name = "ZipMap", .domain = ML, .since = 1, .signature = "X:f32 -> Z:any", .flags = OP_VALUES, .infer = zipmap_infer, .run = zipmap_run},
  {.name = "DictVectorizer", .domain = ML, .since = 1, .signature = "X:any -> Y:any", .flags = OP_VALUES, .infer = dict_infer, .run = dict_run},
  {.name = "CastMap", .domain = ML, .since = 1, .signature = "X:any -> Y:any", .flags = OP_VALUES, .infer = cast_infer, .run = cast_run},
  {0}};
