/* LabelEncoder and CategoryMapper: elements by a table from keys to values. The keys are sorted once, at load. */
#include <math.h>
#include <ortcore/ops/ml_common.h>
#include <stdlib.h>
#include <string.h>

#define TS_LABEL (TS(STRING) | TS(INT64) | TS(FLOAT) | TS(DOUBLE) | TS(INT32) | TS(INT16))

/* Numbers are compared as 64-bit patterns: NaN equals NaN, and both zeros are one. */
typedef struct label_key { uint64_t bits; text string; int64_t index; } label_key;

typedef struct label_params {
  dtype key_type, value_type;
  int64_t count;
  label_key *keys;                                          /* sorted */
  void *values;                                             /* [count + 1]: the last is the default */
} label_params;

/* A list in an attribute: of one of the list kinds, or a tensor. */
typedef struct label_list { dtype type; int64_t count; const void *data; const text *strings; } label_list;

/* The first of these attributes that the node has. */
static bool find_list(const node *n, const char *const names[4], label_list *out) {
  *out = (label_list){0};
  const tensor *t = attr_tensor(n, names[3]);
  if (t) *out = (label_list){t->type, t->count, t->data, NULL};
  if (!out->count && (out->data = attr_ints(n, names[0], &out->count), out->count)) out->type = ORTC_INT64;
  if (!out->count && (out->data = attr_floats(n, names[1], &out->count), out->count)) out->type = ORTC_FLOAT;
  if (!out->count && (out->strings = attr_strings(n, names[2], &out->count), out->count)) out->type = ORTC_STRING;
  return out->count > 0;
}

static const char *const key_names[] = {"keys_int64s", "keys_floats", "keys_strings", "keys_tensor"};
static const char *const value_names[] = {"values_int64s", "values_floats", "values_strings", "values_tensor"};

static uint64_t number_bits(dtype type, const void *data, int64_t i) {
  uint64_t bits = 0;
  double d;
  switch (type) {
    case ORTC_INT64: return (uint64_t)((const int64_t *)data)[i];
    case ORTC_INT32: return (uint64_t)(int64_t)((const int32_t *)data)[i];
    case ORTC_INT16: return (uint64_t)(int64_t)((const int16_t *)data)[i];
    case ORTC_FLOAT: d = (double)((const float *)data)[i]; break;
    default: memcpy(&d, (const char *)data + i * 8, 8); break;
  }
  d = isnan(d) ? NAN : d == 0 ? 0.0 : d;
  memcpy(&bits, &d, sizeof bits);
  return bits;
}

static int compare_text(text a, text b) {
  int order = memcmp(a.data, b.data, a.bytes < b.bytes ? a.bytes : b.bytes);
  return order ? order : a.bytes < b.bytes ? -1 : a.bytes > b.bytes;
}

static int compare_key(const label_key *a, const label_key *b) {
  if (a->string.data) return compare_text(a->string, b->string);
  return a->bits < b->bits ? -1 : a->bits > b->bits;
}

static int compare_entry(const void *a, const void *b) {
  const label_key *x = a, *y = b;
  int order = compare_key(x, y);
  return order ? order : x->index < y->index ? -1 : 1;
}

static void key_at(const label_list *l, int64_t i, label_key *out) {
  *out = (label_key){.index = i};
  if (l->strings) out->string = l->strings[i];
  else if (l->type == ORTC_STRING) {
    const rcstr *s = ((rcstr *const *)l->data)[i];
    out->string = (text){rcstr_text(s), rcstr_bytes(s)};
  } else out->bits = number_bits(l->type, l->data, i);
}

/* Value i of the list, or of the default, into place `at`. */
static status set_value(label_params *p, const label_list *l, int64_t i, int64_t at) {
  size_t width = (size_t)dtype_width(p->value_type);
  if (p->value_type != ORTC_STRING) {
    memcpy((char *)p->values + (size_t)at * width, (const char *)l->data + (size_t)i * width, width);
    return OK;
  }
  rcstr **to = (rcstr **)p->values + at;
  *to = l->strings ? rcstr_create(l->strings[i].data, l->strings[i].bytes) : rcstr_retain(((rcstr *const *)l->data)[i]);
  return *to || !l->strings ? OK : status_out_of_memory();
}

static status set_default(const node *n, label_params *p) {
  const tensor *t = attr_tensor(n, "default_tensor");
  if (t && t->type == p->value_type && t->count == 1) return set_value(p, &(label_list){t->type, 1, t->data, NULL}, 0, p->count);
  if (t) return ERROR(INVALID_ARGUMENT, "attribute 'default_tensor' must have one element of type %s", dtype_name(p->value_type));
  text string = attr_string_or(n, "default_string", "_Unused");
  int64_t i = attr_int_or(n, "default_int64", -1);
  float f = attr_float_or(n, "default_float", -0.0f);
  double d = f;
  int32_t i32 = (int32_t)i;
  int16_t i16 = (int16_t)i;
  const void *data = p->value_type == ORTC_INT64 ? (const void *)&i : p->value_type == ORTC_FLOAT ? (const void *)&f : p->value_type == ORTC_DOUBLE ? (const void *)&d
                     : p->value_type == ORTC_INT32 ? (const void *)&i32 : (const void *)&i16;
  return set_value(p, &(label_list){p->value_type, 1, data, p->value_type == ORTC_STRING ? &string : NULL}, 0, p->count);
}

