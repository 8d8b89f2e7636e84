/* Concat and Split: one strided copy for each part. */
#include <ortcore/ops/movement.h>

#include <inttypes.h>
#include <ortcore/base/checked.h>

static status concat_prepare(prepare_ctx *c, void **out_params) {
  concat_params *p = ZONE_NEW(c->memory, concat_params);
  if (!p) return status_out_of_memory();
  p->axis = attr_int_or(c->node, "axis", 0);
  p->split = attr_ints(c->node, "split", &p->split_count);
  *out_params = p;
  return OK;
}

/* ---- Concat ---- */

/* Dims of the result, growing input by input; the first call (i == 0) starts them. */
static status concat_add(int64_t i, int axis, int rank, const dim *in, int in_rank, dim *out) {
  char given[DIMS_TEXT], so_far[DIMS_TEXT];
  if (in_rank != rank) return ERROR(INVALID_ARGUMENT, "input %" PRId64 " has rank %d, but input 0 has rank %d", i, in_rank, rank);
  for (int d = 0; d < rank; ++d) {
    if (i == 0) out[d] = in[d];
    else if (d == axis && dim_known(in[d]) && dim_known(out[d])) {
      if (checked_add(out[d], in[d], &out[d])) return ERROR(INVALID_ARGUMENT, "the sum of the sizes along axis %d is too large", axis);
    } else if (d == axis) out[d] = DIM_UNKNOWN;
    else if (dim_known(in[d]) && dim_known(out[d]) && in[d] != out[d])
      return ERROR(INVALID_ARGUMENT, "input %" PRId64 " has shape %s, which differs from %s of the inputs before it on axis %d; only the "
                   "concatenation axis %d may differ", i,
                   dims_format(given, sizeof given, rank, in), dims_format(so_far, sizeof so_far, rank, out), d, axis);
    else if (dim_known(in[d]) || out[d] == DIM_UNKNOWN) out[d] = in[d];
  }
  return OK;
}

static status concat_infer(infer_ctx *c) {
  int rank = RANK_UNKNOWN, axis;
  bool complete = true;
  for (int i = 0; i < c->in_count; ++i) {
    if (c->in[i] && c->in[i]->rank != RANK_UNKNOWN) rank = c->in[i]->rank;
    else complete = false;
  }
  if (rank == RANK_UNKNOWN) return OK;
  TRY(axis_normalise(attr_int_or(c->node, "axis", 0), rank, "axis", &axis));
  if (!complete) {
    fact_set_rank(c->out[0], rank);
    return OK;
  }
  dim dims[MAX_RANK];
  for (int i = 0; i < c->in_count; ++i) TRY(concat_add(i, axis, c->in[0]->rank, c->in[i]->dims, c->in[i]->rank, dims));
  fact_set_shape(c->out[0], rank, dims);
  return OK;
}

/* Dims of tensor t as they count: with an axis of 1 put in front of `axis` if tensors are stacked. */
static int concat_dims(const tensor *t, int axis, bool stack, int64_t *dims) {
  for (int d = 0; d < t->rank; ++d) dims[d + (stack && d >= axis)] = t->dims[d];
  if (stack) dims[axis] = 1;
  return t->rank + stack;
}

status concat_tensors(kernel_ctx *k, int64_t count, const tensor *const *in, int64_t at, bool stack) {
  int64_t dims[MAX_RANK], given[MAX_RANK + 1];
  int axis, rank = in[0]->rank + stack;
  tensor *out;
  if (rank > MAX_RANK) return ERROR(NOT_IMPLEMENTED, "the result would have rank %d; ortcore's tensors have at most %d", rank, MAX_RANK);
  TRY(axis_normalise(at, rank, "axis", &axis));
  for (int64_t i = 0; i < count; ++i) {
    int given_rank = concat_dims(in[i], axis, stack, given);
    TRY(concat_add(i, axis, rank, given, given_rank, dims));
  }
  TRY(kernel_output(k, 0, rank, dims, &out));
  if (!out || out->count == 0) return OK;
  strided_copy c = {.bits = dtype_bits(out->type), .rank = rank, .to = out->data};
  dense_strides(rank, dims, c.to_strides);
  for (int64_t i = 0; i < count; ++i) {
    c.from = in[i]->data;
    concat_dims(in[i], axis, stack, c.dims);
    dense_strides(rank, c.dims, c.from_strides);
    copy_strided(k->threads, &c);
    c.to_offset += c.dims[axis] * c.to_strides[axis];
  }
  tensor_moved(out);
  return OK;
}

static status concat_run(kernel_ctx *k) {
  const concat_params *p = k->params;
  return concat_tensors(k, k->in_count, k->in, p->axis, false);
}

/* ---- Split ---- */

/* Where the sizes come from: an attribute (before opset 13), an input, or equal parts. */
typedef struct split_sizes {
  const int64_t *attribute;
  const tensor *input;
  int64_t part;
} split_sizes;

static int64_t split_size(const split_sizes *s, int64_t i, int64_t count, int64_t n) {
  if (s->attribute) return s->attribute[i];
  if (s->input) return integer_at(s->input, i);
  return i < count - 1 ? s->part : n - s->part * (count - 1);
}

