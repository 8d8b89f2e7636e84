#include <ortcore/base/mem.h>
#include <ortcore/device/memory_info.h>
#include <ortcore/exec/executor.h>
#include <ortcore/exec/transfer.h>
#include <ortcore/passes/infer.h>
#include <string.h>

/* ---- Before the first step ------------------------------------------------------------------------------------------ */

/* A feed that lies where the plan reads it is read there; any other is brought. */
static bool is_in_place(const frame *f, const feed *in, int32_t v) {
  return plan_on_device(f->owner, v) ? side_is_device(f->env, in->info) : !in->info || memory_info_is_host(in->info);
}

/* The device has a copy of its own of an initializer's default. */
static const void *default_on_device(const frame *f, int32_t v, const tensor *view) {
  return view == f->owner->graph->values[v].default_value ? f->owner->on_device[v] : NULL;
}

static status set_tensor_feed(frame *f, int32_t v, feed *in) {
  slot *s = &f->slots[v];
  if (!f->shapes->slots[v].known) s->view = *in->view;
  s->view.data = in->view->data;
  bool is_read = f->owner->last_use[v] >= 0;
  if (!f->owner->device || !is_read || is_in_place(f, in, v)) return OK;
  const void *ready = plan_on_device(f->owner, v) ? default_on_device(f, v, in->view) : NULL;
  if (!ready) return status_context(transfer_feed(f, v, in), "input '%s'", f->owner->graph->values[v].name);
  s->view.data = (void *)(uintptr_t)ready;
  return OK;
}

static status set_feeds(frame *f, int32_t feed_count, feed *feeds) {
  const graph *g = f->owner->graph;
  for (int32_t i = 0; i < feed_count; ++i) {
    int32_t v = i < g->input_count ? g->inputs[i] : g->captures[i - g->input_count].inner;
    slot *s = &f->slots[v];
    if (!feeds[i].view) {
      s->view.rank = RANK_UNKNOWN;
      frame_set(f, v, NULL, feeds[i].move ? feeds[i].object : ort_value_retain(feeds[i].object));
      if (feeds[i].move) feeds[i].object = NULL;
    } else {
      TRY(set_tensor_feed(f, v, &feeds[i]));
    }
  }
  return OK;
}

/* Bound shapes are compared with the planned ones before anything is asked of an allocator or written. */
static status check_targets(const frame *f, const target *targets) {
  const graph *g = f->owner->graph;
  for (int32_t o = 0; o < g->output_count; ++o) {
    const slot_plan *planned = &f->shapes->slots[g->outputs[o]];
    if (planned->known) TRY(target_check(&targets[o], &planned->view));
  }
  return OK;
}

/* The target that output o's slot is written into: the first that wants it, if o is the slot's first mention in the outputs; else NULL. */
static target *slot_target(const frame *f, target *targets, int32_t o) {
  int32_t v = f->owner->graph->outputs[o];
  if (f->owner->first_output[v] != o) return NULL;
  target *wanted = target_of(f, targets, v);
  return wanted ? wanted : &targets[o];
}

/* Memory of the outputs whose shape is known. One that nobody wants still needs a place. */
static status place_outputs(frame *f, target *targets) {
  const graph *g = f->owner->graph;
  for (int32_t o = 0; o < g->output_count; ++o) {
    int32_t v = g->outputs[o];
    target *t = f->shapes->slots[v].where == STORAGE_OUTPUT ? slot_target(f, targets, o) : NULL;
    if (!t) continue;
    buffer *memory;
    f->slots[v].view.data = NULL;
    bool direct = target_is_direct(f, t, v);
    target engine = target_engine(f->env, plan_on_device(f->owner, v));
    TRY(target_resolve(direct ? t : &engine, f->env, &f->slots[v].view, &memory));
    t->placed = direct;
    frame_set(f, v, memory, NULL);
    if (direct && t->kind == TARGET_CALLBACK) TRY(overlap_check_target(f, f->feeds, targets, (int32_t)(t - targets)));
  }
  return OK;
}

