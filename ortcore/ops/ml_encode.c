/* LabelEncoder, CategoryMapper, OneHotEncoder, ArrayFeatureExtractor. */
#include <math.h>
#include <ortcore/ops/ml_params.h>
#include <stdlib.h>

/* ---- Lists of keys or values, whichever way the attributes give them -------------------------------------------------------------------------- */

/* `<prefix>_strings`, `_int64s`, `_floats`, `_tensor`. */
static entries entries_of(const node *n, const char *prefix) {
  char name[64];
  entries e = {0};
#define NAME(suffix) strcat(strcpy(name, prefix), suffix)
  if ((e.strings = attr_strings(n, NAME("_strings"), &e.count))) e.type = ORTC_STRING;
  else if ((e.ints = attr_ints(n, NAME("_int64s"), &e.count))) e.type = ORTC_INT64;
  else if ((e.floats = attr_floats(n, NAME("_floats"), &e.count))) e.type = ORTC_FLOAT;
  else if ((e.wide = attr_tensor(n, NAME("_tensor")))) e.type = e.wide->type, e.count = e.wide->count;
#undef NAME
  return e;
}

static text entry_text(const entries *e, int64_t i) {
  if (e->strings) return e->strings[i];
  const rcstr *s = ((rcstr *const *)e->wide->data)[i];
  return (text){rcstr_text(s), rcstr_bytes(s)};
}

static int by_number(const void *a, const void *b) {
  const number_key *x = a, *y = b;
  if (x->key != y->key) {
    if (isnan(x->key) || isnan(y->key)) return isnan(x->key) - isnan(y->key) ? isnan(x->key) - isnan(y->key) : x->index < y->index ? -1 : 1;
    return x->key < y->key ? -1 : 1;
  }
  return x->index < y->index ? -1 : x->index > y->index;
}

static status add_keys(prepare_ctx *c, encoder *e, const entries *keys) {
  e->key_type = keys->type;
  e->key_count = keys->count;
  if (keys->type != ORTC_STRING) {
    e->by_number = ZONE_ARRAY(c->memory, keys->count + 1, number_key);
    if (!e->by_number) return status_out_of_memory();
    for (int64_t i = 0; i < keys->count; ++i) e->by_number[i] = (number_key){encoder_key(keys, i), i};
    qsort(e->by_number, (size_t)keys->count, sizeof *e->by_number, by_number);
    return OK;
  }
  for (int64_t i = 0; i < keys->count; ++i) {
    int64_t present;
    text t = entry_text(keys, i);
    if (!strmap_get(&e->by_text, t.data, &present) && !strmap_put(&e->by_text, t.data, i)) return status_out_of_memory();
  }
  return OK;
}

static int64_t find_number(const encoder *e, double key) {
  int64_t low = 0, high = e->key_count;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    double at = e->by_number[middle].key;
    if (isnan(key) ? !isnan(at) : at < key) low = middle + 1;
    else high = middle;
  }
  return low < e->key_count && (e->by_number[low].key == key || (isnan(key) && isnan(e->by_number[low].key))) ? e->by_number[low].index : -1;
}

static int64_t find_text(const encoder *e, const char *key) {
  int64_t index;
  return strmap_get(&e->by_text, key, &index) ? index : -1;
}

static void encoder_dispose(void *params) { strmap_deinit(&((encoder *)params)->by_text); }

static status encoder_create(prepare_ctx *c, encoder **out) {
  encoder *e = *out = ZONE_NEW(c->memory, encoder);
  if (!e) return status_out_of_memory();
  strmap_init(&e->by_text);
  e->default_value = attr_tensor(c->node, "default_tensor");
  entries given = {.type = ORTC_STRING, .wide = e->default_value};
  bool is_text = e->default_value && e->default_value->type == ORTC_STRING && e->default_value->count;
  e->default_text = is_text ? entry_text(&given, 0) : attr_string_or(c->node, "default_string", "_Unused");
  e->default_int = attr_int_or(c->node, "default_int64", -1);
  e->default_float = attr_float_or(c->node, "default_float", -0.0f);
  return OK;
}

/* ---- LabelEncoder ------------------------------------------------------------------------------------------------------------------------------ */

static status encoder_infer(infer_ctx *c) {
  entries values = entries_of(c->node, "values");
  fact_copy_shape(c->out[0], c->in[0]);
  c->out[0]->type = c->op->since >= 2 && values.type ? values.type : c->in[0]->type == ORTC_STRING ? ORTC_INT64 : ORTC_STRING;
  return OK;
}

#define TS_LABEL (TS(STRING) | TS(INT64))
#define TS_LABEL2 (TS_LABEL | TS(FLOAT))
#define TS_LABEL4 (TS_LABEL2 | TS(INT32) | TS(INT16) | TS(DOUBLE))

