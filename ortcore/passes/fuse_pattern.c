/* Functions that exporters write out in elementary operators become one node again: Gelu, Swish, HardSwish, LayerNormalization. */
#include <ortcore/passes/rewrite.h>
#include <math.h>
#include <string.h>

/* The version that has the operator, at least the one that the model imports. */
static int64_t opset_with(const node *n, int64_t since) { return n->opset > since ? n->opset : since; }

static status replace_unary(rewriter *w, int32_t index, const char *op_type, int64_t since, int32_t x, node **out) {
  int64_t opset = opset_with(w->g->nodes[index], since);
  return rewrite_replace(w, index, op_type, "", opset, 1, &x, out);
}

/* The operand of a commutative node that `op_type` computes and nobody else reads; the other one goes to out_other. */
static node *operand_from(const rewriter *w, const node *n, const char *op_type, int32_t *out_other) {
  for (int i = 0; i < 2 && n->input_count == 2; ++i) {
    node *from = rewrite_producer(w, n->inputs[i], op_type);
    if (!from || !rewrite_used_once(w, n->inputs[i])) continue;
    *out_other = n->inputs[1 - i];
    return from;
  }
  return NULL;
}

/* ---- x * sigmoid(x), x * hardsigmoid(x) ------------------------------------------------------------------------------------------------- */

status pass_fuse_swish(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  int32_t x;
  node *made;
  if (!node_is(n, "Mul") || !rewrite_is_float(w, n->outputs[0])) return OK;
  const node *gate = operand_from(w, n, "Sigmoid", &x);
  if (gate && gate->inputs[0] == x && rewrite_can_use("", "Swish", opset_with(n, 24))) return replace_unary(w, index, "Swish", 24, x, &made);
  gate = operand_from(w, n, "HardSigmoid", &x);
  bool is_hard = gate && gate->inputs[0] == x && fabsf(attr_float_or(gate, "alpha", 0.2f) - 1.0f / 6) < 1e-5f && attr_float_or(gate, "beta", 0.5f) == 0.5f;
  return is_hard && rewrite_can_use("", "HardSwish", opset_with(n, 14)) ? replace_unary(w, index, "HardSwish", 14, x, &made) : OK;
}

/* Clip(x + 3, 0, 6), as MobileNetV3 writes its hard sigmoid; x, or NO_VALUE. */
static int32_t match_clipped(const rewriter *w, int32_t v) {
  const node *clip = rewrite_producer(w, v, "Clip"), *sum;
  int32_t x;
  double three;
  if (!clip || !rewrite_used_once(w, v)) return NO_VALUE;
  bool by_inputs = rewrite_is_scalar(w, node_input(clip, 1), 0) && rewrite_is_scalar(w, node_input(clip, 2), 6);
  bool by_attributes = clip->input_count == 1 && attr_float_or(clip, "min", 1) == 0 && attr_float_or(clip, "max", 0) == 6;
  sum = rewrite_producer(w, clip->inputs[0], "Add");
  if ((!by_inputs && !by_attributes) || !sum || !rewrite_used_once(w, clip->inputs[0])) return NO_VALUE;
  return rewrite_scalar_operand(w, sum, &x, &three) && three == 3 && facts_same_rank(rewrite_fact(w, x), rewrite_fact(w, clip->inputs[0])) ? x : NO_VALUE;
}

