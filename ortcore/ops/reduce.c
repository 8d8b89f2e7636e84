/* ReduceSum and its kin, ArgMax, ArgMin. */
#include <ortcore/base/threads.h>
#include <ortcore/kernels/cpu/reduce.h>
#include <ortcore/ops/float_io.h>
#include <ortcore/ops/params/reduce.h>

static reduce_op op_of(const op_def *op) { return (reduce_op)(intptr_t)op->data; }

static status reduce_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  bool known, keepdims = attr_int_or(c->node, "keepdims", 1);
  integers axes = {0};
  if (x->rank < 0) return OK;
  TRY(reduce_known_axes(c->node, infer_in(c, 1), &axes, &known));
  if (!known) {
    dim unknown[MAX_RANK];
    for (int d = 0; d < x->rank; ++d) unknown[d] = DIM_UNKNOWN;
    if (keepdims) fact_set_shape(c->out[0], x->rank, unknown);
    return OK;
  }
  bool reduced[MAX_RANK];
  dim dims[MAX_RANK];
  TRY(reduce_mark(&axes, x->rank, attr_int_or(c->node, "noop_with_empty_axes", 0), reduced));
  fact_set_shape(c->out[0], reduced_shape(x->rank, x->dims, reduced, keepdims, dims), dims);
  return OK;
}

static status reduce_prepare(prepare_ctx *c, void **out_params) {
  reduce_params *p = *out_params = ZONE_NEW(c->memory, reduce_params);
  if (!p) return status_out_of_memory();
  p->op = op_of(c->op);
  p->keepdims = attr_int_or(c->node, "keepdims", 1);
  p->noop = attr_int_or(c->node, "noop_with_empty_axes", 0);
  return reduce_known_axes(c->node, c->in_count > 1 ? c->in[1] : NULL, &p->axes, &p->axes_known);
}

/* ---- One block [outer, n, inner] ------------------------------------------------------------------------------------------------- */

typedef struct block { reduce_fn fn; arg_fn arg; bool last; const void *x; void *y; int64_t outer, n, inner; } block;

static void run_range(void *context, int64_t begin, int64_t end) {
  const block *b = context;
  if (b->fn) b->fn(b->x, b->y, begin, end, b->n, b->inner);
  else b->arg(b->x, b->y, begin, end, b->n, b->inner, b->last);
}

enum { ELEMENTS_PER_THREAD = 1 << 15 };

static void run_block(int threads, const block *b) {
  int64_t each = b->n * b->inner > 0 ? b->n * b->inner : 1, grain = ELEMENTS_PER_THREAD / each;
  parallel_for(threads, b->outer, grain > 0 ? grain : 1, run_range, (void *)(uintptr_t)b);
}

/* Reduced groups that are not neighbours: the data is rearranged so that they are, once. */
static status gather_groups(kernel_ctx *k, int count, const int64_t *groups, const bool *is_reduced, int width, const void *x, block *b) {
  strided_copy copy = {.bits = width * 8, .rank = count, .from = x};
  int64_t strides[MAX_RANK];
  int64_t total = dense_strides(count, groups, strides), to = total;
  void *moved;
  TRY(kernel_scratch(k, (size_t)total * (size_t)width, &moved));
  b->outer = b->n = b->inner = 1;
  int at = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (int g = 0; g < count; ++g) {
      if (is_reduced[g] != (pass == 1)) continue;
      copy.dims[at] = groups[g];
      copy.from_strides[at] = strides[g];
      to /= groups[g] ? groups[g] : 1;
      copy.to_strides[at++] = to;
      *(pass ? &b->n : &b->outer) *= groups[g];
    }
  copy.to = moved;
  if (total) copy_strided(k->threads, &copy);
  b->x = moved;
  return OK;
}

static status find_block(kernel_ctx *k, const tensor *x, const bool *reduced, block *b) {
  int64_t groups[MAX_RANK];
  bool is_reduced[MAX_RANK];
  int count = reduce_merge(x->rank, x->dims, reduced, groups, is_reduced), reduced_count = 0, which = 0;
  for (int g = 0; g < count; ++g)
    if (is_reduced[g]) {
      ++reduced_count;
      which = g;
    }
  b->x = x->data;
  if (reduced_count > 1) return gather_groups(k, count, groups, is_reduced, tensor_width(x), x->data, b);
  b->n = reduced_count ? groups[which] : 1;
  b->outer = reduced_count ? dims_product(groups, 0, which) : dims_product(groups, 0, count);
  b->inner = reduced_count ? dims_product(groups, which + 1, count) : 1;
  return OK;
}

