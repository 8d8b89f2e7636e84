/* Channels last: convolutions are fastest on images [N, spatial..., C], so chains of them, and of what can go along, are turned to work on
 * such images. The graph's inputs and outputs stay as they are.
 *
 * Every value may have a twin, the same image with its channels in the last dim. A node that is turned reads twins and makes a twin;
 * transposes appear only where a twin is read that nobody made, or where the value itself is. */
#include <ortcore/base/mem.h>
#include <ortcore/kernels/cpu/onednn/onednn.h>
#include <ortcore/passes/layout.h>
#include <string.h>

enum { RESHAPE_OPSET = 13, RANK_MOST = 5 };

static fact *fact_of(layout_pass *l, int32_t v) { return &l->g->values[v].fact; }

int layout_rank(layout_pass *l, int32_t v) {
  const fact *f = v == NO_VALUE ? NULL : fact_of(l, v);
  return f && f->kind == KIND_TENSOR && !f->optional ? f->rank : RANK_UNKNOWN;
}

bool layout_has_twin(const layout_pass *l, int32_t v) { return v != NO_VALUE && v < l->count && l->twins[v] != NO_VALUE; }

/* ---- Transposes ------------------------------------------------------------------------------------------------------ */

int layout_axis(int axis, int rank) { return axis < 2 ? (axis ? rank - 1 : 0) : axis - 1; }

static void permute(const fact *image, fact *out) {
  *out = *image;
  out->value = NULL;
  for (int d = 0; d < image->rank; ++d) out->dims[layout_axis(d, image->rank)] = image->dims[d];
}

static status add_node(layout_pass *l, const char *domain, const char *op_type, int64_t opset, int32_t input_count, const int32_t *inputs, int32_t output,
                       node **out) {
  TRY(graph_add_node(l->g, op_type, domain, input_count, inputs, 1, &output, out));
  (*out)->opset = opset;
  (*out)->op = op_find(domain, op_type, opset);
  l->changed = true;
  return (*out)->op ? OK : ERROR(ENGINE_ERROR, "the layout pass needs %s, which does not exist", op_type);
}

/* In the internal domain: a run counts what its Transposes move. */
static status add_transpose(layout_pass *l, int32_t from, int32_t to, int rank, bool to_last) {
  int64_t perm[RANK_MOST];
  node *n;
  for (int d = 0; d < rank; ++d) {
    int twin_axis = layout_axis(d, rank);
    if (to_last) perm[twin_axis] = d;
    else perm[d] = twin_axis;
  }
  TRY(add_node(l, "ortcore", "Transpose", 1, 1, &from, to, &n));
  return node_set_attr_ints(l->g, n, "perm", rank, perm);
}

/* A constant of lower rank that broadcasts to an image gets leading ones first. */
static status widen(layout_pass *l, int32_t v, int rank, int32_t *out) {
  fact wide = *fact_of(l, v);
  int64_t shape[RANK_MOST];
  int missing = rank - wide.rank;
  for (int d = 0; d < rank; ++d) shape[d] = d < missing ? 1 : wide.dims[d - missing];
  int32_t shape_value;
  node *n;
  TRY(layout_constant(l, rank, shape, &shape_value));
  TRY(graph_add_value(l->g, NULL, out));
  fact_set_shape(&wide, rank, shape);
  wide.value = NULL;
  *fact_of(l, *out) = wide;
  return add_node(l, "", "Reshape", RESHAPE_OPSET, 2, (int32_t[]){v, shape_value}, *out, &n);
}

status layout_constant(layout_pass *l, int64_t count, const int64_t *elements, int32_t *out) {
  tensor t;
  buffer *memory;
  TRY(tensor_init(&t, ORTC_INT64, 1, &count));
  TRY(buffer_create(NULL, tensor_bytes(&t), &memory));
  t.data = memory->data;
  memcpy(t.data, elements, tensor_bytes(&t));
  status s = graph_add_value(l->g, NULL, out);
  if (!s) s = graph_set_constant(l->g, *out, &t, memory);
  buffer_release(memory);
  return s;
}

