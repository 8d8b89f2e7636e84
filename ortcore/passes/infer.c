#include <ortcore/base/log.h>
#include <ortcore/base/mem.h>
#include <ortcore/passes/infer.h>
#include <string.h>

status infer_node(const node *n, int32_t in_count, const fact *const *in, int32_t out_count, fact **out, infer_subgraph_fn subgraph, void *user) {
  TRY(op_check(n->op, n, in_count, in, out_count, out));
  infer_ctx c = {.node = n, .op = n->op, .in_count = in_count, .out_count = out_count, .in = in, .out = out, .infer_subgraph = subgraph, .user = user};
  if (n->op->infer) return n->op->infer(&c);
  if (out_count && out[0] && in_count && in[0]) {
    fact_copy_shape(out[0], in[0]);
    out[0]->order = in[0]->order;
  }
  return OK;
}

static status infer_nodes(graph *g);

/* The graph's own facts are the scope: c->user is the graph around `g`. */
static status infer_in_place(infer_ctx *c, graph *g, int32_t count, const fact *const *inputs, const fact **outputs) {
  const graph *around = c->user;
  for (int32_t i = 0; i < count && i < g->input_count; ++i)
    if (inputs[i] && inputs[i]->kind != KIND_UNKNOWN) g->values[g->inputs[i]].fact = *inputs[i];
  for (int32_t i = 0; i < g->capture_count; ++i) g->values[g->captures[i].inner].fact = around->values[c->node->captures[g->captures[i].slot]].fact;
  TRY(infer_nodes(g));
  for (int32_t i = 0; i < g->output_count; ++i) outputs[i] = &g->values[g->outputs[i]].fact;
  return OK;
}

static status infer_one(graph *g, const node *n) {
  const fact **in = mem_calloc((size_t)n->input_count + 1, sizeof *in);
  fact **out = mem_calloc((size_t)n->output_count + 1, sizeof *out);
  fact *fresh = mem_calloc((size_t)n->output_count + 1, sizeof *fresh);
  status s = in && out && fresh ? OK : status_out_of_memory();
  for (int32_t i = 0; i < n->input_count && !s; ++i) in[i] = n->inputs[i] == NO_VALUE ? NULL : &g->values[n->inputs[i]].fact;
  for (int32_t i = 0; i < n->output_count && !s; ++i) {
    if (n->outputs[i] == NO_VALUE) continue;
    fresh[i].rank = RANK_UNKNOWN;
    out[i] = &fresh[i];
  }
  if (!s) s = infer_node(n, n->input_count, in, n->output_count, out, infer_in_place, g);
  for (int32_t i = 0; i < n->output_count && !s; ++i)
    if (out[i]) g->values[n->outputs[i]].fact = fresh[i];
  mem_free(in);
  mem_free(out);
  mem_free(fresh);
  return s ? status_at_node(status_context(s, "node '%s' (%s)", n->name, n->op_type), n->name) : OK;
}

static status infer_nodes(graph *g) {
  for (int32_t i = 0; i < g->node_count; ++i) TRY(infer_one(g, g->nodes[i]));
  return OK;
}

/* ---- What the model declares of its outputs -------------------------------------------------------------------------------------- */

static status merge_declared(const graph *g, const char *name, const fact *declared, fact *inferred) {
  if (declared->kind == KIND_UNKNOWN) return OK;
  if (inferred->kind == KIND_UNKNOWN) {
    *inferred = *declared;
    return OK;
  }
  if (declared->type && inferred->type && declared->type != inferred->type && declared->kind == inferred->kind)
    return ERROR(FAIL, "Type Error: Type (tensor(%s)) of output arg (%s) does not match expected type (tensor(%s)) that the model declares", dtype_name(inferred->type), name,
                 dtype_name(declared->type));
  if (!inferred->type) inferred->type = declared->type;
  if (declared->optional) inferred->optional = true;
  if (!inferred->key) inferred->key = declared->key;
  if (declared->kind != KIND_TENSOR || declared->rank < 0 || inferred->value) return OK;
  if (inferred->rank < 0) {
    fact_copy_shape(inferred, declared);
    return OK;
  }
  bool agrees = declared->rank == inferred->rank;
  for (int d = 0; agrees && d < inferred->rank; ++d) {
    if (!dim_known(inferred->dims[d]) && declared->dims[d] != DIM_UNKNOWN) inferred->dims[d] = declared->dims[d];
    else if (dim_known(declared->dims[d]) && declared->dims[d] != inferred->dims[d]) agrees = false;
  }
  (void)g;
  if (!agrees) {
    char said[DIMS_TEXT], found[DIMS_TEXT];
    LOG(WARNING, "output '%s' is declared with shape %s, but has shape %s", name, dims_format(said, sizeof said, declared->rank, declared->dims),
        dims_format(found, sizeof found, inferred->rank, inferred->dims));
  }
  return OK;
}

status infer_graph(graph *g) {
  fact *declared = mem_calloc((size_t)g->output_count + 1, sizeof *declared);
  if (!declared) return status_out_of_memory();
  for (int32_t i = 0; i < g->output_count; ++i) declared[i] = g->values[g->outputs[i]].fact;
  status s = infer_nodes(g);
  for (int32_t i = 0; i < g->output_count && !s; ++i) s = merge_declared(g, g->values[g->outputs[i]].name, &declared[i], &g->values[g->outputs[i]].fact);
  mem_free(declared);
  return s;
}
