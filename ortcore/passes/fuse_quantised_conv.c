/* Quantised images stay bytes: what is written as floats between DequantizeLinear and QuantizeLinear is computed on bytes, where oneDNN can.
 *
 *   QuantizeLinear(Relu?(Conv(DequantizeLinear(x), DequantizeLinear(w), DequantizeLinear(bias))))     becomes  QLinearConv
 *   QuantizeLinear(Relu?(Add(DequantizeLinear(a), DequantizeLinear(b))))                              becomes  ortcore.QLinearAdd
 *   QuantizeLinear(MaxPool(DequantizeLinear(x))), with one scale                                      becomes  MaxPool
 *
 * A Relu vanishes where the zero point is the least byte: then the result cannot be below zero anyway. */
#include <math.h>
#include <ortcore/kernels/cpu/onednn/onednn.h>
#include <ortcore/passes/rewrite.h>
#include <string.h>

static bool is_bytes(const rewriter *w, int32_t v) {
  const fact *f = rewrite_fact(w, v);
  return f->kind == KIND_TENSOR && (f->type == ORTC_INT8 || f->type == ORTC_UINT8);
}

/* One constant float scale, and a zero point. */
static bool has_one_scale(const rewriter *w, const node *n) {
  const fact *scale = rewrite_fact(w, n->inputs[1]);
  return scale->type == ORTC_FLOAT && scale->value && fact_count(scale) == 1 && node_has(n, 2) && rewrite_fact(w, n->inputs[2])->value &&
         fact_count(rewrite_fact(w, n->inputs[2])) == 1 && !attr_int_or(n, "block_size", 0);
}

/* The DequantizeLinear from bytes, with one scale, that makes v; or NULL. */
static const node *dequantised(const rewriter *w, int32_t v) {
  const node *n = rewrite_producer(w, v, "DequantizeLinear");
  return n && is_bytes(w, n->inputs[0]) && has_one_scale(w, n) && rewrite_fact(w, v)->type == ORTC_FLOAT ? n : NULL;
}

static bool is_least(const rewriter *w, int32_t zero_point) {
  double value;
  return rewrite_scalar(w, zero_point, &value) && value == (rewrite_fact(w, zero_point)->type == ORTC_INT8 ? -128 : 0);
}

/* What a QuantizeLinear to bytes quantises, past a Relu that means nothing there: the node, if nothing else reads it; or NULL. */
static const node *quantised_source(const rewriter *w, const node *n, const char *op_type) {
  if (!node_is(n, "QuantizeLinear") || !has_one_scale(w, n) || !is_bytes(w, n->outputs[0]) || !rewrite_used_once(w, n->inputs[0])) return NULL;
  const node *from = rewrite_producer(w, n->inputs[0], NULL);
  if (node_is(from, "Relu") && is_least(w, n->inputs[2]) && rewrite_used_once(w, from->inputs[0])) from = rewrite_producer(w, from->inputs[0], NULL);
  return node_is(from, op_type) ? from : NULL;
}

/* ---- Convolutions --------------------------------------------------------------------------------------------------------------------------- */

static bool is_zero_of(const rewriter *w, int32_t v) {
  const tensor *t = v == NO_VALUE ? NULL : rewrite_fact(w, v)->value;
  if (v != NO_VALUE && !t) return false;
  for (size_t i = 0; t && i < tensor_bytes(t); ++i)
    if (((const char *)t->data)[i]) return false;
  return true;
}

/* Constant int8 weights around zero, with one scale or one for each output channel. */
static const node *dequantised_weights(const rewriter *w, int32_t v) {
  const node *n = rewrite_producer(w, v, "DequantizeLinear");
  if (!n || !node_has(n, 2) || attr_int_or(n, "block_size", 0)) return NULL;
  const fact *weights = rewrite_fact(w, n->inputs[0]), *scale = rewrite_fact(w, n->inputs[1]);
  int64_t count = fact_count(scale);
  bool by_channel = weights->rank > 2 && count == weights->dims[0] && attr_int_or(n, "axis", 1) == 0;
  return weights->value && weights->type == ORTC_INT8 && scale->value && scale->type == ORTC_FLOAT && (count == 1 || by_channel) &&
         is_zero_of(w, n->inputs[2]) ? n : NULL;
}

