#include <ortcore/base/log.h>
#include <ortcore/base/mem.h>
#include <ortcore/passes/infer.h>
#include <string.h>

static status infer_wanted(infer_ctx *c) {
  TRY(op_check(c->op, c->node, c->in_count, c->in, c->out_count, c->out));
  if (c->op->infer) return c->op->infer(c);
  if (c->out_count && c->in_count && c->in[0]) {
    fact_copy_shape(c->out[0], c->in[0]);
    c->out[0]->order = c->in[0]->order;
  }
  return OK;
}

/* Operators need not care which of their outputs somebody wants: what nobody does is inferred all the same, and forgotten. */
status infer_node(const node *n, int32_t in_count, const fact *const *in, int32_t out_count, fact **out, infer_subgraph_fn subgraph, void *user) {
  infer_ctx c = {.node = n, .op = n->op, .in_count = in_count, .out_count = out_count, .in = in, .out = out, .infer_subgraph = subgraph, .user = user};
  int32_t unwanted = 0;
  for (int32_t i = 0; i < out_count; ++i) unwanted += !out[i];
  if (!unwanted) return infer_wanted(&c);
  fact *spare = mem_calloc((size_t)unwanted, sizeof *spare);
  fact **all = mem_calloc((size_t)out_count, sizeof *all);
  status s = spare && all ? OK : status_out_of_memory();
  for (int32_t i = 0; i < out_count && !s; ++i) {
    all[i] = out[i] ? out[i] : &spare[--unwanted];
    if (!out[i]) all[i]->rank = RANK_UNKNOWN;
  }
  c.out = all;
  if (!s) s = infer_wanted(&c);
  mem_free(spare);
  mem_free(all);
  return s;
}

/* ---- What the model declares of a value ---------------------------------------------------------------------------------------------- */

static void warn_of_shape(value *v, const fact *inferred) {
  char said[DIMS_TEXT], found[DIMS_TEXT];
  if (v->is_disputed) return;                                /* inference runs again after passes; one warning is enough */
  v->is_disputed = true;
  LOG(WARNING, "'%s' is declared with shape %s, but has shape %s", v->name, dims_format(said, sizeof said, v->declared->rank, v->declared->dims),
      dims_format(found, sizeof found, inferred->rank, inferred->dims));
}

/* A number contradicts another number. An unknown dim takes what is declared; so does a symbol of an output, since it is what users see. */
static void merge_shape(value *v, fact *inferred) {
  const fact *declared = v->declared;
  v->assumed = 0;
  if (declared->rank < 0) return;
  if (inferred->rank < 0) {
    fact_copy_shape(inferred, declared);
    v->assumed = UINT32_MAX;
    return;
  }
  bool agrees = declared->rank == inferred->rank;
  for (int d = 0; agrees && d < inferred->rank; ++d)
    agrees = !dim_known(declared->dims[d]) || !dim_known(inferred->dims[d]) || declared->dims[d] == inferred->dims[d];
  if (!agrees) warn_of_shape(v, inferred);
  for (int d = 0; d < inferred->rank; ++d) {
    dim said = declared->rank == inferred->rank ? declared->dims[d] : DIM_UNKNOWN, *found = &inferred->dims[d];
    if (dim_known(*found)) {
      if (declared->rank != inferred->rank || (dim_known(said) && said != *found)) *found = DIM_UNKNOWN;
    } else if (said != DIM_UNKNOWN && (v->is_output || *found == DIM_UNKNOWN)) {
      *found = said;
      v->assumed |= 1u << d;
    }
  }
}

