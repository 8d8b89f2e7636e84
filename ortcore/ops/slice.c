/* Slice: attributes before opset 10, inputs since. */
#include <ortcore/ops/movement.h>

#include <inttypes.h>

typedef struct slice_lists { integers starts, ends, axes, steps; } slice_lists;

/* One axis of n elements: the first element taken and how many; step as given, or 1 where it does not matter. */
typedef struct slice_axis { int64_t first, count, step; } slice_axis;

/* For an axis without elements `high` may be below `low`, and wins. */
static inline int64_t clamp(int64_t x, int64_t low, int64_t high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

static slice_axis slice_one(int64_t n, int64_t start, int64_t end, int64_t step) {
  bool backward = step < 0;
  start = clamp(start < 0 ? start + n : start, 0, backward ? n - 1 : n);
  end = clamp(end < 0 ? end + n : end, backward ? -1 : 0, backward ? n - 1 : n);
  int64_t distance = backward ? start - end : end - start;
  uint64_t stride = backward ? 0 - (uint64_t)step : (uint64_t)step;
  int64_t count = distance > 0 ? (int64_t)(1 + ((uint64_t)distance - 1) / stride) : 0;
  return (slice_axis){start, count, count > 1 ? step : 1};
}

/* Fills in the defaults and checks the lists against each other. */
static status slice_complete(slice_lists *s, int rank, bool has_axes, bool has_steps) {
  int n = s->starts.count;
  if (s->ends.count != n) return ERROR(INVALID_ARGUMENT, "'starts' has %d entries, but 'ends' has %d", n, s->ends.count);
  if (has_axes && s->axes.count != n) return ERROR(INVALID_ARGUMENT, "'starts' has %d entries, but 'axes' has %d", n, s->axes.count);
  if (has_steps && s->steps.count != n) return ERROR(INVALID_ARGUMENT, "'starts' has %d entries, but 'steps' has %d", n, s->steps.count);
  if (n > rank) return ERROR(INVALID_ARGUMENT, "'starts' has %d entries, but 'data' has rank %d", n, rank);
  for (int i = 0; i < n; ++i) {
    if (!has_axes) s->axes.at[i] = i;
    if (!has_steps) s->steps.at[i] = 1;
    if (s->steps.at[i] == 0) return ERROR(INVALID_ARGUMENT, "entry %d of 'steps' is 0; a step moves forward or backward", i);
  }
  s->axes.count = n;
  return axes_normalise(&s->axes, rank, "axes");
}

static status slice_attributes(const node *n, slice_lists *s, bool *out_has_axes) {
  bool present;
  TRY(integers_from_attr(n, "starts", &s->starts, &present));
  if (!present) return ERROR(INVALID_GRAPH, "attribute 'starts' is missing");
  TRY(integers_from_attr(n, "ends", &s->ends, &present));
  if (!present) return ERROR(INVALID_GRAPH, "attribute 'ends' is missing");
  return integers_from_attr(n, "axes", &s->axes, out_has_axes);
}

/* A dim that is not known stays what it is if all of it is taken. */
static dim slice_dim(dim n, int64_t start, int64_t end, int64_t step) {
  if (dim_known(n)) return slice_one(n, start, end, step).count;
  if (step == 1 && start == 0 && end >= INT32_MAX) return n;
  if (step == -1 && start == -1 && end <= INT32_MIN) return n;
  return start == end ? 0 : DIM_UNKNOWN;
}

static status slice_infer(infer_ctx *c) {
  const fact *data = c->in[0], *axes = infer_in(c, 3), *steps = infer_in(c, 4);
  slice_lists s;
  bool has_axes = axes != NULL, axes_known = true, rest_known = true;
  if (data->rank == RANK_UNKNOWN) return OK;
  if (c->op->since < 10) {
    TRY(slice_attributes(c->node, &s, &has_axes));
  } else {
    rest_known = integers_from_fact(c->in[1], &s.starts) && integers_from_fact(c->in[2], &s.ends);
    rest_known = rest_known && (!steps || integers_from_fact(steps, &s.steps));
    axes_known = !axes || integers_from_fact(axes, &s.axes);
  }
  dim dims[MAX_RANK];
  for (int d = 0; d < data->rank; ++d) dims[d] = axes_known ? data->dims[d] : DIM_UNKNOWN;
  if (axes_known && rest_known) {
    TRY(slice_complete(&s, data->rank, has_axes, steps != NULL));
    for (int i = 0; i < s.axes.count; ++i)
      dims[s.axes.at[i]] = slice_dim(data->dims[s.axes.at[i]], s.starts.at[i], s.ends.at[i], s.steps.at[i]);
  } else if (axes_known) {                                 /* the axes that are touched, at least */
    int64_t touched = has_axes ? s.axes.count : integers_count(c->in[1]) >= 0 ? integers_count(c->in[1]) : data->rank;
    if (has_axes) TRY(axes_normalise(&s.axes, data->rank, "axes"));
    for (int i = 0; i < touched && i < data->rank; ++i) dims[has_axes ? s.axes.at[i] : i] = DIM_UNKNOWN;
  }
  fact_set_shape(c->out[0], data->rank, dims);
  return OK;
}

typedef struct slice_params { bool has_axes; slice_lists lists; } slice_params;

static status slice_prepare(prepare_ctx *c, void **out_params) {
  if (c->op->since >= 10) return OK;
  slice_params *p = ZONE_NEW(c->memory, slice_params);
  if (!p) return status_out_of_memory();
  *out_params = p;
  return slice_attributes(c->node, &p->lists, &p->has_axes);
}

static status slice_view(const kernel_ctx *k, strided_view *v) {
  const slice_params *p = k->params;
  const tensor *data = k->in[0], *axes = kernel_in(k, 3), *steps = kernel_in(k, 4);
  slice_lists s;
  if (p) {
    s = p->lists;
  } else {
    TRY(integers_from_tensor(k->in[1], "starts", &s.starts));
    TRY(integers_from_tensor(k->in[2], "ends", &s.ends));
    if (axes) TRY(integers_from_tensor(axes, "axes", &s.axes));
    if (steps) TRY(integers_from_tensor(steps, "steps", &s.steps));
  }
  TRY(slice_complete(&s, data->rank, p ? p->has_axes : axes != NULL, steps != NULL));

  strided_copy *c = &v->copy;
  *c = (strided_copy){.bits = dtype_bits(data->type), .rank = data->rank};
  for (int d = 0; d < data->rank; ++d) c->dims[d] = data->dims[d];
  dense_strides(data->rank, data->dims, c->from_strides);
  for (int i = 0; i < s.axes.count; ++i) {
    int64_t d = s.axes.at[i];
    slice_axis a = slice_one(data->dims[d], s.starts.at[i], s.ends.at[i], s.steps.at[i]);
    c->dims[d] = a.count;
    c->from_offset += a.first * c->from_strides[d];
    c->from_strides[d] *= a.step;
  }
  dense_strides(data->rank, c->dims, c->to_strides);
  v->rank = data->rank;
  memcpy(v->dims, c->dims, sizeof v->dims);
  return OK;
}

static const strided_op slice_op = {slice_view};

#define SLICE .T = TS_ALL, .T1 = TS_INDEX, .infer = slice_infer, .prepare = slice_prepare, .run = strided_run, .data = &slice_op

OP_FAMILY(slice) = {
  {.name = "Slice", .since = 1, .signature = "data:T -> output:T", SLICE},
  {.name = "Slice", .since = 10, .signature = "data:T starts:T1 ends:T1 axes:T1? steps:T1? -> output:T", SLICE},
  {0}};
