/* The exported functions of session options and run options. */
#include <ortcore/api/check.h>
#include <ortcore/device/memory_info.h>
#include <ortcore/provider/provider.h>
#include <ortcore/session/cuda_options.h>
#include <string.h>

ortc_session_options *ortc_session_options_create(void) { return session_options_create(); }

void ortc_session_options_release(ortc_session_options *options) { session_options_release(options); }

ortc_session_options *ortc_session_options_copy(const ortc_session_options *options) {
  ortc_session_options *copy;
  ortc_status_release(session_options_copy(options, &copy));
  return copy;
}

static status check_key(const char *key) {
  size_t bytes = strlen(key);
  return bytes && bytes <= 1024 ? OK : ERROR(INVALID_ARGUMENT, "a settings key has 1 to 1024 bytes, this one has %zu", bytes);
}

ortc_status *ortc_session_options_set(ortc_session_options *options, const char *key, const char *value) {
  NEEDS(options);
  NEEDS(key);
  NEEDS(value);
  TRY(check_key(key));
  TRY(session_setting_check(key, value));
  return settings_set(&options->config, key, value);
}

const char *ortc_session_options_get(const ortc_session_options *options, const char *key) {
  return options && key ? settings_get(&options->config, key) : NULL;
}

ortc_status *ortc_session_options_override_dim(ortc_session_options *options, const char *symbol, int64_t dim) {
  NEEDS(options);
  NEEDS(symbol);
  return dim < 0 ? OK : session_options_add_dim(options, symbol, dim, false);
}

ortc_status *ortc_session_options_override_denotation(ortc_session_options *options, const char *denotation, int64_t dim) {
  NEEDS(options);
  NEEDS(denotation);
  return dim < 0 ? OK : session_options_add_dim(options, denotation, dim, true);
}

ortc_status *ortc_session_options_add_initializer(ortc_session_options *options, const char *name, ortc_value *value, bool external) {
  NEEDS(options);
  NEEDS(name);
  NEEDS(value);
  if (value->kind != ORTC_VALUE_TENSOR) return ERROR(INVALID_ARGUMENT, "the value for initializer '%s' must be a dense tensor", name);
  if (value->memory && !memory_info_is_host(&value->memory->info))
    return ERROR(INVALID_ARGUMENT, "the value for initializer '%s' lies on %s:%d; weights are read on the host when a session loads, so give host memory "
                 "(a session on a GPU copies them there itself)", name, memory_info_device_name(&value->memory->info), value->memory->info.device_id);
  for (size_t i = 0; i < options->initializer_count; ++i)
    if (!strcmp(options->initializers[i].name, name)) return ERROR(INVALID_ARGUMENT, "initializer '%s' was given already; each name can be given once", name);
  return session_options_add_initializer(options, name, value, external);
}

ortc_status *ortc_session_options_add_external_file(ortc_session_options *options, const char *name, const void *data, size_t bytes,
                                                    ortc_release_fn release, void *user) {
  NEEDS(options);
  NEEDS(name);
  NEEDS_ARRAY(data, bytes);
  buffer *memory;
  TRY(buffer_borrow(NULL, (void *)(uintptr_t)data, bytes, NULL, NULL, &memory));
  TRY(session_options_add_file(options, name, memory));
  memory->release = release;                               /* not before: after a failure the memory is the caller's */
  memory->user = user;
  return OK;
}

ortc_status *ortc_session_options_add_provider(ortc_session_options *options, const char *name, const char *const *keys, const char *const *values, size_t count) {
  NEEDS(options);
  NEEDS(name);
  NEEDS_ARRAY(keys, count);
  NEEDS_ARRAY(values, count);
  for (size_t i = 0; i < count; ++i) {
    NEEDS(keys[i]);
    NEEDS(values[i]);
    if (!strcmp(name, PROVIDER_CUDA)) TRY(cuda_option_check(keys[i], values[i]));
  }
  provider_request *request;
  TRY(session_options_add_provider(options, name, &request));
  for (size_t i = 0; i < count; ++i) TRY(settings_set(&request->options, keys[i], values[i]));
  return OK;
}

void ortc_session_options_cancel_load(ortc_session_options *options, bool cancel) {
  if (options) options->cancel = cancel;
}

/* ---- Run options ------------------------------------------------------------------------------------------------------ */

ortc_run_options *ortc_run_options_create(void) { return run_options_create(); }

void ortc_run_options_release(ortc_run_options *options) {
  run_options_release(options);
}

void ortc_run_options_set_terminate(ortc_run_options *options, bool terminate) {
  if (options) options->terminate = terminate;
}

ortc_status *ortc_run_options_set(ortc_run_options *options, const char *key, const char *value) {
  NEEDS(options);
  NEEDS(key);
  NEEDS(value);
  TRY(check_key(key));
  TRY(run_setting_check(key, value));
  return settings_set(&options->config, key, value);
}

const char *ortc_run_options_get(const ortc_run_options *options, const char *key) {
  return options && key ? settings_get(&options->config, key) : NULL;
}
