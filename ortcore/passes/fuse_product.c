/* What follows a matrix product or a convolution is done before its result is written: a bias, a sum with another tensor, an activation.
 * The fused operators are ortcore's own: FusedConv (X, W, B?, Z?) and FusedMatMul (A, B, bias?, Z?), y = activation(alpha * product + bias + Z). */
#include <ortcore/passes/rewrite.h>
#include <math.h>
#include <string.h>

#define OWN "ortcore"

/* A product that can take more on, in the words of the fused operator. */
typedef struct product {
  node *from;
  const char *fused;                                        /* "FusedConv" or "FusedMatMul" */
  int32_t inputs[4];                                        /* NO_VALUE where free */
} product;

static bool is_own(const node *n, const char *op_type) { return n && !strcmp(n->domain, OWN) && !strcmp(n->op_type, op_type); }

/* The product that computes `v`, if only one operand reads it, and nothing was fused that must come last. */
static bool find_product(const rewriter *w, int32_t v, product *out) {
  node *n = rewrite_producer(w, v, NULL);
  if (!n || !rewrite_used_once(w, v) || !rewrite_is_float(w, v)) return false;
  bool conv = node_is(n, "Conv") || is_own(n, "FusedConv"), product_of_matrices = node_is(n, "MatMul") || node_is(n, "Gemm") || is_own(n, "FusedMatMul");
  if ((!conv && !product_of_matrices) || attr_find(n, "activation")) return false;
  *out = (product){.from = n, .fused = conv ? "FusedConv" : "FusedMatMul"};
  for (int32_t i = 0; i < 4; ++i) out->inputs[i] = node_input(n, i);
  return rewrite_can_use(OWN, out->fused, 1);
}

static status replace_with(rewriter *w, int32_t index, const product *p, node **out) {
  int32_t count = 4;
  while (p->inputs[count - 1] == NO_VALUE) --count;
  TRY(rewrite_replace(w, index, p->fused, OWN, 1, count, p->inputs, out));
  return rewrite_copy_attrs(w, p->from, *out);
}

/* ---- Sums ---------------------------------------------------------------------------------------------------------------------------------- */

/* One number a column of the product's result. */
static bool is_row_bias(const fact *bias, const fact *result) {
  if (bias->kind != KIND_TENSOR || bias->rank < 1 || bias->rank > result->rank || bias->type != result->type || result->rank < 2) return false;
  for (int d = 0; d < bias->rank - 1; ++d)
    if (bias->dims[d] != 1) return false;
  return dim_known(bias->dims[bias->rank - 1]) && bias->dims[bias->rank - 1] == result->dims[result->rank - 1];
}

/* Of an Add, the operand that is a product with room for the other: as a bias (input 2), or as the tensor Z (input 3). */
static bool match_sum(const rewriter *w, const node *n, int i, product *p) {
  int32_t other = n->inputs[1 - i];
  if (n->inputs[0] == n->inputs[1] || !find_product(w, n->inputs[i], p)) return false;
  const fact *result = rewrite_fact(w, n->inputs[i]), *given = rewrite_fact(w, other);
  if (!strcmp(p->fused, "FusedMatMul") && p->inputs[2] == NO_VALUE && p->inputs[3] == NO_VALUE && is_row_bias(given, result)) p->inputs[2] = other;
  else if (p->inputs[3] == NO_VALUE && given->type == result->type && facts_same_shape(given, result)) p->inputs[3] = other;
  else return false;
  /* Of a Gemm, beta scales what is its bias. */
  return attr_float_or(p->from, "beta", 1) == 1;
}

status pass_fuse_sum(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  if (!node_is(n, "Add") || n->input_count != 2 || n->inputs[0] == NO_VALUE || n->inputs[1] == NO_VALUE) return OK;
  product found, best = {0};
  int32_t latest = -1;
  for (int i = 0; i < 2; ++i) {                             /* of two products the later one, whose result would be the younger */
    int32_t producer = w->g->values[n->inputs[i]].producer;
    if (producer <= latest || !match_sum(w, n, i, &found)) continue;
    best = found;
    latest = producer;
  }
  node *made;
  return latest < 0 ? OK : replace_with(w, index, &best, &made);
}

/* ---- Activations --------------------------------------------------------------------------------------------------------------------------- */

/* How an operator's parameters are found: attributes with their defaults, or (Clip since opset 11) constant inputs. */
static const struct { const char *op_type; int count; const char *names[2]; float defaults[2]; } activations[] = {
  {"Relu", 0, {NULL}, {0}}, {"Sigmoid", 0, {NULL}, {0}}, {"Tanh", 0, {NULL}, {0}}, {"HardSwish", 0, {NULL}, {0}},
  {"LeakyRelu", 1, {"alpha"}, {0.01f}}, {"Elu", 1, {"alpha"}, {1}}, {"HardSigmoid", 2, {"alpha", "beta"}, {0.2f, 0.5f}},
};

