#include <ortcore/passes/infer.h>
#include <ortcore/plan/eval.h>
#include <ortcore/plan/shape_build.h>
#include <stdlib.h>
#include <string.h>

/* Shape arithmetic is small; anything larger is better computed by the run that needs it. */
#define EVALUATED_ELEMENTS 4096

typedef struct builder {
  shape_plan *sp;
  const plan *p;
  zone *scratch;                                            /* dropped when the plan is made */
  fact *facts;                                              /* by slot */
} builder;

/* ---- Facts -------------------------------------------------------------------------------------------------------- */

static status infer_subgraph(infer_ctx *c, graph *g, int32_t count, const fact *const *inputs, const fact **outputs);

/* Facts of a graph before its nodes are inferred: constants are known, everything else has a type at most. */
static fact *initial_facts(builder *b, const graph *g) {
  fact *facts = ZONE_ARRAY(b->scratch, g->value_count + 1, fact);
  for (int32_t i = 0; facts && i < g->value_count; ++i) {
    facts[i] = g->values[i].fact;
    if (!facts[i].value) facts[i].rank = RANK_UNKNOWN;
  }
  return facts;
}

static status infer_one(builder *b, fact *facts, const node *n) {
  const fact **in = ZONE_ARRAY(b->scratch, n->input_count + 1, const fact *);
  fact **out = ZONE_ARRAY(b->scratch, n->output_count + 1, fact *);
  if (!in || !out) return status_out_of_memory();
  for (int32_t i = 0; i < n->input_count; ++i) in[i] = n->inputs[i] == NO_VALUE ? NULL : &facts[n->inputs[i]];
  for (int32_t i = 0; i < n->output_count; ++i) out[i] = n->outputs[i] == NO_VALUE ? NULL : &facts[n->outputs[i]];
  struct { builder *b; fact *facts; } scope = {b, facts};
  return infer_node(n, n->input_count, in, n->output_count, out, infer_subgraph, &scope);
}

/* A branch that is not taken, or a body that is not run, may make no sense for these dims: what cannot be inferred there stays unknown. */
static void infer_leniently(builder *b, fact *facts, const node *n) {
  status s = infer_one(b, facts, n);
  for (int32_t i = 0; s && i < n->output_count; ++i)
    if (n->outputs[i] != NO_VALUE) facts[n->outputs[i]].rank = RANK_UNKNOWN;
  ortc_status_release(s);
}

/* A subgraph's facts from those of its inputs and of the values around it, which c->user points at. */
static status infer_subgraph(infer_ctx *c, graph *g, int32_t count, const fact *const *inputs, const fact **outputs) {
  const struct { builder *b; fact *facts; } *scope = c->user;
  builder *b = scope->b;
  fact *facts = initial_facts(b, g);
  if (!facts) return status_out_of_memory();
  for (int32_t i = 0; i < count && i < g->input_count; ++i)
    if (inputs[i]) facts[g->inputs[i]] = *inputs[i];
  for (int32_t i = 0; i < g->capture_count; ++i) facts[g->captures[i].inner] = scope->facts[c->node->captures[g->captures[i].slot]];
  for (int32_t i = 0; i < g->node_count; ++i) infer_leniently(b, facts, g->nodes[i]);
  for (int32_t i = 0; i < g->output_count; ++i) outputs[i] = &facts[g->outputs[i]];
  return OK;
}

static void set_feed_fact(fact *f, const tensor *t) {
  if (!t) return;
  f->kind = KIND_TENSOR;
  f->type = t->type;
  fact_set_shape(f, t->rank, t->dims);
}

static status set_feeds(builder *b, int32_t feed_count, const tensor *const *feeds) {
  const graph *g = b->p->graph;
  for (int32_t i = 0; i < feed_count; ++i) {
    int32_t slot = i < g->input_count ? g->inputs[i] : g->captures[i - g->input_count].inner;
    set_feed_fact(&b->facts[slot], feeds[i]);
    b->sp->slots[slot].where = STORAGE_INPUT;
    b->sp->slots[slot].root = slot;
  }
  return OK;
}

/* ---- Evaluation --------------------------------------------------------------------------------------------------- */

/* The facts of a step's inputs say what it will compute: every input is known, or only dims matter and they are. */
static bool can_evaluate(const builder *b, const step *s) {
  if (!eval_is_possible(s->node)) return false;
  for (int32_t i = 0; i < s->in_count; ++i) {
    if (s->in[i] == NO_VALUE) continue;
    const fact *f = &b->facts[s->in[i]];
    if (!f->value && !((s->op->flags & OP_SHAPE_ONLY) && f->kind == KIND_TENSOR && fact_is_static(f))) return false;
  }
  int64_t elements = 0;
  for (int32_t i = 0; i < s->out_count; ++i) {
    if (s->out[i] == NO_VALUE) continue;
    int64_t count = fact_count(&b->facts[s->out[i]]);
    if (count < 0 || count > EVALUATED_ELEMENTS) return false;
    elements += count;
  }
  return elements <= EVALUATED_ELEMENTS;
}

