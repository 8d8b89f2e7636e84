/* Scaler, Normalizer, Imputer, Binarizer, FeatureVectorizer. */
#include <ortcore/kernels/cuda/ml_scale.h>
#include <ortcore/ops/ml_params.h>
#include <ortcore/provider/cuda/ml.h>

/* X of any rank, in rows of its last dim. */
static cuda_features rows_of(const tensor *x) {
  int64_t columns = x->rank ? x->dims[x->rank - 1] : 1;
  return (cuda_features){.data = x->data, .type = x->type, .rows = columns ? x->count / columns : 0, .columns = columns};
}

static status check_features(const char *name, int64_t count, int64_t features) {
  if (count == 1 || count == features) return OK;
  return ERROR(INVALID_ARGUMENT, "%s has %lld elements, but X has %lld features", name, (long long)count, (long long)features);
}

/* ---- Scaler --------------------------------------------------------------------------------------------------------------------------- */

typedef struct scaler_tables {
  ml_params ml;                                            /* first */
  size_t offsets, scales;
} scaler_tables;

static status scaler_prepare(prepare_ctx *c, void **out_params) {
  TRY(ml_read(c, sizeof(scaler_tables), out_params));
  scaler_tables *p = *out_params;
  const scaler_params *op = p->ml.of_op;
  p->offsets = ml_table(&p->ml, op->offsets, sizeof(float));
  p->scales = ml_table(&p->ml, op->scales, sizeof(float));
  TRY(ml_allocate(c, &p->ml));
  ml_fill(&p->ml, p->offsets, op->offset, op->offsets, sizeof(float));
  ml_fill(&p->ml, p->scales, op->scale, op->scales, sizeof(float));
  return OK;
}

static status scaler_launch(kernel_ctx *k, stream *s) {
  const scaler_tables *p = k->params;
  const scaler_params *op = p->ml.of_op;
  cuda_features x = rows_of(k->in[0]);
  tensor *y;
  TRY(check_features("offset", op->offsets, x.columns));
  TRY(check_features("scale", op->scales, x.columns));
  TRY(kernel_output_like(k, 0, k->in[0], &y));
  cuda_scaler how = {ml_at(k, p->offsets), ml_at(k, p->scales), op->offsets == 1, op->scales == 1};
  return y ? cuda_launched(cuda_scale(&x, &how, y->data, cuda_raw(s))) : OK;
}

/* ---- Normalizer, Binarizer: the operators' own params ----------------------------------------------------------------------------------- */

static status normalizer_launch(kernel_ctx *k, stream *s) {
  const normalizer_params *p = k->params;
  cuda_features x = rows_of(k->in[0]);
  tensor *y;
  TRY(kernel_output_like(k, 0, k->in[0], &y));
  cuda_norm norm = p->norm == 'M' ? CUDA_NORM_MAX : p->norm == '1' ? CUDA_NORM_L1 : CUDA_NORM_L2;
  return y ? cuda_launched(cuda_normalise_rows(&x, norm, y->data, cuda_raw(s))) : OK;
}

static status binarizer_launch(kernel_ctx *k, stream *s) {
  const float *threshold = k->params;
  cuda_features x = rows_of(k->in[0]);
  tensor *y;
  TRY(kernel_output_like(k, 0, k->in[0], &y));
  return y ? cuda_launched(cuda_binarise(&x, *threshold, y->data, cuda_raw(s))) : OK;
}

/* ---- Imputer -------------------------------------------------------------------------------------------------------------------------- */

static status imputer_prepare(prepare_ctx *c, void **out_params) {
  TRY(ml_read(c, sizeof(ml_params), out_params));
  ml_params *p = *out_params;
  const imputer_params *op = p->of_op;
  dtype type = c->in[0]->type;
  size_t values = ml_table(p, op->count, (size_t)dtype_width(type));
  TRY(ml_allocate(c, p));
  for (int64_t i = 0; i < op->count; ++i) {
    void *to = p->tables + values + (size_t)(i * dtype_width(type));
    switch (type) {
      case ORTC_FLOAT: *(float *)to = op->floats[i]; break;
      case ORTC_DOUBLE: *(double *)to = (double)op->floats[i]; break;
      case ORTC_INT32: *(int32_t *)to = (int32_t)op->ints[i]; break;
      default: *(int64_t *)to = op->ints[i]; break;
    }
  }
  return OK;
}

static status imputer_launch(kernel_ctx *k, stream *s) {
  const imputer_params *op = ((const ml_params *)k->params)->of_op;
  cuda_features x = rows_of(k->in[0]);
  tensor *y;
  TRY(check_features("the list of imputed values", op->count, x.columns));
  TRY(kernel_output_like(k, 0, k->in[0], &y));
  cuda_imputer how = {.values = k->tables, .one_value = op->count == 1, .missing = op->missing_float, .missing_integer = op->missing_int};
  return y ? cuda_launched(cuda_impute(&x, &how, y->data, cuda_raw(s))) : OK;
}

/* ---- FeatureVectorizer ---------------------------------------------------------------------------------------------------------------- */

static bool vectorizer_supports(const node *n, const fact *const *in) {
  for (int32_t i = 0; i < n->input_count; ++i)
    if (!typeset_has(TS_FEATURES, in[i]->type)) return false;
  return true;
}

/* Checks everything before anything is enqueued. */
static status read_widths(const kernel_ctx *k, int64_t rows, const int64_t **out_widths, int64_t *out_total) {
  int64_t count;
  const int64_t *widths = *out_widths = attr_ints(k->node, "inputdimensions", &count);
  if (count != k->in_count) return ERROR(INVALID_ARGUMENT, "inputdimensions has %lld elements for %d inputs", (long long)count, k->in_count);
  *out_total = 0;
  for (int32_t i = 0; i < k->in_count; ++i) {
    cuda_features x;
    TRY(ml_features(k->in[i], &x));
    if (widths[i] < 0) return ERROR(INVALID_ARGUMENT, "inputdimensions must not be negative, but element %d is %lld", i, (long long)widths[i]);
    if (x.rows != rows) return ERROR(INVALID_ARGUMENT, "input %d has %lld rows, but input 0 has %lld", i, (long long)x.rows, (long long)rows);
    *out_total += widths[i];
  }
  return OK;
}

static status vectorizer_launch(kernel_ctx *k, stream *s) {
  cuda_features x;
  const int64_t *widths;
  int64_t total, at = 0;
  tensor *y;
  TRY(ml_features(k->in[0], &x));
  TRY(read_widths(k, x.rows, &widths, &total));
  TRY(kernel_output(k, 0, 2, (int64_t[]){x.rows, total}, &y));
  for (int32_t i = 0; y && i < k->in_count; ++i) {
    TRY(ml_features(k->in[i], &x));
    TRY(cuda_launched(cuda_place_features(&x, (float *)y->data + at, widths[i], total, cuda_raw(s))));
    at += widths[i];
  }
  return OK;
}

#define ML(name) .op = name, .domain = "ai.onnx.ml", .since = 1, .types = TS_FEATURES

KERNEL_FAMILY(ml_scale) = {
  {ML("Scaler"), .prepare = scaler_prepare, .tables = ml_tables, .launch = scaler_launch},
  {ML("Normalizer"), .launch = normalizer_launch},
  {ML("Imputer"), .prepare = imputer_prepare, .tables = ml_tables, .launch = imputer_launch},
  {ML("Binarizer"), .launch = binarizer_launch},
  {ML("FeatureVectorizer"), .supports = vectorizer_supports, .launch = vectorizer_launch},
  {0}};
