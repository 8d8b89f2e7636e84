/* Kernel launches: nvcc's host entry points, the checks that the driver makes, and the work that runs a grid. */
#include <emulator/runtime/launch.h>

#include <emulator/runtime/api.h>
#include <emulator/runtime/devices.h>
#include <emulator/runtime/race.h>
#include <emulator/runtime/report.h>
#include <emulator/runtime/streams.h>

#include <cstring>

namespace emulator {

namespace {

/* What <<<>>> pushes and the stub that it calls pops. */
struct configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};
thread_local std::vector<configuration> pushed;

cudaError_t error_of(fault_kind kind) {
  switch (kind) {
    case fault_kind::none: return cudaSuccess;
    case fault_kind::illegal_address: return cudaErrorIllegalAddress;
    case fault_kind::misaligned_address: return cudaErrorMisalignedAddress;
    case fault_kind::step_limit: return cudaErrorLaunchTimeout;
    case fault_kind::stack: return cudaErrorHardwareStackError;
    case fault_kind::unsupported: return cudaErrorIllegalInstruction;
    case fault_kind::barrier:
    case fault_kind::warp: break;
  }
  return cudaErrorLaunchFailure;
}

cudaError_t refuse(cudaError_t error, const kernel_symbol &k, const std::string &why) {
  report("launch", "kernel %s cannot be launched: %s", readable(k.name).c_str(), why.c_str());
  return error;
}

std::string text_of(const dim3 &d) { return formatted("%u x %u x %u", d.x, d.y, d.z); }

cudaError_t check_shape(const kernel_symbol &k, const dim3 &grid, const dim3 &block, size_t dynamic_shared) {
  using most = device_limits;
  uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0) {
    return refuse(cudaErrorInvalidConfiguration, k, formatted("a grid of %s blocks of %s threads is empty", text_of(grid).c_str(),
                                                              text_of(block).c_str()));
  }
  if (grid.x > most::grid_x || grid.y > most::grid_y || grid.z > most::grid_z) {
    return refuse(cudaErrorInvalidConfiguration, k, formatted("a grid has at most %d x %d x %d blocks, not %s", most::grid_x, most::grid_y, most::grid_z,
                                                              text_of(grid).c_str()));
  }
  if (threads > most::block_threads || block.x > most::block_x || block.y > most::block_y || block.z > most::block_z) {
    return refuse(cudaErrorInvalidConfiguration, k, formatted("a block has at most %d threads, in %d x %d x %d, not %s", most::block_threads,
                                                              most::block_x, most::block_y, most::block_z, text_of(block).c_str()));
  }
  if (k.image->most_threads && threads > k.image->most_threads) {
    return refuse(cudaErrorLaunchOutOfResources, k, formatted("its __launch_bounds__ promise at most %u threads in a block, not %llu",
                                                              k.image->most_threads, static_cast<unsigned long long>(threads)));
  }
  if (dynamic_shared > k.most_dynamic_shared) {
    const char *why = "%zu bytes of dynamic shared memory beside %u static ones, where %zu are allowed; "
                      "cudaFuncSetAttribute with cudaFuncAttributeMaxDynamicSharedMemorySize allows up to %zu in all";
    return refuse(cudaErrorInvalidValue, k, formatted(why, dynamic_shared, k.image->static_shared, k.most_dynamic_shared, most::shared_opt_in));
  }
  return cudaSuccess;
}

}  // namespace

std::string kernel_work::describe() const { return "kernel " + readable(symbol->name); }

/* Two bools and then padding, in which the rest of an address was left? */
static bool may_be_padding(uint64_t word) { return (word & 0xfefe) == 0; }

/* Any aligned eight bytes of the parameters that hold an address of device memory: pointers stand in structs too. */
void kernel_work::spans(std::vector<span> *out) const {
  std::vector<bool> is_pointer(params.size() + 8);
  for (unsigned i = 0; i < symbol->image->param_count; ++i) is_pointer[symbol->image->params[2 * i]] = symbol->image->params[2 * i + 1] == 8;
  for (size_t i = 0; i + 8 <= params.size(); i += 8) {
    uint64_t word;
    memcpy(&word, params.data() + i, 8);
    if (find_device_allocation(word)) out->push_back({word, 0, false, is_pointer[i] || !may_be_padding(word)});
  }
}

