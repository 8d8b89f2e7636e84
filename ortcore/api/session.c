/* The exported functions of sessions. */
#include <ortcore/api/check.h>
#include <ortcore/base/mem.h>
#include <ortcore/provider/provider.h>
#include <ortcore/session/cuda_options.h>
#include <ortcore/session/session.h>
#include <string.h>

ortc_status *ortc_session_create_from_file(const char *path, const ortc_session_options *options, ortc_session **out_session) {
  NEEDS(out_session);
  *out_session = NULL;
  NEEDS(path);
  return session_create(path, NULL, options, out_session);
}

ortc_status *ortc_session_create_from_memory(const void *data, size_t bytes, ortc_release_fn release, void *user, const ortc_session_options *options,
                                             ortc_session **out_session) {
  NEEDS(out_session);
  *out_session = NULL;
  NEEDS_ARRAY(data, bytes);
  buffer *memory;
  if (release) {
    TRY(buffer_borrow(NULL, (void *)(uintptr_t)data, bytes, release, user, &memory));
  } else {
    TRY(buffer_create(NULL, bytes, &memory));
    if (bytes) memcpy(memory->data, data, bytes);
  }
  status s = session_create(NULL, memory, options, out_session);
  if (s) buffer_abandon(memory);
  else buffer_release(memory);
  return s;
}

ortc_session *ortc_session_retain(ortc_session *session) { return session_retain(session); }

void ortc_session_release(ortc_session *session) { session_release(session); }

size_t ortc_session_get_io_count(const ortc_session *session, ortc_io which) {
  return session && which >= ORTC_IO_INPUT && which <= ORTC_IO_OVERRIDABLE ? session->io[which].count : 0;
}

const ortc_io_info *ortc_session_get_io(const ortc_session *session, ortc_io which, size_t index) {
  return index < ortc_session_get_io_count(session, which) ? &session->io[which].items[index].info : NULL;
}

const ortc_model_metadata *ortc_session_get_metadata(const ortc_session *session) { return session ? &session->metadata : NULL; }

const char *ortc_session_get_provider(const ortc_session *session, size_t index) {
  if (!session) return NULL;
  size_t first = session->lanes.provider ? 0 : 1;
  const char *const names[] = {PROVIDER_CUDA, PROVIDER_CPU};
  return index < 2 - first ? names[first + index] : NULL;
}

static const settings no_settings;

bool ortc_session_get_provider_option(const ortc_session *session, const char *provider, size_t index, const char **out_key, const char **out_value) {
  if (!session || !provider || !out_key || !out_value || strcmp(provider, PROVIDER_CUDA) != 0) return false;
  const settings *given = &no_settings;
  for (size_t i = 0; i < session->options->provider_count; ++i)
    if (!strcmp(session->options->providers[i].name, provider)) given = &session->options->providers[i].options;
  return cuda_option_at(index, given, out_key, out_value);
}

ortc_allocator *ortc_session_get_allocator(const ortc_session *session) { return session ? session->allocator : NULL; }

/* What the model says of the shape, or else the plan for the latest shapes. */
static int64_t output_bytes(plan *p, const step *s) {
  int64_t bytes = -1;
  if (!s->out_count || s->out[0] == NO_VALUE) return -1;
  pthread_mutex_lock(&p->lock);
  const slot_plan *slot = p->cache[0] ? &p->cache[0]->slots[s->out[0]] : NULL;
  if (slot && slot->known) bytes = (int64_t)tensor_bytes(&slot->view);
  pthread_mutex_unlock(&p->lock);
  const fact *f = &p->graph->values[s->out[0]].fact;
  tensor shape;
  if (bytes >= 0 || f->kind != KIND_TENSOR || !fact_is_static(f)) return bytes;
  status failed = tensor_init(&shape, f->type, f->rank, f->dims);
  ortc_status_release(failed);
  return failed ? -1 : (int64_t)tensor_bytes(&shape);
}

ortc_allocator *ortc_session_get_device_allocator(const ortc_session *session) { return session ? session->lanes.memory : NULL; }

