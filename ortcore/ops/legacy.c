/* Operators on two tensors as they were up to opset 6: B is broadcast to A's shape, never A to B's, and attribute `axis` says along which
 * axes of A those of B lie; without it they are the last ones. */
#include <ortcore/ops/elementwise.h>

/* B with dims of 1 behind its own, so that it lies along axes [axis, axis + rank) of A. */
static status align(const tensor *a, const tensor *b, int64_t axis, tensor *out) {
  int first;
  TRY(axis_normalise(axis, a->rank, "attribute 'axis'", &first));
  *out = *b;
  if (first + b->rank > a->rank)
    return ERROR(INVALID_ARGUMENT, "'B' has rank %d and lies along the axes of 'A' from %d on, but 'A' has rank %d", b->rank, first, a->rank);
  while (out->rank < a->rank - first) out->dims[out->rank++] = 1;
  return OK;
}

static status run_aligned(kernel_ctx *k, const tensor *b) {
  const tensor *a = k->in[0], *in[2] = {a, b};
  char text_a[DIMS_TEXT], text_b[DIMS_TEXT];
  int rank;
  int64_t dims[MAX_RANK];
  tensor *out;
  TRY(broadcast_dims(2, in, &rank, dims));
  if (!dims_equal(rank, dims, a->rank, a->dims))
    return ERROR(INVALID_ARGUMENT, "'B' of shape %s is broadcast to 'A' of shape %s in this opset, not the other way around",
                 dims_format(text_b, sizeof text_b, k->in[1]->rank, k->in[1]->dims), dims_format(text_a, sizeof text_a, a->rank, a->dims));
  TRY(kernel_output_like(k, 0, a, &out));
  return out ? elementwise_apply(k, k->params, 2, in, out) : OK;
}

static status legacy_run(kernel_ctx *k) {
  tensor b = *k->in[1];
  if (b.count == 1) b.rank = 0;
  else if (attr_find(k->node, "axis")) TRY(align(k->in[0], k->in[1], attr_int_or(k->node, "axis", 0), &b));
  return run_aligned(k, &b);
}

/* A row of slopes is one for each channel. */
static status prelu_run(kernel_ctx *k) {
  const tensor *x = k->in[0];
  tensor slope = *k->in[1];
  if (slope.rank == 1 && slope.count > 1 && x->rank > 1) TRY(align(x, k->in[1], 1, &slope));
  return run_aligned(k, &slope);
}

#define LEGACY(op, version, types, result) \
  {.name = #op, .since = version, .signature = "A:T B:T -> C:" result, .T = types, .inplace = 1, .prepare = elementwise_prepare, .run = legacy_run}
#define ARITHMETIC(op) LEGACY(op, 1, TS_FLOAT_6, "T"), LEGACY(op, 6, TS_FLOAT_6 | TS_WIDE_INTEGER, "T")

OP_FAMILY(legacy) = {
  ARITHMETIC(Add), ARITHMETIC(Sub), ARITHMETIC(Mul), ARITHMETIC(Div), LEGACY(Pow, 1, TS_FLOAT_6, "T"),
  LEGACY(And, 1, TS(BOOL), "bool"), LEGACY(Or, 1, TS(BOOL), "bool"), LEGACY(Xor, 1, TS(BOOL), "bool"),
  LEGACY(Equal, 1, TS(BOOL) | TS_INDEX, "bool"), LEGACY(Less, 1, TS_FLOAT_6, "bool"), LEGACY(Greater, 1, TS_FLOAT_6, "bool"),
  {.name = "PRelu", .since = 1, .signature = "X:T slope:T -> Y:T", .T = TS_FLOAT_6, .inplace = 1, .prepare = elementwise_prepare, .run = prelu_run},
  {0}};
