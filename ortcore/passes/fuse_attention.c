/* Attention that exporters write out becomes one node, where the device has a kernel for it: softmax(scale * Q K^T + mask) V.
 *
 * The first pass makes an Attention of [batch, heads, length, size]. The second lets it join past keys and values with the new ones itself. Where
 * Reshape and Transpose split Q, K and V into heads before it and put the heads together again behind it, the third lets it work on [batch, length,
 * heads * size], and nothing is transposed any more. */
#include <ortcore/passes/rewrite.h>
#include <math.h>

static const int64_t heads_first[4] = {0, 2, 1, 3}, last_swapped[4] = {0, 1, 3, 2}, keys_turned[4] = {0, 2, 3, 1};

/* The version that has the operator, at least the one that the model imports. */
static int64_t attention_opset(const node *n) { return n->opset > 23 ? n->opset : 23; }

static bool same_dim(dim a, dim b) { return a != DIM_UNKNOWN && a == b; }

/* The value under a Transpose that permutes four dims like that; NO_VALUE if v is none. */
static int32_t transposed(const rewriter *w, int32_t v, const int64_t perm[4]) {
  const node *n = rewrite_producer(w, v, "Transpose");
  int64_t count;
  const int64_t *given = n ? attr_ints(n, "perm", &count) : NULL;
  if (!given || count != 4) return NO_VALUE;
  for (int d = 0; d < 4; ++d)
    if (given[d] != perm[d]) return NO_VALUE;
  return n->inputs[0];
}

enum { QUERY, KEY, VALUE, MASK, PAST_KEY, PAST_VALUE, MOST_INPUTS };

/* Is there a kernel for an Attention of such inputs? heads 0: of rank 4. */
static bool on_device(const rewriter *w, int64_t opset, int32_t input_count, int32_t *inputs, int64_t q_heads, int64_t kv_heads) {
  int32_t output = NO_VALUE;
  attr heads[2] = {{.name = "q_num_heads", .kind = ATTR_INT, .count = 1, .i = q_heads},
                   {.name = "kv_num_heads", .kind = ATTR_INT, .count = 1, .i = kv_heads}};
  node probe = {.name = "", .op_type = "Attention", .domain = "", .opset = opset, .op = op_find("", "Attention", opset),
                .input_count = input_count, .inputs = inputs,
                .output_count = 1, .outputs = &output, .attr_count = q_heads ? 2 : 0, .attrs = heads};
  return pass_on_device(w->env, w->g, &probe);
}

/* ---- softmax(scale * Q K^T + mask) V ------------------------------------------------------------------------------------------------------- */

typedef struct parts {
  int32_t q, k, v;                                          /* [batch, heads, length, size] */
  int32_t turned;                                           /* [batch, length, heads, size], of which k must be made; or NO_VALUE */
  int32_t keys;                                             /* the operand of the product: [batch, heads, size, length] */
  int32_t mask;                                             /* or NO_VALUE */
  double scale;
} parts;

/* What v is a multiple of by constants, which go into *factor. */
static int32_t without_factor(const rewriter *w, int32_t v, double *factor) {
  double constant;
  int32_t other;
  for (const node *n; (n = rewrite_producer(w, v, NULL)) && (node_is(n, "Mul") || node_is(n, "Div")) && rewrite_used_once(w, v); v = other) {
    bool divides = node_is(n, "Div");
    if (!rewrite_scalar_operand(w, n, &other, &constant) || (divides && other != n->inputs[0])) break;
    if (!facts_same_rank(rewrite_fact(w, other), rewrite_fact(w, v))) break;
    *factor *= divides ? 1 / constant : constant;
  }
  return v;
}

static bool match_keys(const rewriter *w, int32_t v, parts *p) {
  p->keys = v;
  p->k = transposed(w, v, last_swapped);
  p->turned = p->k == NO_VALUE ? transposed(w, v, keys_turned) : NO_VALUE;
  return p->k != NO_VALUE || p->turned != NO_VALUE;
}

/* v is scale * Q K^T. */
static bool match_scores(const rewriter *w, int32_t v, parts *p) {
  p->scale = 1;
  int32_t product = without_factor(w, v, &p->scale);
  const node *n = rewrite_producer(w, product, "MatMul");
  if (!n || !rewrite_used_once(w, product) || rewrite_fact(w, product)->rank != 4) return false;
  p->q = without_factor(w, n->inputs[0], &p->scale);
  return match_keys(w, without_factor(w, n->inputs[1], &p->scale), p) && isfinite(p->scale);
}