/* A view runs nowhere: it is where its memory is. */
static bool runs_on_device(const plan *p, const step *s) {
  if (s->kernel) return true;
  return (s->op->flags & OP_VIEW) && s->out_count && s->out[0] != NO_VALUE && plan_on_device(p, s->out[0]);
}

/* What specialises for a set of dims may choose between libraries. */
static const char *computed_by(plan *p, const step *s) {
  if (!step_has_specialise(s)) return "ortcore";
  pthread_mutex_lock(&p->lock);
  const step_plan *latest = p->cache[0] ? &p->cache[0]->steps[s - p->steps] : NULL;
  const char *by = latest && (latest->specialised || latest->done) ? "ortcore" : NULL;
  if (by && latest->computed_by) by = latest->computed_by;
  pthread_mutex_unlock(&p->lock);
  return by;
}

/* The step with that number among those of the plan and its subplans; `*p` becomes the plan that it is of. */
static const step *find_step(plan **p, int32_t number) {
  int32_t low = 0, high = (*p)->step_count;
  while (high - low > 1) {
    int32_t middle = low + (high - low) / 2;
    if ((*p)->steps[middle].number <= number) low = middle;
    else high = middle;
  }
  const step *s = &(*p)->steps[low];
  int32_t within = number - s->number - 1, sub = 0;
  if (within < 0) return s;
  while (within >= s->subplans[sub]->total_steps) within -= s->subplans[sub++]->total_steps;
  *p = s->subplans[sub];
  return find_step(p, within);
}

bool ortc_session_get_node(const ortc_session *session, size_t index, ortc_node_info *out_info) {
  if (!session || !out_info || index >= (size_t)session->plan->total_steps) return false;
  plan *p = session->plan;
  const step *s = find_step(&p, (int32_t)index);
  const node *n = s->node;
  *out_info = (ortc_node_info){n->name, n->op_type, n->domain, runs_on_device(p, s) ? PROVIDER_CUDA : PROVIDER_CPU, n->placed_because,
                               output_bytes(p, s), computed_by(p, s), p->subgraph};
  return true;
}

ortc_status *ortc_session_end_profiling(ortc_session *session, const char **out_path) {
  NEEDS(out_path);
  *out_path = "";
  NEEDS(session);
  return session->trace ? profiler_finish(session->trace, out_path) : OK;
}

int64_t ortc_session_get_profiling_start_ns(const ortc_session *session) { return session && session->trace ? profiler_start_ns(session->trace) : 0; }

void ortc_session_get_stats(const ortc_session *session, ortc_run_stats *out_total, ortc_run_stats *out_latest) {
  ortc_session *s = (ortc_session *)(uintptr_t)session;     /* only the lock is written */
  if (!s) return;
  pthread_mutex_lock(&s->stats_lock);
  if (out_total) *out_total = s->total;
  if (out_latest) *out_latest = s->latest;
  pthread_mutex_unlock(&s->stats_lock);
}

uint64_t ortc_session_trim(ortc_session *session) {
  if (!session) return 0;
  frame_pool_trim(&session->frames);
  plan_trim(session->plan);
  return ortc_allocator_shrink(session->allocator) + lane_pool_trim(&session->lanes);
}

/* ---- Plain runs -------------------------------------------------------------------------------------------------------------- */

typedef struct request { feed *feeds; target *targets; } request;

static status set_feeds(const ortc_session *s, request *r, size_t count, const char *const *names, ortc_value *const *values) {
  for (size_t i = 0; i < count; ++i) {
    if (!names[i] || !values[i]) return ERROR(INVALID_ARGUMENT, "input %zu has no name or no value", i);
    const session_io *io;
    TRY(session_find_input(s, names[i], &io));
    TRY(session_check_reach(s, values[i], "input", names[i]));
    TRY(session_check_input(io, values[i]));
    r->feeds[io->index] = feed_of_value(values[i]);
  }
  return OK;
}

