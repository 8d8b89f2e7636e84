#include <ortcore/base/mem.h>
#include <ortcore/plan/placement.h>
#include <string.h>

typedef struct place {
  bool from_shapes;                                         /* computed from dims alone, by the host */
  bool read_by_host, read_by_device;
  int32_t copy;                                             /* the same value on the other side, or NO_VALUE */
} place;

typedef struct placer {
  graph *g;
  const provider *p;
  place *places;                                            /* by value, of those that were there before */
  int32_t count;
  node **order;                                             /* the nodes with the copies between them */
  int32_t order_count;
} placer;

/* ---- What nodes do with their operands --------------------------------------------------------------------------------------- */

typedef enum use { USE_NOTHING, USE_DIMS, USE_VIEW, USE_HOST, USE_DEVICE } use;

static bool in_mask(uint32_t mask, int32_t i) { return mask >> (i < 31 ? i : 31) & 1; }
static bool is_view(const node *n) { return !n->kernel && (n->op->flags & OP_VIEW); }

/* Operand i, counted over inputs and then captures. */
static use use_of(const node *n, int32_t i) {
  if (node_operand(n, i) == NO_VALUE) return USE_NOTHING;
  if (n->op->flags & OP_SHAPE_ONLY) return USE_DIMS;
  if (is_view(n) && i == 0) return USE_VIEW;
  return n->kernel && !in_mask(n->kernel->host_inputs, i) ? USE_DEVICE : USE_HOST;
}

static bool is_constant(const placer *p, int32_t v) { return p->g->values[v].fact.value != NULL; }

/* ---- Which nodes run where ---------------------------------------------------------------------------------------------------- */

static const kernel_row *find_kernel(const placer *p, const node *n) {
  const fact *in[64];
  if (n->input_count > (int32_t)(sizeof in / sizeof *in) || (n->op->flags & (OP_SUBGRAPHS | OP_VALUES | OP_SHAPE_ONLY))) return NULL;
  for (int32_t i = 0; i < n->input_count; ++i) in[i] = n->inputs[i] == NO_VALUE ? NULL : &p->g->values[n->inputs[i]].fact;
  for (int32_t i = 0; i < n->output_count; ++i)
    if (n->outputs[i] != NO_VALUE && (p->g->values[n->outputs[i]].fact.kind != KIND_TENSOR || p->g->values[n->outputs[i]].fact.optional)) return NULL;
  return provider_find_kernel(p->p, n, in);
}

static bool is_integer(const fact *f) { return typeset_has(TS_INTEGER | TS(BOOL), f->type); }

/* Sizes, axes, scales: not the images that a model makes from them. */
static bool is_small(const placer *p, const node *n) {
  for (int32_t i = 0; i < n->output_count; ++i) {
    const fact *f = n->outputs[i] == NO_VALUE ? NULL : &p->g->values[n->outputs[i]].fact;
    int64_t count = f ? fact_count(f) : 0;
    if (f && !is_integer(f) && (count < 0 || count > 1024)) return false;
  }
  return true;
}

/* Everything that the node reads but constants comes from dims, and it reads something of the kind. */
static bool continues_shapes(const placer *p, const node *n) {
  if (n->op->flags & (OP_SUBGRAPHS | OP_NONDETERMINISTIC) || !is_small(p, n)) return false;
  bool any = false;
  for (int32_t i = 0; i < n->input_count; ++i) {
    int32_t v = n->inputs[i];
    if (v == NO_VALUE || is_constant(p, v)) continue;
    if (!p->places[v].from_shapes) return false;
    any |= use_of(n, i) != USE_HOST || !n->kernel;
  }
  return any;
}

static void set_from_shapes(placer *p, const node *n) {
  for (int32_t i = 0; i < n->output_count; ++i)
    if (n->outputs[i] != NO_VALUE) p->places[n->outputs[i]].from_shapes = true;
}

static void to_host(node *n, const char *because) {
  n->kernel = NULL;
  n->placed_because = because;
}

static const char *why_no_kernel(const placer *p, const node *n) {
  if (n->op->flags & OP_SUBGRAPHS) return "its subgraphs are run by the host";
  if (n->op->flags & OP_VALUES) return "sequences, maps and optionals are the host's";
  const fact *first = n->input_count && n->inputs[0] != NO_VALUE ? &p->g->values[n->inputs[0]].fact : NULL;
  return zone_printf(p->g->memory, "the device has no kernel for %s of tensor(%s) with these attributes", n->op_type, first ? dtype_name(first->type) : "");
}

static void choose_kernels(placer *p) {
  for (int32_t i = 0; i < p->g->node_count; ++i) {
    node *n = p->g->nodes[i];
    n->kernel = find_kernel(p, n);
    if ((n->op->flags & OP_SHAPE_ONLY) || continues_shapes(p, n)) {
      to_host(n, "it computes with dims only");
      set_from_shapes(p, n);
    } else if (!n->kernel && !is_view(n)) {
      to_host(n, why_no_kernel(p, n));
    }
  }
}

/* Integers that only the host reads, made of graph inputs, constants and what the host has: sizes, axes and the like. */
static bool serves_the_host(const placer *p, const node *n) {
  for (int32_t i = 0; i < n->output_count; ++i) {
    int32_t v = n->outputs[i];
    if (v == NO_VALUE) continue;
    const value *of = &p->g->values[v];
    if (of->is_output || p->places[v].read_by_device || !p->places[v].read_by_host || !is_integer(&of->fact)) return false;
  }
  for (int32_t i = 0; i < n->input_count; ++i) {
    int32_t v = n->inputs[i];
    if (v == NO_VALUE || use_of(n, i) != USE_DEVICE) continue;
    int32_t producer = p->g->values[v].producer;
    if (producer >= 0 && p->g->nodes[producer]->kernel) return false;
  }
  return true;
}