static status label_table(prepare_ctx *c, label_params *p, const label_list *keys, const label_list *values) {
  if (keys->count != values->count) return ERROR(INVALID_ARGUMENT, "there are %lld keys, but %lld values", (long long)keys->count, (long long)values->count);
  if (keys->type != c->in[0]->type) return ERROR(INVALID_ARGUMENT, "the keys are of type %s, but input 'X' is of type %s", dtype_name(keys->type), dtype_name(c->in[0]->type));
  p->key_type = keys->type;
  p->value_type = values->type;
  p->keys = ZONE_ARRAY(c->memory, keys->count, label_key);
  p->values = zone_alloc_array(c->memory, (size_t)keys->count + 1, (size_t)dtype_width(values->type));
  if (!p->keys || !p->values) return status_out_of_memory();
  p->count = keys->count;
  for (int64_t i = 0; i < p->count; ++i) {
    key_at(keys, i, &p->keys[i]);
    TRY(set_value(p, values, i, i));
  }
  qsort(p->keys, (size_t)p->count, sizeof *p->keys, compare_entry);
  return set_default(c->node, p);
}

static void label_dispose(void *params) {
  label_params *p = params;
  if (p->values && p->value_type == ORTC_STRING) rcstr_release_n(p->values, p->count + 1);
}

/* What a version's attributes say about keys and values. */
static status encoder_lists(const node *n, dtype input, zone *memory, label_list *keys, label_list *values) {
  int64_t count;
  const text *classes = attr_strings(n, "classes_strings", &count);
  if (count) {                                              /* version 1: strings and their positions */
    int64_t *positions = ZONE_ARRAY(memory, count, int64_t);
    if (!positions) return status_out_of_memory();
    for (int64_t i = 0; i < count; ++i) positions[i] = i;
    label_list strings = {ORTC_STRING, count, NULL, classes}, numbers = {ORTC_INT64, count, positions, NULL};
    *keys = input == ORTC_STRING ? strings : numbers;
    *values = input == ORTC_STRING ? numbers : strings;
    return OK;
  }
  bool has_keys = find_list(n, key_names, keys), has_values = find_list(n, value_names, values);
  return has_keys && has_values ? OK : ERROR(INVALID_ARGUMENT, "the node needs a keys_* and a values_* attribute that are not empty");
}

static status mapper_lists(const node *n, dtype input, label_list *keys, label_list *values) {
  label_list strings = {.type = ORTC_STRING}, numbers = {.type = ORTC_INT64};
  strings.strings = attr_strings(n, "cats_strings", &strings.count);
  numbers.data = attr_ints(n, "cats_int64s", &numbers.count);
  *keys = input == ORTC_STRING ? strings : numbers;
  *values = input == ORTC_STRING ? numbers : strings;
  return OK;
}

static status label_prepare(prepare_ctx *c, void **out_params) {
  label_params *p = ZONE_NEW(c->memory, label_params);
  label_list keys, values;
  if (!p) return status_out_of_memory();
  if (c->op->data) TRY(mapper_lists(c->node, c->in[0]->type, &keys, &values));
  else TRY(encoder_lists(c->node, c->in[0]->type, c->memory, &keys, &values));
  status s = label_table(c, p, &keys, &values);
  if (s) label_dispose(p);
  else *out_params = p;
  return s;
}

static status label_infer(infer_ctx *c) {
  label_list values;
  int64_t classes;
  attr_strings(c->node, "classes_strings", &classes);
  if (c->op->data || classes) c->out[0]->type = c->in[0]->type == ORTC_STRING ? ORTC_INT64 : ORTC_STRING;
  else if (find_list(c->node, value_names, &values)) c->out[0]->type = values.type;
  fact_copy_shape(c->out[0], c->in[0]);
  return OK;
}

static int64_t find_label(const label_params *p, const label_key *key) {
  int64_t low = 0, high = p->count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (compare_key(&p->keys[middle], key) < 0) low = middle + 1;
    else high = middle;
  }
  return low < p->count && !compare_key(&p->keys[low], key) ? p->keys[low].index : p->count;
}

static status label_run(kernel_ctx *k) {
  const label_params *p = k->params;
  const tensor *x = k->in[0];
  tensor *out;
  label_list elements = {x->type, x->count, x->data, NULL};
  TRY(kernel_output_like(k, 0, x, &out));
  if (!out) return OK;
  size_t width = (size_t)dtype_width(p->value_type);
  for (int64_t i = 0; i < x->count; ++i) {
    label_key key;
    key_at(&elements, i, &key);
    memcpy((char *)out->data + (size_t)i * width, (const char *)p->values + (size_t)find_label(p, &key) * width, width);
  }
  if (p->value_type == ORTC_STRING) rcstr_retain_n(out->data, out->count);
  return OK;
}

#define ENCODER(since_version) \
  {.name = "LabelEncoder", .domain = ML, .since = since_version, .signature = "X:T -> Y:T1", .T = TS_LABEL, .T1 = TS_LABEL, .infer = label_infer, .prepare = label_prepare, \
   .dispose = label_dispose, .run = label_run}

OP_FAMILY(ml_label) = {
  ENCODER(1),
  {.name = "CategoryMapper", .domain = ML, .since = 1, .signature = "X:T -> Y:T1", .T = TS(STRING) | TS(INT64), .T1 = TS(STRING) | TS(INT64), .infer = label_infer,
   .prepare = label_prepare, .dispose = label_dispose, .run = label_run, .data = ""},
  {0}};
