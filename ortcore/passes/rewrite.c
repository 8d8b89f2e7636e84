#include <ortcore/base/half.h>
#include <ortcore/base/mem.h>
#include <ortcore/passes/rewrite.h>
#include <math.h>
#include <string.h>

/* ---- Looking ---------------------------------------------------------------------------------------------------------------------- */

/* Before opset 7 operators broadcast by attributes; no rewrite knows them. */
bool node_is(const node *n, const char *op_type) { return n && !*n->domain && n->opset >= 7 && !strcmp(n->op_type, op_type); }
bool node_is_internal(const node *n, const char *op_type) { return n && !strcmp(n->domain, "ortcore") && !strcmp(n->op_type, op_type); }

node *rewrite_producer(const rewriter *w, int32_t v, const char *op_type) {
  if (v == NO_VALUE || w->g->values[v].producer < 0) return NULL;
  node *n = w->g->nodes[w->g->values[v].producer];
  return !op_type || node_is(n, op_type) ? n : NULL;
}

bool rewrite_is_float(const rewriter *w, int32_t v) {
  const fact *f = rewrite_fact(w, v);
  return f->kind == KIND_TENSOR && !f->optional && typeset_has(TS_FLOAT, f->type);
}

bool rewrite_scalar(const rewriter *w, int32_t v, double *out) { return v != NO_VALUE && fact_scalar_f64(rewrite_fact(w, v), out); }

bool rewrite_is_scalar(const rewriter *w, int32_t v, double expected) {
  double found, near = rewrite_is_float(w, v) && rewrite_fact(w, v)->type != ORTC_FLOAT && rewrite_fact(w, v)->type != ORTC_DOUBLE ? 1e-2 : 1e-6;
  return rewrite_scalar(w, v, &found) && fabs(found - expected) <= near * fabs(expected);
}

bool rewrite_scalar_operand(const rewriter *w, const node *n, int32_t *out_other, double *out_scalar) {
  if (n->input_count != 2) return false;
  for (int i = 0; i < 2; ++i) {
    *out_other = n->inputs[1 - i];
    if (*out_other != NO_VALUE && rewrite_scalar(w, n->inputs[i], out_scalar)) return true;
  }
  return false;
}

bool facts_same_shape(const fact *a, const fact *b) {
  if (a->kind != KIND_TENSOR || b->kind != KIND_TENSOR || a->rank < 0 || a->rank != b->rank) return false;
  for (int d = 0; d < a->rank; ++d)
    if (a->dims[d] == DIM_UNKNOWN || a->dims[d] != b->dims[d]) return false;
  return true;
}

/* ---- Uses --------------------------------------------------------------------------------------------------------------------------- */

static void use(rewriter *w, int32_t v, int32_t change) {
  if (v != NO_VALUE) w->uses[v] += change;
}

static bool is_dead(const rewriter *w, const node *n) {
  for (int32_t i = 0; i < n->output_count; ++i)
    if (n->outputs[i] != NO_VALUE && w->uses[n->outputs[i]]) return false;
  return true;
}

/* Takes node `index` away, and then every producer that nobody reads any more; they are found in an order that needs no stack, since
 * producers come before readers. */
static void remove_node(rewriter *w, int32_t index) {
  int32_t lowest = index;
  for (int32_t i = index; i >= lowest; --i) {
    const node *n = w->g->nodes[i];
    if (!n || (i != index && !is_dead(w, n))) continue;
    for (int32_t j = 0; j < n->input_count + n->capture_count; ++j) {
      int32_t v = node_operand(n, j);
      use(w, v, -1);
      if (v != NO_VALUE && !w->uses[v] && w->g->values[v].producer >= 0 && w->g->values[v].producer < lowest) lowest = w->g->values[v].producer;
    }
    w->g->nodes[i] = NULL;
  }
}

/* ---- Changing ------------------------------------------------------------------------------------------------------------------------ */

bool rewrite_can_use(const char *domain, const char *op_type, int64_t opset) { return op_find(domain, op_type, opset) != NULL; }