static bool clip_parameters(const rewriter *w, const node *n, float out[2]) {
  static const char *const names[2] = {"min", "max"};
  for (int i = 0; i < 2; ++i) {
    double bound;
    const attr *a = attr_find(n, names[i]);
    if (a && a->kind == ATTR_FLOAT) out[i] = a->f;
    else if (rewrite_scalar(w, node_input(n, i + 1), &bound)) out[i] = (float)bound;
    else return false;
  }
  return out[0] <= out[1];
}

/* The name and parameters that the fused operators know; false if the node is no such activation. */
static bool match_activation(const rewriter *w, const node *n, const char **name, int *count, float params[2]) {
  *count = 0;
  if (node_is(n, "Clip")) {
    *name = "Clip", *count = 2;
    return clip_parameters(w, n, params);
  }
  if (node_is(n, "Swish") && attr_float_or(n, "alpha", 1) == 1) {
    *name = "Silu";
    return true;
  }
  if (node_is(n, "Gelu") && !strcmp(attr_string_or(n, "approximate", "none").data, "none")) {
    *name = "Gelu";
    return true;
  }
  for (size_t i = 0; i < sizeof activations / sizeof *activations; ++i) {
    if (!node_is(n, activations[i].op_type)) continue;
    *name = activations[i].op_type;
    *count = activations[i].count;
    for (int j = 0; j < *count; ++j) params[j] = attr_float_or(n, activations[i].names[j], activations[i].defaults[j]);
    return true;
  }
  return false;
}

status pass_fuse_activation(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  const char *name;
  int count;
  float params[2];
  product p;
  node *made;
  if (!match_activation(w, n, &name, &count, params) || !node_has(n, 0) || !find_product(w, n->inputs[0], &p)) return OK;
  TRY(replace_with(w, index, &p, &made));
  TRY(node_set_attr_string(w->g, made, "activation", name));
  return count ? node_set_attr_floats(w->g, made, "activation_params", count, params) : OK;
}

/* ---- Scales and transpositions of matrix products -------------------------------------------------------------------------------------------- */

/* perm swaps the last two dims and nothing else. */
static bool swaps_last_two(const node *transpose, int rank) {
  int64_t count;
  const int64_t *perm = attr_ints(transpose, "perm", &count);
  if (rank < 2) return false;
  if (!perm) return rank == 2;
  for (int64_t d = 0; d < count - 2; ++d)
    if (perm[d] != d) return false;
  return count == rank && perm[rank - 2] == rank - 1 && perm[rank - 1] == rank - 2;
}

/* MatMul(Transpose(a), b): the product reads a as it lies. */
status pass_fuse_transpose(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  static const char *const names[2] = {"transA", "transB"};
  bool own = is_own(n, "FusedMatMul");
  if ((!node_is(n, "MatMul") && !own) || !rewrite_is_float(w, n->outputs[0]) || !rewrite_can_use(OWN, "FusedMatMul", 1)) return OK;
  for (int i = 0; i < 2; ++i) {
    const node *transpose = rewrite_producer(w, n->inputs[i], "Transpose");
    const fact *f = rewrite_fact(w, n->inputs[i]), *other = rewrite_fact(w, n->inputs[1 - i]);
    if (!transpose || !rewrite_used_once(w, n->inputs[i]) || other->rank < 2 || !swaps_last_two(transpose, f->rank)) continue;
    product p = {.from = w->g->nodes[index], .fused = "FusedMatMul"};
    for (int32_t j = 0; j < 4; ++j) p.inputs[j] = node_input(n, j);
    p.inputs[i] = transpose->inputs[0];
    node *made;
    TRY(replace_with(w, index, &p, &made));
    return node_set_attr_int(w->g, made, names[i], !attr_int_or(n, names[i], 0));
  }
  return OK;
}

/* MatMul * constant, MatMul / constant: alpha. Only where nothing was added yet. */
status pass_fuse_scale(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  int32_t other;
  double factor;
  product p;
  bool divides = node_is(n, "Div");
  if (!divides && !node_is(n, "Mul")) return OK;
  if (!rewrite_scalar_operand(w, n, &other, &factor) || (divides && other != n->inputs[0]) || !find_product(w, other, &p)) return OK;
  if (strcmp(p.fused, "FusedMatMul") || p.inputs[2] != NO_VALUE || p.inputs[3] != NO_VALUE) return OK;
  int scalar_rank = rewrite_fact(w, n->inputs[other == n->inputs[0]])->rank;
  if (scalar_rank > 0 && scalar_rank > rewrite_fact(w, other)->rank) return OK;   /* it would add dims */
  double alpha = attr_float_or(p.from, "alpha", 1) * (divides ? 1 / factor : factor);
  if (!isfinite(alpha) || alpha == 0) return OK;            /* 0 * infinity must stay NaN */
  node *made;
  TRY(replace_with(w, index, &p, &made));
  return node_set_attr_float(w->g, made, "alpha", (float)alpha);
}
