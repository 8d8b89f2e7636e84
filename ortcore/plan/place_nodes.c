/* Which nodes run on the device. */
#include <ortcore/plan/placer.h>

/* Sweeps over all graphs until loops agree with their next iteration. What is not settled then costs copies, not results. */
enum { MOST_SWEEPS = 64 };

use use_of(const node *n, int32_t i) {
  if (node_operand(n, i) == NO_VALUE) return USE_NOTHING;
  if (n->op->flags & OP_SHAPE_ONLY) return USE_DIMS;
  if (is_view(n) && i == 0) return USE_VIEW;
  return n->kernel && !in_mask(n->kernel->host_inputs, i) ? USE_DEVICE : USE_HOST;
}

/* ---- Kernels -------------------------------------------------------------------------------------------------------------------- */

static const kernel_row *find_kernel(const placer *p, const node *n) {
  const fact *in[64];
  if (n->input_count > (int32_t)(sizeof in / sizeof *in) || (n->op->flags & (OP_SUBGRAPHS | OP_VALUES | OP_SHAPE_ONLY))) return NULL;
  for (int32_t i = 0; i < n->input_count; ++i) {
    in[i] = n->inputs[i] == NO_VALUE ? NULL : &p->g->values[n->inputs[i]].fact;
    if (in[i] && !is_plain_tensor(in[i])) return NULL;
  }
  for (int32_t i = 0; i < n->output_count; ++i)
    if (n->outputs[i] != NO_VALUE && !is_plain_tensor(&p->g->values[n->outputs[i]].fact)) return NULL;
  return provider_find_kernel(p->p, n, in);
}

static bool is_integer(const fact *f) { return typeset_has(TS_INTEGER | TS(BOOL), f->type); }

/* Sizes, axes, scales: not the images that a model makes from them, nor the masks that it makes in each iteration. */
static bool is_small(const placer *p, const node *n, bool counted) {
  for (int32_t i = 0; i < n->output_count; ++i) {
    const fact *f = n->outputs[i] == NO_VALUE ? NULL : &p->g->values[n->outputs[i]].fact;
    int64_t count = f ? fact_count(f) : 0;
    if (f && (counted || !is_integer(f)) && (count < 0 || count > 1024)) return false;
  }
  return true;
}

static bool reads_counted(const placer *p, const node *n) {
  for (int32_t i = 0; i < n->input_count; ++i)
    if (n->inputs[i] != NO_VALUE && p->places[n->inputs[i]].counted) return true;
  return false;
}

/* Everything that the node reads but constants comes from dims or counts, and it reads something of the kind. */
static bool continues_shapes(const placer *p, const node *n) {
  if (n->op->flags & (OP_SUBGRAPHS | OP_NONDETERMINISTIC) || !is_small(p, n, reads_counted(p, n))) return false;
  bool any = false;
  for (int32_t i = 0; i < n->input_count; ++i) {
    int32_t v = n->inputs[i];
    if (v == NO_VALUE || p->g->values[v].fact.value) continue;
    if (!p->places[v].from_shapes) return false;
    any |= use_of(n, i) != USE_HOST || !n->kernel;
  }
  return any;
}

static void set_from_shapes(placer *p, const node *n, bool from_shapes) {
  bool counted = from_shapes && !(n->op->flags & OP_SHAPE_ONLY) && reads_counted(p, n);
  for (int32_t i = 0; i < n->output_count; ++i) {
    if (n->outputs[i] == NO_VALUE) continue;
    p->places[n->outputs[i]].from_shapes = from_shapes;
    p->places[n->outputs[i]].counted = counted;
  }
}

static void to_host(node *n, const char *because) {
  n->kernel = NULL;
  n->placed_because = because;
}