/* x * clip(x + 3, 0, 6) / 6 in its two orders. */
status pass_fuse_hard_swish(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index], *inner;
  double sixth;
  int32_t product, x = NO_VALUE;
  node *made;
  bool divides = node_is(n, "Div");
  if ((!divides && !node_is(n, "Mul")) || !rewrite_is_float(w, n->outputs[0]) || !rewrite_can_use("", "HardSwish", opset_with(n, 14))) return OK;
  if (rewrite_scalar_operand(w, n, &product, &sixth) && fabs((divides ? 1 / sixth : sixth) - 1.0 / 6) < 1e-4 && (!divides || product == n->inputs[0])) {
    inner = rewrite_producer(w, product, "Mul");           /* (x * clip) / 6 */
    for (int i = 0; inner && i < 2 && x == NO_VALUE; ++i)
      if (rewrite_used_once(w, product) && match_clipped(w, inner->inputs[i]) == inner->inputs[1 - i]) x = inner->inputs[1 - i];
  } else if (!divides) {
    for (int i = 0; i < 2 && x == NO_VALUE; ++i) {          /* x * (clip / 6) */
      inner = rewrite_producer(w, n->inputs[i], "Div");
      if (inner && rewrite_used_once(w, n->inputs[i]) && rewrite_is_scalar(w, inner->inputs[1], 6) && match_clipped(w, inner->inputs[0]) == n->inputs[1 - i])
        x = n->inputs[1 - i];
    }
  }
  return x == NO_VALUE ? OK : replace_unary(w, index, "HardSwish", 14, x, &made);
}

/* ---- Gelu: x / 2 * (1 + erf(x / sqrt 2)), the factors in any order ------------------------------------------------------------------------ */

/* 1 + erf(x / sqrt 2); x, or NO_VALUE. */
static int32_t match_erf_term(const rewriter *w, int32_t v) {
  const node *sum = rewrite_producer(w, v, "Add"), *erf, *scaled;
  int32_t erf_value, x;
  double one, factor;
  if (!sum || !rewrite_used_once(w, v) || !rewrite_scalar_operand(w, sum, &erf_value, &one) || one != 1) return NO_VALUE;
  erf = rewrite_producer(w, erf_value, "Erf");
  scaled = erf ? rewrite_producer(w, erf->inputs[0], NULL) : NULL;
  if (!scaled || (!node_is(scaled, "Div") && !node_is(scaled, "Mul")) || !rewrite_scalar_operand(w, scaled, &x, &factor)) return NO_VALUE;
  bool divides = node_is(scaled, "Div");
  if (divides && x != scaled->inputs[0]) return NO_VALUE;
  return fabs((divides ? 1 / factor : factor) - M_SQRT1_2) < 1e-3 ? x : NO_VALUE;
}

/* The product of `v` and 1/2, or of what Mul nodes under it multiply, flattened: at most three factors. */
static int flatten_product(const rewriter *w, const node *n, int32_t factors[3]) {
  for (int i = 0; i < 2; ++i) {
    const node *inner = rewrite_producer(w, n->inputs[i], "Mul");
    if (!inner || inner->input_count != 2 || !rewrite_used_once(w, n->inputs[i])) continue;
    factors[0] = inner->inputs[0], factors[1] = inner->inputs[1], factors[2] = n->inputs[1 - i];
    return 3;
  }
  return 0;
}

status pass_fuse_gelu(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  int32_t factors[3], x = NO_VALUE;
  node *made;
  if (!node_is(n, "Mul") || n->input_count != 2 || !rewrite_is_float(w, n->outputs[0]) || !rewrite_can_use("", "Gelu", opset_with(n, 20))) return OK;
  if (flatten_product(w, n, factors) != 3) return OK;
  bool has_half = false, has_x = false;
  for (int i = 0; i < 3; ++i) {
    int32_t inside = match_erf_term(w, factors[i]);
    if (inside != NO_VALUE) x = inside;
  }
  for (int i = 0; i < 3; ++i) {
    if (rewrite_is_scalar(w, factors[i], 0.5)) has_half = true;
    else if (factors[i] == x) has_x = true;
  }
  if (x == NO_VALUE || !has_half || !has_x || !facts_same_rank(rewrite_fact(w, x), rewrite_fact(w, n->outputs[0]))) return OK;
  return replace_unary(w, index, "Gelu", 20, x, &made);
}

/* ---- LayerNormalization: (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * scale + bias ------------------------------------------------ */