/* A bias of int32 in units of the sums: its scale is that of x times that of the weights. */
static bool bias_fits(const rewriter *w, const node *bias, const node *x, const node *weights) {
  const fact *b = rewrite_fact(w, bias->inputs[0]), *scale = rewrite_fact(w, bias->inputs[1]), *w_scale = rewrite_fact(w, weights->inputs[1]);
  if (b->type != ORTC_INT32 || !b->value || !scale->value || scale->type != ORTC_FLOAT || !is_zero_of(w, node_input(bias, 2))) return false;
  float x_scale = *(const float *)rewrite_fact(w, x->inputs[1])->value->data;
  int64_t count = fact_count(scale), w_count = fact_count(w_scale);
  if (count != 1 && count != fact_count(b)) return false;
  for (int64_t i = 0; i < fact_count(b); ++i) {
    float wanted = x_scale * ((const float *)w_scale->value->data)[w_count == 1 ? 0 : i], given = ((const float *)scale->value->data)[count == 1 ? 0 : i];
    if (!(fabsf(given - wanted) <= 1e-5f * fabsf(wanted))) return false;
  }
  return true;
}

status pass_quantised_conv(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index], *conv = dnn_supports_bytes() ? quantised_source(w, n, "Conv") : NULL;
  if (!conv) return OK;
  const node *x = dequantised(w, conv->inputs[0]), *weights = dequantised_weights(w, conv->inputs[1]);
  const node *bias = node_has(conv, 2) ? rewrite_producer(w, conv->inputs[2], "DequantizeLinear") : NULL;
  if (!x || !weights || (node_has(conv, 2) && (!bias || !bias_fits(w, bias, x, weights)))) return OK;
  int32_t inputs[9] = {x->inputs[0], x->inputs[1], x->inputs[2], weights->inputs[0], weights->inputs[1], weights->inputs[2],
                       n->inputs[1], n->inputs[2], bias ? bias->inputs[0] : NO_VALUE};
  node *made;
  TRY(rewrite_replace(w, index, "QLinearConv", "", 10, bias ? 9 : 8, inputs, &made));
  return rewrite_copy_attrs(w, conv, made);
}

/* ---- Sums and pools --------------------------------------------------------------------------------------------------------------------------- */

status pass_quantised_sum(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index], *sum = dnn_supports_bytes() ? quantised_source(w, n, "Add") : NULL;
  const node *a = sum ? dequantised(w, sum->inputs[0]) : NULL, *b = sum ? dequantised(w, sum->inputs[1]) : NULL;
  if (!a || !b) return OK;
  int32_t inputs[8] = {a->inputs[0], a->inputs[1], a->inputs[2], b->inputs[0], b->inputs[1], b->inputs[2], n->inputs[1], n->inputs[2]};
  node *made;
  return rewrite_replace(w, index, "QLinearAdd", "ortcore", 1, 8, inputs, &made);
}

static bool same_number(const rewriter *w, int32_t a, int32_t b) {
  double x, y;
  return rewrite_scalar(w, a, &x) && rewrite_scalar(w, b, &y) && x == y;
}

/* The largest number has the largest byte. */
status pass_quantised_pool(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index], *pool = quantised_source(w, n, "MaxPool");
  if (!pool || pool->output_count != 1) return OK;
  const node *x = dequantised(w, pool->inputs[0]);
  if (!x || rewrite_fact(w, x->inputs[0])->type != rewrite_fact(w, n->outputs[0])->type) return OK;
  if (!same_number(w, x->inputs[1], n->inputs[1]) || !same_number(w, x->inputs[2], n->inputs[2])) return OK;
  node *made;
  TRY(rewrite_replace(w, index, "MaxPool", "", pool->opset, 1, (int32_t[]){x->inputs[0]}, &made));
  return rewrite_copy_attrs(w, pool, made);
}
