/* MatMulNBits: attributes, and what they say of the inputs. */
#include <ortcore/ops/params/nbits.h>

status nbits_params_read(const node *n, nbits_params *p) {
  *p = (nbits_params){(int)attr_int_or(n, "bits", 4), attr_int_or(n, "N", 0), attr_int_or(n, "K", 0), attr_int_or(n, "block_size", 0), 0};
  if (p->bits != 2 && p->bits != 4 && p->bits != 8) return ERROR(NOT_IMPLEMENTED, "attribute 'bits' is %d; 2, 4 and 8 are supported", p->bits);
  if (p->n < 1 || p->k < 1 || p->n > INT32_MAX || p->k > INT32_MAX)
    return ERROR(INVALID_ARGUMENT, "attributes 'N' and 'K' are %lld and %lld; they must be positive", (long long)p->n, (long long)p->k);
  if (p->block < 16 || p->block > 1 << 20 || (p->block & (p->block - 1)))
    return ERROR(INVALID_ARGUMENT, "attribute 'block_size' is %lld; it must be a power of two, at least 16", (long long)p->block);
  if (attr_int_or(n, "weight_prepacked", 0))
    return ERROR(NOT_IMPLEMENTED, "attribute 'weight_prepacked' is set; weights in the layout of one GPU cannot be read here");
  p->blocks = (p->k + p->block - 1) / p->block;
  return OK;
}

static status expect_count(const tensor *t, const char *what, int64_t count) {
  if (!t || t->count == count) return OK;
  return ERROR(INVALID_ARGUMENT, "input '%s' has %lld elements; 'N', 'K', 'bits' and 'block_size' make it %lld", what, (long long)t->count,
               (long long)count);
}

status nbits_check(const nbits_params *p, int32_t in_count, const tensor *const *in) {
  const tensor *a = in[0], *zeros = in_count > 3 ? in[3] : NULL, *groups = in_count > 4 ? in[4] : NULL;
  TRY(expect_count(in[1], "B", p->n * p->blocks * (p->block * p->bits / 8)));
  TRY(expect_count(in[2], "scales", p->n * p->blocks));
  TRY(expect_count(zeros, "zero_points", zeros && zeros->type == ORTC_UINT8 ? p->n * ((p->blocks * p->bits + 7) / 8) : p->n * p->blocks));
  TRY(expect_count(in_count > 5 ? in[5] : NULL, "bias", p->n));
  if (groups && groups->count < p->k)
    return ERROR(INVALID_ARGUMENT, "input 'g_idx' has %lld elements; 'K' is %lld", (long long)groups->count, (long long)p->k);
  if (a->rank < 1 || a->dims[a->rank - 1] != p->k)
    return ERROR(INVALID_ARGUMENT, "the last dim of input 'A' is %lld; attribute 'K' is %lld", a->rank < 1 ? 0 : (long long)a->dims[a->rank - 1], (long long)p->k);
  return OK;
}

status nbits_check_groups(const nbits_params *p, const tensor *groups) {
  for (int64_t i = 0; i < p->k && i < groups->count; ++i) {
    int32_t group = ((const int32_t *)groups->data)[i];
    if (group < 0 || group >= p->blocks) return ERROR(INVALID_ARGUMENT, "input 'g_idx' holds %d; there are %lld blocks", (int)group, (long long)p->blocks);
  }
  return OK;
}