static void apply_patches(frame *f) {
  for (int32_t i = 0; i < f->patch_count; ++i) {
    int32_t v = f->patches[i];
    f->slots[v].view.data = f->slots[f->shapes->slots[v].root].view.data;
  }
}

static void set_threads(frame *f, int threads) {
  if (f->threads == threads) return;
  f->threads = threads;
  for (int32_t i = 0; i < f->step_count; ++i) f->steps[i].k.threads = threads;
}

/* ---- Steps ---------------------------------------------------------------------------------------------------------- */

/* Operands that may be no tensor in this run: empty optionals, optional sequences. */
static void link_operands(exec_step *e) {
  const step *s = e->source;
  for (int32_t i = 0; i < s->in_count + s->capture_count; ++i) {
    if (s->in[i] == NO_VALUE) continue;
    const fact *known = &e->owner->owner->graph->values[s->in[i]].fact;
    if (!known->optional && known->kind != KIND_UNKNOWN) continue;
    const slot *from = &e->owner->slots[s->in[i]];
    e->operands[i] = from->object || from->view.rank < 0 ? NULL : &from->view;
  }
}

static bool spec_key_fits(const exec_step *e) {
  const int64_t *key = e->spec_key;
  for (int32_t i = 0; i < e->k.in_count; ++i) {
    const tensor *t = e->k.in[i];
    if (*key++ != (t ? t->rank : -1)) return false;
    for (int32_t d = 0; t && d < t->rank; ++d)
      if (*key++ != t->dims[d]) return false;
  }
  return true;
}

static status set_spec_key(exec_step *e) {
  size_t count = 1;
  for (int32_t i = 0; i < e->k.in_count; ++i) count += 1 + (size_t)(e->k.in[i] ? e->k.in[i]->rank : 0);
  int64_t *key = mem_realloc(e->spec_key, count * sizeof *key);
  if (!key) return status_out_of_memory();
  e->spec_key = key;
  for (int32_t i = 0; i < e->k.in_count; ++i) {
    const tensor *t = e->k.in[i];
    *key++ = t ? t->rank : -1;
    for (int32_t d = 0; t && d < t->rank; ++d) *key++ = t->dims[d];
  }
  return OK;
}

/* Shapes of the outputs, as far as the dims of the inputs tell them. */
static status infer_outputs(const exec_step *e, zone *scratch, const tensor **outs) {
  const step *s = e->source;
  const graph *g = e->owner->owner->graph;
  fact *facts = ZONE_ARRAY(scratch, s->in_count + s->out_count + 1, fact), *out_facts = facts + s->in_count;
  const fact **in = ZONE_ARRAY(scratch, s->in_count + 1, const fact *);
  fact **out = ZONE_ARRAY(scratch, s->out_count + 1, fact *);
  if (!facts || !in || !out) return status_out_of_memory();
  for (int32_t i = 0; i < s->in_count; ++i) {
    const tensor *t = e->k.in[i];
    if (!t) continue;
    facts[i] = g->values[s->in[i]].fact;
    fact_set_shape(&facts[i], t->rank, t->dims);
    if (!plan_on_device(e->owner->owner, s->in[i])) facts[i].value = t;
    in[i] = &facts[i];
  }
  for (int32_t i = 0; i < s->out_count; ++i) {
    if (s->out[i] == NO_VALUE) continue;
    out_facts[i] = g->values[s->out[i]].fact;
    out_facts[i].rank = RANK_UNKNOWN;
    out[i] = &out_facts[i];
  }
  TRY(infer_node(s->node, s->in_count, in, s->out_count, out, NULL, NULL));
  for (int32_t i = 0; i < s->out_count; ++i) {
    if (!out[i]) continue;
    tensor *t = ZONE_NEW(scratch, tensor);
    if (!t) return status_out_of_memory();
    t->rank = RANK_UNKNOWN;
    if (fact_is_static(out[i])) TRY(tensor_init(t, out[i]->type, out[i]->rank, out[i]->dims));
    t->order = out[i]->order;
    outs[i] = t;
  }
  return OK;
}

