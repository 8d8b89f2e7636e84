/* cudaMalloc, cudaFree, memory in stream order and its pools, and what pointers are. */
#include <emulator/runtime/api.h>
#include <emulator/runtime/capture.h>
#include <emulator/runtime/devices.h>
#include <emulator/runtime/handles.h>
#include <emulator/runtime/pinned.h>
#include <emulator/runtime/race.h>
#include <emulator/runtime/report.h>
#include <emulator/runtime/streams.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace emulator {

namespace {

constexpr size_t kPitch = 512;

struct pool {
  device *owner;
  bool is_default;
  uint64_t release_threshold = 0, used = 0, most_used = 0;
  uint64_t largest = 0;                                     /* 0: no limit */
};

auto &pools = *new handle_table<cudaMemPool_t, pool>(handle_kind::pool);

std::shared_ptr<pool> default_pool(device &d) {
  if (!d.default_pool) d.default_pool = d.current_pool = pools.add(std::make_shared<pool>(pool{&d, true}));
  return pools.find(d.default_pool);
}

std::shared_ptr<pool> current_pool(device &d) {
  std::shared_ptr<pool> base = default_pool(d), now = pools.find(d.current_pool);
  return now ? now : base;
}

cudaError_t allocate(void **out, size_t bytes, const char *origin) {
  if (!out) return cudaErrorInvalidValue;
  *out = nullptr;
  if (bytes == 0) return cudaSuccess;
  allocation *a = allocation_may_succeed() ? current_device().memory.allocate(bytes, origin) : nullptr;
  if (!a) return cudaErrorMemoryAllocation;
  *out = reinterpret_cast<void *>(a->address);
  return cudaSuccess;
}

/* What cudaFree and its relatives take away from the pool it came from. */
void leave_pool(const allocation &a) {
  if (std::shared_ptr<pool> p = a.pool ? pools.find(a.pool) : nullptr) p->used -= a.bytes;
}

cudaError_t free_now(void *p) {
  device_memory *memory;
  allocation *a;
  if (!p) return cudaSuccess;
  if (const allocation *host = find_pinned(p); host && host->kind == memory_kind::managed) return free_managed(p);
  if (cudaError_t error = find_for_free("cudaFree", p, &memory, &a)) return error;
  ++counters.synchronisations;
  run_all_of(*device_at(a->device));
  leave_pool(*a);
  memory->release(a, "cudaFree", {});
  return device_at(this_thread.device)->failed;
}

/* The moment from which freed memory is nobody's. */
struct free_work final : work {
  device_memory *memory;
  const allocation *freed;

  free_work(device_memory *memory, const allocation *freed) : memory(memory), freed(freed) {}
  cudaGraphNodeType type() const override { return cudaGraphNodeTypeMemFree; }
  std::string describe() const override { return "cudaFreeAsync of " + emulator::describe(*freed); }
  cudaError_t run(stream &, const operation &) const override {
    if (settings.race_check) access_range(freed->address, freed->bytes, true);
    memory->poison_freed(*freed);
    return cudaSuccess;
  }
};

/* Memory that a graph allocates when it runs. Its address is the same at each launch and belongs to the graph. */
struct graph_block {
  device_memory *memory;
  uint64_t address, id;

  graph_block(device_memory *memory, const allocation &a) : memory(memory), address(a.address), id(a.id) {}
  graph_block(const graph_block &) = delete;
  graph_block &operator=(const graph_block &) = delete;
  ~graph_block() {
    allocation *a = memory->find_start(address);
    if (a && a->id == id && !a->freed) memory->release(a, "the end of its graph", {});
  }
};

struct graph_allocation_work final : work {
  std::shared_ptr<graph_block> block;
  bool frees;

