/* Operators of ai.onnx.ml that prepare features: Scaler, Normalizer, Imputer, Binarizer, FeatureVectorizer, ArrayFeatureExtractor, OneHotEncoder. */
#include <math.h>
#include <ortcore/base/threads.h>
#include <ortcore/ops/ml_common.h>
#include <string.h>

enum { GRAIN = 16384 };

/* Columns of a row: the last dim. */
static int64_t last_dim(const tensor *t) { return t->rank ? t->dims[t->rank - 1] : 1; }

/* ---- Scaler: (x - offset) * scale -------------------------------------------------------------------------------------------------------- */

typedef struct scaler_params { const float *offset, *scale; int64_t offset_count, scale_count; } scaler_params;

static status scaler_prepare(prepare_ctx *c, void **out_params) {
  scaler_params *p = *out_params = ZONE_NEW(c->memory, scaler_params);
  if (!p) return status_out_of_memory();
  p->offset = attr_floats(c->node, "offset", &p->offset_count);
  p->scale = attr_floats(c->node, "scale", &p->scale_count);
  return OK;
}

typedef struct scaler_work { const scaler_params *p; const float *x; float *y; int64_t columns; } scaler_work;

static void scaler_range(void *context, int64_t begin, int64_t end) {
  const scaler_work *w = context;
  const scaler_params *p = w->p;
  for (int64_t row = begin; row < end; ++row)
    for (int64_t i = 0; i < w->columns; ++i) {
      float offset = p->offset_count == 0 ? 0 : p->offset[p->offset_count == 1 ? 0 : i], scale = p->scale_count == 0 ? 1 : p->scale[p->scale_count == 1 ? 0 : i];
      w->y[row * w->columns + i] = (w->x[row * w->columns + i] - offset) * scale;
    }
}

static status scaler_run(kernel_ctx *k) {
  const scaler_params *p = k->params;
  tensor *out;
  TRY(kernel_output_like(k, 0, k->in[0], &out));
  scaler_work w = {.p = p, .y = out->data, .columns = last_dim(k->in[0])};
  if ((p->offset_count > 1 && p->offset_count != w.columns) || (p->scale_count > 1 && p->scale_count != w.columns))
    return ERROR(INVALID_ARGUMENT, "input 'X' has %lld features, but attributes 'offset' and 'scale' have %lld and %lld elements (one element, or one for each feature)",
                 (long long)w.columns, (long long)p->offset_count, (long long)p->scale_count);
  TRY(ml_input_f32(k, 0, &w.x));
  if (out->count) parallel_for(k->threads, out->count / w.columns, GRAIN / w.columns + 1, scaler_range, &w);
  return OK;
}

/* ---- Normalizer: each row over its norm ---------------------------------------------------------------------------------------------------- */

typedef enum row_norm { NORM_MAX, NORM_L1, NORM_L2 } row_norm;

static status normalizer_prepare(prepare_ctx *c, void **out_params) {
  row_norm *p = *out_params = ZONE_NEW(c->memory, row_norm);
  if (!p) return status_out_of_memory();
  text norm = attr_string_or(c->node, "norm", "MAX");
  if (!strcmp(norm.data, "L1")) *p = NORM_L1;
  else if (!strcmp(norm.data, "L2")) *p = NORM_L2;
  else if (strcmp(norm.data, "MAX")) return ERROR(INVALID_ARGUMENT, "attribute 'norm' is '%s', expected MAX, L1 or L2", norm.data);
  return OK;
}

static double norm_of(row_norm norm, const float *x, int64_t n) {
  double sum = norm == NORM_MAX ? -INFINITY : 0;
  for (int64_t i = 0; i < n; ++i) {
    double v = x[i];
    if (norm == NORM_MAX) sum = v > sum ? v : sum;
    else sum += norm == NORM_L1 ? fabs(v) : v * v;
  }
  return norm == NORM_L2 ? sqrt(sum) : sum;
}

