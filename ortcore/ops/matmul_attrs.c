/* Attributes of matrix products, read once for every device. */
#include <ortcore/ops/params/matmul.h>

const matmul_kind matmul_plain = {0}, matmul_gemm = {.gemm = true, .transposes = true, .scales = true};
const matmul_kind matmul_fused_gemm = {.gemm = true, .transposes = true, .scales = true, .activates = true};
const matmul_kind matmul_scaled = {.transposes = true, .scales = true};
const matmul_kind matmul_fused = {.transposes = true, .scales = true, .activates = true, .residual = true};

status matmul_attrs_read(const node *n, const matmul_kind *kind, matmul_attrs *out) {
  *out = (matmul_attrs){.alpha = 1, .beta = 1};
  if (kind->transposes) {
    out->trans_a = attr_int_or(n, "transA", 0), out->trans_b = attr_int_or(n, "transB", 0);
    if (attr_int_or(n, "transBatchA", 0) || attr_int_or(n, "transBatchB", 0))
      return ERROR(NOT_IMPLEMENTED, "attributes 'transBatchA' and 'transBatchB' are not supported; transpose the input before the product");
  }
  if (kind->scales) out->alpha = attr_float_or(n, "alpha", 1), out->beta = attr_float_or(n, "beta", 1);
  if (!kind->activates) return OK;
  int64_t count;
  const float *params = attr_floats(n, "activation_params", &count);
  float separate[2] = {attr_float_or(n, "activation_alpha", 0), attr_float_or(n, "activation_beta", 0)};
  if (!params && attr_find(n, "activation_alpha")) params = separate, count = 2;
  return activation_from_name(attr_string_or(n, "activation", "").data, count, params, &out->act);
}

status matmul_attrs_check(const matmul_attrs *a, dtype type) {
  if (!typeset_has(TS_INTEGER, type) || (a->alpha == (float)(int32_t)a->alpha && a->beta == (float)(int32_t)a->beta)) return OK;
  return ERROR(INVALID_ARGUMENT, "'alpha' is %g and 'beta' is %g; products of integers need whole numbers", (double)a->alpha, (double)a->beta);
}
