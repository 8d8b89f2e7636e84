#include <ortcore/base/log.h>
#include <ortcore/base/mem.h>
#include <ortcore/base/threads.h>
#include <ortcore/device/memory_info.h>
#include <ortcore/onnx/file.h>
#include <ortcore/onnx/read.h>
#include <ortcore/onnx/write.h>
#include <ortcore/passes/pass.h>
#include <ortcore/plan/eval.h>
#include <ortcore/plan/placement.h>
#include <ortcore/session/session.h>
#include <string.h>

/* ---- Options ------------------------------------------------------------------------------------------------------------- */

static int64_t option_int(const ortc_session *s, const char *key, int64_t fallback) {
  return settings_get_int(&s->options->config, key, fallback);
}

static status choose_allocator(ortc_session *s) {
  if (option_int(s, "session.use_env_allocators", 0) == 1) {
    s->allocator = allocator_find_registered(&memory_info_cpu);
    if (s->allocator) return OK;
  }
  if (!option_int(s, "enable_cpu_mem_arena", 1)) {
    s->allocator = allocator_retain(allocator_default());
    return OK;
  }
  ortc_arena_config config = {.size = sizeof config, .extend_strategy = ORTC_SAME_AS_REQUESTED, .initial_chunk_bytes = -1, .max_dead_bytes_per_chunk = -1,
                              .initial_growth_chunk_bytes = -1, .max_power_of_two_extend_bytes = -1};
  return arena_create(allocator_default(), &config, &s->allocator);
}

/* ---- The model -------------------------------------------------------------------------------------------------------------- */

/* Where a model given as bytes finds its external data: our name for the setting, or onnxruntime's. */
static const char *external_data_folder(const settings *config) {
  const char *folder = settings_get(config, "external_data_folder");
  return folder ? folder : settings_get(config, "session.model_external_initializers_file_folder_path");
}

static status read_model(ortc_session *s, const char *path, buffer *bytes, const _Atomic bool *cancel) {
  ortc_session_options *o = s->options;
  read_file *files = mem_calloc(o->file_count + 1, sizeof *files);
  read_replacement *replacements = mem_calloc(o->initializer_count + 1, sizeof *replacements);
  for (size_t i = 0; i < o->file_count && files; ++i) files[i] = (read_file){.name = o->files[i].name, .data = o->files[i].data};
  for (size_t i = 0; i < o->initializer_count && replacements; ++i)
    replacements[i] = (read_replacement){.name = o->initializers[i].name, .view = &o->initializers[i].value->view, .memory = o->initializers[i].value->memory};
  read_options options = {.file_count = (int32_t)o->file_count, .files = files, .cancel = cancel, .read_whole = settings_get_int(&o->config, "map_model_files", 1) == 0,
                          .replacement_count = (int32_t)o->initializer_count, .replacements = replacements};
  status result;
  if (!files || !replacements) result = status_out_of_memory();
  else if (path) result = onnx_read_file(path, &options, &s->model);
  else result = onnx_read_memory(bytes, external_data_folder(&o->config), &options, &s->model);
  mem_free(files);
  mem_free(replacements);
  return result;
}

static status override_initializer(graph *g, const initializer_override *given) {
  for (int32_t v = 0; v < g->value_count; ++v) {
    value *into = &g->values[v];
    if (!into->is_initializer || strcmp(into->name, given->name)) continue;
    const tensor *before = into->is_input ? into->default_value : into->fact.value, *now = &given->value->view;
    char want[DIMS_TEXT], got[DIMS_TEXT];
    if (before && (before->type != now->type || !dims_equal(before->rank, before->dims, now->rank, now->dims)))
      return ERROR(INVALID_ARGUMENT, "initializer '%s' is tensor(%s) of shape %s in the model, but the value given for it is tensor(%s) of shape %s", given->name,
                   dtype_name(before->type), dims_format(want, sizeof want, before->rank, before->dims), dtype_name(now->type),
                   dims_format(got, sizeof got, now->rank, now->dims));
    return graph_set_constant(g, v, now, given->value->memory);
  }
  LOG(WARNING, "the model has no initializer '%s'; the value given for it is not used", given->name);
  return OK;
}

static status apply_overrides(ortc_session *s) {
  for (size_t i = 0; i < s->options->dim_count; ++i) {
    const dim_override *d = &s->options->dims[i];
    if (d->by_denotation) model_override_denotation(s->model, d->name, d->dim);
    else model_override_dim(s->model, d->name, d->dim);
  }
  for (size_t i = 0; i < s->options->initializer_count; ++i) TRY(override_initializer(s->model->main, &s->options->initializers[i]));
  return OK;
}

static status remember_output_names(ortc_session *s) {
  const graph *g = s->model->main;
  s->output_names = ZONE_ARRAY(s->model->memory, g->output_count + 1, const char *);
  if (!s->output_names) return status_out_of_memory();
  for (int32_t o = 0; o < g->output_count; ++o) s->output_names[o] = g->values[g->outputs[o]].name;
  return OK;
}

