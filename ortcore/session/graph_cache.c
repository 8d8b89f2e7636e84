#include <ortcore/base/log.h>
#include <ortcore/base/mem.h>
#include <ortcore/exec/transfer.h>
#include <ortcore/session/graph_cache.h>
#include <stdio.h>

/* Shapes that one binding keeps graphs for. */
enum { MOST_RUNS = 8, REASON = 256 };

/* NEW has not run. WARM has: everything that is made at a first run is there. PLAIN cannot be recorded. */
typedef enum record_state { NEW, WARM, RECORDED, PLAIN } record_state;

struct recorded_run {
  recorded_run *next;
  frame *f;
  record_state state;
  device_graph *graph;
  buffer_list kept;                                         /* what the recorded kernels use besides the frame's blocks and bound memory */
  int32_t feed_count, target_count;
  const tensor **views;                                     /* room for the feeds of a run that is looked up */
  const void **addresses;                                   /* of the feeds, then of the targets, when it was recorded */
  bool *wanted;                                             /* of the targets: somebody asked for it */
  tensor *results;                                          /* of the targets */
};

/* ---- Entries -------------------------------------------------------------------------------------------------------------- */

static void release_run(recorded_run *r) {
  if (!r) return;
  frame_release(r->f);
  if (r->graph) r->graph->owner->vtable->graph_release(r->graph);
  buffer_list_clear(&r->kept);
  mem_free(r->views);
  mem_free(r->addresses);
  mem_free(r->wanted);
  mem_free(r->results);
  mem_free(r);
}

static void release_runs(recorded_run *r) {
  for (recorded_run *next; r; r = next) {
    next = r->next;
    release_run(r);
  }
}

void graph_cache_clear(graph_cache *c) {
  release_runs(c->runs);
  release_runs(c->captured);
  *c = (graph_cache){.enabled = c->enabled};
}

static status create_run(ortc_session *s, const feed *feeds, const lane *on, recorded_run **out) {
  recorded_run *r = *out = MEM_NEW(recorded_run);
  if (!r) return status_out_of_memory();
  r->feed_count = s->feed_count;
  r->target_count = s->target_count;
  r->addresses = mem_calloc((size_t)(s->feed_count + s->target_count) + 1, sizeof *r->addresses);
  r->views = mem_calloc((size_t)s->feed_count + 1, sizeof *r->views);
  r->wanted = mem_calloc((size_t)s->target_count + 1, sizeof *r->wanted);
  r->results = mem_calloc((size_t)s->target_count + 1, sizeof *r->results);
  status result = r->addresses && r->views && r->wanted && r->results ? session_acquire_frame(s, feeds, on, &r->f) : status_out_of_memory();
  if (!result) return OK;
  release_run(r);
  *out = NULL;
  return result;
}

static bool has_shapes(const recorded_run *r, const feed *feeds) {
  for (int32_t i = 0; i < r->feed_count; ++i) r->views[i] = feeds[i].view;
  return shape_plan_matches(r->f->shapes, r->feed_count, r->views);
}

static void drop_oldest(graph_cache *c) {
  recorded_run **last = &c->runs;
  while ((*last)->next) last = &(*last)->next;
  release_run(*last);
  *last = NULL;
  --c->count;
}

status graph_cache_find(graph_cache *c, ortc_session *s, const feed *feeds, const lane *on, recorded_run **out) {
  recorded_run **link = &c->runs;
  while (*link && !has_shapes(*link, feeds)) link = &(*link)->next;
  recorded_run *r = *link;
  if (r) {
    *link = r->next;
  } else {
    TRY(create_run(s, feeds, on, &r));
    if (++c->count > MOST_RUNS) drop_oldest(c);
  }
  r->next = c->runs;
  *out = c->runs = r;
  return OK;
}

status graph_cache_add_captured(graph_cache *c, ortc_session *s, const feed *feeds, const lane *on, recorded_run **out) {
  TRY(create_run(s, feeds, on, out));
  (*out)->next = c->captured;
  c->captured = *out;
  return OK;
}

frame *recorded_run_frame(const recorded_run *r) { return r->f; }