static status remember_shapes(exec_step *e, const tensor *const *outs) {
  if (!e->inferred) e->inferred = ZONE_ARRAY(e->owner->memory, e->k.out_count + 1, tensor);
  if (!e->inferred) return status_out_of_memory();
  for (int32_t i = 0; i < e->k.out_count; ++i) e->inferred[i] = outs[i] ? *outs[i] : (tensor){.rank = RANK_UNKNOWN};
  return OK;
}

static status make_spec(exec_step *e, zone *scratch) {
  const step *s = e->source;
  const tensor **tensors = ZONE_ARRAY(scratch, s->in_count + s->out_count + 1, const tensor *), **outs = tensors + s->in_count;
  if (!tensors) return status_out_of_memory();
  for (int32_t i = 0; i < s->in_count; ++i) {
    if (!e->k.in[i]) continue;
    bool constant = e->owner->owner->graph->values[s->in[i]].fact.value && !plan_on_device(e->owner->owner, s->in[i]);
    tensor *t = zone_copy(scratch, e->k.in[i], sizeof *t);
    if (!t) return status_out_of_memory();
    if (!constant) t->data = NULL;
    tensors[i] = t;
  }
  TRY(infer_outputs(e, scratch, outs));
  TRY(remember_shapes(e, outs));
  specialise_ctx c = {.node = s->node, .params = s->params, .in_count = s->in_count, .out_count = s->out_count, .in = tensors, .out = outs,
                      .threads = e->owner->owner->threads, .data = e->k.data, .cuda = e->owner->owner->cuda};
  TRY(step_specialise(s, &c, &e->k.spec));
  e->spec_scratch = c.scratch_bytes;
  e->spec_reordered = c.reordered_bytes;
  return OK;
}

static status specialise_now(exec_step *e) {
  if (!e->spec_key || !spec_key_fits(e)) {
    step_dispose_spec(e->source, e->k.spec);
    e->k.spec = NULL;
    mem_free(e->spec_key);
    e->spec_key = NULL;
    zone *scratch = zone_create();
    status s = scratch ? make_spec(e, scratch) : status_out_of_memory();
    zone_release(scratch);
    TRY(s);
    TRY(set_spec_key(e));
  }
  e->owner->env->stats.bytes_reordered += e->spec_reordered;
  return e->spec_scratch ? executor_services.scratch(&e->k, e->spec_scratch, &e->k.scratch) : OK;
}

/* The rare things before and after a kernel. */
static status run_special(exec_step *e) {
  if (e->flags & EXEC_LINK) link_operands(e);
  if (e->flags & EXEC_CONTROL) return control_run(e);
  if (e->flags & EXEC_TRANSFER) return transfer_run(e);
  if (e->flags & EXEC_SPECIALISE) TRY(specialise_now(e));
  return e->flags & EXEC_DEVICE ? e->source->kernel->launch(&e->k, e->owner->env->stream) : e->run(&e->k);
}

static status finish_step(frame *f, exec_step *e) {
  status kept = OK;
  while (f->scratch_count) {
    buffer *scratch = f->scratch[--f->scratch_count];
    if (!f->env->kept) buffer_release(scratch);
    else if (!kept) kept = buffer_list_add(f->env->kept, scratch);
    else buffer_release(scratch);
  }
  if (e->flags & EXEC_RELEASE)
    for (int32_t i = 0; i < e->source->release_count; ++i) frame_drop(f, e->source->releases[i]);
  status s = e->late_error;
  e->late_error = NULL;
  if (s) ortc_status_release(kept);
  return s ? s : kept;
}

static status explain(const exec_step *e, status s) {
  const node *n = e->source->node;
  return status_at_node(status_context(s, "node '%s' (%s), step %d", n->name, n->op_type, e->index), n->name);
}

