/* If and Loop, and what Scan has in common with them. */
#include <ortcore/base/checked.h>
#include <ortcore/base/mem.h>
#include <ortcore/exec/control.h>
#include <ortcore/exec/transfer.h>
#include <string.h>

/* ---- Running a subplan ----------------------------------------------------------------------------------------------- */

/* After this many changes of shape within one Loop or Scan, plans per shape are not worth making: the generic one serves any. */
#define SHAPE_CHANGES 3

static void runner_deinit(runner *r) {
  mem_free(r->feeds);
  mem_free(r->views);
  mem_free(r->targets);
  *r = (runner){0};
}

status runner_init(runner *r, exec_step *e, const char *attribute) {
  *r = (runner){.step = e, .sub = step_subplan(e->source, attribute)};
  if (!r->sub) return ERROR(INVALID_GRAPH, "attribute '%s' with a graph is missing", attribute);
  const graph *g = r->sub->graph;
  r->child = e->child_base;
  while (e->source->subplans[r->child - e->child_base] != r->sub) ++r->child;
  r->feed_count = g->input_count + g->capture_count;
  r->feeds = mem_calloc((size_t)r->feed_count + 1, sizeof *r->feeds);
  r->views = mem_calloc((size_t)r->feed_count + 1, sizeof *r->views);
  r->targets = mem_calloc((size_t)g->output_count + 1, sizeof *r->targets);
  if (!r->feeds || !r->views || !r->targets) {
    runner_deinit(r);
    return status_out_of_memory();
  }
  const step *s = e->source;
  for (int32_t i = 0; i < g->capture_count; ++i) r->feeds[g->input_count + i] = frame_feed(e->owner, s->in[s->in_count + g->captures[i].slot]);
  for (int32_t i = 0; i < g->output_count; ++i) {
    r->targets[i] = target_engine(e->owner->env, plan_on_device(r->sub, g->outputs[i]));
    r->targets[i].name = g->values[g->outputs[i]].name;
    r->targets[i].may_share = true;
  }
  return OK;
}

static status child_frame(runner *r, frame **out) {
  frame **kept = &r->step->owner->children[r->child];
  *out = *kept;
  if (*kept && shape_plan_matches((*kept)->shapes, r->feed_count, r->views)) return OK;
  shape_plan *shapes;
  run_env *env = r->step->owner->env;
  /* What the frame's kernels use goes back with it: to the arena that it came from, which may be that of another stream. */
  if (*kept && r->sub->device) TRY(stream_synchronise(env->stream));
  if (r->shape_changes++ < SHAPE_CHANGES) TRY(shape_plan_find(r->sub, r->feed_count, r->views, &shapes));
  else TRY(shape_plan_generic(r->sub, &shapes));
  frame_release(*kept);
  *kept = NULL;
  status s = frame_create(r->sub, shapes, (ortc_allocator *[2]){env->allocator, env->device_allocator}, kept);
  shape_plan_release(shapes);
  *out = *kept;
  return s;
}

status runner_run(runner *r) {
  for (int32_t i = 0; i < r->feed_count; ++i) r->views[i] = r->feeds[i].view;
  for (int32_t i = 0; i < r->sub->graph->output_count; ++i) r->targets[i].placed = false;
  frame *child;
  status s = child_frame(r, &child);
  if (!s) s = executor_run(child, r->step->owner->env, r->feed_count, r->feeds, r->targets);
  /* What was to be moved into a run that did not begin is still here. */
  for (int32_t i = 0; i < r->feed_count; ++i) {
    if (!r->feeds[i].move) continue;
    ort_value_release(r->feeds[i].object);
    r->feeds[i].object = NULL;
  }
  return s;
}

void target_drop(target *t) {
  buffer_release(t->result_memory);
  ort_value_release(t->object);
  t->result_memory = NULL;
  t->object = NULL;
}

/* ---- Handing results to the step's outputs ---------------------------------------------------------------------------- */

static bool is_free_slot(const exec_step *e, int32_t v) {
  return e->owner->shapes->slots[v].where == STORAGE_DYNAMIC && e->owner->owner->last_use[v] != PLAN_END;
}

static status copy_to_output(exec_step *e, int32_t i, const tensor *from) {
  tensor *out;
  TRY(kernel_output_like(&e->k, i, from, &out));
  if (!out) return OK;
  return transfer_elements(e->owner->env, plan_on_device(e->owner->owner, e->source->out[i]), from, out);
}

