#include <ortcore/device/device.h>
#include <stdatomic.h>

/* The CPU first, then what plugins bring; readers see only entries that are complete. */
#define MOST_DEVICES 32
static const device *registered[MOST_DEVICES];
static _Atomic int registered_count;

bool device_register(const device *d) {
  int at = atomic_load(&registered_count);
  if (at == MOST_DEVICES) return false;
  registered[at] = d;
  atomic_store_explicit(&registered_count, at + 1, memory_order_release);
  return true;
}

const device *device_at(int index) {
  if (index == 0) return device_cpu();
  return index > 0 && index <= atomic_load_explicit(&registered_count, memory_order_acquire) ? registered[index - 1] : NULL;
}

const device *device_of(const ortc_memory_info *info) {
  if (memory_info_is_host(info)) return device_cpu();
  int count = atomic_load_explicit(&registered_count, memory_order_acquire);
  for (int i = 0; i < count; ++i)
    if (registered[i]->vtable->serves(registered[i], info)) return registered[i];
  return NULL;
}

void stream_release(stream *s) {
  if (s) s->owner->vtable->stream_release(s);
}

void event_release(event *e) {
  if (e) e->owner->vtable->event_release(e);
}

status device_copy_on(stream *s, memory_place to, memory_place from, size_t bytes) {
  if (bytes == 0) return OK;
  const device *reader = device_of(from.info), *writer = device_of(to.info);
  /* The device that is not the host knows the way. */
  const device *with = writer == device_cpu() ? reader : writer;
  if (!reader || !writer)
    return ERROR(NOT_IMPLEMENTED, "copy: no provider that is loaded can copy from %s:%d to %s:%d", memory_info_device_name(from.info), from.info->device_id,
                 memory_info_device_name(to.info), to.info->device_id);
  if (!s || s->owner == device_cpu()) return with->vtable->copy(with, NULL, to, from, bytes);
  if (s->owner != reader && s->owner != writer)
    return ERROR(INVALID_ARGUMENT, "copy: the stream is of %s, and the copy is from %s to %s: give a stream of one of them", s->owner->name, reader->name, writer->name);
  return s->owner->vtable->copy(s->owner, s, to, from, bytes);
}

status device_copy(const ortc_memory_info *to_info, void *to, const ortc_memory_info *from_info, const void *from, size_t bytes) {
  return device_copy_on(NULL, (memory_place){to_info, to}, (memory_place){from_info, (void *)(uintptr_t)from}, bytes);
}