static status run_steps(frame *f, run_env *env) {
  for (exec_step *e = f->steps, *end = e + f->step_count; e != end; ++e) {
    if (env->terminate && *env->terminate) return ERROR(FAIL, "the run was ended because its terminate flag is set");
    int64_t begin = env->trace ? profiler_now_ns() : 0;
    if (env->marks) env->marks->begin(e->source->node->name, e->source->node->op_type);
    status s = e->flags & ~(uint32_t)EXEC_RELEASE ? run_special(e) : e->run(&e->k);
    if (env->marks) env->marks->end();
    if (e->flags || f->scratch_count || e->late_error) {
      status late = finish_step(f, e);
      if (s) ortc_status_release(late);
      else s = late;
    }
    if (s) return explain(e, s);
    if (env->trace)
      profiler_record(env->trace, "Node", e->source->node->name, e->source->node->op_type, e->flags & EXEC_DEVICE ? PROVIDER_CUDA : PROVIDER_CPU, begin, profiler_now_ns());
  }
  env->stats.kernel_launches += (uint64_t)f->step_count;
  env->stats.bytes_reordered += f->shapes->reordered_bytes;
  return OK;
}

/* ---- After the last step --------------------------------------------------------------------------------------------- */

/* The feed whose memory slot v is, or NULL. */
static const feed *feed_of(const frame *f, int32_t v) {
  const graph *g = f->owner->graph;
  if (f->shapes->slots[v].where != STORAGE_INPUT) return NULL;
  for (int32_t i = 0; i < g->input_count; ++i)
    if (g->inputs[i] == f->shapes->slots[v].root) return &f->feeds[i];
  for (int32_t i = 0; i < g->capture_count; ++i)
    if (g->captures[i].inner == f->shapes->slots[v].root) return &f->feeds[g->input_count + i];
  return NULL;
}

/* A result that is an input as it came needs no memory of its own. */
static bool may_stay(const frame *f, const target *t, int32_t v) {
  const feed *from = t->may_share && !f->slots[v].memory ? feed_of(f, v) : NULL;
  return from && !from->fleeting && target_is_direct(f, t, v);
}

static status deliver(frame *f, target *targets) {
  const graph *g = f->owner->graph;
  for (int32_t o = 0; o < g->output_count; ++o) {
    target *t = &targets[o];
    if (t->kind == TARGET_NONE) continue;
    const slot *s = &f->slots[g->outputs[o]];
    if (s->object) {
      t->object = ort_value_retain(s->object);
    } else if (s->view.rank < 0) {
      t->object = ort_value_none();
      if (!t->object) return status_out_of_memory();
    } else if (t->placed) {
      t->result = s->view;
      t->result_memory = buffer_retain(s->memory);
    } else if (may_stay(f, t, g->outputs[o])) {
      t->result = s->view;
      t->result_memory = buffer_retain(feed_of(f, g->outputs[o])->memory);
    } else {                                               /* a graph input, a constant, or the twin of another output */
      TRY(target_fill(t, f->env, &s->view, side_info(f->env, plan_on_device(f->owner, g->outputs[o]))));
    }
  }
  return OK;
}

static void drop_results(const frame *f, target *targets) {
  for (int32_t o = 0; o < f->owner->graph->output_count; ++o) {
    buffer_release(targets[o].result_memory);
    ort_value_release(targets[o].object);
    targets[o].result_memory = NULL;
    targets[o].object = NULL;
  }
}

static status run(frame *f, run_env *env, int32_t feed_count, feed *feeds, target *targets) {
  TRY(check_targets(f, targets));
  TRY(overlap_check(f, feeds, targets));
  TRY(set_feeds(f, feed_count, feeds));
  TRY(place_outputs(f, targets));
  apply_patches(f);
  set_threads(f, env->threads);
  TRY(run_steps(f, env));
  return deliver(f, targets);
}

status executor_run(frame *f, run_env *env, int32_t feed_count, feed *feeds, target *targets) {
  f->env = env;
  f->targets = targets;
  f->feeds = feeds;
  f->feed_count = feed_count;
  status s = run(f, env, feed_count, feeds, targets);
  if (s) drop_results(f, targets);
  frame_clear(f);
  f->env = NULL;
  f->targets = NULL;
  f->feeds = NULL;
  return s;
}
