/* Softmax, LogSoftmax, Hardmax, LpNormalization: lines along an axis, scaled by what is found along them. */
#include <ortcore/kernels/cuda/softmax.h>
#include <ortcore/provider/cuda/plugin.h>

/* The tensor seen as [outer, n, inner], n being the axes from `axis` to `end`. */
typedef struct lines { int64_t outer, n, inner; } lines;

static lines lines_of(const tensor *x, int axis, int end) {
  return (lines){dims_product(x->dims, 0, axis), dims_product(x->dims, axis, end), dims_product(x->dims, end, x->rank)};
}

static status softmax_launch(kernel_ctx *k, stream *on) {
  const softmax_params *p = k->params;
  const tensor *x = k->in[0];
  tensor *y;
  int axis = x->rank;
  TRY(kernel_output_like(k, 0, x, &y));
  if (!y) return OK;
  if (x->rank && !(p->flatten && p->axis == x->rank)) TRY(axis_normalise(p->axis, x->rank, "axis", &axis));
  lines l = lines_of(x, axis, p->flatten || axis == x->rank ? x->rank : axis + 1);
  return cuda_launched(cuda_softmax(x->type, p->kind, x->data, y->data, l.outer, l.n, l.inner, cuda_raw(on)));
}

static status lp_launch(kernel_ctx *k, stream *on) {
  const tensor *x = k->in[0];
  int64_t power = attr_int_or(k->node, "p", 2);
  tensor *y;
  int axis;
  if (power != 1 && power != 2) return ERROR(INVALID_ARGUMENT, "attribute 'p' is %lld, expected 1 or 2", (long long)power);
  TRY(axis_normalise(attr_int_or(k->node, "axis", -1), x->rank, "axis", &axis));
  TRY(kernel_output_like(k, 0, x, &y));
  if (!y) return OK;
  lines l = lines_of(x, axis, axis + 1);
  return cuda_launched(cuda_lp_normalise(x->type, (int)power, x->data, y->data, l.outer, l.n, l.inner, cuda_raw(on)));
}

#define SOFTMAX(name) {.op = name, .since = 1, .types = TS_FLOAT, .inplace = 1, .launch = softmax_launch}

KERNEL_FAMILY(softmax) = {
  SOFTMAX("Softmax"), SOFTMAX("LogSoftmax"), SOFTMAX("Hardmax"),
  {.op = "LpNormalization", .since = 1, .types = TS_FLOAT, .inplace = 1, .launch = lp_launch},
  {0}};
