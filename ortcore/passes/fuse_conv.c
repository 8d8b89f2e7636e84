/* A factor or a summand for each channel of a convolution's output goes into its weights: BatchNormalization, Mul and Add after Conv. The new
 * weights are written as nodes over constants, which folding then computes. */
#include <ortcore/passes/rewrite.h>
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