static status normalizer_run(kernel_ctx *k) {
  row_norm norm = *(const row_norm *)k->params;
  const float *x;
  tensor *out;
  TRY(kernel_output_like(k, 0, k->in[0], &out));
  TRY(ml_input_f32(k, 0, &x));
  float *y = out->data;
  int64_t n = last_dim(k->in[0]);
  for (int64_t row = 0; row < (n ? out->count / n : 0); ++row, x += n, y += n) {
    double size = norm_of(norm, x, n);
    for (int64_t i = 0; i < n; ++i) y[i] = size == 0 ? x[i] : (float)(x[i] / size);
  }
  return OK;
}

/* ---- Imputer: replaces one value, column by column ------------------------------------------------------------------------------------------- */

static status imputer_run(kernel_ctx *k) {
  const tensor *x = k->in[0];
  int64_t floats, ints, n = last_dim(x);
  const float *imputed_floats = attr_floats(k->node, "imputed_value_floats", &floats);
  const int64_t *imputed_ints = attr_ints(k->node, "imputed_value_int64s", &ints);
  bool integer = x->type == ORTC_INT64 || x->type == ORTC_INT32;
  int64_t count = integer ? ints : floats, missing_int = attr_int_or(k->node, "replaced_value_int64", 0);
  double missing = attr_float_or(k->node, "replaced_value_float", 0);
  tensor *out;
  if (count != 1 && count != n)
    return ERROR(INVALID_ARGUMENT, "attribute '%s' has %lld elements, expected 1, or %lld as input 'X' has features", integer ? "imputed_value_int64s" : "imputed_value_floats", (long long)count, (long long)n);
  TRY(kernel_output_like(k, 0, x, &out));
#define IMPUTE(T, is_missing, values) \
  for (int64_t i = 0; i < x->count; ++i) { \
    T v = ((const T *)x->data)[i]; \
    ((T *)out->data)[i] = is_missing ? (T)values[count == 1 ? 0 : i % n] : v; \
  }
  if (x->type == ORTC_FLOAT) IMPUTE(float, (isnan(missing) ? isnan(v) : v == (float)missing), imputed_floats)
  if (x->type == ORTC_DOUBLE) IMPUTE(double, (isnan(missing) ? isnan(v) : v == missing), imputed_floats)
  if (x->type == ORTC_INT64) IMPUTE(int64_t, v == missing_int, imputed_ints)
  if (x->type == ORTC_INT32) IMPUTE(int32_t, v == missing_int, imputed_ints)
#undef IMPUTE
  return OK;
}

/* ---- Binarizer: x > threshold -------------------------------------------------------------------------------------------------------------- */

static status binarizer_run(kernel_ctx *k) {
  const tensor *x = k->in[0];
  float threshold = attr_float_or(k->node, "threshold", 0);
  tensor *out;
  TRY(kernel_output_like(k, 0, x, &out));
#define BINARIZE(T) for (int64_t i = 0; i < x->count; ++i) ((T *)out->data)[i] = ((const T *)x->data)[i] > threshold
  if (x->type == ORTC_FLOAT) BINARIZE(float);
  if (x->type == ORTC_DOUBLE) BINARIZE(double);
  if (x->type == ORTC_INT64) BINARIZE(int64_t);
  if (x->type == ORTC_INT32) BINARIZE(int32_t);
#undef BINARIZE
  return OK;
}

/* ---- FeatureVectorizer: the features of several inputs side by side ----------------------------------------------------------------------------- */

static status vectorizer_infer(infer_ctx *c) {
  int64_t count;
  const int64_t *widths = attr_ints(c->node, "inputdimensions", &count);
  dim total = 0;
  for (int64_t i = 0; i < count; ++i) total = dim_add(total, widths[i] < 0 ? DIM_UNKNOWN : widths[i]);
  fact_set_shape(c->out[0], 2, (dim[]){ml_rows(c->in[0]), count ? total : DIM_UNKNOWN});
  return OK;
}

