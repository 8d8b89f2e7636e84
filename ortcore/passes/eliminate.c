/* Nodes that do nothing go: their readers read their input. */
#include <ortcore/passes/rewrite.h>
#include <string.h>

typedef bool (*is_noop)(const rewriter *w, const node *n);

static const fact *in_fact(const rewriter *w, const node *n, int32_t i) { return node_has(n, i) ? rewrite_fact(w, n->inputs[i]) : NULL; }
static const fact *out_fact(const rewriter *w, const node *n) { return rewrite_fact(w, n->outputs[0]); }

static bool always(const rewriter *w, const node *n) {
  (void)w, (void)n;
  return true;
}

static bool one_input(const rewriter *w, const node *n) {
  (void)w;
  return n->input_count == 1;
}

static bool keeps_shape(const rewriter *w, const node *n) { return facts_same_shape(in_fact(w, n, 0), out_fact(w, n)); }

static bool keeps_rank(const rewriter *w, const node *n) { return facts_same_rank(in_fact(w, n, 0), out_fact(w, n)); }

static bool keeps_type(const rewriter *w, const node *n) {
  const fact *in = in_fact(w, n, 0), *out = out_fact(w, n);
  return in->kind == KIND_TENSOR && in->type && in->type == out->type;
}

/* Every element of the integer constant equals `expected`; an absent input counts. */
static bool all_are(const rewriter *w, const node *n, int32_t i, int64_t expected) {
  int64_t items[2 * MAX_RANK], count;
  if (!node_has(n, i)) return true;
  count = fact_integers(rewrite_fact(w, n->inputs[i]), items, 2 * MAX_RANK);
  for (int64_t j = 0; j < count; ++j)
    if (items[j] != expected) return false;
  return count >= 0;
}

/* In inference Dropout passes its input on, unless an input says that this is training. */
static bool is_inference(const rewriter *w, const node *n) {
  const tensor *training = node_has(n, 2) ? rewrite_fact(w, n->inputs[2])->value : NULL;
  return !node_has(n, 2) || (training && training->type == ORTC_BOOL && training->count == 1 && !*(const char *)training->data);
}

static bool is_identity_permutation(const rewriter *w, const node *n) {
  int64_t count;
  const int64_t *perm = attr_ints(n, "perm", &count);
  if (!perm) return in_fact(w, n, 0)->rank == 0 || in_fact(w, n, 0)->rank == 1;
  for (int64_t d = 0; d < count; ++d)
    if (perm[d] != d) return false;
  return true;
}

/* A slice as long as its input, forwards, is the input. Steps were an input from the start of having any. */
static bool takes_everything(const rewriter *w, const node *n) { return keeps_shape(w, n) && all_are(w, n, 4, 1); }

static bool pads_nothing(const rewriter *w, const node *n) {
  int64_t count;
  const int64_t *pads = attr_ints(n, "pads", &count);
  for (int64_t d = 0; d < count; ++d)
    if (pads[d]) return false;
  return pads || (node_has(n, 1) && all_are(w, n, 1, 0));
}

/* x * 1, x / 1 and x - 0 are x, bit for bit. x + 0 is not: -0.0 + 0.0 is 0.0. */
static bool has_neutral_operand(const rewriter *w, const node *n) {
  double right;
  if (!rewrite_scalar(w, n->inputs[1], &right) || !keeps_rank(w, n)) return false;
  return right == (node_is(n, "Sub") ? 0 : 1);
}

static bool adds_integer_zero(const rewriter *w, const node *n) {
  double right;
  return !rewrite_is_float(w, n->inputs[0]) && rewrite_scalar(w, n->inputs[1], &right) && right == 0 && keeps_rank(w, n);
}

static const struct { const char *op_type; is_noop test; } noops[] = {
  {"Identity", always}, {"Dropout", is_inference}, {"Cast", keeps_type}, {"CastLike", keeps_type}, {"Reshape", keeps_shape}, {"Flatten", keeps_shape},
  {"Squeeze", keeps_shape}, {"Unsqueeze", keeps_shape}, {"Expand", keeps_shape}, {"Tile", keeps_shape}, {"Transpose", is_identity_permutation},
  {"Slice", takes_everything}, {"Pad", pads_nothing}, {"Concat", one_input}, {"Sum", one_input}, {"Max", one_input}, {"Min", one_input}, {"Mean", one_input},
  {"Mul", has_neutral_operand}, {"Div", has_neutral_operand}, {"Sub", has_neutral_operand}, {"Add", adds_integer_zero},
};

status pass_eliminate(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  if (!node_has(n, 0) || !n->output_count || n->outputs[0] == NO_VALUE) return OK;
  for (size_t i = 0; i < sizeof noops / sizeof *noops; ++i)
    if (node_is(n, noops[i].op_type) && noops[i].test(w, n)) {
      rewrite_forward(w, index, n->inputs[0]);
      return OK;
    }
  return OK;
}

/* ---- Two in a row that are one ----------------------------------------------------------------------------------------------------------- */

/* The model's own, or one that the layout pass made. */
static bool is_transpose(const node *n) { return node_is(n, "Transpose") || node_is_internal(n, "Transpose"); }

/* Transpose(Transpose(x, a), b) is Transpose(x, a after b); the model's if one of them was. */
static status join_transposes(rewriter *w, int32_t index, const node *n, const node *first) {
  int64_t outer_count, inner_count, joined[MAX_RANK];
  const int64_t *outer = attr_ints(n, "perm", &outer_count), *inner = attr_ints(first, "perm", &inner_count);
  if (!outer || !inner || outer_count != inner_count || outer_count > MAX_RANK) return OK;
  for (int64_t d = 0; d < outer_count; ++d) {
    if (outer[d] < 0 || outer[d] >= inner_count) return OK;
    joined[d] = inner[outer[d]];
  }
  const node *as = node_is(n, "Transpose") ? n : first;
  node *made;
  TRY(rewrite_replace(w, index, "Transpose", as->domain, as->opset, 1, (int32_t[]){first->inputs[0]}, &made));
  return node_set_attr_ints(w->g, made, "perm", outer_count, joined);
}

/* Reshape(Reshape(x, a), b) is Reshape(x, b), unless b copies dims of its input (a 0). */
static status join_reshapes(rewriter *w, int32_t index, const node *n, const node *first) {
  int64_t shape[MAX_RANK], count = fact_integers(rewrite_fact(w, n->inputs[1]), shape, MAX_RANK);
  for (int64_t d = 0; d < count; ++d)
    if (shape[d] == 0) return OK;
  if (count < 0) return OK;
  node *made;
  return rewrite_replace(w, index, "Reshape", "", n->opset, 2, (int32_t[]){first->inputs[0], n->inputs[1]}, &made);
}

status pass_join(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  if (is_transpose(n)) {
    const node *first = rewrite_producer(w, node_input(n, 0), NULL);
    return is_transpose(first) ? join_transposes(w, index, n, first) : OK;
  }
  if (!node_is(n, "Reshape") || !node_has(n, 1)) return OK;
  static const char *const reshaping[] = {"Reshape", "Squeeze", "Unsqueeze", "Flatten"};
  const node *first = NULL;
  for (size_t i = 0; i < sizeof reshaping / sizeof *reshaping && !first; ++i) first = rewrite_producer(w, n->inputs[0], reshaping[i]);
  return first ? join_reshapes(w, index, n, first) : OK;
}
