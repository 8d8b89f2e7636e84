/* One run of a session: what plain runs and bound runs have in common. */
#include <ortcore/base/mem.h>
#include <ortcore/base/threads.h>
#include <ortcore/device/memory_info.h>
#include <ortcore/exec/transfer.h>
#include <ortcore/onnx/file.h>
#include <ortcore/session/graph_cache.h>
#include <stdio.h>
#include <string.h>

/* ---- Run options ---------------------------------------------------------------------------------------------------------- */

typedef struct run_settings { bool shrink, shrink_device, stage, no_wait, no_graph; } run_settings;

/* "cpu:0;gpu:1": every device named must be one whose arena this session has. */
static status parse_shrinkage(const ortc_session *s, const char *text, run_settings *out) {
  if (!text || !*text) return OK;
  char copy[256];
  if (strlen(text) >= sizeof copy) return ERROR(INVALID_ARGUMENT, "memory.enable_memory_arena_shrinkage is too long");
  strcpy(copy, text);
  char gpu[32] = "";
  if (s->lanes.device) snprintf(gpu, sizeof gpu, "gpu:%d", s->lanes.memory->info.device_id);
  for (char *rest = copy, *item; (item = strsep(&rest, ";"));) {
    if (*gpu && !strcmp(item, gpu)) {
      out->shrink_device = true;
      continue;
    }
    if (strcmp(item, "cpu:0"))
      return ERROR(INVALID_ARGUMENT, "memory.enable_memory_arena_shrinkage names '%s', but this session has an arena on cpu:0%s%s only", item, *gpu ? " and " : "", gpu);
    if (s->allocator->info.allocator_type != ORTC_ARENA_ALLOCATOR)
      return ERROR(INVALID_ARGUMENT, "memory.enable_memory_arena_shrinkage asks for cpu:0, but the session was made with enable_cpu_mem_arena off");
    out->shrink = true;
  }
  return OK;
}

static status read_settings(const ortc_session *s, const ortc_run_options *options, run_settings *out) {
  *out = (run_settings){0};
  if (!options) return OK;
  if (options->config.count) {
    TRY(parse_shrinkage(s, settings_get(&options->config, "memory.enable_memory_arena_shrinkage"), out));
    out->no_graph = settings_get_int(&options->config, "gpu_graph_id", 0) == -1;
    out->no_wait = settings_get_int(&options->config, "disable_synchronize_execution_providers", 0) == 1;
    out->stage = settings_get_int(&options->config, "stage_outputs", 0) == 1;
  }
  if (options->terminate) return ERROR(FAIL, "the run was ended because its terminate flag is set");
  return OK;
}

/* ---- Feeds ------------------------------------------------------------------------------------------------------------------ */

feed feed_of_value(const ortc_value *v) {
  if (v->kind == ORTC_VALUE_TENSOR) return (feed){.view = &v->view, .info = v->memory ? &v->memory->info : NULL, .memory = v->memory};
  return v->kind == ORTC_VALUE_NONE ? (feed){0} : (feed){.object = (ortc_value *)(uintptr_t)v};
}

target target_of_value(const char *name, const ortc_value *v) {
  return (target){.kind = TARGET_BUFFER, .name = name, .view = v->view, .memory = v->memory, .info = v->memory ? &v->memory->info : NULL};
}

/* Defaults for overridable initializers; everything else must be there, unless it may be absent. */
static status complete_feeds(const ortc_session *s, feed *feeds) {
  char missing[512];
  size_t used = 0;
  for (int32_t i = 0; i < s->feed_count; ++i) {
    if (feeds[i].view || feeds[i].object) continue;
    const session_io *io = s->feed_io[i];
    if (io->default_value) feeds[i].view = io->default_value;
    else if (!io->declared.optional && used + 8 < sizeof missing)
      used += (size_t)snprintf(missing + used, sizeof missing - used, "%s'%s'", used ? ", " : "", io->info.name);
  }
  if (!used) return OK;
  return ERROR(INVALID_ARGUMENT, "Missing Input: %s; every input of the model must be given", missing);
}

/* ---- Staging: bound buffers are written only after everything has succeeded ------------------------------------------------- */

static status unstage(target *staged, target *t, run_env *env) {
  if (staged->object) {
    t->object = staged->object;
    staged->object = NULL;
    return OK;
  }
  return target_fill(t, env, &staged->result, staged->result_memory ? &staged->result_memory->info : &memory_info_cpu);
}

static bool is_callers(const target *t) {
  return t->kind == TARGET_BUFFER || t->kind == TARGET_CAPACITY || t->kind == TARGET_CALLBACK;
}

