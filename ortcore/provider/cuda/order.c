/* Operators along one axis: TopK, CumSum and CumProd. */
#include <inttypes.h>
#include <ortcore/kernels/cuda/cumulative.h>
#include <ortcore/kernels/cuda/topk.h>
#include <ortcore/ops/movement.h>
#include <ortcore/ops/params/cumulative.h>
#include <ortcore/ops/params/topk.h>
#include <ortcore/provider/cuda/plugin.h>

/* ---- TopK ---- */

static bool topk_supports(const node *n, const fact *const *in) {
  (void)n;
  return cuda_topk_serves(in[0]->type);
}

static status topk_launch(kernel_ctx *k, stream *s) {
  const topk_params *p = k->params;
  const tensor *x = k->in[0], *count = k->in_count > 1 ? k->in[1] : NULL;
  cuda_topk t = {.type = x->type, .largest = p->largest, .k = p->k};
  int64_t dims[MAX_RANK];
  int axis;
  tensor *values, *indices = NULL;
  void *scratch = NULL;
  TRY(axis_normalise(p->axis, x->rank, "axis", &axis));
  if (count && count->count != 1) return ERROR(INVALID_ARGUMENT, "'K' must be one number, but has %" PRId64 " elements", count->count);
  if (count) t.k = integer_at(count, 0);
  t.n = x->dims[axis];
  TRY(topk_check(t.k, t.n, axis));
  if (t.n > INT32_MAX) return ERROR(NOT_IMPLEMENTED, "axis %d has %" PRId64 " elements; at most %d are supported", axis, t.n, INT32_MAX);
  for (int d = 0; d < x->rank; ++d) dims[d] = d == axis ? t.k : x->dims[d];
  TRY(kernel_output(k, 0, x->rank, dims, &values));
  if (k->out_count > 1) TRY(kernel_output(k, 1, x->rank, dims, &indices));
  t.outer = dims_product(x->dims, 0, axis);
  t.inner = dims_product(x->dims, axis + 1, x->rank);
  if (t.outer * t.inner * t.k == 0) return OK;
  TRY(kernel_scratch(k, cuda_topk_scratch_bytes(&t), &scratch));
  return cuda_launched(cuda_topk_run(&t, x->data, values ? values->data : NULL, indices ? indices->data : NULL, scratch, cuda_raw(s)));
}

/* ---- CumSum, CumProd ---- */

static status cumulative_launch(kernel_ctx *k, stream *s) {
  const cumulative_params *p = k->params;
  const tensor *x = k->in[0], *axis_input = k->in[1];
  int axis;
  tensor *y;
  TRY(kernel_output_like(k, 0, x, &y));
  if (axis_input->count != 1) return ERROR(INVALID_ARGUMENT, "axis must be one integer, but has %" PRId64 " elements", axis_input->count);
  TRY(axis_normalise(integer_at(axis_input, 0), x->rank, "axis", &axis));
  if (!y) return OK;
  cuda_cumulative c = {.type = x->type, .product = p->product, .exclusive = p->exclusive, .reverse = p->reverse,
                       .outer = dims_product(x->dims, 0, axis), .n = x->dims[axis], .inner = dims_product(x->dims, axis + 1, x->rank)};
  return cuda_launched(cuda_cumulative_run(&c, x->data, y->data, cuda_raw(s)));
}

#define TOPK(first, host) {.op = "TopK", .since = first, .types = TS_NUMERIC, .host_inputs = host, .supports = topk_supports, .launch = topk_launch}
#define CUMULATIVE(name, first) \
  {.op = name, .since = first, .types = TS_FLOAT | TS_INDEX | TS(UINT32) | TS(UINT64), .host_inputs = 1u << 1, .launch = cumulative_launch}

KERNEL_FAMILY(order) = {
  TOPK(1, 0), TOPK(10, 1u << 1), TOPK(11, 1u << 1), TOPK(24, 1u << 1),
  CUMULATIVE("CumSum", 11), CUMULATIVE("CumProd", 26),
  {0}};
