#include <ortcore/base/checked.h>
#include <ortcore/base/mem.h>
#include <ortcore/device/allocator.h>
#include <ortcore/device/memory_info.h>

#include <pthread.h>
#include <stdatomic.h>

void allocator_init(ortc_allocator *a, const allocator_vtable *vtable, const ortc_memory_info *info) {
  a->vtable = vtable;
  a->info = *info;
  atomic_init(&a->references, 1);
}

ortc_allocator *allocator_retain(ortc_allocator *a) {
  if (a) atomic_fetch_add_explicit(&a->references, 1, memory_order_relaxed);
  return a;
}

void allocator_release(ortc_allocator *a) {
  if (a && atomic_fetch_sub_explicit(&a->references, 1, memory_order_acq_rel) == 1) a->vtable->destroy(a);
}

status allocator_alloc(ortc_allocator *a, size_t bytes, void **out_data) {
  *out_data = NULL;
  if (bytes == 0) return OK;
  if (bytes > PTRDIFF_MAX / 2) return ERROR(OUT_OF_MEMORY, "allocator '%.31s' was asked for %zu bytes, more than memory can be", a->info.name, bytes);
  return a->vtable->alloc(a, bytes, out_data);
}

void allocator_free(ortc_allocator *a, void *data) {
  if (data) a->vtable->free(a, data);
}

/* ---- Memory of the host, straight from the heap ---- */

typedef struct host_allocator {
  ortc_allocator base;
  size_t alignment;
  _Atomic uint64_t in_use, peak, allocations, frees, largest;
} host_allocator;

static void raise_to(_Atomic uint64_t *highest, uint64_t value) {
  uint64_t now = atomic_load_explicit(highest, memory_order_relaxed);
  while (value > now && !atomic_compare_exchange_weak_explicit(highest, &now, value, memory_order_relaxed, memory_order_relaxed)) {}
}

static status host_alloc(ortc_allocator *self, size_t bytes, void **out_data) {
  host_allocator *a = (host_allocator *)self;
  void *data = mem_aligned(a->alignment, bytes);
  if (!data) {
    return ERROR(OUT_OF_MEMORY, "allocator '%.31s' was asked for %zu bytes, and the system has no room for them; it holds %llu bytes now", self->info.name, bytes,
                 (unsigned long long)atomic_load_explicit(&a->in_use, memory_order_relaxed));
  }
  size_t usable = mem_usable_bytes(data);
  raise_to(&a->peak, atomic_fetch_add_explicit(&a->in_use, usable, memory_order_relaxed) + usable);
  raise_to(&a->largest, bytes);
  atomic_fetch_add_explicit(&a->allocations, 1, memory_order_relaxed);
  *out_data = data;
  return OK;
}

static void host_free(ortc_allocator *self, void *data) {
  host_allocator *a = (host_allocator *)self;
  atomic_fetch_sub_explicit(&a->in_use, mem_usable_bytes(data), memory_order_relaxed);
  atomic_fetch_add_explicit(&a->frees, 1, memory_order_relaxed);
  mem_free(data);
}

static uint64_t host_shrink(ortc_allocator *self) {
  (void)self;
  return 0;
}

static void host_get_stats(const ortc_allocator *self, ortc_allocator_stats *out) {
  host_allocator *a = (host_allocator *)self;
  *out = (ortc_allocator_stats){.bytes_in_use = atomic_load(&a->in_use), .peak_bytes_in_use = atomic_load(&a->peak),
                                .allocations = atomic_load(&a->allocations), .frees = atomic_load(&a->frees),
                                .largest_allocation = atomic_load(&a->largest)};
  out->bytes_reserved = out->bytes_in_use;
}

static void host_destroy(ortc_allocator *self) { mem_free(self); }

static const allocator_vtable host_vtable = {host_alloc, host_free, host_shrink, host_get_stats, host_destroy};

status allocator_create_host(const ortc_memory_info *info, ortc_allocator **out) {
  *out = NULL;
  if (!info) info = &memory_info_cpu;
  if (info->device_type != ORTC_DEVICE_CPU) {
    return ERROR(NOT_IMPLEMENTED, "allocator: memory of device '%s' (allocator '%.31s') cannot be allocated here; only the CPU's can. Allocate it with the "
                 "device's own library and bind it by pointer or through DLPack.", memory_info_device_name(info), info->name);
  }
  uint64_t alignment = info->alignment > MEMORY_ALIGNMENT ? info->alignment : MEMORY_ALIGNMENT;
  if ((alignment & (alignment - 1)) != 0 || alignment > (uint64_t)1 << 30) {
    return ERROR(INVALID_ARGUMENT, "allocator: alignment %llu is not a power of two up to 2^30", (unsigned long long)info->alignment);
  }
  host_allocator *a = MEM_NEW(host_allocator);
  if (!a) return status_out_of_memory();
  allocator_init(&a->base, &host_vtable, info);
  a->alignment = (size_t)alignment;
  *out = &a->base;
  return OK;
}

/* ---- The default one, and those that were registered ---- */

static host_allocator default_allocator = {
  .base = {.vtable = &host_vtable, .info = {.name = "Cpu", .device_type = ORTC_DEVICE_CPU}, .references = 1}, .alignment = MEMORY_ALIGNMENT};

/* The process holds the first reference, so it is never destroyed. */
ortc_allocator *allocator_default(void) { return &default_allocator.base; }

enum { MOST_REGISTERED = 64 };                             /* devices, not allocators */
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static ortc_allocator *registered[MOST_REGISTERED];
static int registered_count;

static int find_registered(const ortc_memory_info *info) {
  int i = 0;
  while (i < registered_count && !memory_info_same_device(&registered[i]->info, info)) ++i;
  return i;
}

status allocator_register(ortc_allocator *a) {
  pthread_mutex_lock(&registry_lock);
  int i = find_registered(&a->info);
  ortc_allocator *replaced = i < registered_count ? registered[i] : NULL;
  bool full = i == MOST_REGISTERED;
  if (!full) {
    registered[i] = allocator_retain(a);
    if (i == registered_count) ++registered_count;
  }
  pthread_mutex_unlock(&registry_lock);
  allocator_release(replaced);
  if (full) return ERROR(FAIL, "allocator: allocators of %d devices are registered already, there is no room for one more", MOST_REGISTERED);
  return OK;
}

ortc_allocator *allocator_find_registered(const ortc_memory_info *info) {
  pthread_mutex_lock(&registry_lock);
  int i = find_registered(info);
  ortc_allocator *found = i < registered_count ? allocator_retain(registered[i]) : NULL;
  pthread_mutex_unlock(&registry_lock);
  return found;
}