static status reduce_run(kernel_ctx *k) {
  const reduce_params *p = k->params;
  tensor in_copy, out_copy, *out, *work;
  const tensor *x;
  integers axes = {0};
  bool reduced[MAX_RANK];
  int64_t dims[MAX_RANK];
  TRY(reduce_axes(p, kernel_in(k, 1), &axes));
  TRY(reduce_mark(&axes, k->in[0]->rank, p->noop, reduced));
  TRY(kernel_output(k, 0, reduced_shape(k->in[0]->rank, k->in[0]->dims, reduced, p->keepdims, dims), dims, &out));
  if (!out || !out->count) return OK;
  TRY(float_input(k, 0, &in_copy, &x));
  TRY(float_output(k, out, &out_copy, &work));
  block b = {.fn = reduce_for(p->op, x->type), .y = work->data};
  if (!b.fn) return ERROR(NOT_IMPLEMENTED, "%s has no kernel for %s", k->node->op_type, dtype_name(x->type));
  TRY(find_block(k, x, reduced, &b));
  run_block(k->threads, &b);
  float_finish(out, work);
  return OK;
}

/* ---- ArgMax, ArgMin ----------------------------------------------------------------------------------------------------------------- */

static status arg_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  int axis;
  bool reduced[MAX_RANK] = {0};
  dim dims[MAX_RANK];
  if (x->rank < 0) return OK;
  TRY(axis_normalise(attr_int_or(c->node, "axis", 0), x->rank, "axis", &axis));
  reduced[axis] = true;
  fact_set_shape(c->out[0], reduced_shape(x->rank, x->dims, reduced, attr_int_or(c->node, "keepdims", 1), dims), dims);
  return OK;
}

static status arg_prepare(prepare_ctx *c, void **out_params) {
  reduce_params *p = *out_params = ZONE_NEW(c->memory, reduce_params);
  if (!p) return status_out_of_memory();
  p->keepdims = attr_int_or(c->node, "keepdims", 1);
  p->last = attr_int_or(c->node, "select_last_index", 0);
  p->smallest = c->op->data != NULL;
  p->axes.at[0] = attr_int_or(c->node, "axis", 0);
  return OK;
}

static status arg_run(kernel_ctx *k) {
  const reduce_params *p = k->params;
  tensor copy, *out;
  const tensor *x;
  bool reduced[MAX_RANK] = {0};
  int64_t dims[MAX_RANK];
  int axis;
  TRY(float_input(k, 0, &copy, &x));
  TRY(axis_normalise(p->axes.at[0], x->rank, "axis", &axis));
  reduced[axis] = true;
  TRY(kernel_output(k, 0, reduced_shape(x->rank, x->dims, reduced, p->keepdims, dims), dims, &out));
  if (!out || !out->count) return OK;
  if (!x->dims[axis]) return ERROR(INVALID_ARGUMENT, "axis %d of the input has no elements, so there is no largest or smallest", axis);
  block b = {.arg = arg_for(p->smallest, x->type), .last = p->last, .x = x->data, .y = out->data, .outer = dims_product(x->dims, 0, axis), .n = x->dims[axis],
             .inner = dims_product(x->dims, axis + 1, x->rank)};
  run_block(k->threads, &b);
  return OK;
}

/* Until `input_since` the axes are an attribute, from then on an input. */
#define REDUCE(op_name, op, input_since, types) \
  {.name = op_name, .since = 1, .signature = "data:T -> reduced:T", .T = types, .infer = reduce_infer, .prepare = reduce_prepare, .run = reduce_run, \
   .data = (const void *)(intptr_t)REDUCE_##op}, \
  {.name = op_name, .since = input_since, .signature = "data:T axes:i64? -> reduced:T", .T = types, .infer = reduce_infer, .prepare = reduce_prepare, \
   .run = reduce_run, .data = (const void *)(intptr_t)REDUCE_##op}
#define ARG(op_name, smallest) \
  {.name = op_name, .since = 1, .signature = "data:T -> reduced:i64", .T = TS_NUMERIC, .infer = arg_infer, .prepare = arg_prepare, .run = arg_run, .data = smallest}

OP_FAMILY(reduce) = {
  REDUCE("ReduceSum", Sum, 13, TS_NUMERIC),
  REDUCE("ReduceMean", Mean, 18, TS_NUMERIC),
  REDUCE("ReduceProd", Prod, 18, TS_NUMERIC),
  REDUCE("ReduceMax", Max, 18, TS_NUMERIC | TS(BOOL)),
  REDUCE("ReduceMin", Min, 18, TS_NUMERIC | TS(BOOL)),
  REDUCE("ReduceL1", L1, 18, TS_NUMERIC),
  REDUCE("ReduceL2", L2, 18, TS_NUMERIC),
  REDUCE("ReduceSumSquare", SumSquare, 18, TS_NUMERIC),
  REDUCE("ReduceLogSum", LogSum, 18, TS_NUMERIC),
  REDUCE("ReduceLogSumExp", LogSumExp, 18, TS_NUMERIC),
  ARG("ArgMax", NULL),
  ARG("ArgMin", ""),
  {0}};
