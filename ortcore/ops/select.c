/* Operators that pick elements by a rule: Compress, NonZero, ReverseSequence, Trilu. */
#include <ortcore/ops/movement.h>
#include <ortcore/ops/params/select.h>

#include <inttypes.h>
#include <ortcore/base/threads.h>

/* ---- Compress ---- */

static status compress_prepare(prepare_ctx *c, void **out_params) {
  compress_params *p = ZONE_NEW(c->memory, compress_params);
  if (!p) return status_out_of_memory();
  p->has_axis = attr_find(c->node, "axis") != NULL;
  p->axis = attr_int_or(c->node, "axis", 0);
  *out_params = p;
  return OK;
}

static status compress_infer(infer_ctx *c) {
  const fact *in = c->in[0];
  dim dims[MAX_RANK] = {DIM_UNKNOWN};
  int axis;
  if (!attr_find(c->node, "axis")) {
    fact_set_shape(c->out[0], 1, dims);
    return OK;
  }
  if (in->rank == RANK_UNKNOWN) return OK;
  TRY(axis_normalise(attr_int_or(c->node, "axis", 0), in->rank, "axis", &axis));
  for (int d = 0; d < in->rank; ++d) dims[d] = d == axis ? DIM_UNKNOWN : in->dims[d];
  fact_set_shape(c->out[0], in->rank, dims);
  return OK;
}

static status compress_run(kernel_ctx *k) {
  const compress_params *p = k->params;
  const tensor *in = k->in[0], *condition = k->in[1];
  const uint8_t *keep = condition->data;
  int axis = 0, rank = p->has_axis ? in->rank : 1;
  if (p->has_axis) TRY(axis_normalise(p->axis, in->rank, "axis", &axis));
  if (condition->rank != 1) return ERROR(INVALID_ARGUMENT, "'condition' must have rank 1, but has rank %d", condition->rank);
  int64_t n = p->has_axis ? in->dims[axis] : in->count, checked = condition->count, dims[MAX_RANK], kept = 0;
  for (int64_t i = n; i < checked; ++i)
    if (keep[i]) return ERROR(INVALID_ARGUMENT, "'condition' selects element %" PRId64 ", but there are only %" PRId64, i, n);
  if (checked > n) checked = n;
  for (int64_t i = 0; i < checked; ++i) kept += keep[i] != 0;
  for (int d = 0; d < rank; ++d) dims[d] = d == axis ? kept : in->dims[d];
  tensor *out;
  TRY(kernel_output(k, 0, rank, dims, &out));
  if (!out || out->count == 0) return OK;
  int64_t outer = p->has_axis ? dims_product(in->dims, 0, axis) : 1,
    block = (p->has_axis ? dims_product(in->dims, axis + 1, in->rank) : 1) * tensor_width(in);
  char *to = out->data;
  for (int64_t o = 0; o < outer; ++o) {
    const char *from = (const char *)in->data + o * n * block;
    for (int64_t i = 0; i < checked; ++i) {
      if (!keep[i]) continue;
      move_block(to, from + i * block, block);
      to += block;
    }
  }
  tensor_moved(out);
  return OK;
}

/* ---- NonZero ---- */

/* Appends to `out` which of the n elements are not zero (out NULL: only counts them); `text`: strings, of which the empty one is zero. */
ALWAYS_INLINE void nonzero_row(const char *data, int64_t n, uint64_t mask, int64_t *out, int64_t *out_count, const int64_t width,
                               const bool text) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    uint64_t x[2] = {0, 0};
    memcpy(x, data + i * width, (size_t)width);
    bool is = text ? rcstr_bytes(((rcstr *const *)data)[i]) != 0 : ((x[0] | x[1]) & mask) != 0;
    if (is && out) out[count] = i;
    count += is;
  }
  *out_count = count;
}