static status check_values(const encoder *e) {
  dtype type = e->values.type;
  if (!typeset_has(TS_LABEL4, type))
    return ERROR(INVALID_ARGUMENT, "the values are %s, but must be one of string, int64, float, int32, int16 or double", dtype_name(type));
  if (e->default_value && e->default_value->type != type)
    return ERROR(INVALID_ARGUMENT, "the values are %s, but default_tensor is %s", dtype_name(type), dtype_name(e->default_value->type));
  return OK;
}

static status encoder_prepare(prepare_ctx *c, void **out_params) {
  encoder *e;
  TRY(encoder_create(c, &e));
  *out_params = e;
  entries keys = entries_of(c->node, "keys");
  e->values = entries_of(c->node, "values");
  status s = OK;
  if (keys.count != e->values.count || !keys.count)
    s = ERROR(INVALID_ARGUMENT, "there are %lld keys but %lld values; both lists must be given and agree", (long long)keys.count, (long long)e->values.count);
  else if (c->in[0]->type && c->in[0]->type != keys.type)
    s = ERROR(INVALID_ARGUMENT, "the keys are %s, but the input is %s", dtype_name(keys.type), dtype_name(c->in[0]->type));
  if (!s) s = check_values(e);
  if (!s) s = add_keys(c, e, &keys);
  e->value_type = e->values.type;
  if (s) encoder_dispose(e);
  return s;
}

/* Opset 1: texts to their positions in `classes_strings`, or positions to texts. */
static status encoder1_prepare(prepare_ctx *c, void **out_params) {
  encoder *e;
  TRY(encoder_create(c, &e));
  *out_params = e;
  entries classes = {.type = ORTC_STRING};
  classes.strings = attr_strings(c->node, "classes_strings", &classes.count);
  status s = c->in[0]->type == ORTC_STRING ? add_keys(c, e, &classes) : OK;
  if (c->in[0]->type == ORTC_STRING) e->value_type = ORTC_INT64;
  else e->value_type = ORTC_STRING, e->values = classes, e->key_count = -1;
  if (s) encoder_dispose(e);
  return s;
}

/* CategoryMapper: parallel lists of texts and integers. */
static status mapper_prepare(prepare_ctx *c, void **out_params) {
  encoder *e;
  TRY(encoder_create(c, &e));
  *out_params = e;
  entries texts = {.type = ORTC_STRING}, ints = {.type = ORTC_INT64};
  texts.strings = attr_strings(c->node, "cats_strings", &texts.count);
  ints.ints = attr_ints(c->node, "cats_int64s", &ints.count);
  bool from_text = c->in[0]->type == ORTC_STRING;
  status s = texts.count != ints.count ? ERROR(INVALID_ARGUMENT, "cats_strings and cats_int64s differ in length") : add_keys(c, e, from_text ? &texts : &ints);
  e->values = from_text ? ints : texts;
  e->value_type = e->values.type;
  if (s) encoder_dispose(e);
  return s;
}

static status put_text(const encoder *e, tensor *out, int64_t i, int64_t index) {
  text t = index >= 0 ? entry_text(&e->values, index) : e->default_text;
  rcstr *s = rcstr_create(t.data, t.bytes);
  if (!s) return status_out_of_memory();
  ((rcstr **)out->data)[i] = s;
  return OK;
}

static int64_t index_of(const encoder *e, const tensor *x, int64_t i) {
  if (x->type == ORTC_STRING) return find_text(e, rcstr_text(((rcstr *const *)x->data)[i]));
  double key = x->type == ORTC_INT16 ? ((const int16_t *)x->data)[i] : feature_at(x, i);
  if (e->key_count < 0) return key >= 0 && key < (double)e->values.count ? (int64_t)key : -1;
  return find_number(e, key);
}

static status encoder_run(kernel_ctx *k) {
  const encoder *e = k->params;
  const tensor *x = k->in[0];
  tensor *out;
  TRY(kernel_output_like(k, 0, x, &out));
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t index = index_of(e, x, i);
    if (out->type == ORTC_STRING) TRY(put_text(e, out, i, index));
    else encoder_put_number(e, out->type, index, (char *)out->data + i * tensor_width(out));
  }
  return OK;
}

/* ---- OneHotEncoder ------------------------------------------------------------------------------------------------------------------------------- */

static status onehot_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  int64_t ints, strings;
  attr_ints(c->node, "cats_int64s", &ints);
  attr_strings(c->node, "cats_strings", &strings);
  if (x->rank < 0 || x->rank == MAX_RANK) return OK;
  dim dims[MAX_RANK];
  for (int d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  dims[x->rank] = strings ? strings : ints;
  fact_set_shape(c->out[0], x->rank + 1, dims);
  return OK;
}

