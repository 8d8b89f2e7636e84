/* If, Loop and Scan: the ends of their subgraphs lie where the values around them do. What a body that is repeated reads of them on the other
 * side is copied once, before its node; a branch, which may not run at all, copies for itself. */
#include <ortcore/plan/placer.h>
#include <string.h>

bool find_wiring(const node *n, const graph *body, wiring *out) {
  if (!strcmp(n->op_type, "If")) {
    *out = (wiring){.first_input = n->input_count};
    return body->input_count == 0 && body->output_count == n->output_count;
  }
  if (!strcmp(n->op_type, "Loop")) {
    *out = (wiring){.first_input = 2, .host_inputs = 2, .host_outputs = 1, .carried = body->input_count - 2};
  } else {
    int64_t scanned = attr_int_or(n, "num_scan_inputs", 0);
    if (scanned < 0 || scanned > body->input_count) return false;
    *out = (wiring){.first_input = n->op->since < 9 ? 1 : 0, .carried = body->input_count - (int32_t)scanned};
  }
  return out->carried >= 0 && n->input_count == out->first_input + body->input_count - out->host_inputs &&
         body->output_count >= out->host_outputs + out->carried && n->output_count <= body->output_count - out->host_outputs;
}

/* ---- Ends ----------------------------------------------------------------------------------------------------------------------------- */

static bool is_plain(const placer *p, int32_t v) { return v == NO_VALUE || is_plain_tensor(&p->g->values[v].fact); }

/* The node's input, the body's, what the body computes and the node's output are one memory after the other: they lie on one side. */
static bool is_carried_on_device(const placer *body, int32_t c) {
  const placer *p = body->parent;
  int32_t in = carried_in(body, c), out = carried_out(body, c);
  int32_t before = outer_input(body, body->ends.host_inputs + c), after = outer_output(body, body->ends.host_outputs + c);
  const place *of = &body->places[in];
  if (before == NO_VALUE || !is_plain(p, before) || !is_plain(p, after) || !is_plain(body, in) || !is_plain(body, out)) return false;
  if (of->from_shapes || of->read_by_device || of->read_by_host) return of->read_by_device && !of->from_shapes;
  return (after != NO_VALUE && p->places[after].read_by_device) || body->places[out].made == MADE_ON_DEVICE;
}

static bool is_scanned_on_device(const placer *body, int32_t i) {
  int32_t in = body_input(body, i), whole = outer_input(body, i);
  const place *of = &body->places[in];
  if (whole == NO_VALUE || !is_plain(body->parent, whole) || !is_plain(body, in)) return false;
  if (of->from_shapes || of->read_by_device || of->read_by_host) return of->read_by_device && !of->from_shapes;
  return body->parent->g->values[whole].on_device;
}

/* A result that all subgraphs make on the device, or that is read there. */
static bool is_result_on_device(const placer *p, const node *n, const placer *bodies, int32_t i) {
  if (i < bodies->ends.carried) return bodies->g->values[carried_in(bodies, i)].on_device;
  for (const placer *b = bodies; b; b = b->next)
    if (!is_plain(b, b->g->outputs[b->ends.host_outputs + i])) return false;
  int32_t v = i < n->output_count ? n->outputs[i] : NO_VALUE;
  if (v != NO_VALUE && (!is_plain(p, v) || p->places[v].from_shapes)) return false;
  return (v != NO_VALUE && p->places[v].read_by_device) || made_in_bodies(bodies, i) == MADE_ON_DEVICE;
}

static status place_inputs(placer *p, node *n, placer *bodies) {
  for (int32_t i = 0; i < bodies->ends.first_input && i < n->input_count; ++i)
    if (n->inputs[i] != NO_VALUE) TRY(on_side(p, n->inputs[i], false, n, READ_BY_NODE, &n->inputs[i]));
  for (int32_t i = bodies->ends.host_inputs; i < bodies->g->input_count; ++i) {
    int32_t c = i - bodies->ends.host_inputs, *outer = &n->inputs[bodies->ends.first_input + c];
    bool on_device = c < bodies->ends.carried ? is_carried_on_device(bodies, c) : is_scanned_on_device(bodies, i);
    bodies->g->values[body_input(bodies, i)].on_device = on_device;
    if (*outer != NO_VALUE) TRY(on_side(p, *outer, on_device, n, READ_IN_BODY, outer));
  }
  return OK;
}

