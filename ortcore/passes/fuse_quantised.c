/* Products of quantised matrices are multiplied as bytes, where the processor has instructions for that. Two ways of writing them are known:
 *
 *   MatMul(DequantizeLinear(a), DequantizeLinear(b)), also as Gemm
 *   Cast(MatMulInteger(a, b)) * (scale of a * scale of b), as dynamic quantisation leaves it
 *
 * and a bias may be added. Both become com.microsoft's MatMulIntegerToFloat(a, b, a_scale, b_scale, a_zero_point, b_zero_point, bias). */
#include <ortcore/base/cpu.h>
#include <ortcore/passes/rewrite.h>
#include <string.h>

#define TARGET "MatMulIntegerToFloat"
#define TARGET_DOMAIN "com.microsoft"

/* Inputs of the target, in its order. */
typedef struct product { int32_t a, b, a_scale, b_scale, a_zero, b_zero, bias; } product;

static bool is_bytes(const rewriter *w, int32_t v) {
  const fact *f = v == NO_VALUE ? NULL : rewrite_fact(w, v);
  return f && f->kind == KIND_TENSOR && (f->type == ORTC_INT8 || f->type == ORTC_UINT8);
}

static bool is_float_of(const rewriter *w, int32_t v, int64_t count) {
  return v != NO_VALUE && rewrite_fact(w, v)->type == ORTC_FLOAT && fact_count(rewrite_fact(w, v)) == count;
}

/* b is a constant matrix [K, N] with one scale, or one a column; its columns, or -1. */
static int64_t columns_of(const rewriter *w, int32_t b, int32_t scale) {
  const fact *f = rewrite_fact(w, b);
  if (!is_bytes(w, b) || !f->value || f->rank != 2) return -1;
  return is_float_of(w, scale, 1) || is_float_of(w, scale, f->dims[1]) ? f->dims[1] : -1;
}

static status replace_with(rewriter *w, int32_t index, const product *p) {
  int32_t inputs[] = {p->a, p->b, p->a_scale, p->b_scale, p->a_zero, p->b_zero, p->bias}, count = 7;
  while (inputs[count - 1] == NO_VALUE) --count;
  node *made;
  return rewrite_replace(w, index, TARGET, TARGET_DOMAIN, 1, count, inputs, &made);
}

static bool is_worthwhile(void) { return cpu_has_vnni() && rewrite_can_use(TARGET_DOMAIN, TARGET, 1); }

/* ---- DequantizeLinear before the product --------------------------------------------------------------------------------------------------- */

static const node *dequantised(const rewriter *w, int32_t v) {
  const node *n = rewrite_producer(w, v, "DequantizeLinear");
  return n && is_bytes(w, n->inputs[0]) && rewrite_fact(w, v)->type == ORTC_FLOAT && !attr_int_or(n, "block_size", 0) ? n : NULL;
}

status pass_quantised_product(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  bool gemm = node_is(n, "Gemm");
  if ((!gemm && !node_is(n, "MatMul")) || !is_worthwhile()) return OK;
  if (attr_float_or(n, "alpha", 1) != 1 || attr_float_or(n, "beta", 1) != 1 || attr_int_or(n, "transA", 0) || attr_int_or(n, "transB", 0)) return OK;
  const node *a = dequantised(w, n->inputs[0]), *b = dequantised(w, n->inputs[1]);
  if (!a || !b || !is_float_of(w, a->inputs[1], 1)) return OK;
  int64_t columns = columns_of(w, b->inputs[0], b->inputs[1]), axis = attr_int_or(b, "axis", 1);
  bool one_scale = is_float_of(w, b->inputs[1], 1);
  if (columns < 0 || (!one_scale && axis != 1 && axis != -1)) return OK;
  product p = {a->inputs[0], b->inputs[0], a->inputs[1], b->inputs[1], node_input(a, 2), node_input(b, 2), node_input(n, 2)};
  if (p.bias != NO_VALUE && (rewrite_fact(w, p.bias)->rank != 1 || !is_float_of(w, p.bias, columns))) return OK;
  return replace_with(w, index, &p);
}

/* ---- Scales after the product -------------------------------------------------------------------------------------------------------------- */

/* Mul(Cast(MatMulInteger(a, b)), Mul(a_scale, b_scale)), in any order of operands. */
status pass_scaled_product(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  if (!node_is(n, "Mul") || n->input_count != 2 || !is_worthwhile()) return OK;
  for (int i = 0; i < 2; ++i) {
    const node *cast = rewrite_producer(w, n->inputs[i], "Cast"), *scales = rewrite_producer(w, n->inputs[1 - i], "Mul");
    const node *integer = cast ? rewrite_producer(w, cast->inputs[0], "MatMulInteger") : NULL;
    if (!integer || !scales || scales->input_count != 2 || !rewrite_used_once(w, n->inputs[i]) || !rewrite_used_once(w, cast->inputs[0])) continue;
    for (int j = 0; j < 2; ++j) {
      int32_t a_scale = scales->inputs[j], b_scale = scales->inputs[1 - j];
      if (!rewrite_fact(w, b_scale)->value || !is_float_of(w, a_scale, 1) || columns_of(w, integer->inputs[1], b_scale) < 0) continue;
      return replace_with(w, index, &(product){integer->inputs[0], integer->inputs[1], a_scale, b_scale, node_input(integer, 2), node_input(integer, 3), NO_VALUE});
    }
  }
  return OK;
}

/* ---- A bias ----------------------------------------------------------------------------------------------------------------------------------- */

status pass_quantised_bias(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  if (!node_is(n, "Add") || n->input_count != 2) return OK;
  for (int i = 0; i < 2; ++i) {
    const node *from = rewrite_producer(w, n->inputs[i], NULL);
    int32_t bias = n->inputs[1 - i];
    if (!from || strcmp(from->op_type, TARGET) || strcmp(from->domain, TARGET_DOMAIN) || node_has(from, 6) || !rewrite_used_once(w, n->inputs[i])) continue;
    const fact *b = rewrite_fact(w, from->inputs[1]);
    if (rewrite_fact(w, bias)->rank != 1 || b->rank != 2 || !is_float_of(w, bias, b->dims[1]) || rewrite_fact(w, n->inputs[i])->type != ORTC_FLOAT) continue;
    product p = {from->inputs[0], from->inputs[1], from->inputs[2], from->inputs[3], node_input(from, 4), node_input(from, 5), bias};
    return replace_with(w, index, &p);
  }
  return OK;
}