/* Checks the sizes of `count` parts against the `n` elements of the axis. */
static status split_check(split_sizes *s, int64_t given, int64_t count, int64_t n, int axis, int since) {
  int64_t sum = 0;
  if (s->attribute || s->input) {
    if (given != count) return ERROR(INVALID_ARGUMENT, "'split' has %" PRId64 " entries for %" PRId64 " outputs", given, count);
  } else {
    if (since < 18 && n % count)
      return ERROR(INVALID_ARGUMENT,
                   "axis %d has %" PRId64 " elements, which cannot be split into %" PRId64 " equal parts; give the sizes in "
                   "'split'", axis, n, count);
    s->part = (n + count - 1) / count;
    if (s->part * (count - 1) > n)
      return ERROR(INVALID_ARGUMENT, "axis %d has %" PRId64 " elements, too few for %" PRId64 " parts of %" PRId64, axis, n, count,
                   s->part);
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t size = split_size(s, i, count, n);
    if (size < 0) return ERROR(INVALID_ARGUMENT, "entry %" PRId64 " of 'split' is negative: %" PRId64, i, size);
    if (checked_add(sum, size, &sum)) return ERROR(INVALID_ARGUMENT, "the sum of 'split' is too large");
  }
  if (sum != n)
    return ERROR(INVALID_ARGUMENT, "the sizes in 'split' sum to %" PRId64 ", but axis %d has %" PRId64 " elements", sum, axis, n);
  return OK;
}

static status split_infer(infer_ctx *c) {
  const fact *data = c->in[0], *input = c->op->since >= 13 ? infer_in(c, 1) : NULL;
  if (data->rank == RANK_UNKNOWN) return OK;
  int axis;
  TRY(axis_normalise(attr_int_or(c->node, "axis", 0), data->rank, "axis", &axis));
  split_sizes s = {0};
  int64_t given = 0, n = data->dims[axis];
  if (input) {
    s.input = input->value;
    given = s.input ? s.input->count : 0;
  } else {
    s.attribute = attr_ints(c->node, "split", &given);
  }
  bool listed = s.attribute || s.input, known = listed || (!input && dim_known(n));
  if (dim_known(n) && known) {
    status wrong = split_check(&s, given, c->out_count, n, axis, c->op->since);
    if (wrong && listed) return wrong;
    /* Sizes that nobody asked for may not work out in a branch that is never taken: that is for run to say. */
    known = !wrong;
    ortc_status_release(wrong);
  }
  dim dims[MAX_RANK];
  for (int d = 0; d < data->rank; ++d) dims[d] = data->dims[d];
  for (int i = 0; i < c->out_count; ++i) {
    if (!c->out[i]) continue;
    dims[axis] = known && (!listed || i < given) ? split_size(&s, i, c->out_count, n) : DIM_UNKNOWN;
    fact_set_shape(c->out[i], data->rank, dims);
  }
  return OK;
}

static status split_prepare(prepare_ctx *c, void **out_params) {
  int64_t parts = attr_int_or(c->node, "num_outputs", c->out_count);
  if (parts != c->out_count)
    return ERROR(INVALID_GRAPH, "attribute 'num_outputs' is %" PRId64 ", but the node has %d outputs", parts, c->out_count);
  return concat_prepare(c, out_params);
}

/* The sizes of the parts of this run. */
static status split_of(const kernel_ctx *k, int *out_axis, split_sizes *out) {
  const concat_params *p = k->params;
  const tensor *in = k->in[0];
  TRY(axis_normalise(p->axis, in->rank, "axis", out_axis));
  *out = (split_sizes){.attribute = p->split, .input = kernel_in(k, 1)};
  return split_check(out, out->input ? out->input->count : p->split_count, k->out_count, in->dims[*out_axis], *out_axis, k->node->op->since);
}

static status split_size_of(const kernel_ctx *k, int32_t i, int64_t *out) {
  split_sizes s;
  int axis;
  TRY(split_of(k, &axis, &s));
  *out = split_size(&s, i, k->out_count, k->in[0]->dims[axis]);
  return OK;
}

static status split_run(kernel_ctx *k) {
  const tensor *in = k->in[0];
  split_sizes s;
  int axis;
  TRY(split_of(k, &axis, &s));
  int64_t n = in->dims[axis];
  strided_copy c = {.bits = dtype_bits(in->type), .rank = in->rank, .from = in->data};
  dense_strides(in->rank, in->dims, c.from_strides);
  for (int d = 0; d < in->rank; ++d) c.dims[d] = in->dims[d];
  for (int i = 0; i < k->out_count; ++i) {
    tensor *out;
    c.dims[axis] = split_size(&s, i, k->out_count, n);
    TRY(kernel_output(k, i, in->rank, c.dims, &out));
    if (out && out->count) {
      c.to = out->data;
      dense_strides(in->rank, c.dims, c.to_strides);
      copy_strided(k->threads, &c);
      tensor_moved(out);
    }
    c.from_offset += c.dims[axis] * c.from_strides[axis];
  }
  return OK;
}

static const split_op split_row = {split_size_of};

#define SPLIT .T = TS_ALL, .infer = split_infer, .prepare = split_prepare, .run = split_run, .data = &split_row

OP_FAMILY(concat) = {
  {.name = "Concat", .since = 4, .signature = "inputs:T* -> concat_result:T", .T = TS_ALL, .infer = concat_infer,
   .prepare = concat_prepare, .run = concat_run},
  {.name = "Split", .since = 2, .signature = "input:T -> outputs:T*", SPLIT},
  {.name = "Split", .since = 13, .signature = "input:T split:i64? -> outputs:T*", SPLIT},
  {.name = "Split", .since = 18, .signature = "input:T split:i64? -> outputs:T*", SPLIT},
  {0}};
