/* A factor or a summand for each channel of a convolution's output goes into its weights: BatchNormalization, Mul and Add after Conv. The new
 * weights are written as nodes over constants, which folding then computes. */
#include <ortcore/base/mem.h>
#include <ortcore/passes/rewrite.h>
#include <math.h>
#include <string.h>

/* The convolution whose output `v` only the node at hand reads, with constant weights; its channels. Products of narrow floats are left
 * alone: rounding the new weights would cost what is left of their precision. */
static node *constant_conv(const rewriter *w, int32_t v, int64_t *out_channels) {
  node *conv = rewrite_producer(w, v, "Conv");
  if (!conv || !rewrite_used_once(w, v)) return NULL;
  const fact *weights = rewrite_fact(w, conv->inputs[1]);
  bool bias_is_constant = !node_has(conv, 2) || rewrite_fact(w, conv->inputs[2])->value;
  if (!weights->value || !bias_is_constant || weights->rank < 3 || (weights->type != ORTC_FLOAT && weights->type != ORTC_DOUBLE)) return NULL;
  *out_channels = weights->dims[0];
  return conv;
}

/* An operator of elementwise arithmetic over constants. Weights and vectors of channels differ in rank, so that a vector is first shaped
 * [C, 1, 1, ...] by a Reshape. */
static status compute(rewriter *w, const char *op_type, int64_t opset, int32_t a, int32_t b, int32_t like, int32_t *out) {
  return rewrite_add(w, op_type, opset, b == NO_VALUE ? 1 : 2, (int32_t[]){a, b}, &(fact){.kind = KIND_TENSOR, .type = rewrite_fact(w, like)->type, .rank = RANK_UNKNOWN}, out, NULL);
}

static status reshape_channels(rewriter *w, int64_t opset, int32_t v, int rank, int64_t channels, int32_t *out) {
  double shape[MAX_RANK];
  int32_t shape_value;
  for (int d = 0; d < rank; ++d) shape[d] = d ? 1 : (double)channels;
  TRY(rewrite_constant(w, ORTC_INT64, 1, (int64_t[]){rank}, shape, &shape_value));
  return compute(w, "Reshape", opset, v, shape_value, v, out);
}

/* Puts Conv(x, weights * scale, bias * scale + shift) in the place of node `index`; scale, shift: vectors of channels, or NO_VALUE. */
static status replace_conv(rewriter *w, int32_t index, const node *conv, int64_t channels, int32_t scale, int32_t shift) {
  int32_t weights = conv->inputs[1], bias = node_input(conv, 2), shaped;
  if (scale != NO_VALUE) {
    TRY(reshape_channels(w, conv->opset, scale, rewrite_fact(w, weights)->rank, channels, &shaped));
    TRY(compute(w, "Mul", conv->opset, weights, shaped, weights, &weights));
    if (bias != NO_VALUE) TRY(compute(w, "Mul", conv->opset, bias, scale, bias, &bias));
  }
  if (shift != NO_VALUE && bias != NO_VALUE) TRY(compute(w, "Add", conv->opset, bias, shift, bias, &bias));
  else if (shift != NO_VALUE) bias = shift;
  node *made;
  TRY(rewrite_replace(w, index, "Conv", "", conv->opset, bias == NO_VALUE ? 2 : 3, (int32_t[]){conv->inputs[0], weights, bias}, &made));
  return rewrite_copy_attrs(w, conv, made);
}

static bool is_vector_of(const rewriter *w, int32_t v, dtype type, int64_t channels) {
  const fact *f = rewrite_fact(w, v);
  return f->value && f->type == type && f->rank == 1 && f->dims[0] == channels;
}