/* Values that a pass adds need counts and aliases as well. */
static status track_values(rewriter *w) {
  int32_t count = w->g->value_count;
  if (count <= w->value_capacity) return OK;
  int32_t wanted = count + count / 2 + 16;
  int32_t *uses = mem_realloc(w->uses, (size_t)wanted * sizeof *uses);
  if (uses) w->uses = uses;
  int32_t *alias = mem_realloc(w->alias, (size_t)wanted * sizeof *alias);
  if (alias) w->alias = alias;
  if (!uses || !alias) return status_out_of_memory();
  for (int32_t v = w->value_capacity; v < wanted; ++v) uses[v] = 0, alias[v] = NO_VALUE;
  w->value_capacity = wanted;
  return OK;
}

static status finish_new(rewriter *w, node *n, int64_t opset) {
  n->opset = opset;
  n->op = op_find(n->domain, n->op_type, opset);
  if (!n->op) return ERROR(ENGINE_ERROR, "a pass made a node of operator %s, which does not exist", n->op_type);
  for (int32_t i = 0; i < n->input_count; ++i) use(w, n->inputs[i], 1);
  w->changed = true;
  return OK;
}

status rewrite_replace(rewriter *w, int32_t index, const char *op_type, const char *domain, int64_t opset, int32_t input_count, const int32_t *inputs, node **out) {
  graph *g = w->g;
  node *old = g->nodes[index];
  TRY(graph_add_node(g, op_type, domain, input_count, inputs, old->output_count, old->outputs, out));
  --g->node_count;                                           /* it takes the old one's place */
  (*out)->name = old->name;
  TRY(finish_new(w, *out, opset));
  remove_node(w, index);
  g->nodes[index] = *out;
  for (int32_t i = 0; i < (*out)->output_count; ++i)
    if ((*out)->outputs[i] != NO_VALUE) g->values[(*out)->outputs[i]].producer = index;
  return OK;
}

status rewrite_merge(rewriter *w, int32_t index, int32_t other_count, const int32_t *others, const char *op_type, int64_t opset, int32_t input_count,
                     const int32_t *inputs, int32_t output_count, const int32_t *outputs, node **out) {
  graph *g = w->g;
  node *old = g->nodes[index];
  TRY(graph_add_node(g, op_type, "", input_count, inputs, output_count, outputs, out));
  --g->node_count;                                           /* it takes the old one's place */
  (*out)->name = old->name;
  TRY(finish_new(w, *out, opset));
  remove_node(w, index);
  for (int32_t i = 0; i < other_count; ++i)
    if (g->nodes[others[i]]) remove_node(w, others[i]);
  g->nodes[index] = *out;
  for (int32_t i = 0; i < output_count; ++i)
    if (outputs[i] != NO_VALUE) g->values[outputs[i]].producer = index;
  return OK;
}

status rewrite_add(rewriter *w, const char *op_type, int64_t opset, int32_t input_count, const int32_t *inputs, const fact *like, int32_t *out_value, node **out) {
  node *added;
  TRY(graph_add_value(w->g, NULL, out_value));
  TRY(track_values(w));
  fact *f = &w->g->values[*out_value].fact;
  *f = *like;
  f->value = NULL;
  TRY(graph_add_node(w->g, op_type, "", input_count, inputs, 1, out_value, &added));
  if (out) *out = added;
  return finish_new(w, added, opset);
}

status rewrite_constant(rewriter *w, dtype type, int rank, const int64_t *dims, const double *elements, int32_t *out_value) {
  tensor t;
  buffer *memory;
  TRY(tensor_init(&t, type, rank, dims));
  TRY(buffer_create(NULL, tensor_bytes(&t), &memory));
  t.data = memory->data;
  for (int64_t i = 0; i < t.count; ++i) switch (type) {
    case ORTC_FLOAT: ((float *)t.data)[i] = (float)elements[i]; break;
    case ORTC_DOUBLE: ((double *)t.data)[i] = elements[i]; break;
    case ORTC_FLOAT16: ((f16 *)t.data)[i] = f64_to_f16(elements[i]); break;
    case ORTC_BFLOAT16: ((bf16 *)t.data)[i] = f64_to_bf16(elements[i]); break;
    case ORTC_INT64: ((int64_t *)t.data)[i] = (int64_t)elements[i]; break;
    default: break;
  }
  status s = graph_add_value(w->g, NULL, out_value);
  if (!s) s = track_values(w);
  if (!s) s = graph_set_constant(w->g, *out_value, &t, memory);
  buffer_release(memory);
  return s;
}