static const char *why_no_kernel(const placer *p, const node *n) {
  if (n->op->flags & OP_SUBGRAPHS) return "its subgraphs are run by the host";
  if (n->op->flags & OP_VALUES) return "sequences, maps and optionals are the host's";
  const fact *first = n->input_count && n->inputs[0] != NO_VALUE ? &p->g->values[n->inputs[0]].fact : NULL;
  if (!first || !dtype_name(first->type)) return zone_printf(p->g->memory, "the device has no kernel for %s", n->op_type);
  return zone_printf(p->g->memory, "the device has no kernel for %s of tensor(%s) with these attributes", n->op_type, dtype_name(first->type));
}

static bool choose_kernels(placer *p);

/* A counter of a loop begins with a constant, a size, or one number that the caller gives. */
static bool may_count(const placer *body, int32_t i) {
  const placer *p = body->parent;
  int32_t v = outer_input(body, i);
  if (v == NO_VALUE || body->places[body_input(body, i)].varies) return false;
  const value *first = &p->g->values[v];
  if (!is_plain_tensor(&first->fact) || !is_integer(&first->fact)) return false;
  return p->places[v].from_shapes || first->fact.value || (!p->parent && first->is_input && fact_count(&first->fact) == 1);
}

static bool is_scanned_from_shapes(const placer *body, int32_t i) {
  int32_t v = outer_input(body, i);
  return v != NO_VALUE && body->parent->places[v].from_shapes && is_integer(&body->parent->g->values[v].fact);
}

/* With the hope that counters count; true if one turns out not to, and so something must be placed anew. */
static bool choose_in_body(placer *body) {
  const graph *g = body->g;
  for (int32_t i = 0; i < g->capture_count; ++i) {
    const place *outer = &body->parent->places[body->owner->captures[g->captures[i].slot]];
    body->places[g->captures[i].inner].from_shapes = outer->from_shapes;
    body->places[g->captures[i].inner].counted = outer->counted;
  }
  for (int32_t i = 0; i < g->input_count; ++i) {
    int32_t c = i - body->ends.host_inputs;
    place *in = &body->places[body_input(body, i)];
    in->from_shapes = in->counted = c < 0 || (c < body->ends.carried ? may_count(body, i) : is_scanned_from_shapes(body, i));
  }
  bool failed = choose_kernels(body);
  for (int32_t c = 0; c < body->ends.carried; ++c) {
    place *in = &body->places[carried_in(body, c)];
    int32_t out = carried_out(body, c);
    if (!in->from_shapes || body->places[out].from_shapes || g->values[out].fact.value) continue;
    in->varies = failed = true;
  }
  return failed;
}

/* All subgraphs compute this output from shapes, or give a constant. */
static bool result_from_shapes(const placer *bodies, int32_t i) {
  bool any = false;
  for (const placer *b = bodies; b; b = b->next) {
    int32_t v = b->g->outputs[b->ends.host_outputs + i];
    if (!is_integer(&b->g->values[v].fact) || (!b->places[v].from_shapes && !b->g->values[v].fact.value)) return false;
    any |= b->places[v].from_shapes;
  }
  return any;
}

static bool choose_in_bodies(placer *p, node *n, placer *bodies) {
  bool failed = false;
  to_host(n, "it decides on the host; the nodes of its subgraphs are placed by themselves");
  for (placer *b = bodies; b; b = b->next) failed |= choose_in_body(b);
  for (int32_t i = 0; i < n->output_count; ++i) {
    if (n->outputs[i] == NO_VALUE) continue;
    place *result = &p->places[n->outputs[i]];
    result->from_shapes = result->counted = result_from_shapes(bodies, i);
  }
  return failed;
}

static bool choose_kernels(placer *p) {
  bool failed = false;
  for (int32_t i = 0; i < p->g->node_count; ++i) {
    node *n = p->g->nodes[i];
    n->kernel = find_kernel(p, n);
    n->placed_because = NULL;
    set_from_shapes(p, n, false);
    if (p->bodies[i]) {
      failed |= choose_in_bodies(p, n, p->bodies[i]);
    } else if ((n->op->flags & OP_SHAPE_ONLY) || continues_shapes(p, n)) {
      set_from_shapes(p, n, true);
      to_host(n, reads_counted(p, n) ? "it computes with dims and counts only" : "it computes with dims only");
    } else if (!n->kernel && !is_view(n)) {
      to_host(n, why_no_kernel(p, n));
    }
  }
  return failed;
}

