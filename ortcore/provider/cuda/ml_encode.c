/* LabelEncoder, OneHotEncoder and ArrayFeatureExtractor of numbers. Strings stay on the host. */
#include <math.h>
#include <ortcore/kernels/cuda/ml_encode.h>
#include <ortcore/ops/ml_params.h>
#include <ortcore/provider/cuda/ml.h>

/* ---- LabelEncoder --------------------------------------------------------------------------------------------------------------------- */

typedef struct dictionary_tables {
  ml_params ml;                                            /* first */
  size_t keys, values;
} dictionary_tables;

static status label_prepare(prepare_ctx *c, void **out_params) {
  TRY(ml_read(c, sizeof(dictionary_tables), out_params));
  dictionary_tables *p = *out_params;
  const encoder *op = p->ml.of_op;
  dtype type = c->out[0] ? c->out[0]->type : ORTC_INT64;
  size_t width = (size_t)dtype_width(type);
  p->keys = ml_table(&p->ml, op->key_count, sizeof(double));
  p->values = ml_table(&p->ml, op->key_count + 1, width);
  TRY(ml_allocate(c, &p->ml));
  for (int64_t i = 0; i <= op->key_count; ++i) {
    bool is_key = i < op->key_count;
    if (is_key) ((double *)(p->ml.tables + p->keys))[i] = op->by_number[i].key;
    encoder_put_number(op, type, is_key ? op->by_number[i].index : -1, p->ml.tables + p->values + (size_t)i * width);
  }
  return OK;
}

static status label_launch(kernel_ctx *k, stream *s) {
  const dictionary_tables *p = k->params;
  const encoder *op = p->ml.of_op;
  const tensor *x = k->in[0];
  tensor *y;
  TRY(kernel_output_like(k, 0, x, &y));
  if (!y) return OK;
  cuda_dictionary d = {ml_at(k, p->keys), op->key_count, ml_at(k, p->values), tensor_width(y)};
  return cuda_launched(cuda_look_up(x->data, x->type, x->count, &d, y->data, cuda_raw(s)));
}

static bool label_supports(const node *n, const fact *const *in) {
  const tensor *values = attr_tensor(n, "values_tensor");
  (void)in;
  return !ml_has_texts(n, "values_strings") && !(values && values->type == ORTC_STRING);
}

/* ---- OneHotEncoder -------------------------------------------------------------------------------------------------------------------- */

static status onehot_prepare(prepare_ctx *c, void **out_params) {
  TRY(ml_read(c, sizeof(ml_params), out_params));
  ml_params *p = *out_params;
  const encoder *op = p->of_op;
  ml_table(p, op->key_count, sizeof(double));
  TRY(ml_allocate(c, p));
  double *categories = (double *)p->tables;
  for (int64_t i = 0; i < op->key_count; ++i) {
    const number_key *k = &op->by_number[i];
    categories[k->index] = i && k[-1].key == k->key ? NAN : k->key;
  }
  return OK;
}

static status onehot_launch(kernel_ctx *k, stream *s) {
  const encoder *op = ((const ml_params *)k->params)->of_op;
  const tensor *x = k->in[0];
  int64_t dims[MAX_RANK];
  tensor *y;
  if (x->rank == MAX_RANK) return ERROR(NOT_IMPLEMENTED, "the result would have rank %d; ortcore's tensors have at most %d", MAX_RANK + 1, MAX_RANK);
  memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
  dims[x->rank] = op->key_count;
  TRY(kernel_output(k, 0, x->rank + 1, dims, &y));
  cuda_categories c = {.at = k->tables, .count = op->key_count, .must_match = !op->default_int, .fault = cuda_fault(k, s)};
  return y ? cuda_launched(cuda_one_hot(x->data, x->type, x->count, &c, y->data, cuda_raw(s))) : OK;
}

/* ---- ArrayFeatureExtractor ------------------------------------------------------------------------------------------------------------ */

static status extractor_launch(kernel_ctx *k, stream *s) {
  const tensor *x = k->in[0], *index = k->in[1];
  int64_t dims[MAX_RANK] = {1};
  tensor *y;
  if (x->rank < 1) return ERROR(INVALID_ARGUMENT, "X must have at least one dim");
  if (!index->count) return ERROR(INVALID_ARGUMENT, "Y must name at least one column");
  int64_t columns = x->dims[x->rank - 1], rows = columns ? x->count / columns : 0;
  if (!columns) return ERROR(INVALID_ARGUMENT, "Y names columns, but X has none");
  int rank = x->rank == 1 ? 2 : x->rank;                   /* a list is one row */
  if (x->rank > 1) memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
  dims[rank - 1] = index->count;
  TRY(kernel_output(k, 0, rank, dims, &y));
  cuda_columns c = {.index = index->data, .count = index->count, .fault = cuda_fault(k, s)};
  return y ? cuda_launched(cuda_extract_columns(x->data, tensor_width(x), rows, columns, &c, y->data, cuda_raw(s))) : OK;
}

#define LABELS(first, numbers) \
  {.op = "LabelEncoder", .domain = "ai.onnx.ml", .since = first, .types = numbers, .supports = label_supports, .prepare = label_prepare, \
   .dispose = ml_dispose, .tables = ml_tables, .launch = label_launch}

KERNEL_FAMILY(ml_encode) = {
  LABELS(2, TS(INT64) | TS(FLOAT)),
  LABELS(4, TS_FEATURES | TS(INT16)),
  {.op = "OneHotEncoder", .domain = "ai.onnx.ml", .since = 1, .types = TS_FEATURES, .prepare = onehot_prepare, .dispose = ml_dispose,
   .tables = ml_tables, .launch = onehot_launch},
  {.op = "ArrayFeatureExtractor", .domain = "ai.onnx.ml", .since = 1, .types = TS_FEATURES, .launch = extractor_launch},
  {0}};