status pass_conv_batchnorm(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  int64_t channels;
  if (!node_is(n, "BatchNormalization") || n->input_count != 5 || attr_int_or(n, "training_mode", 0)) return OK;
  for (int32_t i = 1; i < n->output_count; ++i)
    if (n->outputs[i] != NO_VALUE && w->uses[n->outputs[i]]) return OK;
  const node *conv = constant_conv(w, n->inputs[0], &channels);
  if (!conv || n->opset < 7 || attr_int_or(n, "spatial", 1) != 1) return OK;
  dtype type = rewrite_fact(w, conv->inputs[1])->type;
  for (int i = 1; i < 5; ++i)
    if (!is_vector_of(w, n->inputs[i], type, channels)) return OK;
  int32_t gamma = n->inputs[1], beta = n->inputs[2], mean = n->inputs[3], variance = n->inputs[4], epsilon, deviation, scale, shift;
  TRY(rewrite_constant(w, type, 0, NULL, &(double){attr_float_or(n, "epsilon", 1e-5f)}, &epsilon));
  TRY(compute(w, "Add", n->opset, variance, epsilon, variance, &deviation));
  TRY(compute(w, "Sqrt", n->opset, deviation, NO_VALUE, variance, &deviation));
  TRY(compute(w, "Div", n->opset, gamma, deviation, variance, &scale));
  TRY(compute(w, "Mul", n->opset, mean, scale, variance, &shift));
  TRY(compute(w, "Sub", n->opset, beta, shift, variance, &shift));
  return replace_conv(w, index, conv, channels, scale, shift);
}

/* ---- BatchNormalization by itself ------------------------------------------------------------------------------------------------------- */

static double element(const tensor *t, int64_t i) { return t->type == ORTC_DOUBLE ? ((const double *)t->data)[i] : (double)((const float *)t->data)[i]; }

/* x * scale + shift, which works along with channels-last convolutions and merges with what follows. */
status pass_batchnorm_affine(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  if (!node_is(n, "BatchNormalization") || n->opset < 9 || n->input_count != 5 || attr_int_or(n, "training_mode", 0)) return OK;
  for (int32_t i = 1; i < n->output_count; ++i)
    if (n->outputs[i] != NO_VALUE && w->uses[n->outputs[i]]) return OK;
  const fact *x = rewrite_fact(w, n->inputs[0]), *of[5];
  if (x->rank < 3 || !dim_known(x->dims[1]) || (x->type != ORTC_FLOAT && x->type != ORTC_DOUBLE)) return OK;
  for (int i = 1; i < 5; ++i) {
    if (!is_vector_of(w, n->inputs[i], x->type, x->dims[1])) return OK;
    of[i] = rewrite_fact(w, n->inputs[i]);
  }
  int64_t channels = x->dims[1], dims[MAX_RANK] = {channels};
  int rank = x->rank - 1;
  for (int d = 1; d < rank; ++d) dims[d] = 1;
  double *scale = mem_alloc((size_t)(2 * channels + 1) * sizeof *scale), *shift = scale + channels, epsilon = attr_float_or(n, "epsilon", 1e-5f);
  if (!scale) return status_out_of_memory();
  for (int64_t c = 0; c < channels; ++c) {
    scale[c] = element(of[1]->value, c) / sqrt(element(of[4]->value, c) + epsilon);
    shift[c] = element(of[2]->value, c) - element(of[3]->value, c) * scale[c];
  }
  fact product = *rewrite_fact(w, n->outputs[0]);
  int32_t factor, offset, scaled;
  node *made;
  dtype type = x->type;
  status s = rewrite_constant(w, type, rank, dims, scale, &factor);
  if (!s) s = rewrite_constant(w, type, rank, dims, shift, &offset);
  mem_free(scale);
  TRY(s);
  TRY(rewrite_add(w, "Mul", n->opset, 2, (int32_t[]){n->inputs[0], factor}, &product, &scaled, NULL));
  return rewrite_replace(w, index, "Add", "", n->opset, 2, (int32_t[]){scaled, offset}, &made);
}

/* ---- Chains of arithmetic with constants -------------------------------------------------------------------------------------------------- */