static status dims_only(builder *b, const fact *f, const tensor **out) {
  if (f->value) {
    *out = f->value;
    return OK;
  }
  tensor *t = ZONE_NEW(b->scratch, tensor);
  if (!t) return status_out_of_memory();
  *out = t;
  return tensor_init(t, f->type, f->rank, f->dims);
}

static status evaluate(builder *b, int32_t index) {
  const step *s = &b->p->steps[index];
  shape_plan *sp = b->sp;
  const tensor **in = ZONE_ARRAY(b->scratch, s->in_count + 1, const tensor *);
  const fact **out_facts = ZONE_ARRAY(b->scratch, s->out_count + 1, const fact *);
  ortc_value **values = ZONE_ARRAY(b->scratch, s->out_count + 1, ortc_value *);
  const fact **in_facts = ZONE_ARRAY(b->scratch, s->in_count + 1, const fact *);
  if (!in || !in_facts || !out_facts || !values) return status_out_of_memory();
  for (int32_t i = 0; i < s->in_count; ++i) {
    if (s->in[i] == NO_VALUE) continue;
    in_facts[i] = &b->facts[s->in[i]];
    TRY(dims_only(b, in_facts[i], &in[i]));
  }
  for (int32_t i = 0; i < s->out_count; ++i) out_facts[i] = s->out[i] == NO_VALUE ? NULL : &b->facts[s->out[i]];
  /* Params of a device's kernel say nothing to the CPU's. */
  if (!s->kernel || !s->kernel->prepare) TRY(eval_prepared(s->node, s->params, s->in_count, in, s->out_count, out_facts, values));
  else TRY(eval_node(s->node, s->in_count, in_facts, s->out_count, out_facts, values));
  for (int32_t i = 0; i < s->out_count; ++i) {
    if (!values[i]) continue;
    sp->values[sp->value_count++] = values[i];
    fact *f = &b->facts[s->out[i]];
    fact_set_shape(f, values[i]->view.rank, values[i]->view.dims);
    f->value = &values[i]->view;
  }
  sp->steps[index].done = true;
  return OK;
}

/* A copy to the other side has the contents that its source has; set_views brings them there. */
static void pass_on(builder *b, int32_t index) {
  const step *s = &b->p->steps[index];
  b->facts[s->out[0]].value = b->facts[s->in[0]].value;
  b->sp->steps[index].done = true;
}

/* ---- Specialisation ------------------------------------------------------------------------------------------------ */

/* The host cannot read a device's memory. */
static status without_data(builder *b, const tensor **t) {
  tensor *dims = zone_copy(b->scratch, *t, sizeof **t);
  if (!dims) return status_out_of_memory();
  dims->data = NULL;
  *t = dims;
  return OK;
}

static status specialise(builder *b, int32_t index) {
  const step *s = &b->p->steps[index];
  shape_plan *sp = b->sp;
  step_plan *plan_of = &sp->steps[index];
  if (plan_of->done || (!s->kernel && !s->op->specialise)) return OK;
  tensor *unknown = ZONE_NEW(b->scratch, tensor);
  const tensor **tensors = ZONE_ARRAY(b->scratch, s->in_count + s->out_count + 1, const tensor *), **outs = tensors + s->in_count;
  if (!unknown || !tensors) return status_out_of_memory();
  unknown->rank = RANK_UNKNOWN;
  for (int32_t i = 0; i < s->in_count; ++i) {
    if (s->in[i] == NO_VALUE) continue;
    if (!sp->slots[s->in[i]].known) return OK;              /* the executor does it, once the dims are there */
    tensors[i] = &sp->slots[s->in[i]].view;
    if (plan_on_device(b->p, s->in[i])) TRY(without_data(b, &tensors[i]));
  }
  for (int32_t i = 0; i < s->out_count; ++i)
    if (s->out[i] != NO_VALUE) outs[i] = sp->slots[s->out[i]].known ? &sp->slots[s->out[i]].view : unknown;
  specialise_ctx c = {.node = s->node, .params = s->params, .in_count = s->in_count, .out_count = s->out_count, .in = tensors, .out = outs,
                      .threads = b->p->threads, .data = step_data(s), .cuda = b->p->cuda};
  TRY(step_specialise(s, &c, &plan_of->spec));
  plan_of->specialised = true;
  plan_of->computed_by = c.computed_by;
  plan_of->scratch_bytes = c.scratch_bytes;
  sp->reordered_bytes += c.reordered_bytes;
  return OK;
}

/* ---- All together -------------------------------------------------------------------------------------------------- */