  graph_allocation_work(std::shared_ptr<graph_block> block, bool frees) : block(std::move(block)), frees(frees) {}
  cudaGraphNodeType type() const override { return frees ? cudaGraphNodeTypeMemFree : cudaGraphNodeTypeMemAlloc; }
  std::string describe() const override { return frees ? "cudaFreeAsync in a graph" : "cudaMallocAsync in a graph"; }
  cudaError_t run(stream &, const operation &) const override {
    const allocation *a = block->memory->find_start(block->address);
    if (!a || a->id != block->id || a->freed) return cudaSuccess;
    if (settings.race_check) access_range(a->address, a->bytes, true);
    memset(reinterpret_cast<void *>(a->address), frees ? 0xFE : 0xFF, std::min(a->bytes, static_cast<size_t>(settings.poison_bytes)));
    return cudaSuccess;
  }
};

auto &graph_blocks = *new std::unordered_map<uint64_t, std::weak_ptr<graph_block>>;   /* by address */

cudaError_t allocate_in_order(const char *call, void **out, size_t bytes, const std::shared_ptr<pool> &from, cudaMemPool_t handle, cudaStream_t where) {
  std::shared_ptr<stream> s = find_stream(call, where);
  if (!s) return cudaErrorInvalidResourceHandle;
  if (!out || !from) return cudaErrorInvalidValue;
  *out = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (from->largest && from->used + bytes > from->largest) return cudaErrorMemoryAllocation;
  allocation *a = allocation_may_succeed() ? from->owner->memory.allocate(bytes, call) : nullptr;
  if (!a) return cudaErrorMemoryAllocation;
  a->pool = handle;
  from->used += bytes;
  from->most_used = std::max(from->most_used, from->used);
  *out = reinterpret_cast<void *>(a->address);
  if (!s->capturing) return cudaSuccess;
  auto block = std::make_shared<graph_block>(&from->owner->memory, *a);
  graph_blocks[a->address] = block;
  return add_to_capture(call, *s, std::make_shared<graph_allocation_work>(block, false));
}

cudaError_t free_in_order(void *p, cudaStream_t where) {
  std::shared_ptr<stream> s = find_stream("cudaFreeAsync", where);
  if (!s) return cudaErrorInvalidResourceHandle;
  device_memory *memory;
  allocation *a;
  if (!p) return cudaErrorInvalidValue;
  if (cudaError_t error = find_for_free("cudaFreeAsync", p, &memory, &a)) return error;
  if (s->capturing) {
    auto found = graph_blocks.find(a->address);
    std::shared_ptr<graph_block> block = found == graph_blocks.end() ? nullptr : found->second.lock();
    if (block && block->id == a->id) return add_to_capture("cudaFreeAsync", *s, std::make_shared<graph_allocation_work>(block, true));
    return invalidate(*s->capturing, "cudaFreeAsync", cudaErrorInvalidValue, "a graph can free only memory that a graph allocated");
  }
  if (cudaError_t error = refuse_implicit("cudaFreeAsync", *s)) return error;
  leave_pool(*a);
  a->freed_by = "cudaFreeAsync";
  mark end = enqueue(s, std::make_shared<free_work>(memory, a));
  memory->release(a, "cudaFreeAsync", end);
  return cudaSuccess;
}

void describe_pointer(const void *p, cudaPointerAttributes *out) {
  memset(out, 0, sizeof *out);
  out->device = cudaInvalidDeviceId;
  out->hostPointer = const_cast<void *>(p);
  uint64_t address = reinterpret_cast<uint64_t>(p);
  const allocation *a = find_device_allocation(address), *host = find_pinned(p);
  if (a) {
    bool live = !a->freed && address < a->address + a->bytes;
    out->type = live ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    out->device = live ? a->device : cudaInvalidDeviceId;
    out->devicePointer = live ? const_cast<void *>(p) : nullptr;
    out->hostPointer = nullptr;
  } else if (host) {
    out->type = host->kind == memory_kind::managed ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
    out->device = host->device;
    out->devicePointer = const_cast<void *>(p);
  }
}

cudaError_t pool_attribute(const pool &p, cudaMemPoolAttr attribute, void *out) {
  auto number = [&](uint64_t value) {
    memcpy(out, &value, sizeof value);
    return cudaSuccess;
  };
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies: return *static_cast<int *>(out) = 1, cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold: return number(p.release_threshold);
    case cudaMemPoolAttrReservedMemCurrent: return number(p.used + p.owner->memory.quarantined());
    case cudaMemPoolAttrReservedMemHigh: return number(p.most_used + p.owner->memory.quarantined());
    case cudaMemPoolAttrUsedMemCurrent: return number(p.used);
    case cudaMemPoolAttrUsedMemHigh: return number(p.most_used);
    default: return cudaErrorInvalidValue;
  }
}

}  // namespace

}  // namespace emulator

using namespace emulator;

cudaError_t cudaMalloc(void **out, size_t bytes) {
  return api("cudaMalloc", unsafe_in_capture, [&] { return allocate(out, bytes, "cudaMalloc"); });
}

cudaError_t cudaMallocPitch(void **out, size_t *out_pitch, size_t width, size_t height) {
  return api("cudaMallocPitch", unsafe_in_capture, [&] {
    if (!out || !out_pitch) return cudaErrorInvalidValue;
    *out_pitch = (width + kPitch - 1) / kPitch * kPitch;
    return allocate(out, *out_pitch * height, "cudaMallocPitch");
  });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr *out, cudaExtent extent) {
  return api("cudaMalloc3D", unsafe_in_capture, [&] {
    if (!out) return cudaErrorInvalidValue;
    *out = {nullptr, (extent.width + kPitch - 1) / kPitch * kPitch, extent.width, extent.height};
    return allocate(&out->ptr, out->pitch * extent.height * extent.depth, "cudaMalloc3D");
  });
}