/* ---- What can be recorded --------------------------------------------------------------------------------------------------- */

/* A view whose memory is its input's does nothing; one that must copy enqueues the copy. */
static bool is_device_work(const exec_step *e) {
  const step *s = e->source;
  bool view = !s->kernel && (s->op->flags & OP_VIEW) && s->out[0] != NO_VALUE && plan_on_device(e->owner->owner, s->out[0]);
  return (s->kernel || view) && !(e->flags & (EXEC_CONTROL | EXEC_TRANSFER));
}

static bool is_planned(const frame *f, const step *s) {
  for (int32_t i = 0; i < s->out_count; ++i)
    if (s->out[i] != NO_VALUE && f->shapes->slots[s->out[i]].where == STORAGE_DYNAMIC) return false;
  return true;
}

static bool find_obstacle(const frame *f, char reason[REASON]) {
  for (int32_t i = 0; i < f->step_count; ++i) {
    const exec_step *e = &f->steps[i];
    const node *n = e->source->node;
    if (e->flags & EXEC_CONTROL) snprintf(reason, REASON, "node '%.100s' (%.40s) decides on the host what runs", n->name, n->op_type);
    else if (!is_device_work(e)) snprintf(reason, REASON, "node '%.100s' (%.40s) runs on the host", n->name, n->op_type);
    else if (!is_planned(f, e->source)) snprintf(reason, REASON, "the shape of what node '%.100s' (%.40s) computes depends on data", n->name, n->op_type);
    else continue;
    return true;
  }
  return false;
}

/* An input that a kernel reads on the host, or an end that lies there, would be what it was when the run was recorded. */
static bool find_host_end(const frame *f, const run_env *env, const feed *feeds, const target *targets, char reason[REASON]) {
  const graph *g = f->owner->graph;
  for (int32_t i = 0; i < g->input_count; ++i) {
    int32_t v = g->inputs[i];
    if (f->owner->last_use[v] < 0 || feeds[i].view == g->values[v].default_value) continue;
    if (plan_on_device(f->owner, v) && side_is_device(env, feeds[i].info)) continue;
    snprintf(reason, REASON, "input '%.100s' is %s", g->values[v].name, plan_on_device(f->owner, v) ? "not in the device's memory" : "read on the host");
    return true;
  }
  for (int32_t o = 0; o < g->output_count; ++o) {
    const target *t = &targets[o];
    if (t->kind == TARGET_NONE || (plan_on_device(f->owner, g->outputs[o]) && side_is_device(env, t->info) && t->kind != TARGET_CALLBACK)) continue;
    snprintf(reason, REASON, "output '%.100s' is not in memory of the device that holds still", t->name);
    return true;
  }
  return false;
}

/* ---- Recording and launching ------------------------------------------------------------------------------------------------ */

static bool has_addresses(const recorded_run *r, const feed *feeds, const target *targets) {
  for (int32_t i = 0; i < r->feed_count; ++i)
    if (r->addresses[i] != (feeds[i].view ? feeds[i].view->data : NULL)) return false;
  for (int32_t o = 0; o < r->target_count; ++o)
    if (r->addresses[r->feed_count + o] != targets[o].view.data || r->wanted[o] != (targets[o].kind != TARGET_NONE)) return false;
  return true;
}

static void remember(recorded_run *r, const feed *feeds, const target *targets) {
  for (int32_t i = 0; i < r->feed_count; ++i) r->addresses[i] = feeds[i].view ? feeds[i].view->data : NULL;
  for (int32_t o = 0; o < r->target_count; ++o) {
    r->addresses[r->feed_count + o] = targets[o].result.data;
    r->wanted[o] = targets[o].kind != TARGET_NONE;
    r->results[o] = targets[o].result;
  }
}

static status launch(recorded_run *r, run_env *env) {
  ++env->stats.graph_launches;
  return r->graph->owner->vtable->graph_launch(r->graph, env->stream);
}