/* Moves what a subplan computed to output i. The target is empty afterwards. */
static status deliver(exec_step *e, int32_t i, target *t) {
  int32_t v = i < e->k.out_count ? e->source->out[i] : NO_VALUE;
  status s = OK;
  if (v == NO_VALUE) {
    target_drop(t);
  } else if (t->object) {
    kernel_set_value(&e->k, i, t->object);
    t->object = NULL;
  } else if (is_free_slot(e, v) && t->result_memory) {
    e->owner->slots[v].view = t->result;
    frame_set(e->owner, v, t->result_memory, NULL);
    t->result_memory = NULL;
  } else {
    s = copy_to_output(e, i, &t->result);
  }
  target_drop(t);
  return s;
}

status deliver_stack(exec_step *e, stack *s, int32_t output) {
  int32_t v = output < e->k.out_count ? e->source->out[output] : NO_VALUE;
  if (v != NO_VALUE && e->owner->shapes->slots[v].known) stack_assume(s, &e->owner->shapes->slots[v].view);
  return stack_deliver(s, &e->k, output);
}

/* ---- If ---------------------------------------------------------------------------------------------------------------- */

static status read_bool(const tensor *t, const char *what, bool *out) {
  if (!t || t->count != 1 || t->type != ORTC_BOOL) return ERROR(INVALID_ARGUMENT, "%s must be one bool", what);
  *out = *(const uint8_t *)t->data != 0;
  return OK;
}

/* A branch writes straight into the memory that is planned for the step's output. */
static void target_planned_memory(exec_step *e, runner *r) {
  frame *f = e->owner;
  for (int32_t i = 0; i < r->sub->graph->output_count && i < e->k.out_count; ++i) {
    int32_t v = e->source->out[i];
    if (v == NO_VALUE) r->targets[i].kind = TARGET_NONE;
    else if (f->shapes->slots[v].where != STORAGE_DYNAMIC)
      r->targets[i] = (target){.kind = TARGET_BUFFER, .name = r->targets[i].name, .info = r->targets[i].info, .view = f->slots[v].view};
  }
}

static status run_if(exec_step *e) {
  bool condition = false;
  TRY(read_bool(e->operands[0], "the condition", &condition));
  runner r;
  TRY(runner_init(&r, e, condition ? "then_branch" : "else_branch"));
  target_planned_memory(e, &r);
  status s = runner_run(&r);
  for (int32_t i = 0; i < r.sub->graph->output_count; ++i) {
    if (s || r.targets[i].kind == TARGET_NONE) target_drop(&r.targets[i]);
    else s = deliver(e, i, &r.targets[i]);
  }
  runner_deinit(&r);
  return s;
}

/* ---- Values carried from iteration to iteration -------------------------------------------------------------------------- */

void carried_set(carried *c, const feed *f) {
  *c = (carried){.info = f->info, .memory = buffer_retain(f->memory), .object = ort_value_retain(f->object)};
  if (f->view) c->view = *f->view;
  else c->view.rank = RANK_UNKNOWN;
}

void carried_release(carried *c) {
  buffer_release(c->memory);
  ort_value_release(c->object);
  *c = (carried){0};
}

void carried_take(carried *c, target *t) {
  carried_release(c);
  *c = (carried){.view = t->result, .info = t->info, .memory = t->result_memory, .object = t->object};
  if (t->object) c->view.rank = RANK_UNKNOWN;
  t->result_memory = NULL;
  t->object = NULL;
}

/* The object's reference goes to the run, which may be its only holder then. */
feed carried_feed(carried *c) {
  if (c->object) {
    feed f = {.object = c->object, .move = true};
    c->object = NULL;
    return f;
  }
  return c->view.rank < 0 ? (feed){0} : (feed){.view = &c->view, .info = c->info, .memory = c->memory};
}

status carried_deliver(exec_step *e, int32_t i, carried *c) {
  target t = {.result = c->view, .result_memory = c->memory, .object = c->object};
  if (!c->object && c->view.rank < 0) {
    t.object = ort_value_none();
    if (!t.object) return status_out_of_memory();
  }
  *c = (carried){0};
  return deliver(e, i, &t);
}

/* ---- Loop ---------------------------------------------------------------------------------------------------------------- */

void loop_deinit(loop *l) {
  for (int32_t i = 0; l->carried && i < l->carried_count; ++i) carried_release(&l->carried[i]);
  mem_free(l->carried);
  for (int32_t i = 0; l->stacks && i < l->stack_count; ++i) stack_deinit(&l->stacks[i]);
  mem_free(l->stacks);
  runner_deinit(&l->r);
}

