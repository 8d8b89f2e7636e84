/* Where values lie, and the copies between the sides. */
#include <ortcore/base/zone.h>
#include <ortcore/plan/placement.h>
#include <ortcore/plan/placer.h>
#include <string.h>

/* ---- Where values lie --------------------------------------------------------------------------------------------------------- */

/* Constants, and the inputs of the main graph; those of subgraphs lie where their node puts them. */
static void settle_roots(placer *p) {
  for (int32_t v = 0; v < p->count; ++v) {
    value *of = &p->g->values[v];
    if (of->producer >= 0 || (p->parent && (of->is_input || of->is_capture))) continue;
    of->on_device = of->fact.kind == KIND_TENSOR && p->places[v].read_by_device && !(is_constant(p, v) && p->places[v].read_by_host);
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

static const char *why_copied(placer *p, const node *reader, reading how, bool to_device) {
  static const char *const ways[][2] = {
    [READ_BY_NODE] = {", which runs on the host, reads it", ", which runs on the device, reads it"},
    [READ_IN_BODY] = {" reads it in a subgraph on the host", " reads it in a subgraph on the device"},
    [READ_AS_RESULT] = {" takes this result of its subgraph on the host", " takes this result of its subgraph on the device"}};
  return zone_printf(p->g->memory, "node '%s' (%s)%s", reader->name, reader->op_type, ways[how][to_device]);
}

static status add_copy(placer *p, int32_t v, bool to_device, const node *reader, reading how, int32_t *out) {
  const char *op = to_device ? COPY_TO_DEVICE : COPY_TO_HOST;
  node *n;
  TRY(graph_add_value(p->g, NULL, out));
  p->g->values[*out].fact = p->g->values[v].fact;
  p->g->values[*out].on_device = to_device;
  TRY(graph_add_node(p->g, op, "ortcore", 1, &v, 1, out, &n));
  n->opset = 1;
  n->op = op_find("ortcore", op, 1);
  n->name = zone_printf(p->g->memory, "%s_%s", op, p->g->values[v].name);
  n->placed_because = why_copied(p, reader, how, to_device);
  if (!n->name || !n->placed_because) return status_out_of_memory();
  p->order[p->order_count++] = n;
  return OK;
}

status on_side(placer *p, int32_t v, bool to_device, const node *reader, reading how, int32_t *out) {
  *out = v;
  if (p->g->values[v].on_device == to_device || p->g->values[v].fact.kind != KIND_TENSOR) return OK;
  int32_t made = p->places[v].copy;
  if (made == NO_VALUE) {
    TRY(is_constant(p, v) ? constant_twin(p, v, to_device, &made) : add_copy(p, v, to_device, reader, how, &made));
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
    TRY(on_side(p, *operand, u == USE_DEVICE, n, READ_BY_NODE, operand));
  }
  settle_outputs(p, n);
  return OK;
}

status place_values(placer *p) {
  int32_t nodes = p->g->node_count;
  settle_roots(p);
  for (int32_t i = 0; i < nodes; ++i) {
    node *n = p->g->nodes[i];
    TRY(p->bodies[i] ? place_bodies(p, i) : place_node(p, n));
    p->order[p->order_count++] = n;
  }
  return OK;
}

void set_order(placer *p) {
  if (p->order_count) memcpy(p->g->nodes, p->order, (size_t)p->order_count * sizeof *p->order);
  graph_compact(p->g);
}

/* ---- All together ------------------------------------------------------------------------------------------------------------- */

static status placer_create(placer *from, placer **out);

/* Placers for the subgraphs of node i; none if one of them does not fit it. */
static status add_bodies(placer *p, int32_t i) {
  node *n = p->g->nodes[i];
  placer **link = &p->bodies[i];
  wiring ends;
  for (int32_t a = 0; a < n->attr_count; ++a)
    if (n->attrs[a].kind == ATTR_GRAPH && !find_wiring(n, n->attrs[a].g, &ends)) return OK;
  for (int32_t a = 0; a < n->attr_count; ++a) {
    if (n->attrs[a].kind != ATTR_GRAPH) continue;
    (void)find_wiring(n, n->attrs[a].g, &ends);
    placer body = {.g = n->attrs[a].g, .p = p->p, .scratch = p->scratch, .parent = p, .owner = n, .ends = ends};
    TRY(placer_create(&body, link));
    link = &(*link)->next;
  }
  return OK;
}

static status placer_create(placer *from, placer **out) {
  placer *p = *out = zone_copy(from->scratch, from, sizeof *from);
  if (!p) return status_out_of_memory();
  p->count = p->g->value_count;
  p->places = ZONE_ARRAY(p->scratch, p->count + 1, place);
  p->bodies = ZONE_ARRAY(p->scratch, p->g->node_count + 1, placer *);
  p->order = ZONE_ARRAY(p->scratch, p->g->node_count + p->count + 1, node *);
  if (!p->places || !p->bodies || !p->order) return status_out_of_memory();
  for (int32_t v = 0; v < p->count; ++v) p->places[v].copy = NO_VALUE;
  for (int32_t i = 0; i < p->g->node_count; ++i)
    if (p->g->nodes[i]->op->flags & OP_SUBGRAPHS) TRY(add_bodies(p, i));
  return OK;
}

status placement_apply(graph *g, const provider *of) {
  zone *scratch = zone_create();
  placer *top = NULL, main = {.g = g, .p = of, .scratch = scratch};
  status s = scratch ? placer_create(&main, &top) : status_out_of_memory();
  if (!s) {
    place_nodes(top);
    s = place_values(top);
  }
  if (!s) set_order(top);
  zone_release(scratch);
  return s;
}