/* The mask has an element for each key, and every other dim is 1 or that of the scores. */
static bool is_mask(const fact *mask, const fact *scores) {
  if (mask->kind != KIND_TENSOR || mask->type != scores->type || mask->rank < 1 || mask->rank > 4) return false;
  for (int d = 0; d < mask->rank; ++d) {
    dim own = mask->dims[d], theirs = scores->dims[d + 4 - mask->rank];
    if (!same_dim(own, theirs) && (own != 1 || d == mask->rank - 1)) return false;
  }
  return true;
}

/* v is what the softmax is taken of. */
static bool match_logits(const rewriter *w, int32_t v, parts *p) {
  const node *sum = rewrite_producer(w, v, "Add");
  p->mask = NO_VALUE;
  if (!sum || sum->input_count != 2) return match_scores(w, v, p);
  for (int i = 0; i < 2; ++i) {
    int32_t scores = sum->inputs[i], mask = sum->inputs[1 - i];
    if (!rewrite_used_once(w, scores) || !match_scores(w, scores, p) || !is_mask(rewrite_fact(w, mask), rewrite_fact(w, scores))) continue;
    p->mask = mask;
    return true;
  }
  return false;
}

static bool match_softmax(const rewriter *w, int32_t v, parts *p) {
  const node *n = rewrite_producer(w, v, "Softmax");
  if (!n || !rewrite_used_once(w, v) || !rewrite_used_once(w, n->inputs[0]) || rewrite_fact(w, v)->rank != 4) return false;
  int64_t axis = attr_int_or(n, "axis", n->op->since < 13 ? 1 : -1);
  return (axis == -1 || axis == 3) && match_logits(w, n->inputs[0], p);
}

/* Batches and heads of Q, K and V are the same: the products broadcast nothing. */
static bool agree(const rewriter *w, const parts *p) {
  const fact *q = rewrite_fact(w, p->q), *k = rewrite_fact(w, p->keys), *v = rewrite_fact(w, p->v);
  if (q->rank != 4 || k->rank != 4 || v->rank != 4) return false;
  for (int d = 0; d < 2; ++d)
    if (!same_dim(q->dims[d], k->dims[d]) || !same_dim(q->dims[d], v->dims[d])) return false;
  return true;
}

status pass_fuse_attention(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  int64_t opset = attention_opset(n);
  parts p = {0};
  node *made, *turn;
  if (!node_is(n, "MatMul") || !match_softmax(w, n->inputs[0], &p)) return OK;
  p.v = n->inputs[1];
  int32_t inputs[4] = {p.q, p.turned == NO_VALUE ? p.k : p.turned, p.v, p.mask}, input_count = p.mask == NO_VALUE ? 3 : 4;
  if (!agree(w, &p) || !on_device(w, opset, input_count, inputs, 0, 0)) return OK;
  if (p.turned != NO_VALUE) {
    fact like = *rewrite_fact(w, p.turned);
    for (int d = 0; d < 4; ++d) like.dims[d] = rewrite_fact(w, p.turned)->dims[heads_first[d]];
    TRY(rewrite_add(w, "Transpose", n->opset, 1, &p.turned, &like, &inputs[1], &turn));
    TRY(node_set_attr_ints(w->g, turn, "perm", 4, heads_first));
  }
  TRY(rewrite_replace(w, index, "Attention", "", opset, input_count, inputs, &made));
  return node_set_attr_float(w->g, made, "scale", (float)p.scale);
}

/* ---- Caches -------------------------------------------------------------------------------------------------------------------------------------- */

/* Concat(past, new) along the length, which the attention alone reads, besides the model's user. */
static const node *match_join(const rewriter *w, int32_t v) {
  const node *n = rewrite_producer(w, v, "Concat");
  if (!n || n->input_count != 2 || rewrite_fact(w, v)->rank != 4) return NULL;
  if (rewrite_fact(w, n->inputs[0])->rank != 4 || rewrite_fact(w, n->inputs[1])->rank != 4) return NULL;
  int64_t axis = attr_int_or(n, "axis", 0);
  return (axis == 2 || axis == -2) && w->uses[v] == 1 + w->g->values[v].is_output ? n : NULL;
}

