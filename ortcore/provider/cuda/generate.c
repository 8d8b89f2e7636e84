/* Operators that make tensors out of little, or keep elements by a rule: ConstantOfShape, Range, EyeLike, OneHot, Trilu, ReverseSequence, and
 * Dropout where nothing is dropped. */
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <ortcore/kernels/cuda/movement.h>
#include <ortcore/ops/movement.h>
#include <ortcore/provider/cuda/plugin.h>

#define MOVED (TS_ALL_FIXED & ~TS_SUBBYTE)
#define GENERATED (TS_NUMERIC | TS(BOOL))

static status constant_launch(kernel_ctx *k, stream *on) {
  const tensor *value = attr_tensor(k->node, "value");     /* absent: a float zero */
  const constant_op *op = k->node->op->data;
  int rank;
  int64_t dims[MAX_RANK];
  tensor *out;
  TRY(op->dims(k->in[0], &rank, dims));
  TRY(kernel_output(k, 0, rank, dims, &out));
  if (!out || out->count == 0) return OK;
  cuda_move m = {.to = out->data, .count = out->count, .width = tensor_width(out)};
  if (value) memcpy(m.value, value->data, (size_t)m.width);
  return cuda_launched(cuda_fill(&m, cuda_raw(on)));
}

static bool constant_supports(const node *n, const fact *const *in) {
  const tensor *value = attr_tensor(n, "value");
  (void)in;
  return !value || typeset_has(MOVED, value->type);
}

static status range_launch(kernel_ctx *k, stream *on) {
  const range_op *op = k->node->op->data;
  range_view v;
  tensor *out;
  TRY(op->view(k->in, &v));
  TRY(kernel_output(k, 0, 1, &v.count, &out));
  if (!out) return OK;
  cuda_range r = {out->data, out->type, v.count, v.start, v.delta, v.float_start, v.float_delta};
  return cuda_launched(cuda_make_range(&r, cuda_raw(on)));
}

static status eye_launch(kernel_ctx *k, stream *on) {
  tensor *out;
  if (k->in[0]->rank != 2) return ERROR(INVALID_ARGUMENT, "the input must have rank 2, but has rank %d", k->in[0]->rank);
  TRY(kernel_output_like(k, 0, k->in[0], &out));
  if (!out) return OK;
  return cuda_launched(cuda_make_eye(out->data, out->type, out->dims[0], out->dims[1], attr_int_or(k->node, "k", 0), cuda_raw(on)));
}

static bool eye_supports(const node *n, const fact *const *in) {
  dtype type = (dtype)attr_int_or(n, "dtype", in[0] ? in[0]->type : ORTC_UNDEFINED);
  return typeset_has(GENERATED, type);
}

static status onehot_launch(kernel_ctx *k, stream *on) {
  const onehot_op *op = k->node->op->data;
  const tensor *indices = k->in[0], *values = k->in[2];
  int64_t dims[MAX_RANK];
  int axis;
  tensor *out;
  if (values->count != 2) return ERROR(INVALID_ARGUMENT, "'values' must be two elements, off and on, but has %" PRId64, values->count);
  TRY(op->dims(k->params, indices, k->in[1], &axis, dims));
  TRY(kernel_output(k, 0, indices->rank + 1, dims, &out));
  if (!out || out->count == 0) return OK;
  cuda_onehot o = {indices->data, indices->type, dims[axis], dims_product(indices->dims, axis, indices->rank)};
  cuda_move m = {.to = out->data, .from = values->data, .count = out->count, .width = tensor_width(out)};
  return cuda_launched(cuda_move_onehot(&m, &o, cuda_raw(on)));
}

static bool onehot_supports(const node *n, const fact *const *in) {
  (void)n;
  return in[2] && typeset_has(MOVED, in[2]->type);
}