static status vectorizer_run(kernel_ctx *k) {
  int64_t count, rows, columns, total = 0, first = 0;
  const int64_t *widths = attr_ints(k->node, "inputdimensions", &count);
  tensor *out;
  if (count != k->in_count) return ERROR(INVALID_ARGUMENT, "attribute 'inputdimensions' has %lld elements, but there are %d inputs", (long long)count, k->in_count);
  for (int64_t i = 0; i < count; ++i)
    if (widths[i] < 0 || __builtin_add_overflow(total, widths[i], &total)) return ERROR(INVALID_ARGUMENT, "attribute 'inputdimensions' has %lld at %lld", (long long)widths[i], (long long)i);
  TRY(ml_matrix(k->in[0], &rows, &columns));
  TRY(kernel_output(k, 0, 2, (int64_t[]){rows, total}, &out));
  memset(out->data, 0, tensor_bytes(out));
  for (int32_t i = 0; i < k->in_count; first += widths[i++]) {
    int64_t own_rows;
    const float *x;
    TRY(ml_matrix(k->in[i], &own_rows, &columns));
    if (own_rows != rows) return ERROR(INVALID_ARGUMENT, "input %d has %lld rows, but input 0 has %lld", i, (long long)own_rows, (long long)rows);
    TRY(ml_input_f32(k, i, &x));
    size_t bytes = (size_t)(columns < widths[i] ? columns : widths[i]) * sizeof(float);   /* the rest stays 0 */
    for (int64_t row = 0; row < rows && bytes; ++row) memcpy((float *)out->data + row * total + first, x + row * columns, bytes);
  }
  return OK;
}

/* ---- ArrayFeatureExtractor: some columns -------------------------------------------------------------------------------------------------------- */

static status extractor_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  dim dims[MAX_RANK];
  if (x->rank < 1) return OK;
  for (int d = 0; d + 1 < x->rank; ++d) dims[d] = x->dims[d];
  dims[x->rank - 1] = fact_count(c->in[1]);
  if (x->rank == 1) fact_set_shape(c->out[0], 2, (dim[]){1, dims[0]});
  else fact_set_shape(c->out[0], x->rank, dims);
  return OK;
}

static status extractor_run(kernel_ctx *k) {
  const tensor *x = k->in[0], *y = k->in[1];
  if (x->rank < 1) return ERROR(INVALID_ARGUMENT, "input 'X' is a scalar, expected at least one dim");
  int64_t n = last_dim(x), count = y->count, rows = dims_product(x->dims, 0, x->rank - 1), dims[MAX_RANK] = {1};
  const int64_t *at = y->data;
  size_t width = (size_t)tensor_width(x);
  tensor *out;
  for (int64_t i = 0; i < count; ++i)
    if (at[i] < 0 || at[i] >= n) return ERROR(INVALID_ARGUMENT, "input 'Y' has %lld at %lld, but input 'X' has %lld columns", (long long)at[i], (long long)i, (long long)n);
  for (int d = 0; d + 1 < x->rank; ++d) dims[d] = x->dims[d];
  int rank = x->rank == 1 ? 2 : x->rank;
  dims[rank - 1] = count;
  TRY(kernel_output(k, 0, rank, dims, &out));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < count; ++i)
      memcpy((char *)out->data + (size_t)(row * count + i) * width, (const char *)x->data + (size_t)(row * n + at[i]) * width, width);
  if (out->type == ORTC_STRING) rcstr_retain_n(out->data, out->count);
  return OK;
}

/* ---- OneHotEncoder ---------------------------------------------------------------------------------------------------------------------------- */

