/* Which elementwise operators the GPU computes, and how their shapes become a launch. */
#include <ortcore/kernels/cuda/elementwise.h>
#include <ortcore/provider/cuda/plugin.h>
#include <string.h>

#define GPU_TYPES (TS(FLOAT) | TS(FLOAT16))

/* Whatever the dims at run time, these many axes can be left after merging only if the model has as many. */
static bool rank_fits(const node *n, const fact *const *in) {
  for (int32_t i = 0; i < n->input_count; ++i) {
    if (in[i] && (in[i]->rank == RANK_UNKNOWN || in[i]->rank > CUDA_BROADCAST_RANK)) return false;
  }
  return true;
}

static status unary_specialise(specialise_ctx *c, void **out_spec) {
  const cuda_unary *row = cuda_unary_table;
  while (row->op && strcmp(row->op, c->node->op_type) != 0) ++row;
  *out_spec = (void *)row;                                 /* static: nothing to dispose of */
  return OK;
}

static status unary_launch(kernel_ctx *k, stream *on) {
  const cuda_unary *row = k->spec;
  const tensor *x = k->in[0];
  tensor *y;
  status s = kernel_output_like(k, 0, x, &y);
  if (s || !y) return s;
  return cuda_launched((x->type == ORTC_FLOAT ? row->f32 : row->f16)(x->data, y->data, y->count, cuda_raw(on)));
}

static status binary_specialise(specialise_ctx *c, void **out_spec) {
  const cuda_binary *row = cuda_binary_table;
  while (row->op && strcmp(row->op, c->node->op_type) != 0) ++row;
  *out_spec = (void *)row;
  return OK;
}

/* The extent of axis `d` of a tensor seen with `rank` axes, missing ones in front being 1. */
static int64_t dim_at(const tensor *t, int rank, int d) { return d < rank - t->rank ? 1 : t->dims[d - (rank - t->rank)]; }

static status broadcast_dims(const tensor *a, const tensor *b, int *out_rank, int64_t *dims) {
  int rank = a->rank > b->rank ? a->rank : b->rank;
  for (int d = 0; d < rank; ++d) {
    int64_t m = dim_at(a, rank, d), n = dim_at(b, rank, d);
    if (m != n && m != 1 && n != 1) {
      return ERROR(INVALID_ARGUMENT, "the inputs have %lld and %lld elements along axis %d of the output: they must be equal, or one of them 1",
                        (long long)m, (long long)n, d);
    }
    dims[d] = m == 1 ? n : m;
  }
  *out_rank = rank;
  return OK;
}

/* Steps of both operands along the axes of y. Axes of one element go, and neighbours that both operands walk in one stride are merged. */
static cuda_broadcast broadcast_plan(const tensor *a, const tensor *b, int rank, const int64_t *dims) {
  cuda_broadcast how = {0}, merged = {0};
  int64_t a_step = 1, b_step = 1;
  bool same = a->count == b->count;
  for (int d = rank - 1; d >= 0; --d) {                    /* innermost first */
    int64_t m = dim_at(a, rank, d), n = dim_at(b, rank, d);
    int64_t sa = m == 1 ? 0 : a_step, sb = n == 1 ? 0 : b_step;
    a_step *= m;
    b_step *= n;
    same = same && m == n;
    if (dims[d] == 1) continue;
    int last = how.rank - 1;
    if (last >= 0 && sa == how.a_steps[last] * how.dims[last] && sb == how.b_steps[last] * how.dims[last]) {
      how.dims[last] *= dims[d];
    } else {
      how.dims[how.rank] = dims[d];
      how.a_steps[how.rank] = sa;
      how.b_steps[how.rank++] = sb;
    }
  }
  if (same) return merged;
  for (int d = 0; d < how.rank; ++d) {
    merged.dims[d] = how.dims[how.rank - 1 - d];
    merged.a_steps[d] = how.a_steps[how.rank - 1 - d];
    merged.b_steps[d] = how.b_steps[how.rank - 1 - d];
  }
  merged.rank = how.rank;
  return merged;
}

static status binary_launch(kernel_ctx *k, stream *on) {
  const cuda_binary *row = k->spec;
  const tensor *a = k->in[0], *b = k->in[1];
  int64_t dims[MAX_RANK];
  int rank = 0;
  tensor *y = NULL;
  status s = broadcast_dims(a, b, &rank, dims);
  if (!s) s = kernel_output(k, 0, rank, dims, &y);
  if (s || !y) return s;
  cuda_broadcast how = broadcast_plan(a, b, rank, dims);
  cuda_binary_fn run = a->type == ORTC_FLOAT ? row->f32 : row->f16;
  return cuda_launched(run(a->data, b->data, y->data, y->count, &how, cuda_raw(on)));
}

/* Operators that take any number of inputs are served with two. */
static bool two_that_fit(const node *n, const fact *const *in) { return n->input_count == 2 && rank_fits(n, in); }

#define UNARY(name, first) {.op = name, .since = first, .types = GPU_TYPES, .specialise = unary_specialise, .launch = unary_launch}
#define BINARY(name, first) \
  {.op = name, .since = first, .types = GPU_TYPES, .supports = two_that_fit, .specialise = binary_specialise, .launch = binary_launch}

/* Names that the arithmetic table has, with the first opset from which they mean what it says. */
KERNEL_FAMILY(elementwise) = {
  UNARY("Abs", 6), UNARY("Neg", 6), UNARY("Ceil", 6), UNARY("Floor", 6), UNARY("Round", 11), UNARY("Sqrt", 6), UNARY("Reciprocal", 6), UNARY("Sign", 9),
  UNARY("Exp", 6), UNARY("Log", 6), UNARY("Tanh", 6), UNARY("Erf", 9), UNARY("Sigmoid", 6), UNARY("Softplus", 1), UNARY("Softsign", 1), UNARY("Relu", 6),
  UNARY("HardSwish", 14), UNARY("Mish", 18),
  BINARY("Add", 7), BINARY("Sub", 7), BINARY("Mul", 7), BINARY("Div", 7), BINARY("Max", 8), BINARY("Min", 8), BINARY("PRelu", 7),
  {0}};