static status run_staged(frame *f, run_env *env, int32_t feed_count, feed *feeds, int32_t count, target *targets) {
  target *staged = mem_calloc((size_t)count + 1, sizeof *staged);
  if (!staged) return status_out_of_memory();
  for (int32_t o = 0; o < count; ++o) staged[o] = is_callers(&targets[o]) ? (target){.kind = TARGET_ENGINE, .name = targets[o].name, .info = targets[o].info} : targets[o];
  status s = executor_run(f, env, feed_count, feeds, staged);
  /* What a kernel found is known once it has run. */
  if (!s && env->stream) s = stream_synchronise(env->stream);
  /* Every shape is checked before the first byte is written. */
  for (int32_t o = 0; o < count && !s; ++o)
    if (!staged[o].object) s = target_check(&targets[o], &staged[o].result);
  for (int32_t o = 0; o < count; ++o) {
    if (!s && is_callers(&targets[o])) s = unstage(&staged[o], &targets[o], env);
    else if (!s) targets[o] = staged[o], staged[o].result_memory = NULL, staged[o].object = NULL;
    buffer_release(staged[o].result_memory);
    ort_value_release(staged[o].object);
  }
  mem_free(staged);
  return s;
}

/* ---- The run ------------------------------------------------------------------------------------------------------------------ */

static void count_run(ortc_session *s, const ortc_run_stats *run) {
  pthread_mutex_lock(&s->stats_lock);
  s->latest = *run;
  s->latest.runs = 1;
  ++s->total.runs;
  s->total.bytes_copied += run->bytes_copied;
  s->total.bytes_reordered += run->bytes_reordered;
  s->total.allocations += run->allocations;
  s->total.kernel_launches += run->kernel_launches;
  s->total.host_to_device_copies += run->host_to_device_copies;
  s->total.device_to_host_copies += run->device_to_host_copies;
  s->total.planned_bytes = run->planned_bytes;
  s->total.graph_captures += run->graph_captures;
  s->total.graph_updates += run->graph_updates;
  s->total.graph_launches += run->graph_launches;
  pthread_mutex_unlock(&s->stats_lock);
}

#define INLINE_FEEDS 32

status session_acquire_frame(ortc_session *s, const feed *feeds, const lane *on, frame **out) {
  const tensor *inline_views[INLINE_FEEDS] = {0}, **views = inline_views;
  ortc_allocator *const allocators[2] = {s->allocator, on ? on->memory : NULL};
  if (s->feed_count > INLINE_FEEDS && !(views = mem_alloc((size_t)s->feed_count * sizeof *views))) return status_out_of_memory();
  for (int32_t i = 0; i < s->feed_count; ++i) views[i] = feeds[i].view;
  status result = frame_pool_acquire(&s->frames, s->plan, s->feed_count, views, allocators, out);
  if (views != inline_views) mem_free(views);
  return result;
}

/* Work of this frame that another stream still has before it comes first. */
static status follow_earlier_run(frame *f, stream *work) {
  if (!f->last_stream || f->last_stream == work) return OK;
  return stream_wait(work, f->finished);
}

static status leave_mark(frame *f, const run_env *env) {
  if (!f->finished) TRY(event_create(env->device, &f->finished));
  TRY(event_record(f->finished, env->stream));
  f->last_stream = env->stream;
  return OK;
}

/* Waits for the run, or leaves a mark behind it for whoever uses the frame next. A run that failed is waited for, and so is one behind which no
 * mark can be left: its memory is used again. */
static status finish_on_device(frame *f, const run_env *env, bool wait) {
  f->last_stream = NULL;
  status s = wait ? OK : leave_mark(f, env);
  if (!wait && !s) return OK;
  status waited = stream_synchronise(env->stream);
  if (s) ortc_status_release(waited);
  return s ? s : waited;
}

/* One run on its way from the options to the device. */
typedef struct call {
  ortc_session *s;
  run_settings settings;
  feed *feeds;
  target *targets;
  const ortc_run_options *options;                          /* may be NULL */
  lane *on;                                                 /* NULL: the host */
  graph_cache *graphs;                                      /* NULL: none */
  recorded_run *recorded;                                   /* it owns the frame */
  bool captured;                                            /* by the caller: nothing may wait */
  run_env env;
} call;

static status execute(call *c, frame *f) {
  ortc_session *s = c->s;
  if (c->captured) return recorded_run_join(c->recorded, &c->env, s->feed_count, c->feeds, s->target_count, c->targets);
  if (c->settings.stage) return run_staged(f, &c->env, s->feed_count, c->feeds, s->target_count, c->targets);
  if (c->recorded) return recorded_run_run(c->recorded, &c->env, s->feed_count, c->feeds, s->target_count, c->targets);
  return executor_run(f, &c->env, s->feed_count, c->feeds, c->targets);
}