static status trilu_launch(kernel_ctx *k, stream *on) {
  const trilu_params *p = k->params;
  const tensor *in = k->in[0], *diagonal = kernel_in(k, 1);
  tensor *out;
  if (in->rank < 2) return ERROR(INVALID_ARGUMENT, "'input' must have at least rank 2 (it is a matrix or a batch of them), but has rank %d", in->rank);
  if (diagonal && diagonal->count != 1) return ERROR(INVALID_ARGUMENT, "'k' must be one number, but has %" PRId64 " elements", diagonal->count);
  TRY(kernel_output_like(k, 0, in, &out));
  if (!out || out->count == 0) return OK;
  cuda_triangle t = {p->upper, in->dims[in->rank - 2], in->dims[in->rank - 1], diagonal ? integer_at(diagonal, 0) : 0};
  int64_t far = t.rows > t.columns ? t.rows : t.columns;   /* a diagonal beyond the matrix is as good as one at its corner */
  t.diagonal = t.diagonal > far ? far : t.diagonal < -far ? -far : t.diagonal;
  cuda_move m = {.to = out->data, .from = in->data, .count = out->count, .width = tensor_width(out)};
  return cuda_launched(cuda_move_triangle(&m, &t, cuda_raw(on)));
}

static status reverse_launch(kernel_ctx *k, stream *on) {
  const reverse_params *p = k->params;
  const tensor *in = k->in[0], *lengths = k->in[1];
  tensor *out;
  if (in->rank < 2) return ERROR(INVALID_ARGUMENT, "'input' must have at least rank 2 (time and batch), but has rank %d", in->rank);
  if (lengths->rank != 1 || lengths->count != in->dims[p->batch])
    return ERROR(INVALID_ARGUMENT, "'sequence_lens' must be a list of %" PRId64 " lengths, one for each sample, but has %" PRId64 " elements and rank %d",
                 in->dims[p->batch], lengths->count, lengths->rank);
  TRY(kernel_output_like(k, 0, in, &out));
  if (!out || out->count == 0) return OK;
  cuda_reverse r = {{lengths->data, lengths->type == ORTC_INT64, cuda_fault(k, on)}, p->batch == 0, in->dims[p->time], in->dims[p->batch], dims_product(in->dims, 2, in->rank)};
  cuda_move m = {.to = out->data, .from = in->data, .count = out->count, .width = tensor_width(out)};
  return cuda_launched(cuda_move_reversed(&m, &r, cuda_raw(on)));
}

/* ---- Dropout of a model that does not train ---- */

static status dropout_launch(kernel_ctx *k, stream *on) {
  const tensor *in = k->in[0];
  tensor *out, *mask = NULL;
  TRY(kernel_output_like(k, 0, in, &out));
  if (k->out_count > 1) TRY(kernel_output_like(k, 1, in, &mask));
  if (out && out->count && out->data != in->data)
    TRY(cuda_status(cudaMemcpyAsync(out->data, in->data, tensor_bytes(in), cudaMemcpyDeviceToDevice, cuda_raw(on)), "copying 'data' on the device"));
  if (!mask || mask->count == 0) return OK;
  cuda_move m = {.to = mask->data, .count = mask->count, .width = 1, .value = {true}};
  return cuda_launched(cuda_fill(&m, cuda_raw(on)));
}

static bool dropout_supports(const node *n, const fact *const *in) {
  const fact *training = n->input_count > 2 ? in[2] : NULL;
  return !training || (training->value && training->value->count == 1 && !*(const bool *)training->value->data);
}

KERNEL_FAMILY(generate) = {
  {.op = "ConstantOfShape", .since = 9, .types = TS(INT64), .host_inputs = 1, .supports = constant_supports, .launch = constant_launch},
  {.op = "Range", .since = 11, .types = TS_NUMERIC, .host_inputs = 7, .launch = range_launch},
  {.op = "EyeLike", .since = 9, .types = GENERATED, .supports = eye_supports, .launch = eye_launch},
  {.op = "OneHot", .since = 9, .types = TS_NUMERIC, .host_inputs = 2, .supports = onehot_supports, .launch = onehot_launch},
  {.op = "Trilu", .since = 14, .types = MOVED, .host_inputs = 2, .launch = trilu_launch},
  {.op = "Trilu", .domain = "com.microsoft", .since = 1, .types = MOVED, .host_inputs = 2, .launch = trilu_launch},
  {.op = "ReverseSequence", .since = 10, .types = MOVED, .launch = reverse_launch},
  {.op = "Dropout", .since = 12, .types = TS_FLOAT | TS_FLOAT8, .inplace = 1, .host_inputs = 6, .supports = dropout_supports, .launch = dropout_launch},
  {0}};
