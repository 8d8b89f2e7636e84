/* OneHot: the index of each element as a row that is "on" there and "off" elsewhere. */
#include <ortcore/ops/movement.h>

#include <inttypes.h>
#include <ortcore/base/half.h>

/* Element i of a numeric tensor as an integer; fractions are cut off. Numbers beyond int64 become its limits. */
static int64_t numeric_at(const tensor *t, int64_t i) {
  double x;
  switch (t->type) {
    case ORTC_INT8: return ((const int8_t *)t->data)[i];
    case ORTC_UINT8: return ((const uint8_t *)t->data)[i];
    case ORTC_INT16: return ((const int16_t *)t->data)[i];
    case ORTC_UINT16: return ((const uint16_t *)t->data)[i];
    case ORTC_INT32: return ((const int32_t *)t->data)[i];
    case ORTC_UINT32: return ((const uint32_t *)t->data)[i];
    case ORTC_INT64: return ((const int64_t *)t->data)[i];
    case ORTC_UINT64: return ((const uint64_t *)t->data)[i] > INT64_MAX ? INT64_MAX : ((const int64_t *)t->data)[i];
    case ORTC_FLOAT16: x = f16_to_f32(((const f16 *)t->data)[i]); break;
    case ORTC_BFLOAT16: x = bf16_to_f32(((const bf16 *)t->data)[i]); break;
    case ORTC_FLOAT: x = ((const float *)t->data)[i]; break;
    default: x = ((const double *)t->data)[i]; break;
  }
  if (!(x > -0x1p63)) return INT64_MIN;
  return x < 0x1p63 ? (int64_t)x : INT64_MAX;
}

static status onehot_prepare(prepare_ctx *c, void **out_params) {
  onehot_params *p = ZONE_NEW(c->memory, onehot_params);
  if (!p) return status_out_of_memory();
  p->axis = attr_int_or(c->node, "axis", -1);
  *out_params = p;
  return OK;
}

static status onehot_dims(int64_t at, int rank, const dim *indices, dim depth, int *out_axis, dim *out) {
  if (rank == MAX_RANK)
    return ERROR(NOT_IMPLEMENTED, "the result would have rank %d; ortcore's tensors have at most %d", rank + 1, MAX_RANK);
  TRY(axis_normalise(at, rank + 1, "axis", out_axis));
  for (int d = 0; d <= rank; ++d) out[d] = d < *out_axis ? indices[d] : d == *out_axis ? depth : indices[d - 1];
  return OK;
}

static status onehot_depth(const tensor *depth, int64_t *out) {
  if (depth->count != 1) return ERROR(INVALID_ARGUMENT, "'depth' must be one number, but has %" PRId64 " elements", depth->count);
  *out = numeric_at(depth, 0);
  if (*out <= 0) return ERROR(INVALID_ARGUMENT, "'depth' is %" PRId64 ", but must be positive", *out);
  return OK;
}

static status onehot_infer(infer_ctx *c) {
  dim dims[MAX_RANK], depth = DIM_UNKNOWN;
  if (c->in[0]->rank == RANK_UNKNOWN) return OK;
  if (c->in[1]->value) TRY(onehot_depth(c->in[1]->value, &depth));
  TRY(onehot_dims(attr_int_or(c->node, "axis", -1), c->in[0]->rank, c->in[0]->dims, depth, &(int){0}, dims));
  fact_set_shape(c->out[0], c->in[0]->rank + 1, dims);
  return OK;
}

static status onehot_dims_of(const onehot_params *p, const tensor *indices, const tensor *depth, int *out_axis, int64_t *out_dims) {
  int64_t n;
  TRY(onehot_depth(depth, &n));
  return onehot_dims(p->axis, indices->rank, indices->dims, n, out_axis, out_dims);
}

static const onehot_op onehot_row = {onehot_dims_of};

static status onehot_run(kernel_ctx *k) {
  const onehot_params *p = k->params;
  const tensor *indices = k->in[0], *values = k->in[2];
  int64_t dims[MAX_RANK];
  int axis;
  tensor *out;
  if (values->count != 2) return ERROR(INVALID_ARGUMENT, "'values' must be two elements, off and on, but has %" PRId64, values->count);
  TRY(onehot_dims_of(p, indices, k->in[1], &axis, dims));
  int64_t depth = dims[axis];
  TRY(kernel_output(k, 0, indices->rank + 1, dims, &out));
  if (!out || out->count == 0) return OK;
  int64_t width = tensor_width(out), inner = dims_product(indices->dims, axis, indices->rank);
  const char *off = values->data, *on = off + width;
  strided_copy fill = {.bits = dtype_bits(out->type), .rank = 1, .to = out->data, .from = off, .dims = {out->count}, .to_strides = {1}};
  copy_strided(k->threads, &fill);
  for (int64_t i = 0; i < indices->count; ++i) {
    int64_t index = numeric_at(indices, i);
    if (index >= -depth && index < depth)
      move_block((char *)out->data + ((i / inner * depth + index_wrap(index, depth)) * inner + i % inner) * width, on, width);
  }
  tensor_moved(out);
  return OK;
}

#define ONEHOT .signature = "indices:T1 depth:T2 values:T3 -> output:T3", .T1 = TS_NUMERIC, .T2 = TS_NUMERIC, .T3 = TS_WHOLE, \
  .infer = onehot_infer, .prepare = onehot_prepare, .run = onehot_run, .data = &onehot_row

OP_FAMILY(onehot) = {
  {.name = "OneHot", .since = 9, ONEHOT},
  {.name = "OneHot", .since = 11, ONEHOT},
  {0}};