/* Of a node with two inputs, the constant one (of floats that can take another rounding) and the other. */
static bool constant_operand(const rewriter *w, const node *n, int32_t *out_constant, int32_t *out_other) {
  for (int i = 0; n->input_count == 2 && i < 2; ++i) {
    const fact *f = rewrite_fact(w, n->inputs[i]);
    if (!f->value || (f->type != ORTC_FLOAT && f->type != ORTC_DOUBLE)) continue;
    *out_constant = n->inputs[i];
    *out_other = n->inputs[1 - i];
    return !rewrite_fact(w, *out_other)->value;
  }
  return false;
}

/* (x * a) * b, (x + a) + b: one operation. (x + a) * b: x * b + a * b, whose Mul meets the next Mul above. */
status pass_affine_chain(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  int32_t outer, inner, middle, x, joined, scaled;
  bool multiplies = node_is(n, "Mul");
  node *made;
  if ((!multiplies && !node_is(n, "Add")) || !constant_operand(w, n, &outer, &middle) || !rewrite_used_once(w, middle)) return OK;
  const node *first = rewrite_producer(w, middle, NULL);
  bool adds_first = node_is(first, "Add");
  if (!first || (!adds_first && !node_is(first, "Mul")) || !constant_operand(w, first, &inner, &x)) return OK;
  if (adds_first != multiplies) {
    TRY(compute(w, n->op_type, n->opset, inner, outer, inner, &joined));
    return rewrite_replace(w, index, n->op_type, "", n->opset, 2, (int32_t[]){x, joined}, &made);
  }
  if (!multiplies) return OK;                               /* x * a + b is as good as it gets */
  const node *before = rewrite_producer(w, x, "Mul");
  int32_t ignored[2];
  if (!before || !rewrite_used_once(w, x) || !constant_operand(w, before, &ignored[0], &ignored[1])) return OK;
  fact like = *rewrite_fact(w, n->outputs[0]);
  TRY(compute(w, "Mul", n->opset, inner, outer, inner, &joined));
  TRY(rewrite_add(w, "Mul", n->opset, 2, (int32_t[]){x, outer}, &like, &scaled, NULL));
  return rewrite_replace(w, index, "Add", "", n->opset, 2, (int32_t[]){scaled, joined}, &made);
}

/* ---- Mul and Add after Conv --------------------------------------------------------------------------------------------------------------- */

/* A constant that broadcasts over a convolution's output as one number a channel: [C, 1, ...] without or with a leading 1, or one number. */
static bool is_channelwise(const fact *f, int conv_rank, int64_t channels) {
  if (!f->value || f->rank > conv_rank || f->rank < 0) return false;
  for (int d = 0; d < f->rank; ++d) {
    bool is_channel_axis = f->rank - d == conv_rank - 1;
    if (f->dims[d] != 1 && !(is_channel_axis && f->dims[d] == channels)) return false;
  }
  return f->value->count == channels || f->value->count == 1;
}

/* The constant as a vector of channels. */
static status vector_of(rewriter *w, int64_t opset, int32_t v, int64_t channels, int32_t *out) {
  int64_t count = rewrite_fact(w, v)->value->count;
  int32_t shape;
  TRY(reshape_channels(w, opset, v, 1, count, out));
  if (count == channels) return OK;
  TRY(rewrite_constant(w, ORTC_INT64, 1, (int64_t[]){1}, &(double){(double)channels}, &shape));
  return compute(w, "Expand", opset < 8 ? 8 : opset, *out, shape, v, out);
}

status pass_conv_affine(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  bool adds = node_is(n, "Add");
  if ((!adds && !node_is(n, "Mul")) || n->input_count != 2) return OK;
  for (int i = 0; i < 2; ++i) {
    int64_t channels;
    const node *conv = constant_conv(w, n->inputs[i], &channels);
    if (!conv) continue;
    int32_t other = n->inputs[1 - i], vector;
    const fact *f = rewrite_fact(w, other), *weights = rewrite_fact(w, conv->inputs[1]);
    if (f->type != weights->type || !is_channelwise(f, weights->rank, channels)) continue;
    TRY(vector_of(w, n->opset, other, channels, &vector));
    return replace_conv(w, index, conv, channels, adds ? NO_VALUE : vector, adds ? vector : NO_VALUE);
  }
  return OK;
}