static status merge_declared(value *v, fact *inferred) {
  const fact *declared = v->declared;
  if (!declared || declared->kind == KIND_UNKNOWN) return OK;
  if (inferred->kind == KIND_UNKNOWN) {
    *inferred = *declared;
    return OK;
  }
  if (declared->type && inferred->type && declared->type != inferred->type && declared->kind == inferred->kind)
    return ERROR(FAIL, "Type Error: Type (tensor(%s)) of output arg (%s) does not match expected type (tensor(%s)) that the model declares", dtype_name(inferred->type),
                 v->name, dtype_name(declared->type));
  if (!inferred->type) inferred->type = declared->type;
  if (!inferred->key) inferred->key = declared->key;
  inferred->optional |= declared->optional;
  if (declared->kind == KIND_TENSOR && inferred->kind == KIND_TENSOR && !inferred->value) merge_shape(v, inferred);
  return OK;
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------------------------------ */

/* Loops infer their bodies until the facts settle, and bodies hold loops: `budget` bounds the nodes inferred in all. */
typedef struct inference { graph *g; int64_t *budget; } inference;

static status infer_nodes(inference of);

/* The graph's own facts are the scope: c->user is the inference of the graph around `g`. */
static status infer_in_place(infer_ctx *c, graph *g, int32_t count, const fact *const *inputs, const fact **outputs) {
  const inference *around = c->user;
  for (int32_t i = 0; i < count && i < g->input_count; ++i)
    if (inputs[i] && inputs[i]->kind != KIND_UNKNOWN) g->values[g->inputs[i]].fact = *inputs[i];
  for (int32_t i = 0; i < g->capture_count; ++i) g->values[g->captures[i].inner].fact = around->g->values[c->node->captures[g->captures[i].slot]].fact;
  TRY(infer_nodes((inference){g, around->budget}));
  for (int32_t i = 0; i < g->output_count; ++i) outputs[i] = &g->values[g->outputs[i]].fact;
  return OK;
}

static status infer_with(inference *of, const node *n, const fact **in, fact **out, fact *fresh) {
  graph *g = of->g;
  for (int32_t i = 0; i < n->input_count; ++i) in[i] = n->inputs[i] == NO_VALUE ? NULL : &g->values[n->inputs[i]].fact;
  for (int32_t i = 0; i < n->output_count; ++i) {
    fresh[i].rank = RANK_UNKNOWN;
    out[i] = n->outputs[i] == NO_VALUE ? NULL : &fresh[i];
  }
  TRY(infer_node(n, n->input_count, in, n->output_count, out, infer_in_place, of));
  for (int32_t i = 0; i < n->output_count; ++i) {
    if (!out[i]) continue;
    value *v = &g->values[n->outputs[i]];
    TRY(merge_declared(v, &fresh[i]));
    v->fact = fresh[i];
  }
  return OK;
}

static status infer_one(inference *of, const node *n) {
  if (--*of->budget < 0) return ERROR(INVALID_GRAPH, "its loops nest so deep that types and shapes cannot be inferred in reasonable time");
  const fact **in = mem_calloc((size_t)n->input_count + 1, sizeof *in);
  fact **out = mem_calloc((size_t)n->output_count + 1, sizeof *out);
  fact *fresh = mem_calloc((size_t)n->output_count + 1, sizeof *fresh);
  status s = in && out && fresh ? infer_with(of, n, in, out, fresh) : status_out_of_memory();
  mem_free(in);
  mem_free(out);
  mem_free(fresh);
  return s ? status_at_node(status_context(s, "node '%s' (%s)", n->name, n->op_type), n->name) : OK;
}

static status infer_nodes(inference of) {
  for (int32_t i = 0; i < of.g->node_count; ++i) TRY(infer_one(&of, of.g->nodes[i]));
  return OK;
}

static int64_t count_nodes(const graph *g) {
  int64_t n = g->node_count;
  for (int32_t i = 0; i < g->node_count; ++i)
    for (int32_t a = 0; a < g->nodes[i]->attr_count; ++a)
      if (g->nodes[i]->attrs[a].kind == ATTR_GRAPH) n += count_nodes(g->nodes[i]->attrs[a].g);
  return n;
}

status infer_graph(graph *g) {
  int64_t budget = 100000 + 200 * count_nodes(g);
  return infer_nodes((inference){g, &budget});
}
