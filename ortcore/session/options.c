#include <ortcore/base/mem.h>
#include <ortcore/session/options.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Settings ------------------------------------------------------------------------------------------------------- */

static setting *find_setting(const settings *s, const char *key) {
  for (size_t i = 0; i < s->count; ++i)
    if (!strcmp(s->items[i].key, key)) return &s->items[i];
  return NULL;
}

/* Room for one more item of `size` bytes in an array of `count`; NULL without memory. Arrays here are short: they grow one by one. */
static void *grow(void *items, size_t count, size_t size) {
  return mem_realloc(items, (count + 1) * size);
}

status settings_set(settings *s, const char *key, const char *value) {
  char *text = mem_strdup(value);
  if (!text) return status_out_of_memory();
  setting *present = find_setting(s, key);
  if (present) {
    mem_free(present->value);
    present->value = text;
    return OK;
  }
  setting *items = grow(s->items, s->count, sizeof *items);
  char *name = items ? mem_strdup(key) : NULL;
  if (items) s->items = items;
  if (!name) {
    mem_free(text);
    return status_out_of_memory();
  }
  s->items[s->count++] = (setting){name, text};
  return OK;
}

const char *settings_get(const settings *s, const char *key) {
  const setting *found = find_setting(s, key);
  return found ? found->value : NULL;
}

int64_t settings_get_int(const settings *s, const char *key, int64_t fallback) {
  const char *text = settings_get(s, key);
  if (!text || !*text) return fallback;
  char *end;
  errno = 0;
  long long n = strtoll(text, &end, 10);
  return *end || errno ? fallback : n;
}

void settings_deinit(settings *s) {
  for (size_t i = 0; i < s->count; ++i) {
    mem_free(s->items[i].key);
    mem_free(s->items[i].value);
  }
  mem_free(s->items);
  *s = (settings){0};
}

static status settings_copy(const settings *from, settings *to) {
  for (size_t i = 0; i < from->count; ++i) TRY(settings_set(to, from->items[i].key, from->items[i].value));
  return OK;
}

/* ---- Session options ------------------------------------------------------------------------------------------------- */

ortc_session_options *session_options_create(void) { return mem_calloc(1, sizeof(ortc_session_options)); }

void session_options_release(ortc_session_options *o) {
  if (!o) return;
  settings_deinit(&o->config);
  for (size_t i = 0; i < o->dim_count; ++i) mem_free(o->dims[i].name);
  for (size_t i = 0; i < o->initializer_count; ++i) {
    mem_free(o->initializers[i].name);
    ort_value_release(o->initializers[i].value);
  }
  for (size_t i = 0; i < o->file_count; ++i) {
    mem_free(o->files[i].name);
    buffer_release(o->files[i].data);
  }
  for (size_t i = 0; i < o->provider_count; ++i) {
    mem_free(o->providers[i].name);
    settings_deinit(&o->providers[i].options);
  }
  mem_free(o->dims);
  mem_free(o->initializers);
  mem_free(o->files);
  mem_free(o->providers);
  mem_free(o);
}

status session_options_add_dim(ortc_session_options *o, const char *name, int64_t dim, bool by_denotation) {
  for (size_t i = 0; i < o->dim_count; ++i)                 /* the first registration of a name wins */
    if (o->dims[i].by_denotation == by_denotation && !strcmp(o->dims[i].name, name)) return OK;
  dim_override *dims = grow(o->dims, o->dim_count, sizeof *dims);
  if (!dims) return status_out_of_memory();
  o->dims = dims;
  char *copy = mem_strdup(name);
  if (!copy) return status_out_of_memory();
  dims[o->dim_count++] = (dim_override){copy, dim, by_denotation};
  return OK;
}

status session_options_add_initializer(ortc_session_options *o, const char *name, ortc_value *value, bool external) {
  initializer_override *items = grow(o->initializers, o->initializer_count, sizeof *items);
  if (!items) return status_out_of_memory();
  o->initializers = items;
  char *copy = mem_strdup(name);
  if (!copy) return status_out_of_memory();
  items[o->initializer_count++] = (initializer_override){copy, ort_value_retain(value), external};
  return OK;
}

/* Takes over the reference to data, also when it fails. */
status session_options_add_file(ortc_session_options *o, const char *name, buffer *data) {
  external_file *files = grow(o->files, o->file_count, sizeof *files);
  if (files) o->files = files;
  char *copy = files ? mem_strdup(name) : NULL;
  if (!copy) {
    buffer_release(data);
    return status_out_of_memory();
  }
  files[o->file_count++] = (external_file){copy, data};
  return OK;
}

status session_options_add_provider(ortc_session_options *o, const char *name, provider_request **out) {
  provider_request *items = grow(o->providers, o->provider_count, sizeof *items);
  if (!items) return status_out_of_memory();
  o->providers = items;
  char *copy = mem_strdup(name);
  if (!copy) return status_out_of_memory();
  *out = &items[o->provider_count++];
  **out = (provider_request){.name = copy};
  return OK;
}

static status copy_all(const ortc_session_options *from, ortc_session_options *to) {
  TRY(settings_copy(&from->config, &to->config));
  for (size_t i = 0; i < from->dim_count; ++i) TRY(session_options_add_dim(to, from->dims[i].name, from->dims[i].dim, from->dims[i].by_denotation));
  for (size_t i = 0; i < from->initializer_count; ++i)
    TRY(session_options_add_initializer(to, from->initializers[i].name, from->initializers[i].value, from->initializers[i].external));
  for (size_t i = 0; i < from->file_count; ++i) TRY(session_options_add_file(to, from->files[i].name, buffer_retain(from->files[i].data)));
  for (size_t i = 0; i < from->provider_count; ++i) {
    provider_request *copy;
    TRY(session_options_add_provider(to, from->providers[i].name, &copy));
    TRY(settings_copy(&from->providers[i].options, &copy->options));
  }
  to->cancel = from->cancel;
  return OK;
}

status session_options_copy(const ortc_session_options *from, ortc_session_options **out) {
  *out = session_options_create();
  status s = *out ? OK : status_out_of_memory();
  if (!s && from) s = copy_all(from, *out);
  if (s) {
    session_options_release(*out);
    *out = NULL;
  }
  return s;
}

/* ---- Run options ------------------------------------------------------------------------------------------------------ */

ortc_run_options *run_options_create(void) { return mem_calloc(1, sizeof(ortc_run_options)); }

void run_options_release(ortc_run_options *o) {
  if (!o) return;
  settings_deinit(&o->config);
  mem_free(o);
}