static status run_frame(call *c, frame *f) {
  if (!c->on || c->captured) return execute(c, f);
  TRY(follow_earlier_run(f, c->env.stream));
  status result = execute(c, f);
  bool wait = result || c->env.host_waits || !(c->settings.no_wait || c->s->lanes.callers);
  status late = finish_on_device(f, &c->env, wait);
  if (result) ortc_status_release(late);
  return result ? result : late;
}

static status find_frame(call *c, frame **out) {
  if (c->captured) TRY(graph_cache_add_captured(c->graphs, c->s, c->feeds, c->on, &c->recorded));
  else if (c->graphs && c->graphs->enabled && !c->settings.no_graph) TRY(graph_cache_find(c->graphs, c->s, c->feeds, c->on, &c->recorded));
  else return session_acquire_frame(c->s, c->feeds, c->on, out);
  *out = recorded_run_frame(c->recorded);
  return OK;
}

static status run_on_lane(call *c) {
  ortc_session *s = c->s;
  frame *f;
  TRY(find_frame(c, &f));
  c->env.threads = threads_acquire(s->threads);
  threads_set_team(c->env.threads);
  c->env.stats.planned_bytes = f->shapes->block_bytes[0] + f->shapes->block_bytes[1];
  int64_t begin = s->trace ? profiler_now_ns() : 0;
  status result = run_frame(c, f);
  threads_give_back(c->env.threads);
  if (s->trace) profiler_record(s->trace, "Session", "model_run", NULL, NULL, begin, profiler_now_ns());
  if (!c->recorded) frame_pool_give_back(&s->frames, f);
  if (!result) count_run(s, &c->env.stats);
  return result;
}

/* As a range of a profiler that is attached to the device. */
static status run_marked(call *c) {
  const device_vtable *v = c->env.device->vtable;
  c->env.marks = v->marks ? v->marks(c->env.device) : NULL;
  if (!c->env.marks) return run_on_lane(c);
  const char *model = c->s->metadata.graph_name;
  c->env.marks->begin(model && *model ? model : "run", c->options ? settings_get(&c->options->config, "logid") : NULL);
  status result = run_on_lane(c);
  c->env.marks->end();
  return result;
}

static status check_capture(call *c) {
  c->captured = c->env.device->vtable->is_capturing(c->env.stream);
  if (!c->captured || c->graphs) return OK;
  return ERROR(FAIL, "the session's user_compute_stream is being captured; only a run with an IOBinding whose inputs and outputs are device memory can be captured");
}

/* With the device current for this thread. */
static status run_on_device(call *c) {
  const device *d = c->s->lanes.device;
  lane *own = NULL;
  intptr_t before;
  TRY(d->vtable->enter(d, &before));
  status result = c->on ? OK : lane_acquire(&c->s->lanes, &own);
  if (own) c->on = own;
  if (!result) {
    c->env.device = d;
    c->env.device_allocator = c->on->memory;
    c->env.stream = c->on->work;
    result = check_capture(c);
  }
  if (!result) result = run_marked(c);
  lane_give_back(&c->s->lanes, own);
  d->vtable->leave(d, before);
  return result;
}

status session_run(ortc_session *s, const ortc_run_options *options, feed *feeds, target *targets, uint64_t copied, lane *on, graph_cache *graphs) {
  call c = {.s = s, .options = options, .feeds = feeds, .targets = targets, .on = on, .graphs = graphs,
            .env = {.allocator = s->allocator, .terminate = options ? &options->terminate : NULL, .trace = s->trace, .stats.bytes_copied = copied}};
  TRY(read_settings(s, options, &c.settings));
  for (int32_t i = 0; i < s->mapped_count; ++i) TRY(file_check(s->mapped[i]));
  TRY(complete_feeds(s, feeds));
  TRY(session_check_symbols(s, feeds));
  int team = threads_set_team(s->threads);
  status result = s->lanes.device ? run_on_device(&c) : run_on_lane(&c);
  threads_set_team(team);
  if (c.settings.shrink) {
    frame_pool_trim(&s->frames);
    ortc_allocator_shrink(s->allocator);
  }
  if (c.settings.shrink_device) {
    if (on) ortc_allocator_shrink(on->memory);
    lane_pool_trim(&s->lanes);
  }
  return result;
}

status target_value(target *t, ortc_value **out) {
  if (t->object) {
    *out = t->object;
    t->object = NULL;
    return OK;
  }
  buffer *memory = t->result_memory;
  t->result_memory = NULL;
  status s = OK;
  if (!memory && t->result.count) s = buffer_borrow(t->kind == TARGET_CALLBACK ? t->info : NULL, t->result.data, tensor_bytes(&t->result), NULL, NULL, &memory);
  if (!s) s = ort_value_from_tensor(&t->result, memory, out);
  buffer_release(memory);
  return s;
}