static status evaluate(void *user, const node *n, int32_t in_count, const fact *const *in, int32_t out_count, const fact *const *out_facts, ortc_value **out) {
  (void)user;
  return eval_is_possible(n) ? eval_node(n, in_count, in, out_count, out_facts, out) : ERROR(NOT_IMPLEMENTED, "%s cannot be evaluated ahead of a run", n->op_type);
}

static status optimise(ortc_session *s, const _Atomic bool *cancel) {
  int level = (int)option_int(s, "graph_optimization_level", 99);
  pass_env env = {.eval_node = evaluate, .cancel = cancel, .device = s->lanes.provider,
                  .constant_folding_limit = option_int(s, "optimization.constant_folding_max_output_size_in_bytes", 0)};
  const char *disabled = settings_get(&s->options->config, "disabled_optimizers");
  if (!disabled) disabled = settings_get(&s->options->config, "optimization.disable_specified_optimizers");
  return passes_run(s->model, level, disabled, &env);
}

static void read_metadata(ortc_session *s) {
  const model *m = s->model;
  s->metadata = (ortc_model_metadata){.producer_name = m->producer_name, .graph_name = m->main->name, .domain = m->domain, .description = m->description,
                                      .graph_description = m->graph_description, .version = m->version, .custom_count = (size_t)m->metadata_count,
                                      .custom_keys = m->metadata_keys, .custom_values = m->metadata_values};
}

/* Kernels of a device may ask it things while they are prepared. */
static status make_plan(ortc_session *s) {
  const device *d = s->lanes.device;
  plan_env env = {.memory = s->model->memory, .threads = s->threads, .device = d, .device_memory = s->lanes.memory,
                  .cuda = d ? &s->lanes.options : NULL, .separate = option_int(s, "enable_mem_reuse", 1) == 0};
  intptr_t before = 0;
  if (d) TRY(d->vtable->enter(d, &before));
  status result = plan_create(s->model->main, &env, &s->plan);
  if (d) d->vtable->leave(d, before);
  return result;
}

static status find_mapped_files(ortc_session *s) {
  const model *m = s->model;
  s->mapped = ZONE_ARRAY(m->memory, m->buffer_count + 1, buffer *);
  if (!s->mapped) return status_out_of_memory();
  for (int32_t i = 0; i < m->buffer_count; ++i)
    if (file_is_mapped(m->buffers[i])) s->mapped[s->mapped_count++] = m->buffers[i];
  return OK;
}

static status load(ortc_session *s, const char *path, buffer *bytes, const _Atomic bool *cancel) {
  TRY(choose_allocator(s));
  TRY(lane_pool_init(&s->lanes, s->options));
  int threads = (int)option_int(s, "intra_op_num_threads", 0);
  s->threads = threads > 0 ? threads : threads_cores();
  TRY(read_model(s, path, bytes, cancel));
  TRY(apply_overrides(s));
  TRY(remember_output_names(s));
  TRY(optimise(s, cancel));
  if (cancel && *cancel) return ERROR(MODEL_LOAD_CANCELED, "loading was cancelled");
  const char *save = settings_get(&s->options->config, "optimized_model_filepath");
  if (save && *save) TRY(onnx_write_file(s->model, s->output_names, save));
  if (s->lanes.provider) TRY(placement_apply(s->model->main, s->lanes.provider));
  TRY(session_io_init(s));
  read_metadata(s);
  TRY(make_plan(s));
  TRY(find_mapped_files(s));
  if (!option_int(s, "enable_profiling", 0)) return OK;
  const char *prefix = settings_get(&s->options->config, "profile_file_prefix");
  return profiler_create(prefix ? prefix : "onnxruntime_profile_", &s->trace);
}

status session_create(const char *path, buffer *bytes, const ortc_session_options *options, ortc_session **out) {
  *out = NULL;
  ortc_session *s = mem_calloc(1, sizeof *s);
  if (!s) return status_out_of_memory();
  s->references = 1;
  frame_pool_init(&s->frames);
  pthread_mutex_init(&s->stats_lock, NULL);
  status result = session_options_copy(options, &s->options);
  if (!result) {
    int before = log_set_thread_severity((int)option_int(s, "log_severity_level", -1));
    int team = threads_set_team(1);                        /* kernels that prepare weights set what they need */
    result = load(s, path, bytes, options ? &options->cancel : NULL);
    threads_set_team(team);
    log_set_thread_severity(before);
  }
  if (result) {
    session_release(s);
    return path ? status_context(result, "Load model from %s failed", path) : result;
  }
  *out = s;
  return OK;
}

ortc_session *session_retain(ortc_session *s) {
  if (s) ++s->references;
  return s;
}

void session_release(ortc_session *s) {
  if (!s || --s->references) return;
  frame_pool_deinit(&s->frames);
  plan_release(s->plan);
  session_io_deinit(s);
  profiler_release(s->trace);
  model_release(s->model);
  lane_pool_deinit(&s->lanes);
  allocator_release(s->allocator);
  session_options_release(s->options);
  pthread_mutex_destroy(&s->stats_lock);
  mem_free(s);
}