static status onehot_prepare(prepare_ctx *c, void **out_params) {
  encoder *e;
  TRY(encoder_create(c, &e));
  *out_params = e;
  entries cats = {.type = ORTC_STRING};
  if (!(cats.strings = attr_strings(c->node, "cats_strings", &cats.count))) {
    cats.type = ORTC_INT64;
    cats.ints = attr_ints(c->node, "cats_int64s", &cats.count);
  }
  e->default_int = attr_int_or(c->node, "zeros", 1);
  status s = (cats.type == ORTC_STRING) != (c->in[0]->type == ORTC_STRING) ? ERROR(INVALID_ARGUMENT, "the categories and the input must both be strings, or both numbers")
                                                                            : add_keys(c, e, &cats);
  if (s) encoder_dispose(e);
  return s;
}

static status onehot_run(kernel_ctx *k) {
  const encoder *e = k->params;
  const tensor *x = k->in[0];
  int64_t dims[MAX_RANK];
  tensor *out;
  if (x->rank == MAX_RANK) return ERROR(NOT_IMPLEMENTED, "the result would have rank %d; ortcore's tensors have at most %d", MAX_RANK + 1, MAX_RANK);
  for (int d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  dims[x->rank] = e->key_count;
  TRY(kernel_output(k, 0, x->rank + 1, dims, &out));
  if (out->count) memset(out->data, 0, tensor_bytes(out));
  for (int64_t i = 0; i < x->count; ++i) {
    /* Numbers are categories by their integer part. */
    int64_t at = x->type == ORTC_STRING ? index_of(e, x, i) : find_number(e, trunc(feature_at(x, i)));
    if (at >= 0) ((float *)out->data)[i * e->key_count + at] = 1;
    else if (!e->default_int) return ERROR(FAIL, "element %lld of the input is in no category, and zeros is 0", (long long)i);
  }
  return OK;
}

/* ---- ArrayFeatureExtractor: chosen columns of the last dim --------------------------------------------------------------------------------------- */

static status extractor_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  if (x->rank < 1) return OK;
  dim dims[MAX_RANK];
  for (int d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  int64_t n = fact_count(c->in[1]);
  dims[x->rank - 1] = n < 0 ? DIM_UNKNOWN : n;
  if (x->rank == 1) fact_set_shape(c->out[0], 2, (dim[]){1, dims[0]});
  else fact_set_shape(c->out[0], x->rank, dims);
  return OK;
}

static status extractor_run(kernel_ctx *k) {
  const tensor *x = k->in[0], *y = k->in[1];
  const int64_t *indices = y->data;
  if (x->rank < 1) return ERROR(INVALID_ARGUMENT, "X must have at least one dim");
  int64_t columns = x->dims[x->rank - 1], rows = columns ? x->count / columns : 0, dims[MAX_RANK];
  size_t width = (size_t)tensor_width(x);
  if (!y->count) return ERROR(INVALID_ARGUMENT, "Y must name at least one column");
  for (int64_t i = 0; i < y->count; ++i)
    if (indices[i] < 0 || indices[i] >= columns) return ERROR(INVALID_ARGUMENT, "index %lld at position %lld is out of range: X has %lld columns", (long long)indices[i], (long long)i, (long long)columns);
  for (int d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  dims[x->rank - 1] = y->count;
  tensor *out;
  if (x->rank == 1) TRY(kernel_output(k, 0, 2, (int64_t[]){1, y->count}, &out));
  else TRY(kernel_output(k, 0, x->rank, dims, &out));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < y->count; ++i)
      memcpy((char *)out->data + (size_t)(r * y->count + i) * width, (const char *)x->data + (size_t)(r * columns + indices[i]) * width, width);
  if (x->type == ORTC_STRING) rcstr_retain_n(out->data, out->count);
  return OK;
}

#define ENCODER(version, types, prepare_fn) \
  {.name = "LabelEncoder", .domain = "ai.onnx.ml", .since = version, .signature = "X:T1 -> Y:T2", .T1 = types, .T2 = types, .infer = encoder_infer, .prepare = prepare_fn, \
   .dispose = encoder_dispose, .run = encoder_run}

OP_FAMILY(ml_encode) = {
  ENCODER(1, TS_LABEL, encoder1_prepare),
  ENCODER(2, TS_LABEL2, encoder_prepare),
  ENCODER(4, TS_LABEL4, encoder_prepare),
  {.name = "CategoryMapper", .domain = "ai.onnx.ml", .since = 1, .signature = "X:T1 -> Y:T2", .T1 = TS_LABEL, .T2 = TS_LABEL, .infer = encoder_infer, .prepare = mapper_prepare,
   .dispose = encoder_dispose, .run = encoder_run},
  {.name = "OneHotEncoder", .domain = "ai.onnx.ml", .since = 1, .signature = "X:T -> Y:f32", .T = TS_FEATURES | TS(STRING), .infer = onehot_infer, .prepare = onehot_prepare,
   .dispose = encoder_dispose, .run = onehot_run},
  {.name = "ArrayFeatureExtractor", .domain = "ai.onnx.ml", .since = 1, .signature = "X:T Y:i64 -> Z:T", .T = TS_FEATURES | TS(STRING), .infer = extractor_infer, .run = extractor_run},
  {0}};