/* ---- Captures --------------------------------------------------------------------------------------------------------------------------- */

/* Room for one more capture of each that there is, in the node and in the subgraph. */
static status reserve_captures(placer *body) {
  graph *g = body->g;
  node *n = body->owner;
  int32_t *outer = ZONE_ARRAY(g->memory, n->capture_count + g->capture_count + 1, int32_t);
  capture *inner = ZONE_ARRAY(g->memory, 2 * g->capture_count + 1, capture);
  if (!outer || !inner) return status_out_of_memory();
  if (n->capture_count) memcpy(outer, n->captures, (size_t)n->capture_count * sizeof *outer);
  if (g->capture_count) memcpy(inner, g->captures, (size_t)g->capture_count * sizeof *inner);
  n->captures = outer;
  g->captures = inner;
  return OK;
}

/* What the body reads on both sides comes in twice. */
static status add_twin(placer *body, int32_t inner, int32_t outer) {
  graph *g = body->g;
  node *n = body->owner;
  int32_t twin;
  TRY(graph_add_value(g, NULL, &twin));
  g->values[twin].fact = g->values[inner].fact;
  g->values[twin].is_capture = true;
  g->values[twin].on_device = body->parent->g->values[outer].on_device;
  body->places[inner].copy = twin;
  g->captures[g->capture_count++] = (capture){.inner = twin, .slot = n->capture_count};
  n->captures[n->capture_count++] = outer;
  return OK;
}

/* Is v to come in on that side, because the body wants it there? A branch takes only what is there without a copy. */
static bool comes_in(const placer *body, int32_t v, bool to_device) {
  const placer *p = body->parent;
  bool repeated = body->g->input_count > 0;
  return repeated || p->g->values[v].on_device == to_device || is_constant(p, v) || p->places[v].copy != NO_VALUE;
}

static status place_capture(placer *body, capture of) {
  placer *p = body->parent;
  node *n = body->owner;
  const place *reads = &body->places[of.inner];
  int32_t whole = n->captures[of.slot], first = whole, second = whole;
  bool by_device = is_plain(body, of.inner) && reads->read_by_device && comes_in(body, whole, true);
  bool by_host = !is_plain(body, of.inner) || (reads->read_by_host && comes_in(body, whole, false));
  if (by_device || by_host) TRY(on_side(p, whole, by_device, n, READ_IN_BODY, &first));
  n->captures[of.slot] = first;
  body->g->values[of.inner].on_device = p->g->values[first].on_device;
  if (!by_device || !by_host) return OK;
  TRY(on_side(p, whole, false, n, READ_IN_BODY, &second));
  return second == first ? OK : add_twin(body, of.inner, second);
}

static status place_captures(placer *body) {
  int32_t count = body->g->capture_count;
  TRY(reserve_captures(body));
  for (int32_t i = 0; i < count; ++i) TRY(place_capture(body, body->g->captures[i]));
  return OK;
}

/* ---- All together ------------------------------------------------------------------------------------------------------------------------ */

static status place_results(placer *body, const bool *on_device) {
  graph *g = body->g;
  for (int32_t o = 0; o < g->output_count; ++o) {
    int32_t i = o - body->ends.host_outputs;
    TRY(on_side(body, g->outputs[o], i >= 0 && on_device[i], body->owner, READ_AS_RESULT, &g->outputs[o]));
    g->values[g->outputs[o]].is_output = true;
  }
  return OK;
}

status place_bodies(placer *p, int32_t index) {
  node *n = p->g->nodes[index];
  placer *bodies = p->bodies[index];
  int32_t results = bodies->g->output_count - bodies->ends.host_outputs;
  bool *on_device = ZONE_ARRAY(p->scratch, results + 1, bool);
  if (!on_device) return status_out_of_memory();
  TRY(place_inputs(p, n, bodies));
  for (placer *b = bodies; b; b = b->next) TRY(place_captures(b));
  for (int32_t i = 0; i < results; ++i) on_device[i] = is_result_on_device(p, n, bodies, i);
  for (placer *b = bodies; b; b = b->next) {
    TRY(place_values(b));
    TRY(place_results(b, on_device));
    set_order(b);
  }
  for (int32_t i = 0; i < n->output_count; ++i)
    if (n->outputs[i] != NO_VALUE) p->g->values[n->outputs[i]].on_device = on_device[i];
  return OK;
}
