/* Expand and Tile: a tensor repeated along its axes. */
#include <ortcore/ops/movement.h>

#include <inttypes.h>
#include <ortcore/base/checked.h>

/* ---- Expand ---- */

/* Broadcasts `in` against the list `shape`; dims of `in` may be symbols. */
static status expand_dims(int in_rank, const dim *in, const integers *shape, int *out_rank, dim *out) {
  char from[DIMS_TEXT], to[DIMS_TEXT];
  int rank = shape->count > in_rank ? shape->count : in_rank;
  if (rank > MAX_RANK) return ERROR(NOT_IMPLEMENTED, "'shape' has %d dims; ortcore's tensors have at most %d", rank, MAX_RANK);
  for (int i = 0; i < rank; ++i) {
    int a = i - (rank - in_rank), b = i - (rank - shape->count);
    dim n = a >= 0 ? in[a] : 1;
    int64_t m = b >= 0 ? shape->at[b] : 1;
    if (m < 0) return ERROR(INVALID_ARGUMENT, "entry %d of 'shape' is negative: %" PRId64, b, m);
    if (dim_known(n) && n != m && n != 1 && m != 1)
      return ERROR(INVALID_ARGUMENT,
                   "input of shape %s cannot be broadcast to %s: axis %d has %" PRId64 " elements, which is neither 1 nor %" PRId64,
                   dims_format(from, sizeof from, in_rank, in), dims_format(to, sizeof to, shape->count, shape->at), a, n, m);
    out[i] = m == 1 ? n : m;
  }
  *out_rank = rank;
  return OK;
}

static status expand_infer(infer_ctx *c) {
  integers shape;
  const fact *in = c->in[0];
  int rank;
  dim dims[MAX_RANK];
  if (in->rank == RANK_UNKNOWN) return OK;
  if (!integers_from_fact(c->in[1], &shape)) {
    int64_t n = integers_count(c->in[1]);
    if (n >= 0 && n <= MAX_RANK) fact_set_rank(c->out[0], n > in->rank ? (int)n : in->rank);
    return OK;
  }
  TRY(expand_dims(in->rank, in->dims, &shape, &rank, dims));
  fact_set_shape(c->out[0], rank, dims);
  return OK;
}

static status expand_view(const kernel_ctx *k, strided_view *v) {
  const tensor *in = k->in[0];
  integers shape;
  int64_t strides[MAX_RANK];
  strided_copy *c = &v->copy;
  TRY(integers_from_tensor(k->in[1], "shape", &shape));
  TRY(expand_dims(in->rank, in->dims, &shape, &v->rank, v->dims));
  *c = (strided_copy){.bits = dtype_bits(in->type), .rank = v->rank};
  memcpy(c->dims, v->dims, sizeof v->dims);
  dense_strides(in->rank, in->dims, strides);
  dense_strides(c->rank, c->dims, c->to_strides);
  for (int i = c->rank - in->rank; i < c->rank; ++i) {
    int a = i - (c->rank - in->rank);
    c->from_strides[i] = in->dims[a] == 1 ? 0 : strides[a];
  }
  return OK;
}

/* ---- Tile ---- */

static status tile_dims(int rank, const dim *in, const integers *repeats, dim *out) {
  if (repeats->count != rank) return ERROR(INVALID_ARGUMENT, "'repeats' has %d entries, but 'input' has rank %d", repeats->count, rank);
  for (int i = 0; i < rank; ++i) {
    int64_t n = repeats->at[i];
    if (n < 0) return ERROR(INVALID_ARGUMENT, "entry %d of 'repeats' is negative: %" PRId64, i, n);
    if (n == 0) out[i] = 0;
    else if (!dim_known(in[i])) out[i] = n == 1 ? in[i] : DIM_UNKNOWN;
    else if (checked_mul(in[i], n, &out[i]))
      return ERROR(INVALID_ARGUMENT, "axis %d would have %" PRId64 " times %" PRId64 " elements, which is too large", i, n, in[i]);
  }
  return OK;
}

static status tile_infer(infer_ctx *c) {
  integers repeats;
  const fact *in = c->in[0];
  dim dims[MAX_RANK];
  if (in->rank == RANK_UNKNOWN) return OK;
  if (!integers_from_fact(c->in[1], &repeats)) {
    fact_set_rank(c->out[0], in->rank);
    return OK;
  }
  TRY(tile_dims(in->rank, in->dims, &repeats, dims));
  fact_set_shape(c->out[0], in->rank, dims);
  return OK;
}

static status tile_view(const kernel_ctx *k, strided_view *v) {
  const tensor *in = k->in[0];
  integers repeats;
  int64_t strides[MAX_RANK];
  TRY(integers_from_tensor(k->in[1], "repeats", &repeats));
  TRY(tile_dims(in->rank, in->dims, &repeats, v->dims));
  v->rank = in->rank;
  /* Every axis is seen as two: which repetition, and where in it. */
  strided_copy *c = &v->copy;
  *c = (strided_copy){.bits = dtype_bits(in->type), .rank = 2 * in->rank};
  dense_strides(in->rank, in->dims, strides);
  for (int i = 0; i < in->rank; ++i) {
    c->dims[2 * i] = repeats.at[i];
    c->dims[2 * i + 1] = in->dims[i];
    c->from_strides[2 * i + 1] = strides[i];
  }
  dense_strides(c->rank, c->dims, c->to_strides);
  return OK;
}

static const strided_op expand_op = {expand_view}, tile_op = {tile_view};

OP_FAMILY(expand) = {
  {.name = "Expand", .since = 8, .signature = "input:T shape:i64 -> output:T", .T = TS_ALL, .infer = expand_infer, .run = strided_run, .data = &expand_op},
  {.name = "Tile", .since = 6, .signature = "input:T repeats:i64 -> output:T", .T = TS_ALL, .infer = tile_infer, .run = strided_run, .data = &tile_op},
  {0}};