bool rewrite_forward(rewriter *w, int32_t index, int32_t to) {
  graph *g = w->g;
  node *n = g->nodes[index];
  int32_t from = n->outputs[0];
  if (from == NO_VALUE || g->values[from].fact.optional != g->values[to].fact.optional) return false;
  for (int32_t i = 1; i < n->output_count; ++i)
    if (n->outputs[i] != NO_VALUE && w->uses[n->outputs[i]]) return false;
  /* An output must be computed here, and once: inputs, constants and captures stay behind a node. */
  if (g->values[from].is_output && (g->values[to].producer < 0 || g->values[to].is_output)) return false;
  w->alias[from] = to;
  use(w, to, w->uses[from]);
  w->uses[from] = 0;
  if (g->values[from].is_output) {
    g->values[to].is_output = true;
    if (g->values[from].declared) g->values[to].declared = g->values[from].declared;
  }
  g->values[from].is_output = false;
  remove_node(w, index);
  w->changed = true;
  return true;
}

bool rewrite_forward_all(rewriter *w, int32_t index, const node *to) {
  graph *g = w->g;
  const node *n = g->nodes[index];
  for (int32_t i = 0; i < n->output_count; ++i) {
    int32_t from = n->outputs[i], other = i < to->output_count ? to->outputs[i] : NO_VALUE;
    if (from == NO_VALUE || (!w->uses[from] && !g->values[from].is_output)) continue;
    if (other == NO_VALUE || g->values[from].is_output || g->values[from].fact.optional != g->values[other].fact.optional) return false;
  }
  for (int32_t i = 0; i < n->output_count; ++i) {
    int32_t from = n->outputs[i];
    if (from == NO_VALUE || !w->uses[from]) continue;
    w->alias[from] = to->outputs[i];
    use(w, to->outputs[i], w->uses[from]);
    w->uses[from] = 0;
  }
  remove_node(w, index);
  w->changed = true;
  return true;
}

status rewrite_copy_attrs(rewriter *w, const node *from, node *to) {
  if (!from->attr_count) return OK;
  to->attrs = zone_copy(w->g->memory, from->attrs, (size_t)from->attr_count * sizeof *from->attrs);
  to->attr_count = to->attrs ? from->attr_count : 0;
  return to->attrs ? OK : status_out_of_memory();
}

/* ---- The walk ------------------------------------------------------------------------------------------------------------------------ */

static int32_t resolve(const rewriter *w, int32_t v) {
  while (v != NO_VALUE && w->alias[v] != NO_VALUE) v = w->alias[v];
  return v;
}

static void refresh(const rewriter *w, node *n) {
  for (int32_t i = 0; i < n->input_count; ++i) n->inputs[i] = resolve(w, n->inputs[i]);
  for (int32_t i = 0; i < n->capture_count; ++i) n->captures[i] = resolve(w, n->captures[i]);
}

static status finish(rewriter *w, status s) {
  graph *g = w->g;
  for (int32_t i = 0; i < g->node_count; ++i)
    if (g->nodes[i]) refresh(w, g->nodes[i]);
  for (int32_t i = 0; i < g->output_count; ++i) g->outputs[i] = resolve(w, g->outputs[i]);
  graph_compact(g);
  mem_free(w->uses);
  mem_free(w->alias);
  return s ? s : graph_sort(g);
}

status rewrite_each(graph *g, const pass_env *env, rewrite_visit visit, bool *out_changed) {
  rewriter w = {.g = g, .env = env, .value_capacity = g->value_count, .uses = graph_count_uses(g)};
  w.alias = mem_alloc(((size_t)g->value_count + 1) * sizeof *w.alias);
  if (!w.uses || !w.alias) {
    mem_free(w.uses);
    mem_free(w.alias);
    return status_out_of_memory();
  }
  for (int32_t v = 0; v < g->value_count; ++v) w.alias[v] = NO_VALUE;
  status s = OK;
  int32_t count = g->node_count;                             /* nodes that the pass adds are for the next round */
  for (int32_t i = 0; i < count && !s; ++i) {
    if (!g->nodes[i]) continue;
    refresh(&w, g->nodes[i]);
    if (is_dead(&w, g->nodes[i])) {
      remove_node(&w, i);
      w.changed = true;
    } else {
      s = visit(&w, i);
    }
  }
  s = finish(&w, s);
  *out_changed |= w.changed;
  return s;
}
