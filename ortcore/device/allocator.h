/* Allocators are chained: base, then arena, then limits, statistics and injected faults. Thread-safe. */
#ifndef ORTCORE_DEVICE_ALLOCATOR_H
#define ORTCORE_DEVICE_ALLOCATOR_H

#include <ortcore/base/status.h>

#define MEMORY_ALIGNMENT 64                                /* bytes; every allocation on the CPU */

typedef struct allocator_vtable {
  status (*alloc)(ortc_allocator *self, size_t bytes, void **out_data);
  void (*free)(ortc_allocator *self, void *data);
  uint64_t (*shrink)(ortc_allocator *self);
  void (*get_stats)(const ortc_allocator *self, ortc_allocator_stats *out);
  void (*destroy)(ortc_allocator *self);
} allocator_vtable;

struct ortc_allocator {
  const allocator_vtable *vtable;
  ortc_memory_info info;
  _Atomic int64_t references;
};

ortc_allocator *allocator_default(void);                   /* CPU, plain, process-wide */
ortc_allocator *allocator_retain(ortc_allocator *a);
void allocator_release(ortc_allocator *a);
status allocator_alloc(ortc_allocator *a, size_t bytes, void **out_data) MUST_CHECK;
void allocator_free(ortc_allocator *a, void *data);
/* Plain aligned memory of the host, counted; info NULL: memory_info_cpu. Other devices are NOT_IMPLEMENTED. */
status allocator_create_host(const ortc_memory_info *info, ortc_allocator **out) MUST_CHECK;
/* For allocators of any kind: fills the common part, with one reference. */
void allocator_init(ortc_allocator *a, const allocator_vtable *vtable, const ortc_memory_info *info);
status arena_create(ortc_allocator *base, const ortc_arena_config *config, ortc_allocator **out) MUST_CHECK;   /* retains base */
/* Puts `a` (retained) in the place of an earlier one for the same device. */
status allocator_register(ortc_allocator *a) MUST_CHECK;
/* The registered allocator of a device (ortc_allocator_register), retained, or NULL. */
ortc_allocator *allocator_find_registered(const ortc_memory_info *info);

#endif
