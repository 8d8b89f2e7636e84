/* Memory infos and allocators. */
#include <ortcore/api/check.h>
#include <ortcore/base/mem.h>
#include <ortcore/device/allocator.h>
#include <ortcore/device/memory_info.h>
#include <ortcore/provider/provider.h>

ortc_status *ortc_memory_info_init(const char *name, ortc_allocator_type allocator_type, int32_t device_id, ortc_mem_type mem_type, ortc_memory_info *out_info) {
  NEEDS(out_info);
  *out_info = (ortc_memory_info){0};
  NEEDS(name);
  return memory_info_init(out_info, name, allocator_type, device_id, mem_type);
}

ortc_status *ortc_memory_info_of(const void *data, ortc_memory_info *out_info) {
  status refused = NULL;
  NEEDS(out_info);
  *out_info = (ortc_memory_info){0};
  NEEDS(data);
  if (!provider_cuda(NULL)) return ERROR(INVALID_ARGUMENT, "%p cannot be memory of a device: none is available here", data);
  for (int i = 1; device_at(i); ++i) {                      /* 0 is the CPU */
    const device *d = device_at(i);
    status_release(refused);
    refused = d->vtable->check_memory(d, data, 1, 1);
    if (refused) continue;
    *out_info = d->vtable->allocator(d)->info;
    return OK;
  }
  return refused ? refused : ERROR(INVALID_ARGUMENT, "%p cannot be memory of a device: there is none", data);
}

bool ortc_memory_info_equal(const ortc_memory_info *a, const ortc_memory_info *b) { return a == b || (a && b && memory_info_equal(a, b)); }

/* Plain memory there: of the host, of a GPU, or of the host page-locked for a GPU. */
static status plain_allocator(const ortc_memory_info *info, ortc_allocator **out) {
  if (!info || !memory_info_is_cuda(info)) return allocator_create_host(info, out);
  bool pinned = info->device_mem_type == ORTC_DEVICE_MEM_HOST_ACCESSIBLE;
  ortc_memory_info gpu = *info;
  gpu.device_mem_type = ORTC_DEVICE_MEM_DEFAULT;
  const device *d;
  TRY(status_context(provider_device(&gpu, &d), "Can't allocate memory on %s:%d", memory_info_device_name(info), info->device_id));
  *out = allocator_retain(pinned ? d->vtable->host_allocator(d) : d->vtable->allocator(d));
  return OK;
}

ortc_status *ortc_allocator_create(const ortc_memory_info *info, const ortc_arena_config *arena, ortc_allocator **out_allocator) {
  NEEDS(out_allocator);
  *out_allocator = NULL;
  TRY(plain_allocator(info, out_allocator));
  if (!arena) return OK;
  ortc_allocator *source = *out_allocator;
  status s = arena_create(source, arena, out_allocator);
  allocator_release(source);
  return s;
}

ortc_allocator *ortc_allocator_get_default(void) { return allocator_default(); }
ortc_allocator *ortc_allocator_retain(ortc_allocator *allocator) { return allocator_retain(allocator); }
void ortc_allocator_release(ortc_allocator *allocator) { allocator_release(allocator); }

ortc_status *ortc_allocator_alloc(ortc_allocator *allocator, size_t bytes, void **out_data) {
  NEEDS(out_data);
  *out_data = NULL;
  NEEDS(allocator);
  return allocator_alloc(allocator, bytes, out_data);
}

void ortc_allocator_free(ortc_allocator *allocator, void *data) {
  if (allocator) allocator_free(allocator, data);
}

void ortc_allocator_get_info(const ortc_allocator *allocator, ortc_memory_info *out_info) {
  if (out_info) *out_info = allocator ? allocator->info : (ortc_memory_info){0};
}

void ortc_allocator_get_stats(const ortc_allocator *allocator, ortc_allocator_stats *out_stats) {
  if (!out_stats) return;
  *out_stats = (ortc_allocator_stats){0};
  if (allocator) allocator->vtable->get_stats(allocator, out_stats);
}

uint64_t ortc_allocator_shrink(ortc_allocator *allocator) { return allocator ? allocator->vtable->shrink(allocator) : 0; }

ortc_status *ortc_allocator_register(ortc_allocator *allocator) {
  NEEDS(allocator);
  return allocator_register(allocator);
}

void ortc_allocator_inject_failure(uint64_t n) { mem_inject_failure(n); }
