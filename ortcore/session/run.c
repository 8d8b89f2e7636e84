/* One run of a session: what plain runs and bound runs have in common. */
#include <ortcore/base/mem.h>
#include <ortcore/base/threads.h>
#include <ortcore/session/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Run options ---------------------------------------------------------------------------------------------------------- */

typedef struct run_settings { bool shrink, stage; } run_settings;

/* "cpu:0;gpu:1": every device named must be one whose arena this session has. */
static status parse_shrinkage(const ortc_session *s, const char *text, run_settings *out) {
  if (!text || !*text) return OK;
  char copy[256];
  if (strlen(text) >= sizeof copy) return ERROR(INVALID_ARGUMENT, "memory.enable_memory_arena_shrinkage is too long");
  strcpy(copy, text);
  for (char *rest = copy, *item; (item = strsep(&rest, ";"));) {
    if (strcmp(item, "cpu:0"))
      return ERROR(INVALID_ARGUMENT, "memory.enable_memory_arena_shrinkage names '%s', but this session has an arena on cpu:0 only; write 'cpu:0'", item);
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
    const char *graph_id = settings_get(&options->config, "gpu_graph_id");
    char *end = NULL;
    if (graph_id && (strtol(graph_id, &end, 10), !*graph_id || *end)) return ERROR(INVALID_ARGUMENT, "gpu_graph_id must be a whole number, not '%s'", graph_id);
    out->stage = settings_get_int(&options->config, "stage_outputs", 0) == 1;
  }
  if (options->terminate) return ERROR(FAIL, "the run was ended because its terminate flag is set");
  return OK;
}

/* ---- Feeds ------------------------------------------------------------------------------------------------------------------ */

feed feed_of_value(const ortc_value *v) {
  if (v->kind == ORTC_VALUE_TENSOR) return (feed){.view = &v->view, .memory = v->memory};
  return v->kind == ORTC_VALUE_NONE ? (feed){0} : (feed){.object = (ortc_value *)(uintptr_t)v};
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
  tensor where = staged->result;
  buffer *memory;
  TRY(target_resolve(t, env, &where, &memory));
  memcpy(where.data, staged->result.data, tensor_bytes(&where));
  env->stats.bytes_copied += tensor_bytes(&where);
  t->result = where;
  t->result_memory = memory;
  return OK;
}

static bool is_callers(const target *t) {
  return t->kind == TARGET_BUFFER || t->kind == TARGET_CAPACITY || t->kind == TARGET_CALLBACK;
}

static status run_staged(frame *f, run_env *env, int32_t feed_count, feed *feeds, int32_t count, target *targets) {
  target *staged = mem_calloc((size_t)count + 1, sizeof *staged);
  if (!staged) return status_out_of_memory();
  for (int32_t o = 0; o < count; ++o) staged[o] = is_callers(&targets[o]) ? (target){.kind = TARGET_ENGINE, .name = targets[o].name} : targets[o];
  status s = executor_run(f, env, feed_count, feeds, staged);
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
  pthread_mutex_unlock(&s->stats_lock);
}

#define INLINE_FEEDS 32

status session_run(ortc_session *s, const ortc_run_options *options, feed *feeds, target *targets, uint64_t copied) {
  run_settings settings;
  TRY(read_settings(s, options, &settings));
  TRY(complete_feeds(s, feeds));
  TRY(session_check_symbols(s, feeds));
  const tensor *inline_views[INLINE_FEEDS], **views = inline_views;
  if (s->feed_count > INLINE_FEEDS && !(views = mem_alloc((size_t)s->feed_count * sizeof *views))) return status_out_of_memory();
  for (int32_t i = 0; i < s->feed_count; ++i) views[i] = feeds[i].view;
  frame *f;
  status result = frame_pool_acquire(&s->frames, s->plan, s->feed_count, views, s->allocator, &f);
  if (views != inline_views) mem_free(views);
  TRY(result);

  int threads = threads_acquire(s->threads);
  threads_set_team(threads);
  run_env env = {.allocator = s->allocator, .threads = threads, .terminate = options ? &options->terminate : NULL, .trace = s->trace,
                 .stats = {.bytes_copied = copied, .planned_bytes = f->shapes->block_bytes}};
  int64_t begin = s->trace ? profiler_now_ns() : 0;
  result = settings.stage ? run_staged(f, &env, s->feed_count, feeds, s->target_count, targets) : executor_run(f, &env, s->feed_count, feeds, targets);
  threads_give_back(threads);
  if (s->trace) profiler_record(s->trace, "Session", "model_run", NULL, NULL, begin, profiler_now_ns());
  frame_pool_give_back(&s->frames, f);
  if (!result) count_run(s, &env.stats);
  if (settings.shrink) {
    frame_pool_trim(&s->frames);
    ortc_allocator_shrink(s->allocator);
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
  if (!memory && t->result.count) s = buffer_borrow(NULL, t->result.data, tensor_bytes(&t->result), NULL, NULL, &memory);
  if (!s) s = ort_value_from_tensor(&t->result, memory, out);
  buffer_release(memory);
  return s;
}