/* ---- Who makes values --------------------------------------------------------------------------------------------------------------- */

made made_in_bodies(const placer *bodies, int32_t i) {
  made by = MADE_ANYWHERE;
  for (const placer *b = bodies; b && by != MADE_ON_HOST; b = b->next) {
    made here = b->places[b->g->outputs[b->ends.host_outputs + i]].made;
    if (here != MADE_ANYWHERE) by = here;
  }
  return by;
}

static void find_makers(placer *p);

static void find_makers_in_body(placer *body) {
  const graph *g = body->g;
  for (int32_t i = 0; i < g->capture_count; ++i)
    body->places[g->captures[i].inner].made = body->parent->places[body->owner->captures[g->captures[i].slot]].made;
  for (int32_t i = 0; i < g->input_count; ++i) {
    made *by = &body->places[body_input(body, i)].made;
    int32_t from = i < body->ends.host_inputs ? NO_VALUE : outer_input(body, i);
    if (from != NO_VALUE) *by = body->parent->places[from].made;
    else *by = i < body->ends.host_inputs ? MADE_ON_HOST : MADE_ANYWHERE;
  }
  find_makers(body);
  for (int32_t c = 0; c < body->ends.carried; ++c)
    if (body->places[carried_out(body, c)].made == MADE_ON_DEVICE) body->places[carried_in(body, c)].made = MADE_ON_DEVICE;
}

static void find_makers(placer *p) {
  for (int32_t i = 0; i < p->g->node_count; ++i) {
    const node *n = p->g->nodes[i];
    for (placer *b = p->bodies[i]; b; b = b->next) find_makers_in_body(b);
    for (int32_t o = 0; o < n->output_count; ++o) {
      if (n->outputs[o] == NO_VALUE) continue;
      made *by = &p->places[n->outputs[o]].made;
      if (p->bodies[i]) *by = made_in_bodies(p->bodies[i], o);
      else if (is_view(n) && o == 0) *by = p->places[n->inputs[0]].made;
      else *by = n->kernel && !in_mask(n->kernel->host_outputs, o) ? MADE_ON_DEVICE : MADE_ON_HOST;
    }
  }
}

/* ---- Who reads values --------------------------------------------------------------------------------------------------------------- */

