/* Memory of a GPU: what it allocates, device memory and page-locked memory of the host, and what the caller's functions allocate for it.
 *
 * These allocators are plain: each allocation is a call of CUDA, which may wait for the device. Arenas stand on them. */
#include <ortcore/base/log.h>
#include <ortcore/base/mem.h>
#include <ortcore/provider/cuda/gpu.h>
#include <stdatomic.h>
#include <stdio.h>

typedef struct block block;
struct block { block *next; void *data; size_t bytes; };

enum { BLOCK_SLOTS = 64 };

typedef struct gpu_allocator gpu_allocator;
struct gpu_allocator {
  ortc_allocator base;
  const gpu *owner;
  const char *kind;                                        /* what it is, in messages */
  cudaError_t (*take)(const gpu_allocator *a, size_t bytes, void **out);
  cudaError_t (*give)(const gpu_allocator *a, void *data);
  external_memory external;
  pthread_mutex_t lock;                                    /* of what follows */
  block *blocks[BLOCK_SLOTS];                              /* what is handed out, by address */
  ortc_allocator_stats stats;
};

static block **slot_of(gpu_allocator *a, const void *data) { return &a->blocks[((uintptr_t)data >> 9) % BLOCK_SLOTS]; }

/* ---- Where the memory comes from ---- */

static cudaError_t take_device(const gpu_allocator *a, size_t bytes, void **out) {
  (void)a;
  return cudaMalloc(out, bytes);
}

static cudaError_t give_device(const gpu_allocator *a, void *data) {
  (void)a;
  return cudaFree(data);
}

static cudaError_t take_pinned(const gpu_allocator *a, size_t bytes, void **out) {
  (void)a;
  return cudaHostAlloc(out, bytes, cudaHostAllocPortable);
}

static cudaError_t give_pinned(const gpu_allocator *a, void *data) {
  (void)a;
  return cudaFreeHost(data);
}

