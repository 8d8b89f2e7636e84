/* Where outputs go: the caller's buffer, the caller's allocator, or memory of our own. */
#include <ortcore/device/memory_info.h>
#include <ortcore/exec/executor.h>
#include <ortcore/exec/transfer.h>
#include <string.h>

static status check_bound_shape(const target *t, const tensor *need) {
  if (t->view.type != need->type)
    return ERROR(INVALID_ARGUMENT, "output '%s' is bound to a buffer of %s, but the model computes %s; bind a buffer of that type", t->name,
                 dtype_name(t->view.type), dtype_name(need->type));
  if (dims_equal(t->view.rank, t->view.dims, need->rank, need->dims)) return OK;
  char bound[DIMS_TEXT], computed[DIMS_TEXT];
  return ERROR(INVALID_ARGUMENT, "output '%s' is bound to a buffer of shape %s, but this run computes shape %s; bind a buffer of that shape, or bind "
               "the output by device to let ortcore allocate it", t->name, dims_format(bound, sizeof bound, t->view.rank, t->view.dims),
               dims_format(computed, sizeof computed, need->rank, need->dims));
}

static status check_capacity(const target *t, const tensor *where) {
  if (where->type == ORTC_STRING) return ERROR(INVALID_ARGUMENT, "output '%s' holds strings, which cannot be written into a raw buffer", t->name);
  size_t bytes = tensor_bytes(where);
  char computed[DIMS_TEXT];
  if (bytes > t->capacity)
    return ERROR(INVALID_ARGUMENT, "output '%s' has shape %s in this run and needs %zu bytes, but its buffer holds %zu; bind a larger one", t->name,
                 dims_format(computed, sizeof computed, where->rank, where->dims), bytes, t->capacity);
  return OK;
}

status target_check(const target *t, const tensor *need) {
  return t->kind == TARGET_BUFFER ? check_bound_shape(t, need) : t->kind == TARGET_CAPACITY ? check_capacity(t, need) : OK;
}

/* Memory that an allocator says to be a device's: the device is asked, since a kernel could only fault on anything else. */
static status check_given(const target *t, const void *data, size_t bytes, size_t alignment) {
  const device *d = t->info && !memory_info_is_host(t->info) ? device_of(t->info) : NULL;
  return d ? status_context(d->vtable->check_memory(d, data, bytes, alignment), "what the allocator bound to output '%s' gave", t->name) : OK;
}

static status resolve_callback(target *t, tensor *where) {
  if (where->type == ORTC_STRING) return ERROR(INVALID_ARGUMENT, "output '%s' holds strings, which an output allocator cannot own", t->name);
  size_t bytes = tensor_bytes(where);
  void *data = NULL;
  int code = t->alloc(t->user, t->name, where->type, (size_t)where->rank, where->dims, bytes, &data);
  if (code || (!data && bytes))
    return ERROR(FAIL, "the allocator bound to output '%s' gave no memory for %zu bytes (it returned %d)", t->name, bytes, code);
  TRY(check_given(t, data, bytes, (size_t)tensor_width(where)));
  where->data = data;
  t->view = *where;
  return OK;
}

bool target_is_direct(const frame *f, const target *t, int32_t v) {
  return !f->owner->device || (plan_on_device(f->owner, v) ? side_is_device(f->env, t->info) : !t->info || memory_info_is_host(t->info));
}

target *target_of(const frame *f, target *targets, int32_t v) {
  for (int32_t o = f->owner->first_output[v]; o >= 0; o = f->owner->next_output[o])
    if (targets[o].kind != TARGET_NONE) return &targets[o];
  return NULL;
}

target target_engine(const run_env *env, bool on_device) { return (target){.kind = TARGET_ENGINE, .info = side_info(env, on_device)}; }

/* What concerns an output is told with its name; a value inside the graph has none, but there the node is told. */
static status with_name(const target *t, status s) { return s && t->name ? status_context(s, "output '%s'", t->name) : s; }

status target_resolve(target *t, run_env *env, tensor *where, buffer **out_memory) {
  *out_memory = NULL;
  TRY(target_check(t, where));
  switch (t->kind) {
    case TARGET_BUFFER:
      where->data = t->view.data;
      *out_memory = buffer_retain(t->memory);
      if (where->type == ORTC_STRING) rcstr_release_n(where->data, where->count);
      return OK;
    case TARGET_CAPACITY:
      where->data = t->view.data;
      *out_memory = buffer_retain(t->memory);
      return OK;
    case TARGET_CALLBACK: return resolve_callback(t, where);
    default: break;
  }
  if (t->memory && where->type != ORTC_STRING && t->view.type == where->type && dims_equal(t->view.rank, t->view.dims, where->rank, where->dims)) {
    where->data = t->view.data;
    *out_memory = buffer_retain(t->memory);
    return OK;
  }
  status s = where->type == ORTC_STRING ? buffer_create_strings(env->allocator, where->count, out_memory)
                                        : buffer_create(side_allocator(env, t->info), tensor_bytes(where), out_memory);
  if (s) return with_name(t, s);
  ++env->stats.allocations;
  where->data = *out_memory ? (*out_memory)->data : NULL;
  return OK;
}

status target_fill(target *t, run_env *env, const tensor *from, const ortc_memory_info *from_info) {
  tensor where = *from;
  buffer *memory;
  TRY(target_resolve(t, env, &where, &memory));
  if (from->type == ORTC_STRING) rcstr_retain_n(from->data, from->count);
  const ortc_memory_info *to_info = memory ? &memory->info : t->info ? t->info : &memory_info_cpu;
  status s = transfer_bytes(env, to_info, where.data, from_info, from->data, tensor_bytes(from));
  if (s) {
    buffer_release(memory);
    return with_name(t, s);
  }
  t->result = where;
  t->result_memory = memory;
  return OK;
}