/* The outputs lie where they lay: the targets' own memory, which may be bound with another type or shape by now. */
static status replay(recorded_run *r, run_env *env, target *targets) {
  for (int32_t o = 0; o < r->target_count; ++o) TRY(target_check(&targets[o], &r->results[o]));
  TRY(launch(r, env));
  for (int32_t o = 0; o < r->target_count; ++o) {
    if (targets[o].kind == TARGET_NONE) continue;
    targets[o].result = r->results[o];
    targets[o].result_memory = buffer_retain(targets[o].memory);
  }
  return OK;
}

/* Enqueues the run into whatever captures the stream; buffers that its kernels use stay in `kept`. */
static status enqueue_captured(recorded_run *r, run_env *env, buffer_list *kept, feed *feeds, target *targets) {
  env->kept = kept;
  status s = executor_run(r->f, env, r->feed_count, feeds, targets);
  env->kept = NULL;
  return s;
}

static status record_graph(recorded_run *r, run_env *env, buffer_list *kept, feed *feeds, target *targets, device_graph **out) {
  const device_vtable *d = env->device->vtable;
  TRY(d->capture_begin(env->stream));
  status s = enqueue_captured(r, env, kept, feeds, targets), ended = d->capture_end(env->stream, out);
  if (!s) return ended;
  ortc_status_release(ended);
  return s;
}

static status take_graph(recorded_run *r, run_env *env, device_graph *graph) {
  bool updated;
  if (!r->graph) {
    r->graph = graph;
    ++env->stats.graph_captures;
    return OK;
  }
  TRY(graph->owner->vtable->graph_update(r->graph, graph, &updated));
  if (updated) ++env->stats.graph_updates;
  else ++env->stats.graph_captures;
  return OK;
}

static void give_up(recorded_run *r, const char *why) {
  LOG(WARNING, "the run is not recorded as a CUDA graph, because %s", why);
  r->state = PLAIN;
}

/* A run that cannot be captured has not run yet: it does so plainly, and if that succeeds it was the recording that failed. */
static status run_instead(recorded_run *r, run_env *env, feed *feeds, target *targets, status why) {
  status s = executor_run(r->f, env, r->feed_count, feeds, targets);
  if (!s) give_up(r, why->message);
  ortc_status_release(why);
  return s;
}

static status record(recorded_run *r, run_env *env, feed *feeds, target *targets) {
  buffer_list kept = {0};
  device_graph *graph = NULL;
  status s = record_graph(r, env, &kept, feeds, targets, &graph);
  if (s) {
    buffer_list_clear(&kept);
    return run_instead(r, env, feeds, targets, s);
  }
  buffer_list_clear(&r->kept);
  r->kept = kept;
  r->state = WARM;                                          /* until the graph that is launched is the one that was recorded */
  TRY(take_graph(r, env, graph));
  TRY(launch(r, env));
  remember(r, feeds, targets);
  r->state = RECORDED;
  return OK;
}

status recorded_run_run(recorded_run *r, run_env *env, int32_t feed_count, feed *feeds, int32_t target_count, target *targets) {
  char reason[REASON];
  (void)target_count;
  if (r->state == NEW) {
    TRY(executor_run(r->f, env, feed_count, feeds, targets));
    if (find_obstacle(r->f, reason)) give_up(r, reason);
    else r->state = WARM;
    return OK;
  }
  if (r->state == RECORDED && has_addresses(r, feeds, targets)) return replay(r, env, targets);
  if (r->state == PLAIN || find_host_end(r->f, env, feeds, targets, reason)) return executor_run(r->f, env, feed_count, feeds, targets);
  return record(r, env, feeds, targets);
}

status recorded_run_join(recorded_run *r, run_env *env, int32_t feed_count, feed *feeds, int32_t target_count, target *targets) {
  char reason[REASON];
  (void)feed_count, (void)target_count;
  if (find_obstacle(r->f, reason) || find_host_end(r->f, env, feeds, targets, reason))
    return ERROR(FAIL, "the caller's stream is being captured, but the run cannot be part of a CUDA graph: %s. Run it outside of the capture, or bind all "
                 "inputs and outputs to device memory", reason);
  return enqueue_captured(r, env, &r->kept, feeds, targets);
}