static int64_t nonzero_find(const tensor *t, int64_t first, int64_t n, int64_t *out) {
  int64_t width = tensor_width(t), count;
  const char *data = (const char *)t->data + first * width;
  uint64_t mask = truth_bits(t->type);
  switch (width) {
    case 1: nonzero_row(data, n, mask, out, &count, 1, false); break;
    case 2: nonzero_row(data, n, mask, out, &count, 2, false); break;
    case 4: nonzero_row(data, n, mask, out, &count, 4, false); break;
    case 8: nonzero_row(data, n, mask, out, &count, 8, t->type == ORTC_STRING); break;
    default: nonzero_row(data, n, mask, out, &count, 16, false);
  }
  return count;
}

static status nonzero_infer(infer_ctx *c) {
  int rank = c->in[0]->rank;
  dim dims[2] = {rank == RANK_UNKNOWN ? DIM_UNKNOWN : rank == 0 ? 1 : rank, DIM_UNKNOWN};
  fact_set_shape(c->out[0], 2, dims);
  return OK;
}

/* The last axis is searched row by row; what is found there is filled up with the row's own index. */
static status nonzero_run(kernel_ctx *k) {
  const tensor *in = k->in[0];
  int rank = in->rank ? in->rank : 1, last = rank - 1;     /* a scalar counts as one element of a list */
  int64_t columns = in->rank ? in->dims[last] : 1, dims[2] = {rank, nonzero_find(in, 0, in->count, NULL)}, index[MAX_RANK] = {0}, at = 0;
  tensor *out;
  TRY(kernel_output(k, 0, 2, dims, &out));
  if (!out || out->count == 0) return OK;
  int64_t *to = out->data;
  for (int64_t first = 0; first < in->count; first += columns) {
    int64_t found = nonzero_find(in, first, columns, to + last * dims[1] + at);
    for (int d = 0; d < last; ++d)
      for (int64_t i = 0; i < found; ++i) to[d * dims[1] + at + i] = index[d];
    at += found;
    for (int d = last - 1; d >= 0 && ++index[d] == in->dims[d]; --d) index[d] = 0;
  }
  return OK;
}

/* ---- ReverseSequence ---- */

static status reverse_prepare(prepare_ctx *c, void **out_params) {
  reverse_params *p = ZONE_NEW(c->memory, reverse_params);
  if (!p) return status_out_of_memory();
  p->time = attr_int_or(c->node, "time_axis", 0);
  p->batch = attr_int_or(c->node, "batch_axis", 1);
  *out_params = p;
  if (p->time == p->batch || p->time < 0 || p->time > 1 || p->batch < 0 || p->batch > 1)
    return ERROR(INVALID_GRAPH, "attributes 'time_axis' and 'batch_axis' must be 0 and 1 in either order, but are %" PRId64 " and %" PRId64,
                 p->time, p->batch);
  return OK;
}

static status reverse_run(kernel_ctx *k) {
  const reverse_params *p = k->params;
  const tensor *in = k->in[0], *lengths = k->in[1];
  if (in->rank < 2) return ERROR(INVALID_ARGUMENT, "'input' must have at least rank 2 (time and batch), but has rank %d", in->rank);
  int64_t steps = in->dims[p->time], samples = in->dims[p->batch];
  if (lengths->rank != 1 || lengths->count != samples)
    return ERROR(INVALID_ARGUMENT,
                 "'sequence_lens' must be a list of %" PRId64 " lengths, one for each sample, but has %" PRId64 " elements and rank %d",
                 samples, lengths->count, lengths->rank);
  for (int64_t b = 0; b < samples; ++b)
    if (integer_at(lengths, b) < 0 || integer_at(lengths, b) > steps)
      return ERROR(INVALID_ARGUMENT, "entry %" PRId64 " of 'sequence_lens' is %" PRId64 ", but a sequence has 0 to %" PRId64 " steps", b,
                   integer_at(lengths, b), steps);
  tensor *out;
  TRY(kernel_output_like(k, 0, in, &out));
  if (!out || out->count == 0) return OK;
  int64_t block = dims_product(in->dims, 2, in->rank) * tensor_width(in), time_stride = (p->time ? 1 : samples) * block,
    batch_stride = (p->time ? steps : 1) * block;
  for (int64_t b = 0; b < samples; ++b) {
    int64_t length = integer_at(lengths, b);
    char *to = (char *)out->data + b * batch_stride;
    const char *from = (const char *)in->data + b * batch_stride;
    for (int64_t t = 0; t < steps; ++t) move_block(to + t * time_stride, from + (t < length ? length - 1 - t : t) * time_stride, block);
  }
  tensor_moved(out);
  return OK;
}

