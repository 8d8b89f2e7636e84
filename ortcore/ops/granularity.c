/* How the scales and zero points of quantisation lie over a tensor. */
#include <ortcore/ir/fact.h>
#include <ortcore/ops/params/quantize.h>

status granularity_of(const quantize_op *p, const tensor *x, const tensor *scale, granularity *g) {
  char a[DIMS_TEXT], b[DIMS_TEXT];
  *g = (granularity){.dims = {1, 1, 1, x->count}, .axis_dim = 1};
  if (scale->count == 1 && scale->rank <= 1 && !(p->block && scale->rank == x->rank)) return OK;
  int axis;
  TRY(axis_normalise(p->axis, x->rank, "attribute 'axis'", &axis));
  int64_t outer = dims_product(x->dims, 0, axis), n = x->dims[axis], inner = dims_product(x->dims, axis + 1, x->rank);
  g->axis_dim = n;
  if (scale->rank == 1 && scale->dims[0] == n && !p->block) {
    *g = (granularity){.dims = {outer, n, 1, inner}, .scale_strides = {0, 1, 0, 0}, .axis_dim = n};
    return OK;
  }
  bool fits = p->block > 0 && scale->rank == x->rank;
  int64_t blocks = p->block ? n / p->block + (n % p->block != 0) : 0;
  for (int d = 0; d < x->rank && fits; ++d) fits = scale->dims[d] == (d == axis ? blocks : x->dims[d]);
  if (!fits)
    return ERROR(INVALID_ARGUMENT,
                 "the scale has shape %s, but x has shape %s with axis %d and block_size %lld: a scale is one number, or a row of %lld, "
                 "or blocked along the axis",
                 dims_format(b, sizeof b, scale->rank, scale->dims), dims_format(a, sizeof a, x->rank, x->dims), axis, (long long)p->block, (long long)n);
  *g = (granularity){.dims = {outer, blocks, p->block, inner}, .scale_strides = {blocks * inner, inner, 0, 1}, .axis_dim = n, .cut = blocks * p->block != n};
  return OK;
}

status zero_point_check(const tensor *scale, const tensor *zero) {
  if (!zero || (zero->count == 1 && scale->count == 1) || dims_equal(zero->rank, zero->dims, scale->rank, scale->dims)) return OK;
  char a[DIMS_TEXT], b[DIMS_TEXT];
  return ERROR(INVALID_ARGUMENT, "the zero point has shape %s, but must have that of the scale, %s", dims_format(a, sizeof a, zero->rank, zero->dims),
               dims_format(b, sizeof b, scale->rank, scale->dims));
}