status loop_alloc(loop *l) {
  l->carried = mem_calloc((size_t)l->carried_count + 1, sizeof *l->carried);
  l->stacks = mem_calloc((size_t)l->stack_count + 1, sizeof *l->stacks);
  return l->carried && l->stacks ? OK : status_out_of_memory();
}

void stack_init_result(stack *s, const runner *r, int32_t output, int64_t axis, bool reversed) {
  int32_t v = r->sub->graph->outputs[output];
  stack_init(s, r->step->owner->env, plan_on_device(r->sub, v), &r->sub->graph->values[v].fact, axis, reversed);
}

static status loop_iterate(loop *l, exec_step *e, int64_t trips, bool condition) {
  const int64_t one = 1;
  tensor iteration, condition_in;
  int64_t i = 0;
  bool flag = condition;
  TRY(tensor_init(&iteration, ORTC_INT64, 0, &one));
  TRY(tensor_init(&condition_in, ORTC_BOOL, 0, &one));
  iteration.data = &i;
  condition_in.data = &flag;
  for (; (trips < 0 || i < trips) && flag; ++i) {
    if (kernel_cancelled(&e->k)) return ERROR(FAIL, "the run was ended in iteration %lld because its terminate flag is set", (long long)i);
    l->r.feeds[0] = (feed){.view = &iteration, .fleeting = true};
    l->r.feeds[1] = (feed){.view = &condition_in, .fleeting = true};
    for (int32_t c = 0; c < l->carried_count; ++c) l->r.feeds[2 + c] = carried_feed(&l->carried[c]);
    TRY(status_context(runner_run(&l->r), "iteration %lld", (long long)i));
    target *t = l->r.targets;
    status s = read_bool(&t[0].result, "the loop's condition output", &flag);
    target_drop(&t[0]);
    for (int32_t c = 0; c < l->carried_count; ++c) carried_take(&l->carried[c], &t[1 + c]);
    for (int32_t k = 0; k < l->stack_count; ++k) {
      if (!s) s = stack_push(&l->stacks[k], &t[1 + l->carried_count + k].result, trips);
      target_drop(&t[1 + l->carried_count + k]);
    }
    TRY(s);
  }
  return OK;
}

static status run_loop(exec_step *e) {
  int64_t trips = -1;
  bool condition = true;
  const tensor *limit = e->k.in_count > 0 ? e->operands[0] : NULL, *initial = e->k.in_count > 1 ? e->operands[1] : NULL;
  if (limit) {
    if (limit->type != ORTC_INT64 || limit->count != 1) return ERROR(INVALID_ARGUMENT, "the trip count M must be one int64");
    memcpy(&trips, limit->data, sizeof trips);
    if (trips < 0) trips = 0;
  }
  if (initial) TRY(read_bool(initial, "the loop's condition", &condition));
  loop l = {0};
  TRY(runner_init(&l.r, e, "body"));
  const graph *g = l.r.sub->graph;
  l.carried_count = g->input_count - 2;
  l.stack_count = g->output_count - 1 - l.carried_count;
  status s = OK;
  if (l.carried_count < 0 || l.stack_count < 0 || e->k.in_count != l.carried_count + 2)
    s = ERROR(INVALID_GRAPH, "the body has %d inputs and %d outputs, which does not fit a Loop with %d inputs", g->input_count, g->output_count, e->k.in_count);
  else s = loop_alloc(&l);
  for (int32_t c = 0; !s && c < l.carried_count; ++c) {
    feed f = frame_feed(e->owner, e->source->in[2 + c]);
    carried_set(&l.carried[c], &f);
  }
  for (int32_t k = 0; !s && k < l.stack_count; ++k) stack_init_result(&l.stacks[k], &l.r, 1 + l.carried_count + k, 0, false);
  if (!s) s = loop_iterate(&l, e, trips, condition);
  for (int32_t c = 0; !s && c < l.carried_count; ++c) s = carried_deliver(e, c, &l.carried[c]);
  for (int32_t k = 0; !s && k < l.stack_count; ++k) s = deliver_stack(e, &l.stacks[k], l.carried_count + k);
  loop_deinit(&l);
  return s;
}

status control_run(exec_step *e) {
  const char *op = e->k.node->op_type;
  return !strcmp(op, "If") ? run_if(e) : !strcmp(op, "Loop") ? run_loop(e) : scan_run(e);
}
