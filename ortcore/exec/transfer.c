#include <ortcore/device/memory_info.h>
#include <ortcore/exec/executor.h>
#include <ortcore/exec/transfer.h>
#include <string.h>

bool side_is_device(const run_env *env, const ortc_memory_info *info) {
  return info && env->device && !memory_info_is_host(info) && env->device->vtable->serves(env->device, info);
}

ortc_allocator *side_allocator(const run_env *env, const ortc_memory_info *info) {
  if (side_is_device(env, info)) return env->device_allocator;
  if (!info || !env->device || info->device_type == ORTC_DEVICE_CPU) return env->allocator;
  if (memory_info_is_host(info)) {                          /* pinned */
    ortc_allocator *pinned = env->device->vtable->host_allocator(env->device);
    return pinned ? pinned : env->allocator;
  }
  const device *other = device_of(info);
  return other ? other->vtable->allocator(other) : env->allocator;
}

static status move(run_env *env, const ortc_memory_info *to_info, void *to, const ortc_memory_info *from_info, const void *from, size_t bytes) {
  bool to_host = memory_info_is_host(to_info), from_host = memory_info_is_host(from_info);
  if (!bytes || to == from) return OK;
  if (to_host && from_host) {
    memmove(to, from, bytes);
    return OK;
  }
  if (!env->device) return device_copy(to_info, to, from_info, from, bytes);
  env->host_waits |= to_host;
  env->stats.device_to_host_copies += to_host;
  env->stats.host_to_device_copies += from_host;
  return env->device->vtable->copy(env->device, env->stream, (memory_place){to_info, to}, (memory_place){from_info, (void *)(uintptr_t)from}, bytes);
}

status transfer_bytes(run_env *env, const ortc_memory_info *to_info, void *to, const ortc_memory_info *from_info, const void *from, size_t bytes) {
  if (to != from) env->stats.bytes_copied += bytes;
  return move(env, to_info, to, from_info, from, bytes);
}

const ortc_memory_info *side_info(const run_env *env, bool on_device) { return on_device ? &env->device_allocator->info : &memory_info_cpu; }

status transfer_elements(run_env *env, bool on_device, const tensor *from, tensor *to) {
  const ortc_memory_info *side = side_info(env, on_device);
  if (from->type == ORTC_STRING && to->data != from->data) rcstr_retain_n(from->data, from->count);
  return move(env, side, to->data, side, from->data, tensor_bytes(from));
}

status transfer_rows(run_env *env, bool on_device, void *to, size_t to_step, const void *from, size_t from_step, size_t bytes, int64_t rows) {
  const device *d = on_device ? env->device : device_cpu();
  if (!bytes || rows <= 0) return OK;
  return d->vtable->copy_rows(d, env->stream, to, to_step, from, from_step, bytes, (size_t)rows);
}

status transfer_zeros(run_env *env, bool on_device, void *to, size_t bytes) {
  const device *d = on_device ? env->device : device_cpu();
  return bytes ? d->vtable->fill(d, env->stream, to, 0, bytes) : OK;
}

status transfer_feed(frame *f, int32_t v, const feed *from) {
  run_env *env = f->env;
  bool to_device = plan_on_device(f->owner, v);
  slot *s = &f->slots[v];
  buffer *memory;
  TRY(buffer_create(to_device ? env->device_allocator : env->allocator, tensor_bytes(from->view), &memory));
  ++env->stats.allocations;
  s->view.data = memory->data;
  frame_set(f, v, memory, NULL);
  TRY(transfer_bytes(env, side_info(env, to_device), memory->data, from->info ? from->info : &memory_info_cpu, from->view->data, tensor_bytes(from->view)));
  return to_device ? OK : stream_synchronise(env->stream);
}

status transfer_run(exec_step *e) {
  run_env *env = e->owner->env;
  const step *s = e->source;
  const tensor *from = e->k.in[0];
  tensor *to;
  bool to_device = plan_on_device(e->owner->owner, s->out[0]);
  TRY(kernel_output_like(&e->k, 0, from, &to));
  if (!to) return OK;
  TRY(transfer_bytes(env, side_info(env, to_device), to->data, side_info(env, !to_device), from->data, tensor_bytes(from)));
  return to_device ? OK : stream_synchronise(env->stream);
}
