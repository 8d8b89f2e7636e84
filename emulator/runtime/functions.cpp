/* What kernels are and need: attributes, limits, occupancy; and the driver's own functions, as far as they are asked for. */
#include <emulator/runtime/api.h>
#include <emulator/runtime/devices.h>
#include <emulator/runtime/report.h>
#include <emulator/runtime/symbols.h>

#include <algorithm>
#include <cstring>

namespace emulator {

namespace {

using most = device_limits;

/* A kernel with its translated form. */
cudaError_t find(const void *function, kernel_symbol **out) {
  *out = find_kernel_symbol(function);
  if (!*out) return cudaErrorInvalidDeviceFunction;
  return (*out)->image ? cudaSuccess : cudaErrorNoKernelImageForDevice;
}

int block_limit(const kernel_image &image) {
  return image.most_threads ? std::min<int>(static_cast<int>(image.most_threads), most::block_threads) : most::block_threads;
}

cudaError_t set_dynamic_shared(kernel_symbol &k, int bytes) {
  size_t limit = most::shared_opt_in - std::min<size_t>(most::shared_opt_in, k.image->static_shared);
  if (bytes < 0 || static_cast<size_t>(bytes) > limit) {
    report("launch", "cudaFuncSetAttribute: kernel %s cannot have %d bytes of dynamic shared memory: the device allows %zu beside its %u static ones",
           readable(k.name).c_str(), bytes, limit, k.image->static_shared);
    return cudaErrorInvalidValue;
  }
  k.most_dynamic_shared = static_cast<size_t>(bytes);
  return cudaSuccess;
}

/* How many blocks fit a processor by threads and shared memory; registers are not known here. */
int blocks_per_processor(const kernel_image &image, int threads, size_t dynamic_shared) {
  if (threads <= 0 || threads > block_limit(image)) return 0;
  int by_threads = most::processor_threads / ((threads + 31) / 32 * 32);
  size_t shared = image.static_shared + dynamic_shared;
  size_t by_shared = shared ? most::shared_per_processor / (shared + 1024) : most::processor_blocks;
  return std::min({by_threads, most::processor_blocks, static_cast<int>(by_shared)});
}

/* ---- The driver ---- */

using driver_result = int;                                  /* CUresult: the runtime's numbers, where both have one */
constexpr driver_result kDriverOk = 0, kDriverInvalidValue = 1;

/* A device's only context. */
void *context_of(int ordinal) { return reinterpret_cast<void *>((uint64_t{0x0EFF} << 48) + static_cast<uint64_t>(ordinal + 1) * 16); }

driver_result get_current_context(void **out) {
  *out = device_at(this_thread.device) ? context_of(this_thread.device) : nullptr;
  return kDriverOk;
}

driver_result set_current_context(void *context) {
  for (int i = 0; i < kMostDevices; ++i) {
    if (context != context_of(i)) continue;
    this_thread.device = i;
    return kDriverOk;
  }
  return context ? kDriverInvalidValue : kDriverOk;
}

driver_result get_address_range(uint64_t *out_base, size_t *out_bytes, uint64_t address) {
  call gate("cuMemGetAddressRange", driverless);
  const allocation *a = find_device_allocation(address);
  if (!a || a->freed || address >= a->address + a->bytes) return kDriverInvalidValue;
  if (out_base) *out_base = a->address;
  if (out_bytes) *out_bytes = a->bytes;
  return kDriverOk;
}

struct driver_function {
  const char *name;
  void *address;
};
const driver_function driver_functions[] = {
  {"cuCtxGetCurrent", reinterpret_cast<void *>(get_current_context)},
  {"cuCtxSetCurrent", reinterpret_cast<void *>(set_current_context)},
  {"cuMemGetAddressRange", reinterpret_cast<void *>(get_address_range)},
  {"cuMemGetAddressRange_v2", reinterpret_cast<void *>(get_address_range)},
};

cudaError_t entry_point(const char *name, void **out, cudaDriverEntryPointQueryResult *out_result) {
  if (!name || !out) return cudaErrorInvalidValue;
  *out = nullptr;
  for (const driver_function &f : driver_functions) {
    if (strcmp(f.name, name) == 0) *out = f.address;
  }
  if (out_result) *out_result = *out ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return *out || out_result ? cudaSuccess : cudaErrorSymbolNotFound;
}

}  // namespace

}  // namespace emulator