status pass_attention_caches(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index], *key, *value;
  node *made;
  if (!node_is(n, "Attention") || n->output_count != 1 || n->input_count > MASK + 1) return OK;
  if (!(key = match_join(w, n->inputs[KEY])) || !(value = match_join(w, n->inputs[VALUE])) || key == value) return OK;
  if (!same_dim(rewrite_fact(w, key->inputs[0])->dims[2], rewrite_fact(w, value->inputs[0])->dims[2])) return OK;
  int32_t inputs[MOST_INPUTS] = {n->inputs[QUERY], key->inputs[1], value->inputs[1], node_input(n, MASK), key->inputs[0], value->inputs[0]};
  int32_t joins[2] = {w->g->values[n->inputs[KEY]].producer, w->g->values[n->inputs[VALUE]].producer};
  int32_t outputs[3] = {n->outputs[0], NO_VALUE, NO_VALUE};
  for (int i = 0; i < 2; ++i)
    if (w->g->values[n->inputs[KEY + i]].is_output) outputs[1 + i] = n->inputs[KEY + i];
  /* Limits count places from the first query, which past keys would move. */
  if (attr_int_or(n, "is_causal", 0) || attr_find(n, "left_window_size") || attr_find(n, "right_window_size")) return OK;
  if (!on_device(w, n->opset, MOST_INPUTS, inputs, 0, 0)) return OK;
  TRY(rewrite_merge(w, index, 2, joins, "Attention", n->opset, MOST_INPUTS, inputs, 3, outputs, &made));
  return rewrite_copy_attrs(w, n, made);
}

/* ---- Heads that need not be split ------------------------------------------------------------------------------------------------------------ */

/* [batch, length, heads * size] and [batch, length, heads, size]: if one of the first two dims is the same, both are. */
static bool is_split(const fact *flat, const fact *deep) {
  return flat->rank == 3 && deep->rank == 4 && dim_known(deep->dims[2]) && dim_known(deep->dims[3]) && deep->dims[2] > 0 &&
         flat->dims[2] == dim_mul(deep->dims[2], deep->dims[3]) && (same_dim(flat->dims[0], deep->dims[0]) || same_dim(flat->dims[1], deep->dims[1]));
}

/* What was split into the heads of v by a Reshape and a Transpose; NO_VALUE if v came about otherwise. */
static int32_t before_split(const rewriter *w, int32_t v, int64_t *out_heads) {
  int32_t split = transposed(w, v, heads_first);
  const node *n = split == NO_VALUE ? NULL : rewrite_producer(w, split, "Reshape");
  if (!n || !is_split(rewrite_fact(w, n->inputs[0]), rewrite_fact(w, split))) return NO_VALUE;
  *out_heads = rewrite_fact(w, split)->dims[2];
  return n->inputs[0];
}

/* Reshape(Transpose(Attention)) that puts heads together, of an Attention whose result has no other readers. */
status pass_join_heads(rewriter *w, int32_t index) {
  const node *n = w->g->nodes[index];
  if (!node_is(n, "Reshape") || !is_split(rewrite_fact(w, n->outputs[0]), rewrite_fact(w, n->inputs[0]))) return OK;
  int32_t result = transposed(w, n->inputs[0], heads_first), inputs[MOST_INPUTS];
  const node *attention = result == NO_VALUE ? NULL : rewrite_producer(w, result, "Attention");
  if (!attention || attention->input_count > MOST_INPUTS || !rewrite_used_once(w, result) || !rewrite_used_once(w, n->inputs[0])) return OK;
  int64_t heads[3];
  int32_t outputs[4] = {n->outputs[0], NO_VALUE, NO_VALUE, NO_VALUE}, old = w->g->values[result].producer;
  for (int32_t i = 0; i < attention->input_count; ++i) {
    inputs[i] = i < 3 ? before_split(w, attention->inputs[i], &heads[i]) : attention->inputs[i];
    if (i < 3 && inputs[i] == NO_VALUE) return OK;
  }
  for (int32_t i = 1; i < attention->output_count; ++i) {
    outputs[i] = attention->outputs[i];
    if (outputs[i] != NO_VALUE && w->uses[outputs[i]] != w->g->values[outputs[i]].is_output) return OK;
  }
  if (!on_device(w, attention->opset, attention->input_count, inputs, heads[0], heads[1])) return OK;
  node *made;
  TRY(rewrite_merge(w, index, 1, &old, "Attention", attention->opset, attention->input_count, inputs, attention->output_count, outputs, &made));
  TRY(rewrite_copy_attrs(w, attention, made));
  TRY(node_set_attr_int(w->g, made, "q_num_heads", heads[0]));
  return node_set_attr_int(w->g, made, "kv_num_heads", heads[1]);
}