static status onehot_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  int64_t ints, strings;
  dim dims[MAX_RANK];
  attr_ints(c->node, "cats_int64s", &ints);
  attr_strings(c->node, "cats_strings", &strings);
  if (x->rank < 0) return OK;
  if (x->rank >= MAX_RANK) return ERROR(INVALID_ARGUMENT, "input 'X' has rank %d, expected less than %d", x->rank, MAX_RANK);
  memcpy(dims, x->dims, sizeof *dims * (size_t)x->rank);
  dims[x->rank] = ints + strings;
  fact_set_shape(c->out[0], x->rank + 1, dims);
  return OK;
}

static int64_t category_of(const tensor *x, int64_t i, const int64_t *ints, const text *strings, int64_t count) {
  for (int64_t c = 0; c < count; ++c) {
    bool same;
    if (x->type == ORTC_STRING) {
      const rcstr *s = ((rcstr *const *)x->data)[i];
      same = rcstr_bytes(s) == strings[c].bytes && !memcmp(rcstr_text(s), strings[c].data, strings[c].bytes);
    } else if (x->type == ORTC_INT64) same = ((const int64_t *)x->data)[i] == ints[c];
    else if (x->type == ORTC_INT32) same = ((const int32_t *)x->data)[i] == ints[c];
    else same = trunc(x->type == ORTC_FLOAT ? (double)((const float *)x->data)[i] : ((const double *)x->data)[i]) == (double)ints[c];
    if (same) return c;
  }
  return -1;
}

static status onehot_run(kernel_ctx *k) {
  const tensor *x = k->in[0];
  int64_t int_count, string_count, dims[MAX_RANK];
  const int64_t *ints = attr_ints(k->node, "cats_int64s", &int_count);
  const text *strings = attr_strings(k->node, "cats_strings", &string_count);
  int64_t count = x->type == ORTC_STRING ? string_count : int_count;
  bool zeros = attr_int_or(k->node, "zeros", 1);
  tensor *out;
  if (!count) return ERROR(INVALID_ARGUMENT, "input 'X' is of type %s, but attribute '%s' has no categories", dtype_name(x->type), x->type == ORTC_STRING ? "cats_strings" : "cats_int64s");
  memcpy(dims, x->dims, sizeof *dims * (size_t)x->rank);
  dims[x->rank] = count;
  TRY(kernel_output(k, 0, x->rank + 1, dims, &out));
  memset(out->data, 0, tensor_bytes(out));
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t c = category_of(x, i, ints, strings, count);
    if (c >= 0) ((float *)out->data)[i * count + c] = 1;
    else if (!zeros) return ERROR(INVALID_ARGUMENT, "element %lld of input 'X' is none of the categories (attribute 'zeros' is 0)", (long long)i);
  }
  return OK;
}

OP_FAMILY(ml_feature) = {
  {.name = "Scaler", .domain = ML, .since = 1, .signature = "X:T -> Y:f32", .T = TS_ML, .prepare = scaler_prepare, .run = scaler_run},
  {.name = "Normalizer", .domain = ML, .since = 1, .signature = "X:T -> Y:f32", .T = TS_ML, .prepare = normalizer_prepare, .run = normalizer_run},
  {.name = "Imputer", .domain = ML, .since = 1, .signature = "X:T -> Y:T", .T = TS_ML, .run = imputer_run},
  {.name = "Binarizer", .domain = ML, .since = 1, .signature = "X:T -> Y:T", .T = TS_ML, .run = binarizer_run},
  {.name = "FeatureVectorizer", .domain = ML, .since = 1, .signature = "X:V% -> Y:f32", .V = TS_ML, .infer = vectorizer_infer, .run = vectorizer_run},
  {.name = "ArrayFeatureExtractor", .domain = ML, .since = 1, .signature = "X:T Y:i64 -> Z:T", .T = TS_ML | TS(STRING), .infer = extractor_infer, .run = extractor_run},
  {.name = "OneHotEncoder", .domain = ML, .since = 1, .signature = "X:T -> Y:f32", .T = TS_ML | TS(STRING), .infer = onehot_infer, .run = onehot_run},
  {0}};
