/* Scaler, Normalizer, Imputer, Binarizer, FeatureVectorizer. */
#include <math.h>
#include <ortcore/ops/ml_params.h>

/* ---- Scaler: (x - offset) * scale, one pair a feature or one for all --------------------------------------------------------------------- */

static status scaler_prepare(prepare_ctx *c, void **out_params) {
  scaler_params *p = *out_params = ZONE_NEW(c->memory, scaler_params);
  if (!p) return status_out_of_memory();
  p->offset = attr_floats(c->node, "offset", &p->offsets);
  p->scale = attr_floats(c->node, "scale", &p->scales);
  if (!p->offsets || !p->scales) return ERROR(INVALID_ARGUMENT, "offset and scale must not be empty");
  return OK;
}

static status check_features(const char *name, int64_t count, int64_t features) {
  return count == 1 || count == features ? OK : ERROR(INVALID_ARGUMENT, "%s has %lld elements, but X has %lld features", name, (long long)count, (long long)features);
}

static status scaler_run(kernel_ctx *k) {
  const scaler_params *p = k->params;
  const tensor *x = k->in[0];
  tensor *out;
  int64_t features = x->rank ? x->dims[x->rank - 1] : 1;
  TRY(check_features("offset", p->offsets, features));
  TRY(check_features("scale", p->scales, features));
  TRY(kernel_output_like(k, 0, x, &out));
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t f = i % features;
    ((float *)out->data)[i] = ((float)feature_at(x, i) - p->offset[p->offsets == 1 ? 0 : f]) * p->scale[p->scales == 1 ? 0 : f];
  }
  return OK;
}

/* ---- Normalizer: rows divided by their largest element, their sum, or their length ------------------------------------------------------- */

static status normalizer_prepare(prepare_ctx *c, void **out_params) {
  normalizer_params *p = *out_params = ZONE_NEW(c->memory, normalizer_params);
  if (!p) return status_out_of_memory();
  text norm = attr_string_or(c->node, "norm", "MAX");
  p->norm = !strcmp(norm.data, "MAX") ? 'M' : !strcmp(norm.data, "L1") ? '1' : !strcmp(norm.data, "L2") ? '2' : 0;
  return p->norm ? OK : ERROR(INVALID_ARGUMENT, "norm is '%s', but must be MAX, L1 or L2", norm.data);
}

static status normalizer_run(kernel_ctx *k) {
  const normalizer_params *p = k->params;
  const tensor *x = k->in[0];
  tensor *out;
  int64_t n = x->rank ? x->dims[x->rank - 1] : 1;
  TRY(kernel_output_like(k, 0, x, &out));
  for (int64_t r = 0; n && r < x->count / n; ++r) {
    float norm = p->norm == 'M' ? -INFINITY : 0, *y = (float *)out->data + r * n;
    for (int64_t i = 0; i < n; ++i) {
      float v = y[i] = (float)feature_at(x, r * n + i);
      if (p->norm == 'M') norm = v > norm ? v : norm;
      else norm += p->norm == '1' ? fabsf(v) : v * v;
    }
    if (p->norm == '2') norm = sqrtf(norm);
    for (int64_t i = 0; i < n && norm != 0; ++i) y[i] /= norm;
  }
  return OK;
}

/* ---- Imputer: a value that stands for "missing" is replaced -------------------------------------------------------------------------------- */

static status imputer_prepare(prepare_ctx *c, void **out_params) {
  imputer_params *p = *out_params = ZONE_NEW(c->memory, imputer_params);
  if (!p) return status_out_of_memory();
  bool is_float = c->in[0]->type == ORTC_FLOAT || c->in[0]->type == ORTC_DOUBLE;
  if (is_float) p->floats = attr_floats(c->node, "imputed_value_floats", &p->count);
  else p->ints = attr_ints(c->node, "imputed_value_int64s", &p->count);
  p->missing_float = attr_float_or(c->node, "replaced_value_float", 0);
  p->missing_int = attr_int_or(c->node, "replaced_value_int64", 0);
  return p->count ? OK : ERROR(INVALID_ARGUMENT, "%s is empty, but the input is %s", is_float ? "imputed_value_floats" : "imputed_value_int64s", dtype_name(c->in[0]->type));
}