cudaError_t kernel_work::run(stream &on, const operation &op) const {
  fault why = {};
  if (settings.sticky_error_at_launch > 0 && --settings.sticky_error_at_launch == 0) {
    report("kernel_fault", "%s failed as sticky_error_at_launch asked for", name_of(op, on).c_str());
    return cudaErrorIllegalAddress;
  }
  bool done = run_grid(symbol->image, params.data(), {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, static_cast<unsigned>(dynamic_shared), &why);
  if (!done) {
    report("kernel_fault", "%s (operation %llu on %s)", why.message, static_cast<unsigned long long>(op.id), on.describe().c_str());
    return error_of(why.kind);
  }
  check_red_zones(on, op);
  return cudaSuccess;
}

void kernel_work::enqueued(stream &, operation *) const { ++counters.launches; }

/* Those of the memory that it was given. */
void kernel_work::check_red_zones(const stream &on, const operation &op) const {
  std::vector<span> used;
  spans(&used);
  for (const span &s : used) {
    allocation *a = find_device_allocation(s.address);
    if (!a->freed) device_at(a->device)->memory.check_red_zone(*a, [&] { return name_of(op, on); });
  }
}

cudaError_t make_kernel_work(const void *function, const dim3 &grid, const dim3 &block, void **arguments, size_t dynamic_shared,
                             std::shared_ptr<kernel_work> *out) {
  kernel_symbol *k = find_kernel_symbol(function);
  if (!k) return cudaErrorInvalidDeviceFunction;
  if (!k->image) {
    report("launch", "kernel %s was not translated: its object file is not part of the emulated provider", readable(k->name).c_str());
    return cudaErrorNoKernelImageForDevice;
  }
  if (cudaError_t error = check_shape(*k, grid, block, dynamic_shared)) return error;
  if (k->image->param_count && !arguments) return cudaErrorInvalidValue;
  auto what = std::make_shared<kernel_work>();
  what->function = function;
  what->symbol = k;
  what->grid = grid;
  what->block = block;
  what->dynamic_shared = dynamic_shared;
  what->params.resize((k->image->param_bytes + 7) / 8 * 8);
  for (unsigned i = 0; i < k->image->param_count; ++i) {
    memcpy(what->params.data() + k->image->params[2 * i], arguments[i], k->image->params[2 * i + 1]);
  }
  *out = std::move(what);
  return cudaSuccess;
}

namespace {

cudaError_t launch(const char *call, const void *function, const dim3 &grid, const dim3 &block, void **arguments, size_t shared, cudaStream_t handle) {
  std::shared_ptr<stream> s = find_stream(call, handle);
  if (!s) return cudaErrorInvalidResourceHandle;
  std::shared_ptr<kernel_work> what;
  if (cudaError_t error = make_kernel_work(function, grid, block, arguments, shared, &what)) return error;
  if (s->owner != &current_device()) {
    return refuse(cudaErrorInvalidResourceHandle, *what->symbol, formatted("%s belongs to device %d, and the current device is %d", s->describe().c_str(),
                                                                           s->owner->ordinal, current_device().ordinal));
  }
  return submit_to(call, s, std::move(what));
}

/* Attributes of a launch that change nothing here, and those that cannot be had. */
cudaError_t check_attributes(const cudaLaunchConfig_t &c) {
  for (unsigned i = 0; i < c.numAttrs; ++i) {
    const cudaLaunchAttribute &a = c.attrs[i];
    bool cluster = a.id == cudaLaunchAttributeClusterDimension && (a.val.clusterDim.x > 1 || a.val.clusterDim.y > 1 || a.val.clusterDim.z > 1);
    bool cooperative = a.id == cudaLaunchAttributeCooperative && a.val.cooperative;
    if (!cluster && !cooperative) continue;
    report("launch", "cudaLaunchKernelExC: the emulated device has no %s", cluster ? "thread block clusters" : "cooperative launches");
    return cudaErrorNotSupported;
  }
  return cudaSuccess;
}

}  // namespace

}  // namespace emulator

using namespace emulator;

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream) {
  return api("cudaLaunchKernel", ordinary, [&] { return launch("cudaLaunchKernel", function, grid, block, arguments, shared, stream); });
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *function, void **arguments) {
  return api("cudaLaunchKernelExC", ordinary, [&] {
    if (!c) return cudaErrorInvalidValue;
    if (cudaError_t error = check_attributes(*c)) return error;
    return launch("cudaLaunchKernelExC", function, c->gridDim, c->blockDim, arguments, c->dynamicSmemBytes, c->stream);
  });
}

cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3, dim3, void **, size_t, cudaStream_t) {
  return api("cudaLaunchCooperativeKernel", ordinary, [&] {
    kernel_symbol *k = find_kernel_symbol(function);
    return k ? refuse(cudaErrorNotSupported, *k, "the emulated device has no cooperative launches") : cudaErrorInvalidDeviceFunction;
  });
}

extern "C" {
__attribute__((visibility("default"))) unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
__attribute__((visibility("default"))) cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
__attribute__((visibility("default"))) cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *function);
__attribute__((visibility("default"))) cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                                                      cudaStream_t stream);
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream) {
  pushed.push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  if (pushed.empty()) return cudaErrorMissingConfiguration;
  configuration c = pushed.back();
  pushed.pop_back();
  *grid = c.grid;
  *block = c.block;
  *shared = c.shared;
  *static_cast<cudaStream_t *>(stream) = c.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *function) {
  *out = reinterpret_cast<cudaKernel_t>(const_cast<void *>(function));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(reinterpret_cast<const void *>(kernel), grid, block, arguments, shared, stream);
}