static status set_targets(const ortc_session *s, request *r, size_t count, const char *const *names, ortc_value *const *outputs) {
  for (size_t i = 0; i < count; ++i) {
    if (!names[i]) return ERROR(INVALID_ARGUMENT, "output %zu has no name", i);
    const session_io *io;
    TRY(session_find_output(s, names[i], &io));
    target *t = &r->targets[io->index];
    if (!outputs[i]) {
      if (t->kind == TARGET_NONE) *t = (target){.kind = TARGET_ENGINE, .name = io->info.name};
    } else if (outputs[i]->kind != ORTC_VALUE_TENSOR) {
      return ERROR(INVALID_ARGUMENT, "output '%s' must be a dense tensor to write into, or NULL", names[i]);
    } else if (outputs[i]->memory && outputs[i]->memory->read_only) {
      return ERROR(INVALID_ARGUMENT, "output '%s' is read-only memory; give a writable buffer", names[i]);
    } else if (t->kind == TARGET_BUFFER) {
      return ERROR(INVALID_ARGUMENT, "output '%s' is given two buffers to write into; give one", names[i]);
    } else {
      TRY(session_check_reach(s, outputs[i], "output", names[i]));
      *t = target_of_value(io->info.name, outputs[i]);
    }
  }
  return OK;
}

/* One name may be asked for several times: all get the same value. */
static status collect(const ortc_session *s, request *r, size_t count, const char *const *names, ortc_value **outputs) {
  for (size_t i = 0; i < count; ++i) {
    if (outputs[i]) continue;
    const session_io *io;
    TRY(session_find_output(s, names[i], &io));
    for (size_t j = 0; j < i && !outputs[i]; ++j)
      if (!strcmp(names[j], names[i])) outputs[i] = ort_value_retain(outputs[j]);
    if (!outputs[i]) TRY(target_value(&r->targets[io->index], &outputs[i]));
  }
  return OK;
}

static status run(ortc_session *s, const ortc_run_options *options, request *r, size_t input_count, const char *const *input_names,
                  ortc_value *const *inputs, size_t output_count, const char *const *output_names, ortc_value **outputs) {
  TRY(set_targets(s, r, output_count, output_names, outputs));
  TRY(set_feeds(s, r, input_count, input_names, inputs));
  TRY(session_run(s, options, r->feeds, r->targets, 0, NULL, NULL));
  return collect(s, r, output_count, output_names, outputs);
}

ortc_status *ortc_session_run(ortc_session *session, const ortc_run_options *options, size_t input_count, const char *const *input_names,
                              ortc_value *const *inputs, size_t output_count, const char *const *output_names, ortc_value **outputs) {
  NEEDS(session);
  NEEDS_ARRAY(input_names, input_count);
  NEEDS_ARRAY(inputs, input_count);
  NEEDS_ARRAY(output_names, output_count);
  NEEDS_ARRAY(outputs, output_count);
  size_t feed_bytes = (size_t)(session->feed_count + 1) * sizeof(feed), target_bytes = (size_t)(session->target_count + 1) * sizeof(target);
  char *memory = mem_calloc(1, feed_bytes + target_bytes);
  if (!memory) return status_out_of_memory();
  request r = {.feeds = (feed *)memory, .targets = (target *)(memory + feed_bytes)};
  /* What the caller gave stays the caller's when the run fails: only new values are released. */
  bool *given = mem_calloc(output_count + 1, sizeof *given);
  status s = given ? OK : status_out_of_memory();
  for (size_t i = 0; given && i < output_count; ++i) given[i] = outputs[i];
  if (!s) s = run(session, options, &r, input_count, input_names, inputs, output_count, output_names, outputs);
  for (int32_t o = 0; o < session->target_count; ++o) {
    buffer_release(r.targets[o].result_memory);
    ort_value_release(r.targets[o].object);
  }
  for (size_t i = 0; s && given && i < output_count; ++i) {
    if (given[i]) continue;
    ort_value_release(outputs[i]);
    outputs[i] = NULL;
  }
  mem_free(given);
  mem_free(memory);
  return s;
}