status layout_new_twin(layout_pass *l, int32_t v, int32_t *out) {
  fact twin;
  permute(fact_of(l, v), &twin);
  TRY(graph_add_value(l->g, NULL, out));
  *fact_of(l, *out) = twin;
  l->twins[v] = *out;
  return OK;
}

/* The twin of `v`, transposed here if nobody made it. */
status layout_twin(layout_pass *l, int32_t v, int rank, int32_t *out) {
  int32_t from = v;
  *out = l->twins[v];
  if (*out != NO_VALUE) return OK;
  if (fact_of(l, v)->rank < rank) {
    TRY(widen(l, v, rank, &from));
    fact twin;
    permute(fact_of(l, from), &twin);
    TRY(graph_add_value(l->g, NULL, out));
    *fact_of(l, *out) = twin;
    l->twins[v] = *out;
  } else {
    TRY(layout_new_twin(l, v, out));
  }
  return add_transpose(l, from, *out, rank, true);
}

/* ---- Turning a graph ------------------------------------------------------------------------------------------------- */

/* Somebody reads the image itself: it is transposed back, once. */
static status make_plain(layout_pass *l, int32_t v) {
  if (v == NO_VALUE || v >= l->count || !l->only_twin[v]) return OK;
  l->only_twin[v] = false;
  return add_transpose(l, l->twins[v], v, fact_of(l, v)->rank, false);
}

static status visit(layout_pass *l, node *n) {
  bool turned;
  TRY(layout_turn(l, n, &turned));
  l->changed |= turned;
  /* What a turned node still reads as it was are weights, scalars and the like. */
  for (int32_t i = 0; i < n->input_count; ++i) TRY(make_plain(l, n->inputs[i]));
  for (int32_t i = 0; i < n->capture_count; ++i) TRY(make_plain(l, n->captures[i]));
  return OK;
}

/* The outputs of a turned node become twins. */
status layout_turn_outputs(layout_pass *l, node *n) {
  for (int32_t i = 0; i < n->output_count; ++i) {
    int32_t v = n->outputs[i], twin;
    if (v == NO_VALUE) continue;
    TRY(layout_new_twin(l, v, &twin));
    l->only_twin[v] = true;
    n->outputs[i] = twin;
    l->g->values[v].producer = -1;
  }
  return OK;
}

static status turn_graph(layout_pass *l) {
  graph *g = l->g;
  int32_t nodes = g->node_count;
  for (int32_t i = 0; i < nodes; ++i) TRY(visit(l, g->nodes[i]));
  for (int32_t i = 0; i < g->output_count; ++i) TRY(make_plain(l, g->outputs[i]));
  if (!l->changed) return OK;
  /* Producers name nodes by index: the outputs of turned nodes are new values. */
  for (int32_t i = 0; i < g->node_count; ++i)
    for (int32_t j = 0; j < g->nodes[i]->output_count; ++j)
      if (g->nodes[i]->outputs[j] != NO_VALUE) g->values[g->nodes[i]->outputs[j]].producer = i;
  return graph_sort(g);
}

status pass_layout(graph *g, const pass_env *env, bool *out_changed) {
  (void)env;
  if (!dnn_supports(ORTC_FLOAT)) return OK;
  layout_pass l = {.g = g, .count = g->value_count};
  l.twins = mem_alloc((size_t)(l.count + 1) * sizeof *l.twins);
  l.only_twin = mem_calloc((size_t)l.count + 1, sizeof *l.only_twin);
  status s = l.twins && l.only_twin ? OK : status_out_of_memory();
  for (int32_t i = 0; i < l.count && !s; ++i) l.twins[i] = NO_VALUE;
  if (!s) s = turn_graph(&l);
  mem_free(l.twins);
  mem_free(l.only_twin);
  *out_changed |= l.changed;
  return s;
}