cudaError_t cudaFree(void *p) {
  return api("cudaFree", unsafe_in_capture | releasing, [&] { return free_now(p); });
}

cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream) {
  return api("cudaMallocAsync", ordinary, [&] {
    std::shared_ptr<pool> from = current_pool(current_device());
    return allocate_in_order("cudaMallocAsync", out, bytes, from, current_device().current_pool, stream);
  });
}

cudaError_t cudaMallocFromPoolAsync(void **out, size_t bytes, cudaMemPool_t handle, cudaStream_t stream) {
  return api("cudaMallocFromPoolAsync", ordinary, [&] {
    return allocate_in_order("cudaMallocFromPoolAsync", out, bytes, pools.find(handle), handle, stream);
  });
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t stream) {
  return api("cudaFreeAsync", releasing, [&] { return free_in_order(p, stream); });
}

cudaError_t cudaMemGetInfo(size_t *out_free, size_t *out_total) {
  return api("cudaMemGetInfo", ordinary, [&] {
    size_t total = static_cast<size_t>(settings.memory_bytes), used = current_device().memory.used();
    if (out_free) *out_free = total > used ? total - used : 0;
    if (out_total) *out_total = total;
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *out, const void *p) {
  return api("cudaPointerGetAttributes", ordinary, [&] {
    if (!out) return cudaErrorInvalidValue;
    describe_pointer(p, out);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *out, int ordinal) {
  return api("cudaDeviceGetDefaultMemPool", ordinary, [&] {
    device *d = device_at(ordinal);
    if (!out || !d) return out ? cudaErrorInvalidDevice : cudaErrorInvalidValue;
    default_pool(*d);
    *out = d->default_pool;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *out, int ordinal) {
  return api("cudaDeviceGetMemPool", ordinary, [&] {
    device *d = device_at(ordinal);
    if (!out || !d) return out ? cudaErrorInvalidDevice : cudaErrorInvalidValue;
    current_pool(*d);
    *out = d->current_pool;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSetMemPool(int ordinal, cudaMemPool_t handle) {
  return api("cudaDeviceSetMemPool", ordinary, [&] {
    device *d = device_at(ordinal);
    std::shared_ptr<pool> p = pools.find(handle);
    if (!d || !p || p->owner != d) return d ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
    d->current_pool = handle;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *out, const cudaMemPoolProps *properties) {
  return api("cudaMemPoolCreate", ordinary, [&] {
    if (!out || !properties || properties->allocType != cudaMemAllocationTypePinned) return cudaErrorInvalidValue;
    if (properties->location.type != cudaMemLocationTypeDevice || properties->handleTypes != cudaMemHandleTypeNone) return cudaErrorNotSupported;
    device *d = device_at(properties->location.id);
    if (!d) return cudaErrorInvalidDevice;
    auto p = std::make_shared<pool>(pool{d, false});
    p->largest = properties->maxSize;
    *out = pools.add(p);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  return api("cudaMemPoolDestroy", releasing, [&] {
    std::shared_ptr<pool> p = pools.find(handle);
    if (!p || p->is_default) return cudaErrorInvalidValue;
    if (p->owner->current_pool == handle) p->owner->current_pool = p->owner->default_pool;
    pools.remove(handle);
    return cudaSuccess;
  });
}

/* Nothing that is freed stays with a pool. */
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t) {
  return api("cudaMemPoolTrimTo", ordinary, [&] { return pools.find(handle) ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void *out) {
  return api("cudaMemPoolGetAttribute", ordinary, [&] {
    std::shared_ptr<pool> p = pools.find(handle);
    return p && out ? pool_attribute(*p, attribute, out) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void *value) {
  return api("cudaMemPoolSetAttribute", ordinary, [&] {
    std::shared_ptr<pool> p = pools.find(handle);
    if (!p || !value) return cudaErrorInvalidValue;
    if (attribute == cudaMemPoolAttrReleaseThreshold) memcpy(&p->release_threshold, value, sizeof p->release_threshold);
    if (attribute == cudaMemPoolAttrUsedMemHigh) p->most_used = p->used;
    bool known = attribute >= cudaMemPoolReuseFollowEventDependencies && attribute <= cudaMemPoolAttrUsedMemHigh;
    return known ? cudaSuccess : cudaErrorInvalidValue;
  });
}