/* ReduceMean over the last axis alone, which stays as a 1; its input, or NO_VALUE. */
static int32_t match_mean(const rewriter *w, int32_t v, int rank) {
  const node *mean = rewrite_producer(w, v, "ReduceMean");
  int64_t axis = 0, count = 0;
  if (!mean || attr_int_or(mean, "keepdims", 1) != 1) return NO_VALUE;
  const int64_t *axes = attr_ints(mean, "axes", &count);
  if (axes && count == 1) axis = axes[0];
  else if (!node_has(mean, 1) || fact_integers(rewrite_fact(w, mean->inputs[1]), &axis, 1) != 1) return NO_VALUE;
  return axis == -1 || axis == rank - 1 ? mean->inputs[0] : NO_VALUE;
}

/* v is x - mean(x); x, or NO_VALUE. */
static int32_t match_centred(const rewriter *w, int32_t v, int rank) {
  const node *difference = rewrite_producer(w, v, "Sub");
  if (!difference) return NO_VALUE;
  return match_mean(w, difference->inputs[1], rank) == difference->inputs[0] ? difference->inputs[0] : NO_VALUE;
}

/* v is the square of something; that, or NO_VALUE. */
static int32_t match_square(const rewriter *w, int32_t v) {
  const node *n = rewrite_producer(w, v, NULL);
  if (node_is(n, "Pow") && rewrite_is_scalar(w, n->inputs[1], 2)) return n->inputs[0];
  return node_is(n, "Mul") && n->inputs[0] == n->inputs[1] ? n->inputs[0] : NO_VALUE;
}

/* v is a normalised x over its last axis. */
static bool match_normalised(const rewriter *w, int32_t v, int rank, int32_t *out_x, double *out_epsilon) {
  const node *quotient = rewrite_producer(w, v, "Div"), *root, *sum;
  int32_t variance, squared, centred, again;
  if (!quotient || !rewrite_used_once(w, v)) return false;
  centred = quotient->inputs[0];
  root = rewrite_producer(w, quotient->inputs[1], "Sqrt");
  sum = root ? rewrite_producer(w, root->inputs[0], "Add") : NULL;
  if (!sum || !rewrite_scalar_operand(w, sum, &variance, out_epsilon)) return false;
  squared = match_mean(w, variance, rank);
  again = squared == NO_VALUE ? NO_VALUE : match_square(w, squared);
  *out_x = match_centred(w, centred, rank);
  return *out_x != NO_VALUE && again != NO_VALUE && match_centred(w, again, rank) == *out_x;
}

static bool is_last_axis_vector(const rewriter *w, int32_t v, const fact *x) {
  const fact *f = rewrite_fact(w, v);
  return f->value && f->rank == 1 && f->type == x->type && f->dims[0] == x->dims[x->rank - 1];
}

status pass_fuse_layer_norm(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  int64_t opset = opset_with(n, 17);
  if (!node_is(n, "Add") || n->input_count != 2 || !rewrite_can_use("", "LayerNormalization", opset)) return OK;
  int32_t bias, scale, x;
  const node *scaled = operand_from(w, n, "Mul", &bias);
  const fact *result = rewrite_fact(w, n->outputs[0]);
  if (!scaled || scaled->input_count != 2 || result->rank < 1) return OK;
  for (int i = 0; i < 2; ++i) {
    double epsilon;
    scale = scaled->inputs[1 - i];
    if (!match_normalised(w, scaled->inputs[i], result->rank, &x, &epsilon)) continue;
    const fact *f = rewrite_fact(w, x);
    if (f->rank != result->rank || !rewrite_is_float(w, x) || !is_last_axis_vector(w, scale, f) || !is_last_axis_vector(w, bias, f)) continue;
    node *made;
    TRY(rewrite_replace(w, index, "LayerNormalization", "", opset, 3, (int32_t[]){x, scale, bias}, &made));
    TRY(node_set_attr_int(w->g, made, "axis", -1));
    return node_set_attr_float(w->g, made, "epsilon", (float)epsilon);
  }
  return OK;
}