static status imputer_run(kernel_ctx *k) {
  const imputer_params *p = k->params;
  const tensor *x = k->in[0];
  tensor *out;
  int64_t features = x->rank ? x->dims[x->rank - 1] : 1;
  TRY(check_features("the list of imputed values", p->count, features));
  TRY(kernel_output_like(k, 0, x, &out));
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t f = p->count == 1 ? 0 : i % features;
    double v = feature_at(x, i);
    if (p->floats) {
      bool missing = isnan(p->missing_float) ? isnan(v) : v == (double)p->missing_float;
      if (x->type == ORTC_FLOAT) ((float *)out->data)[i] = missing ? p->floats[f] : (float)v;
      else ((double *)out->data)[i] = missing ? (double)p->floats[f] : v;
    } else if (x->type == ORTC_INT32) {
      int32_t n = ((const int32_t *)x->data)[i];
      ((int32_t *)out->data)[i] = n == p->missing_int ? (int32_t)p->ints[f] : n;
    } else {
      int64_t n = ((const int64_t *)x->data)[i];
      ((int64_t *)out->data)[i] = n == p->missing_int ? p->ints[f] : n;
    }
  }
  return OK;
}

/* ---- Binarizer: 1 above the threshold, else 0 ------------------------------------------------------------------------------------------------ */

static status binarizer_prepare(prepare_ctx *c, void **out_params) {
  float *threshold = *out_params = ZONE_NEW(c->memory, float);
  if (!threshold) return status_out_of_memory();
  *threshold = attr_float_or(c->node, "threshold", 0);
  return OK;
}

static status binarizer_run(kernel_ctx *k) {
  const float *threshold = k->params;
  const tensor *x = k->in[0];
  tensor *out;
  TRY(kernel_output_like(k, 0, x, &out));
  for (int64_t i = 0; i < x->count; ++i) {
    bool above = feature_at(x, i) > (double)*threshold;
    switch (x->type) {
      case ORTC_FLOAT: ((float *)out->data)[i] = above; break;
      case ORTC_DOUBLE: ((double *)out->data)[i] = above; break;
      case ORTC_INT32: ((int32_t *)out->data)[i] = above; break;
      default: ((int64_t *)out->data)[i] = above; break;
    }
  }
  return OK;
}

/* ---- FeatureVectorizer: inputs side by side, each cut or filled with zeros to its dimension ------------------------------------------------- */

static status vectorizer_infer(infer_ctx *c) {
  int64_t count, total = 0;
  const int64_t *widths = attr_ints(c->node, "inputdimensions", &count);
  for (int64_t i = 0; i < count; ++i) total += widths[i];
  const fact *x = c->in[0];
  fact_set_shape(c->out[0], 2, (dim[]){x->rank == 2 ? x->dims[0] : x->rank == 1 ? 1 : DIM_UNKNOWN, total});
  return OK;
}

static status vectorizer_run(kernel_ctx *k) {
  int64_t count, total = 0, rows = 1, columns;
  const int64_t *widths = attr_ints(k->node, "inputdimensions", &count);
  if (count != k->in_count) return ERROR(INVALID_ARGUMENT, "inputdimensions has %lld elements for %d inputs", (long long)count, k->in_count);
  for (int64_t i = 0; i < count; ++i) {
    if (widths[i] < 0) return ERROR(INVALID_ARGUMENT, "inputdimensions must not be negative, but element %lld is %lld", (long long)i, (long long)widths[i]);
    total += widths[i];
  }
  TRY(features_shape(k->in[0], &rows, &columns));
  tensor *out;
  TRY(kernel_output(k, 0, 2, (int64_t[]){rows, total}, &out));
  float *y = out->data;
  int64_t base = 0;
  for (int32_t i = 0; i < k->in_count; ++i) {
    int64_t own_rows, own_columns;
    TRY(features_shape(k->in[i], &own_rows, &own_columns));
    if (own_rows != rows) return ERROR(INVALID_ARGUMENT, "input %d has %lld rows, but input 0 has %lld", i, (long long)own_rows, (long long)rows);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < widths[i]; ++c) y[r * total + base + c] = c < own_columns ? (float)feature_at(k->in[i], r * own_columns + c) : 0;
    base += widths[i];
  }
  return OK;
}

#define ML(op_name, op_signature) .name = op_name, .domain = "ai.onnx.ml", .since = 1, .signature = op_signature, .T = TS_FEATURES

OP_FAMILY(ml_scale) = {
  {ML("Scaler", "X:T -> Y:f32"), .prepare = scaler_prepare, .run = scaler_run},
  {ML("Normalizer", "X:T -> Y:f32"), .prepare = normalizer_prepare, .run = normalizer_run},
  {ML("Imputer", "X:T -> Y:T"), .prepare = imputer_prepare, .run = imputer_run},
  {ML("Binarizer", "X:T -> Y:T"), .prepare = binarizer_prepare, .run = binarizer_run},
  {ML("FeatureVectorizer", "X:T% -> Y:f32"), .infer = vectorizer_infer, .run = vectorizer_run},
  {0}};
