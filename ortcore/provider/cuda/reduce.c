/* Reductions, ArgMax, ArgMin. Groups of neighbouring axes are reduced one after the other, the innermost first, each by a launch that sees
 * [outer, n, inner]; a long line that few others stand beside is reduced in parts, which another launch joins. */
#include <ortcore/kernels/cuda/reduce.h>
#include <ortcore/ops/params/reduce.h>
#include <ortcore/provider/cuda/plugin.h>

/* What the kernels know of an operator. */
typedef struct reduction { reduce_join join; reduce_map map; reduce_finish finish; } reduction;

static const reduction sum = {JOIN_SUM, MAP_NOTHING, FINISH_NOTHING}, mean = {JOIN_SUM, MAP_NOTHING, FINISH_MEAN};
static const reduction product = {JOIN_PRODUCT, MAP_NOTHING, FINISH_NOTHING};
static const reduction largest = {JOIN_MAX, MAP_NOTHING, FINISH_NOTHING}, smallest = {JOIN_MIN, MAP_NOTHING, FINISH_NOTHING};
static const reduction absolute = {JOIN_SUM, MAP_ABSOLUTE, FINISH_NOTHING};
static const reduction squares = {JOIN_SUM, MAP_SQUARE, FINISH_NOTHING}, length = {JOIN_SUM, MAP_SQUARE, FINISH_ROOT};
static const reduction log_sum = {JOIN_SUM, MAP_NOTHING, FINISH_LOGARITHM}, log_sum_exp = {JOIN_LOG_SUM_EXP, MAP_NOTHING, FINISH_NOTHING};

/* Launches still to come, the last of which writes the output; in between, halves are floats. */
typedef struct reducing {
  kernel_ctx *k;
  stream *on;
  const reduction *how;
  const void *x;                                           /* what is reduced next, */
  dtype type;                                              /* and of what type it is */
  bool started;
  int64_t whole;
} reducing;

static dtype type_between(dtype type) { return type == ORTC_FLOAT16 || type == ORTC_BFLOAT16 ? ORTC_FLOAT : type; }

static status launch(reducing *r, int64_t outer, int64_t n, int64_t inner, int64_t parts, tensor *y) {
  cuda_reduction a = {.from = r->type, .to = y ? y->type : type_between(r->type), .join = r->how->join,
                      .map = r->started ? MAP_NOTHING : r->how->map, .finish = y ? r->how->finish : FINISH_NOTHING, .x = r->x,
                      .y = y ? y->data : NULL, .outer = outer, .n = n, .inner = inner, .parts = parts, .whole = r->whole};
  a.chunk = ((n + parts - 1) / parts + 15) / 16 * 16;      /* begins where 16-byte reads can */
  if (!y) TRY(kernel_scratch(r->k, (size_t)(outer * parts * inner) * (size_t)dtype_width(a.to), &a.y));
  TRY(cuda_launched(cuda_reduce(&a, cuda_raw(r->on))));
  r->x = a.y;
  r->type = a.to;
  r->started = true;
  return OK;
}

/* [outer, n, inner] to [outer, inner], in parts where that is faster; y NULL: more groups follow. */
static status reduce_group(reducing *r, int64_t outer, int64_t n, int64_t inner, tensor *y) {
  int64_t parts = cuda_reduce_parts(outer, n, inner);
  if (parts > 1) {
    TRY(launch(r, outer, n, inner, parts, NULL));
    n = parts;
  }
  return launch(r, outer, n, inner, 1, y);
}

static status reduce_launch(kernel_ctx *k, stream *on) {
  const reduce_params *p = k->params;
  const tensor *x = k->in[0];
  tensor *y;
  integers axes = {0};
  bool reduced[MAX_RANK], is_reduced[MAX_RANK];
  int64_t groups[MAX_RANK], inner = 1, dims[MAX_RANK];
  TRY(reduce_axes(p, k->in_count > 1 ? k->in[1] : NULL, &axes));
  TRY(reduce_mark(&axes, x->rank, p->noop, reduced));
  TRY(kernel_output(k, 0, reduced_shape(x->rank, x->dims, reduced, p->keepdims, dims), dims, &y));
  if (!y || !y->count) return OK;
  reducing r = {.k = k, .on = on, .how = k->data, .x = x->data, .type = x->type, .whole = x->count / y->count};
  int count = reduce_merge(x->rank, x->dims, reduced, groups, is_reduced), first = 0;
  while (first < count && !is_reduced[first]) ++first;
  if (first == count) return reduce_group(&r, 1, 1, y->count, y);   /* groups of one element: only mapped and finished */
  for (int g = count - 1; g >= first; --g) {
    if (is_reduced[g]) TRY(reduce_group(&r, dims_product(groups, 0, g), groups[g], inner, g == first ? y : NULL));
    else inner *= groups[g];
  }
  return OK;
}

static status arg_launch(kernel_ctx *k, stream *on) {
  const reduce_params *p = k->params;
  const tensor *x = k->in[0];
  tensor *y;
  bool reduced[MAX_RANK] = {0};
  int64_t dims[MAX_RANK];
  int axis;
  TRY(axis_normalise(p->axes.at[0], x->rank, "axis", &axis));
  reduced[axis] = true;
  TRY(kernel_output(k, 0, reduced_shape(x->rank, x->dims, reduced, p->keepdims, dims), dims, &y));
  if (!y || !y->count) return OK;
  if (!x->dims[axis]) return ERROR(INVALID_ARGUMENT, "axis %d of the input has no elements, so there is no largest or smallest", axis);
  return cuda_launched(cuda_arg_extreme(x->type, p->smallest, p->last, x->data, y->data, dims_product(x->dims, 0, axis), x->dims[axis],
                                        dims_product(x->dims, axis + 1, x->rank), cuda_raw(on)));
}

#define INTEGERS (TS(INT32) | TS(INT64))
#define BYTES (TS(UINT8) | TS(BOOL))
/* Input 1 is the axes, for the host. */
#define REDUCE(name, kind, of_types) {.op = name, .since = 1, .types = of_types, .host_inputs = 1u << 1, .launch = reduce_launch, .data = &kind}
#define ARG(name) {.op = name, .since = 1, .types = TS_FLOAT | INTEGERS | TS(UINT8), .launch = arg_launch}

KERNEL_FAMILY(reduce) = {
  REDUCE("ReduceSum", sum, TS_FLOAT | INTEGERS),
  REDUCE("ReduceMean", mean, TS_FLOAT),
  REDUCE("ReduceProd", product, TS_FLOAT | INTEGERS),
  REDUCE("ReduceMax", largest, TS_FLOAT | INTEGERS | BYTES),
  REDUCE("ReduceMin", smallest, TS_FLOAT | INTEGERS | BYTES),
  REDUCE("ReduceL1", absolute, TS_FLOAT | INTEGERS),
  REDUCE("ReduceL2", length, TS_FLOAT),
  REDUCE("ReduceSumSquare", squares, TS_FLOAT | INTEGERS),
  REDUCE("ReduceLogSum", log_sum, TS_FLOAT),
  REDUCE("ReduceLogSumExp", log_sum_exp, TS_FLOAT),
  ARG("ArgMax"),
  ARG("ArgMin"),
  {0}};