/* ---- Trilu ---- */

static status trilu_prepare(prepare_ctx *c, void **out_params) {
  trilu_params *p = ZONE_NEW(c->memory, trilu_params);
  if (!p) return status_out_of_memory();
  p->upper = attr_int_or(c->node, "upper", 1) != 0;
  *out_params = p;
  return OK;
}

typedef struct trilu { char *to; const char *from; bool upper; int64_t diagonal, rows, columns, width; } trilu;

static void trilu_range(void *context, int64_t begin, int64_t end) {
  const trilu *t = context;
  for (int64_t row = begin; row < end; ++row) {
    /* The part [first, last) of the row is kept. */
    int64_t edge = row % t->rows + t->diagonal + (t->upper ? 0 : 1), at = edge < 0 ? 0 : edge > t->columns ? t->columns : edge;
    int64_t first = t->upper ? at : 0, last = t->upper ? t->columns : at, base = row * t->columns;
    memset(t->to + base * t->width, 0, (size_t)(first * t->width));
    if (t->to != t->from)
      memcpy(t->to + (base + first) * t->width, t->from + (base + first) * t->width, (size_t)((last - first) * t->width));
    memset(t->to + (base + last) * t->width, 0, (size_t)((t->columns - last) * t->width));
  }
}

static status trilu_run(kernel_ctx *k) {
  const trilu_params *p = k->params;
  const tensor *in = k->in[0], *diagonal = kernel_in(k, 1);
  if (in->rank < 2)
    return ERROR(INVALID_ARGUMENT, "'input' must have at least rank 2 (it is a matrix or a batch of them), but has rank %d", in->rank);
  if (diagonal && diagonal->count != 1)
    return ERROR(INVALID_ARGUMENT, "'k' must be one number, but has %" PRId64 " elements", diagonal->count);
  tensor *out;
  TRY(kernel_output_like(k, 0, in, &out));
  if (!out || out->count == 0) return OK;
  trilu t = {out->data, in->data, p->upper, diagonal ? integer_at(diagonal, 0) : 0, in->dims[in->rank - 2], in->dims[in->rank - 1],
             tensor_width(in)};
  int64_t far = t.rows > t.columns ? t.rows : t.columns;   /* a diagonal beyond the matrix is as good as one at its corner */
  t.diagonal = t.diagonal > far ? far : t.diagonal < -far ? -far : t.diagonal;
  parallel_for(k->threads, in->count / t.columns, move_grain(t.columns * t.width), trilu_range, &t);
  tensor_moved(out);
  return OK;
}

#define COMPRESS .signature = "input:T condition:bool -> output:T", .T = TS_WHOLE, .infer = compress_infer, .prepare = compress_prepare, \
  .run = compress_run
#define TRILU .signature = "input:T k:i64? -> output:T", .T = TS_WHOLE & ~TS(STRING), .prepare = trilu_prepare, .run = trilu_run

OP_FAMILY(select) = {
  {.name = "Compress", .since = 9, COMPRESS},
  {.name = "Compress", .since = 11, COMPRESS},
  {.name = "NonZero", .since = 9, .signature = "X:T -> Y:i64", .T = TS_WHOLE, .infer = nonzero_infer, .run = nonzero_run},
  {.name = "ReverseSequence", .since = 10, .signature = "input:T sequence_lens:i64 -> Y:T", .T = TS_WHOLE, .prepare = reverse_prepare,
   .run = reverse_run},
  {.name = "Trilu", .since = 14, TRILU},
  {.name = "Trilu", .domain = "com.microsoft", .since = 1, TRILU},
  {0}};