/* Slots whose memory is read in a run, by a step or as a graph output. */
static bool *find_read_slots(const builder *b) {
  bool *read = ZONE_ARRAY(b->scratch, b->p->slot_count + 1, bool);
  for (int32_t i = 0; read && i < b->p->step_count; ++i) {
    const step *s = &b->p->steps[i];
    for (int32_t j = 0; !b->sp->steps[i].done && j < s->in_count + s->capture_count; ++j)
      if (s->in[j] != NO_VALUE) read[s->in[j]] = true;
  }
  for (int32_t i = 0; read && i < b->p->graph->output_count; ++i) read[b->p->graph->outputs[i]] = true;
  return read;
}

/* Contents that are known ahead of runs, where the device reads them: the model's once for all plans, what this plan computed for it alone. */
static status upload_known(builder *b, int32_t v) {
  const plan *p = b->p;
  tensor *view = &b->sp->slots[v].view;
  ortc_value *uploaded;
  if (!view->count || p->on_device[v]) {
    view->data = p->on_device[v];
    return OK;
  }
  TRY(ort_value_create_tensor(p->device_memory, view->type, view->rank, view->dims, &uploaded));
  b->sp->values[b->sp->value_count++] = uploaded;
  TRY(device_copy(&uploaded->memory->info, uploaded->view.data, &memory_info_cpu, view->data, tensor_bytes(view)));
  view->data = uploaded->view.data;
  return OK;
}

static status set_views(builder *b) {
  const bool *read = find_read_slots(b);
  if (!read) return status_out_of_memory();
  for (int32_t v = 0; v < b->p->slot_count; ++v) {
    slot_plan *slot = &b->sp->slots[v];
    const fact *f = &b->facts[v];
    if (f->value) {
      if (slot->where != STORAGE_INPUT) slot->where = STORAGE_CONSTANT;
      slot->view = *f->value;
      slot->known = true;
      if (read[v] && plan_on_device(b->p, v) && slot->where == STORAGE_CONSTANT) TRY(upload_known(b, v));
    } else if (f->kind == KIND_TENSOR && !f->optional && fact_is_static(f)) {
      TRY(tensor_init(&slot->view, f->type, f->rank, f->dims));
      slot->view.order = f->order;
      slot->known = true;
    } else {
      slot->view.type = f->type;
      slot->view.order = f->order;
    }
  }
  return OK;
}

static status at_step(status s, const step *of) {
  return s ? status_at_node(status_context(s, "node '%s' (%s)", of->node->name, of->node->op_type), of->node->name) : OK;
}

static status propagate(builder *b) {
  for (int32_t i = 0; i < b->p->step_count; ++i) {
    const step *s = &b->p->steps[i];
    TRY(at_step(infer_one(b, b->facts, s->node), s));
    if (!can_evaluate(b, s)) continue;
    if (s->op->flags & OP_TRANSFER) pass_on(b, i);
    else TRY(evaluate(b, i));
  }
  return OK;
}

static status build(builder *b, int32_t feed_count, const tensor *const *feeds) {
  shape_plan *sp = b->sp;
  const plan *p = b->p;
  int32_t outputs = 0;
  for (int32_t i = 0; i < p->step_count; ++i) outputs += p->steps[i].out_count;
  sp->slots = ZONE_ARRAY(sp->memory, p->slot_count + 1, slot_plan);
  sp->steps = ZONE_ARRAY(sp->memory, p->step_count + 1, step_plan);
  sp->values = ZONE_ARRAY(sp->memory, 2 * outputs + b->p->graph->value_count + 1, ortc_value *);
  sp->first_write = ZONE_ARRAY(sp->memory, p->slot_count + 1, int32_t);
  sp->last_read = ZONE_ARRAY(sp->memory, p->slot_count + 1, int32_t);
  b->facts = initial_facts(b, p->graph);
  if (!sp->slots || !sp->steps || !sp->values || !sp->first_write || !sp->last_read || !b->facts) return status_out_of_memory();
  if (sp->generic) {
    const graph *g = p->graph;
    for (int32_t i = 0; i < g->input_count; ++i) sp->slots[g->inputs[i]] = (slot_plan){.where = STORAGE_INPUT, .root = g->inputs[i]};
    for (int32_t i = 0; i < g->capture_count; ++i) sp->slots[g->captures[i].inner] = (slot_plan){.where = STORAGE_INPUT, .root = g->captures[i].inner};
  } else {
    TRY(set_feeds(b, feed_count, feeds));
    TRY(propagate(b));
  }
  TRY(set_views(b));
  if (!sp->generic)
    for (int32_t i = 0; i < p->step_count; ++i) TRY(at_step(specialise(b, i), &p->steps[i]));
  return storage_build(sp);
}

status shape_build(shape_plan *sp, int32_t feed_count, const tensor *const *feeds) {
  builder b = {.sp = sp, .p = sp->owner, .scratch = zone_create()};
  status s = b.scratch ? build(&b, feed_count, feeds) : status_out_of_memory();
  zone_release(b.scratch);
  return s;
}