using namespace emulator;

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *out, const void *function) {
  return api("cudaFuncGetAttributes", ordinary, [&] {
    kernel_symbol *k;
    if (!out) return cudaErrorInvalidValue;
    if (cudaError_t error = find(function, &k)) return error;
    memset(out, 0, sizeof *out);
    out->sharedSizeBytes = k->image->static_shared;
    out->maxThreadsPerBlock = block_limit(*k->image);
    out->numRegs = 32;
    out->ptxVersion = out->binaryVersion = 80;
    out->maxDynamicSharedSizeBytes = static_cast<int>(k->most_dynamic_shared);
    out->preferredShmemCarveout = -1;
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void *function, cudaFuncAttribute attribute, int value) {
  return api("cudaFuncSetAttribute", ordinary, [&] {
    kernel_symbol *k;
    if (cudaError_t error = find(function, &k)) return error;
    switch (attribute) {
      case cudaFuncAttributeMaxDynamicSharedMemorySize: return set_dynamic_shared(*k, value);
      case cudaFuncAttributePreferredSharedMemoryCarveout: return value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue;
      default: return cudaErrorNotSupported;
    }
  });
}

cudaError_t cudaFuncSetCacheConfig(const void *function, cudaFuncCache) {
  return api("cudaFuncSetCacheConfig", ordinary, [&] { return find_kernel_symbol(function) ? cudaSuccess : cudaErrorInvalidDeviceFunction; });
}

cudaError_t cudaFuncGetName(const char **out, const void *function) {
  return api("cudaFuncGetName", ordinary, [&] {
    kernel_symbol *k = find_kernel_symbol(function);
    if (!out || !k) return out ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue;
    *out = k->name.c_str();
    return cudaSuccess;
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *out, const void *function) {
  return api("cudaGetFuncBySymbol", ordinary, [&] {
    if (!out || !find_kernel_symbol(function)) return cudaErrorInvalidDeviceFunction;
    *out = reinterpret_cast<cudaFunction_t>(const_cast<void *>(function));
    return cudaSuccess;
  });
}

cudaError_t cudaGetKernel(cudaKernel_t *out, const void *function) {
  return api("cudaGetKernel", ordinary, [&] {
    if (!out || !find_kernel_symbol(function)) return cudaErrorInvalidDeviceFunction;
    *out = reinterpret_cast<cudaKernel_t>(const_cast<void *>(function));
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *out, const void *function, int threads, size_t shared, unsigned) {
  return api("cudaOccupancyMaxActiveBlocksPerMultiprocessor", ordinary, [&] {
    kernel_symbol *k;
    if (!out) return cudaErrorInvalidValue;
    if (cudaError_t error = find(function, &k)) return error;
    *out = blocks_per_processor(*k->image, threads, shared);
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *out, const void *function, int threads, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, function, threads, shared, cudaOccupancyDefault);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *out, const void *function, int blocks, int) {
  return api("cudaOccupancyAvailableDynamicSMemPerBlock", ordinary, [&] {
    kernel_symbol *k;
    if (!out || blocks <= 0) return cudaErrorInvalidValue;
    if (cudaError_t error = find(function, &k)) return error;
    size_t each = most::shared_per_processor / static_cast<size_t>(blocks), taken = k->image->static_shared + 1024;
    *out = std::min(most::shared_opt_in, each > taken ? each - taken : 0);
    return cudaSuccess;
  });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned, unsigned long long, cudaDriverEntryPointQueryResult *out_result) {
  return api("cudaGetDriverEntryPointByVersion", deviceless, [&] { return entry_point(name, out, out_result); });
}