static cudaError_t take_external(const gpu_allocator *a, size_t bytes, void **out) {
  *out = a->external.alloc(bytes);
  return *out ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t give_external(const gpu_allocator *a, void *data) {
  a->external.free(data);
  return cudaSuccess;
}

/* ---- The allocator ---- */

/* CUDA forbids allocating and freeing while this thread captures a graph, unless it is told that the work being captured does not depend on
 * it. Undone by a second call with the same `mode`. */
static void exchange_capture_mode(enum cudaStreamCaptureMode *mode) {
  if (cudaThreadExchangeStreamCaptureMode(mode) != cudaSuccess) (void)cudaGetLastError();
}

static status no_memory(gpu_allocator *a, size_t bytes, cudaError_t error) {
  size_t available = 0, total = 0;
  (void)cudaGetLastError();
  if (error != cudaErrorMemoryAllocation) return gpu_status(a->owner, error, "memory cannot be allocated");
  (void)cudaMemGetInfo(&available, &total);
  pthread_mutex_lock(&a->lock);
  uint64_t held = a->stats.bytes_in_use;
  pthread_mutex_unlock(&a->lock);
  return ERROR(OUT_OF_MEMORY, "%s: allocator '%.31s' was asked for %zu bytes of %s and there is no room. ortcore holds %llu bytes of it in this process; "
               "%zu of the device's %zu bytes are free. Release what is not needed, lower gpu_mem_limit of other sessions, or run smaller batches.",
               a->owner->title, a->base.info.name, bytes, a->kind, (unsigned long long)held, available, total);
}

static void remember(gpu_allocator *a, block *b) {
  pthread_mutex_lock(&a->lock);
  block **slot = slot_of(a, b->data);
  b->next = *slot;
  *slot = b;
  ortc_allocator_stats *s = &a->stats;
  s->bytes_in_use += b->bytes;
  s->bytes_reserved = s->bytes_in_use;
  if (s->bytes_in_use > s->peak_bytes_in_use) s->peak_bytes_in_use = s->bytes_in_use;
  if (b->bytes > s->largest_allocation) s->largest_allocation = b->bytes;
  ++s->allocations;
  pthread_mutex_unlock(&a->lock);
}

static block *forget(gpu_allocator *a, const void *data) {
  pthread_mutex_lock(&a->lock);
  block **link = slot_of(a, data);
  while (*link && (*link)->data != data) link = &(*link)->next;
  block *b = *link;
  if (b) {
    *link = b->next;
    a->stats.bytes_in_use -= b->bytes;
    a->stats.bytes_reserved = a->stats.bytes_in_use;
    ++a->stats.frees;
  }
  pthread_mutex_unlock(&a->lock);
  return b;
}

static status gpu_alloc(ortc_allocator *self, size_t bytes, void **out_data) {
  gpu_allocator *a = (gpu_allocator *)self;
  intptr_t token;
  block *b = mem_alloc(sizeof *b);
  if (!b) return status_out_of_memory();
  status s = gpu_enter(a->owner, &token);
  if (!s) {
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    exchange_capture_mode(&mode);
    cudaError_t error = a->take(a, bytes, &b->data);
    if (error != cudaSuccess) s = no_memory(a, bytes, error);
    exchange_capture_mode(&mode);
    gpu_leave(token);
  }
  if (s) {
    mem_free(b);
    return s;
  }
  b->bytes = bytes;
  *out_data = b->data;
  remember(a, b);
  return OK;
}

static void gpu_free(ortc_allocator *self, void *data) {
  gpu_allocator *a = (gpu_allocator *)self;
  intptr_t token;
  block *b = forget(a, data);
  if (!b) {
    LOG(ERROR, "%s: allocator '%.31s' was asked to free %p, which it never handed out or has freed already; nothing was freed", a->owner->title,
        a->base.info.name, data);
    return;
  }
  status s = gpu_enter(a->owner, &token);
  if (!s) {
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    exchange_capture_mode(&mode);
    s = gpu_status(a->owner, a->give(a, data), "memory cannot be freed");
    exchange_capture_mode(&mode);
    gpu_leave(token);
  }
  if (s) LOG(WARNING, "%s", s->message);                   /* a device that is lost has taken its memory along */
  status_release(s);
  mem_free(b);
}

static uint64_t gpu_shrink(ortc_allocator *self) {
  gpu_allocator *a = (gpu_allocator *)self;
  if (a->external.empty_cache) a->external.empty_cache();
  return 0;                                                /* how much that was, only the caller's allocator knows */
}

static void gpu_get_stats(const ortc_allocator *self, ortc_allocator_stats *out) {
  gpu_allocator *a = (gpu_allocator *)(uintptr_t)self;
  pthread_mutex_lock(&a->lock);
  *out = a->stats;
  pthread_mutex_unlock(&a->lock);
}

static void gpu_allocator_destroy(ortc_allocator *self) {
  gpu_allocator *a = (gpu_allocator *)self;
  pthread_mutex_destroy(&a->lock);
  mem_free(a);
}

static const allocator_vtable gpu_allocator_vtable = {gpu_alloc, gpu_free, gpu_shrink, gpu_get_stats, gpu_allocator_destroy};

static gpu_allocator *allocator_new(const gpu *g, const char *name, const char *kind) {
  gpu_allocator *a = MEM_NEW(gpu_allocator);
  if (!a) return NULL;
  a->owner = g;
  a->kind = kind;
  a->base.vtable = &gpu_allocator_vtable;
  a->base.info = (ortc_memory_info){.device_type = ORTC_DEVICE_GPU, .device_id = g->index, .vendor_id = MEMORY_VENDOR_NVIDIA};
  snprintf(a->base.info.name, sizeof a->base.info.name, "%s", name);
  atomic_init(&a->base.references, 1);
  pthread_mutex_init(&a->lock, NULL);
  return a;
}

ortc_allocator *gpu_memory_create(const gpu *g) {
  gpu_allocator *a = allocator_new(g, "Cuda", "device memory");
  if (!a) return NULL;
  a->take = take_device;
  a->give = give_device;
  return &a->base;
}

ortc_allocator *gpu_pinned_create(const gpu *g) {
  gpu_allocator *a = allocator_new(g, "CudaPinned", "page-locked host memory");
  if (!a) return NULL;
  a->base.info.device_mem_type = ORTC_DEVICE_MEM_HOST_ACCESSIBLE;
  a->base.info.mem_type = ORTC_MEM_CPU_OUTPUT;
  a->take = take_pinned;
  a->give = give_pinned;
  return &a->base;
}

status gpu_external_allocator(const device *d, const external_memory *functions, ortc_allocator **out) {
  *out = NULL;
  if (!functions->alloc || !functions->free) {
    return ERROR(INVALID_ARGUMENT, "gpu_external_alloc and gpu_external_free come together: the address of %s is missing",
                 functions->alloc ? "gpu_external_free" : "gpu_external_alloc");
  }
  gpu_allocator *a = allocator_new(gpu_of(d), "Cuda", "device memory (from gpu_external_alloc)");
  if (!a) return status_out_of_memory();
  a->take = take_external;
  a->give = give_external;
  a->external = *functions;
  *out = &a->base;
  return OK;
}