static void note_uses(placer *p, const node *n) {
  for (int32_t i = 0; i < n->input_count + n->capture_count; ++i) {
    use u = use_of(n, i);
    if (u == USE_NOTHING || u == USE_DIMS) continue;
    place *from = &p->places[node_operand(n, i)];
    const place *view = u == USE_VIEW && n->outputs[0] != NO_VALUE ? &p->places[n->outputs[0]] : NULL;
    from->read_by_device |= u == USE_DEVICE || (view && view->read_by_device);
    from->read_by_host |= u == USE_HOST || (view && view->read_by_host);
  }
}

/* From the last node to the first, so that what a node's outputs are read by is known before the node is looked at. */
static void find_readers(placer *p) {
  for (int32_t i = p->g->node_count - 1; i >= 0; --i) {
    node *n = p->g->nodes[i];
    if (n->kernel && serves_the_host(p, n)) to_host(n, "only the host reads what it computes");
    note_uses(p, n);
  }
}

/* ---- Where values lie --------------------------------------------------------------------------------------------------------- */

static void settle_roots(placer *p) {
  for (int32_t v = 0; v < p->count; ++v) {
    value *of = &p->g->values[v];
    of->on_device = of->producer < 0 && of->fact.kind == KIND_TENSOR && p->places[v].read_by_device && !(is_constant(p, v) && p->places[v].read_by_host);
  }
}

static void settle_outputs(placer *p, const node *n) {
  for (int32_t i = 0; i < n->output_count; ++i) {
    if (n->outputs[i] == NO_VALUE) continue;
    value *v = &p->g->values[n->outputs[i]];
    v->on_device = is_view(n) && i == 0 ? p->g->values[n->inputs[0]].on_device : n->kernel && !in_mask(n->kernel->host_outputs, i);
  }
}

/* ---- Copies ------------------------------------------------------------------------------------------------------------------- */

static status constant_twin(placer *p, int32_t v, bool to_device, int32_t *out) {
  const tensor *t = p->g->values[v].fact.value;
  TRY(graph_add_value(p->g, NULL, out));
  TRY(graph_set_constant(p->g, *out, t, NULL));             /* the model holds the memory already */
  p->g->values[*out].on_device = to_device;
  return OK;
}

static status add_copy(placer *p, int32_t v, bool to_device, const node *reader, int32_t *out) {
  const char *op = to_device ? COPY_TO_DEVICE : COPY_TO_HOST;
  node *n;
  TRY(graph_add_value(p->g, NULL, out));
  p->g->values[*out].fact = p->g->values[v].fact;
  p->g->values[*out].on_device = to_device;
  TRY(graph_add_node(p->g, op, "ortcore", 1, &v, 1, out, &n));
  n->opset = 1;
  n->op = op_find("ortcore", op, 1);
  n->name = zone_printf(p->g->memory, "%s_%s", op, p->g->values[v].name);
  n->placed_because = zone_printf(p->g->memory, to_device ? "node '%s' (%s), which runs on the device, reads it" : "node '%s' (%s), which runs on the host, reads it",
                             reader->name, reader->op_type);
  if (!n->name || !n->placed_because) return status_out_of_memory();
  p->order[p->order_count++] = n;
  return OK;
}

/* The value that stands for operand v of `reader` on the side where it is wanted. */
static status on_side(placer *p, int32_t v, bool to_device, const node *reader, int32_t *out) {
  *out = v;
  if (p->g->values[v].on_device == to_device || p->g->values[v].fact.kind != KIND_TENSOR) return OK;
  int32_t made = p->places[v].copy;
  if (made == NO_VALUE) {
    TRY(is_constant(p, v) ? constant_twin(p, v, to_device, &made) : add_copy(p, v, to_device, reader, &made));
    p->places[v].copy = made;
  }
  *out = made;
  return OK;
}

static status place_node(placer *p, node *n) {
  for (int32_t i = 0; i < n->input_count + n->capture_count; ++i) {
    use u = use_of(n, i);
    if (u != USE_HOST && u != USE_DEVICE) continue;
    int32_t *operand = i < n->input_count ? &n->inputs[i] : &n->captures[i - n->input_count];
    TRY(on_side(p, *operand, u == USE_DEVICE, n, operand));
  }
  settle_outputs(p, n);
  p->order[p->order_count++] = n;
  return OK;
}

/* ---- All together ------------------------------------------------------------------------------------------------------------- */

static status place_nodes(placer *p, int32_t nodes) {
  for (int32_t i = 0; i < nodes; ++i) TRY(place_node(p, p->g->nodes[i]));
  memcpy(p->g->nodes, p->order, (size_t)p->order_count * sizeof *p->order);
  graph_compact(p->g);
  return OK;
}

status placement_apply(graph *g, const provider *of) {
  placer p = {.g = g, .p = of, .count = g->value_count};
  p.places = mem_calloc((size_t)g->value_count + 1, sizeof *p.places);
  p.order = mem_calloc((size_t)g->node_count + (size_t)g->value_count + 1, sizeof *p.order);
  status s = p.places && p.order ? OK : status_out_of_memory();
  if (!s) {
    for (int32_t v = 0; v < p.count; ++v) p.places[v].copy = NO_VALUE;
    choose_kernels(&p);
    find_readers(&p);
    settle_roots(&p);
    s = place_nodes(&p, g->node_count);
  }
  mem_free(p.places);
  mem_free(p.order);
  return s;
}