/* Integers that only the host reads, made of graph inputs, constants and what the host has: sizes, axes, conditions and the like. */
static bool serves_the_host(const placer *p, const node *n) {
  for (int32_t i = 0; i < n->output_count; ++i) {
    int32_t v = n->outputs[i];
    if (v == NO_VALUE) continue;
    const value *of = &p->g->values[v];
    if ((of->is_output && !p->parent) || p->places[v].read_by_device || !p->places[v].read_by_host || !is_integer(&of->fact)) return false;
  }
  for (int32_t i = 0; i < n->input_count; ++i) {
    int32_t v = n->inputs[i];
    if (v == NO_VALUE || use_of(n, i) != USE_DEVICE) continue;
    int32_t producer = p->g->values[v].producer;
    if (producer >= 0 ? p->g->nodes[producer]->kernel != NULL : p->places[v].made == MADE_ON_DEVICE) return false;
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

static bool find_readers(placer *p, bool may_move);

/* A body's results are read by whoever reads the node's outputs, and by the next iteration. */
static void begin_body(placer *body) {
  const graph *g = body->g;
  for (int32_t v = 0; v < body->count; ++v) body->places[v].read_by_host = body->places[v].read_by_device = false;
  for (int32_t o = 0; o < g->output_count; ++o) {
    place *result = &body->places[g->outputs[o]];
    int32_t outer = outer_output(body, o), c = o - body->ends.host_outputs;
    result->read_by_host |= c < 0;
    if (outer != NO_VALUE) {
      result->read_by_host |= body->parent->places[outer].read_by_host;
      result->read_by_device |= body->parent->places[outer].read_by_device;
    }
    if (c < 0 || c >= body->ends.carried) continue;
    result->read_by_host |= body->places[carried_in(body, c)].next_by_host;
    result->read_by_device |= body->places[carried_in(body, c)].next_by_device;
  }
}

/* What the body reads is read of the values around it. True if the next iteration reads more than was known. */
static bool end_body(placer *body) {
  const graph *g = body->g;
  place *around = body->parent->places;
  bool more = false;
  for (int32_t i = 0; i < g->capture_count; ++i) {
    place *outer = &around[body->owner->captures[g->captures[i].slot]];
    outer->read_by_host |= body->places[g->captures[i].inner].read_by_host;
    outer->read_by_device |= body->places[g->captures[i].inner].read_by_device;
  }
  for (int32_t i = body->ends.host_inputs; i < g->input_count; ++i) {
    place *in = &body->places[body_input(body, i)];
    bool by_host = in->read_by_host || (in->from_shapes && in->read_by_device), by_device = in->read_by_device && !in->from_shapes;
    if (outer_input(body, i) != NO_VALUE) {
      around[outer_input(body, i)].read_by_host |= by_host;
      around[outer_input(body, i)].read_by_device |= by_device;
    }
    if (i - body->ends.host_inputs >= body->ends.carried) continue;
    more |= (by_host && !in->next_by_host) || (by_device && !in->next_by_device);
    in->next_by_host |= by_host;
    in->next_by_device |= by_device;
  }
  return more;
}

static bool find_readers_in_bodies(placer *p, const node *n, placer *bodies, bool may_move) {
  bool more = false;
  for (placer *b = bodies; b; b = b->next) {
    begin_body(b);
    more |= find_readers(b, may_move);
    more |= end_body(b);
  }
  for (int32_t i = 0; i < bodies->ends.first_input && i < n->input_count; ++i)
    if (n->inputs[i] != NO_VALUE) p->places[n->inputs[i]].read_by_host = true;
  return more;
}

/* From the last node to the first, so that what a node's outputs are read by is known before the node is looked at. */
static bool find_readers(placer *p, bool may_move) {
  bool more = false;
  for (int32_t i = p->g->node_count - 1; i >= 0; --i) {
    node *n = p->g->nodes[i];
    if (p->bodies[i]) {
      more |= find_readers_in_bodies(p, n, p->bodies[i], may_move);
      continue;
    }
    if (may_move && n->kernel && serves_the_host(p, n)) to_host(n, "only the host reads what it computes");
    note_uses(p, n);
  }
  return more;
}

static void forget_readers(placer *p) {
  for (int32_t v = 0; v < p->count; ++v) {
    place *of = &p->places[v];
    of->read_by_host = of->read_by_device = of->next_by_host = of->next_by_device = false;
  }
  for (int32_t i = 0; i < p->g->node_count; ++i)
    for (placer *b = p->bodies[i]; b; b = b->next) forget_readers(b);
}

static void settle_readers(placer *top) {
  forget_readers(top);
  for (int sweep = 0; sweep < MOST_SWEEPS && find_readers(top, false); ++sweep) {}
}

/* Moving a node to the host changes where its inputs are read, so that readers are found before and after. */
void place_nodes(placer *top) {
  for (int sweep = 0; sweep < MOST_SWEEPS && choose_kernels(top); ++sweep) {}
  find_makers(top);
  settle_readers(top);
  for (int32_t v = 0; v < top->count; ++v) top->places[v].read_by_host = top->places[v].read_by_device = false;
  find_readers(top, true);
  find_makers(top);
  settle_readers(top);
}
