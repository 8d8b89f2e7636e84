/* Errors: last ones, sticky ones, injected ones; launches that are refused; devices. */
#include "test.h"

#include <cstring>
#include <thread>

static void last_errors() {
  void *p;
  CHECK_ERROR(cudaMalloc(&p, size_t{1} << 50), cudaErrorMemoryAllocation);
  CHECK_ERROR(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
  std::thread([] { CHECK_OK(cudaGetLastError()); }).join();   /* each thread has its own */
  CHECK_ERROR(cudaGetLastError(), cudaErrorMemoryAllocation);
  CHECK_OK(cudaPeekAtLastError());
}

static void every_error_has_a_name() {
  for (int code = 0; code <= 10000; ++code) {
    const char *name = cudaGetErrorName(static_cast<cudaError_t>(code)), *text = cudaGetErrorString(static_cast<cudaError_t>(code));
    CHECK(name && text && *text && (strncmp(name, "cuda", 4) == 0) == (strcmp(text, "unrecognized error code") != 0));
  }
  CHECK(strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress") == 0);
  CHECK(strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
}

static void an_illegal_address_is_sticky() {
  cudaStream_t s = non_blocking_stream();
  float *y = device_floats(4, 0.0f);
  void *p;
  CHECK_OK(launch_load(nullptr, 0, y, s));
  CHECK_ERROR(cudaStreamSynchronize(s), cudaErrorIllegalAddress);
  CHECK(found("kernel_fault", {"kernel load, block (0,0,0)", "(operation ", " on stream "}));
  CHECK_ERROR(cudaMalloc(&p, 4), cudaErrorIllegalAddress);
  CHECK_ERROR(launch_store(y, 0, 1.0f, s), cudaErrorIllegalAddress);
  CHECK_ERROR(cudaGetLastError(), cudaErrorIllegalAddress);
  CHECK_ERROR(cudaGetLastError(), cudaErrorIllegalAddress);
  CHECK_ERROR(cudaDeviceReset(), cudaErrorIllegalAddress);
  CHECK_ERROR(cudaFree(y), cudaErrorIllegalAddress);         /* freed all the same */
  int count;
  CHECK_OK(cudaGetDeviceCount(&count));
  set("reset", 1);
  CHECK_OK(cudaStreamSynchronize(s));
  CHECK_ERROR(cudaFree(y), cudaErrorInvalidValue);
  CHECK(count_found("double_free") == 1);
}

static void endless_kernels_end() {
  cudaStream_t s = non_blocking_stream();
  set("step_limit", 100000);
  CHECK_OK(launch_spin(s));
  CHECK_ERROR(cudaStreamSynchronize(s), cudaErrorLaunchTimeout);
  CHECK(found("kernel_fault", {"kernel spin"}));
}

static void injected_errors() {
  cudaStream_t s = non_blocking_stream();
  float *y = device_floats(4, 0.0f);
  set("sticky_error", cudaErrorLaunchFailure);
  CHECK_ERROR(cudaStreamSynchronize(s), cudaErrorLaunchFailure);
  set("reset", 1);
  set("sticky_error_at_launch", 2);
  CHECK_OK(launch_store(y, 0, 1.0f, s));
  CHECK_OK(cudaStreamSynchronize(s));
  CHECK_OK(launch_store(y, 0, 2.0f, s));
  CHECK_ERROR(cudaStreamSynchronize(s), cudaErrorIllegalAddress);
  CHECK(count_found("kernel_fault") == 1);
  set("reset", 1);
  set("device_lost", 1);
  CHECK_ERROR(launch_store(y, 0, 3.0f, s), cudaErrorDevicesUnavailable);
  CHECK_ERROR(cudaSetDevice(0), cudaErrorDevicesUnavailable);
  set("device_lost", 0);
  CHECK(host_floats(y, 1, s)[0] == 1.0f);
  CHECK_OK(cudaFree(y));
}

static void no_driver() {
  int count, version = -1;
  void *p;
  for (cudaError_t error : {cudaErrorInsufficientDriver, cudaErrorNoDevice}) {
    set("driver_error", error);
    CHECK_ERROR(cudaGetDeviceCount(&count), error);
    CHECK_ERROR(cudaMalloc(&p, 4), error);
    CHECK_ERROR(cudaGetLastError(), error);
    CHECK_OK(cudaGetLastError());
  }
  CHECK_OK(cudaDriverGetVersion(&version));
  CHECK(version == 0);
  set("driver_error", 0);
  CHECK_OK(cudaDriverGetVersion(&version));
  CHECK(version == CUDART_VERSION);
}

static cudaError_t launch_with(const void *kernel, dim3 grid, dim3 block, size_t shared) {
  float *nothing = nullptr;
  int count = 0;
  void *arguments[] = {&nothing, &nothing, &nothing, &count};
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, nullptr);
}

static void launches_have_limits() {
  CHECK_ERROR(launch_with(add_kernel, dim3(0), dim3(32), 0), cudaErrorInvalidConfiguration);
  CHECK(found("launch", {"kernel add cannot be launched", "a grid of 0 x 1 x 1 blocks of 32 x 1 x 1 threads is empty"}));
  CHECK_ERROR(launch_with(add_kernel, dim3(1), dim3(32, 0), 0), cudaErrorInvalidConfiguration);
  CHECK_ERROR(launch_with(add_kernel, dim3(1), dim3(1025), 0), cudaErrorInvalidConfiguration);
  CHECK_ERROR(launch_with(add_kernel, dim3(1), dim3(1, 1, 65), 0), cudaErrorInvalidConfiguration);
  CHECK_ERROR(launch_with(add_kernel, dim3(1, 65536), dim3(1), 0), cudaErrorInvalidConfiguration);
  CHECK_ERROR(launch_with(add_kernel, dim3(1), dim3(kAddThreads + 1), 0), cudaErrorLaunchOutOfResources);
  CHECK(found("launch", {"__launch_bounds__ promise at most 256 threads"}));
  CHECK_ERROR(launch_with(add_kernel, dim3(1), dim3(1), (48 << 10) - kAddShared + 1), cudaErrorInvalidValue);
  CHECK(found("launch", {"bytes of dynamic shared memory beside 1024 static ones", "cudaFuncSetAttribute"}));
  CHECK_OK(launch_with(add_kernel, dim3(1), dim3(1), (48 << 10) - kAddShared));
  CHECK_ERROR(launch_with("no kernel", dim3(1), dim3(1), 0), cudaErrorInvalidDeviceFunction);
  CHECK_ERROR(launch_with(unknown_kernel, dim3(1), dim3(1), 0), cudaErrorNoKernelImageForDevice);
  CHECK(found("launch", {"kernel unknown was not translated"}));
  (void)count_found("launch");
  CHECK_OK(cudaDeviceSynchronize());
}

static void dynamic_shared_memory_is_allowed_by_attribute() {
  constexpr int most = (163 << 10) - kAddShared;
  cudaFuncAttributes attributes;
  CHECK_ERROR(cudaFuncSetAttribute(add_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most + 1), cudaErrorInvalidValue);
  CHECK(found("launch", {"kernel add cannot have"}));
  CHECK_OK(cudaFuncSetAttribute(add_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
  CHECK_OK(launch_with(add_kernel, dim3(1), dim3(1), most));
  CHECK_OK(cudaFuncGetAttributes(&attributes, add_kernel));
  CHECK(attributes.maxDynamicSharedSizeBytes == most && attributes.sharedSizeBytes == kAddShared && attributes.maxThreadsPerBlock == int{kAddThreads});
  CHECK_OK(cudaFuncSetAttribute(add_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 0));
  CHECK_OK(cudaDeviceSynchronize());
}

static void occupancy() {
  int blocks;
  CHECK_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store_kernel, 256, 0));
  CHECK(blocks == 8);
  CHECK_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store_kernel, 64, 80 << 10));
  CHECK(blocks == 2);
  CHECK_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add_kernel, 512, 0));
  CHECK(blocks == 0);
}

static void devices_and_threads() {
  cudaDeviceProp properties;
  int device = -1, value;
  set("devices", 2);
  CHECK_OK(cudaGetDeviceCount(&value));
  CHECK(value == 2);
  CHECK_OK(cudaGetDeviceProperties(&properties, 1));
  CHECK(strstr(properties.name, "emulated") && properties.major == 8 && properties.warpSize == 32 && properties.totalGlobalMem == size_t{1} << 30);
  CHECK_OK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 1));
  CHECK(value == 8);
  CHECK_ERROR(cudaGetDeviceProperties(&properties, 2), cudaErrorInvalidDevice);
  CHECK_ERROR(cudaSetDevice(2), cudaErrorInvalidDevice);
  CHECK_ERROR(cudaSetDevice(-1), cudaErrorInvalidDevice);
  CHECK_OK(cudaSetDevice(1));
  std::thread([] {
    int other = -1;
    CHECK_OK(cudaGetDevice(&other));
    CHECK(other == 0);
  }).join();
  CHECK_OK(cudaGetDevice(&device));
  CHECK(device == 1);
  CHECK_OK(cudaDeviceCanAccessPeer(&value, 0, 1));
  CHECK(value == 1);
  CHECK_OK(cudaDeviceEnablePeerAccess(0, 0));
  CHECK_ERROR(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
  CHECK_OK(cudaDeviceDisablePeerAccess(0));
  CHECK_ERROR(cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);
  CHECK_OK(cudaSetDevice(0));
}

static void streams_belong_to_devices() {
  set("devices", 2);
  cudaStream_t s = non_blocking_stream();
  cudaEvent_t e = plain_event();
  float *y = device_floats(4, 0.0f);
  CHECK_OK(cudaSetDevice(1));
  CHECK_ERROR(launch_store(y, 0, 1.0f, s), cudaErrorInvalidResourceHandle);
  CHECK(found("launch", {"belongs to device 0, and the current device is 1"}));
  cudaStream_t second = non_blocking_stream();
  CHECK_ERROR(cudaEventRecord(e, second), cudaErrorInvalidResourceHandle);
  CHECK(found("handle", {"event of device 0 on stream"}));
  CHECK_OK(cudaMemsetAsync(y, 0, 16, s));
  CHECK_OK(cudaEventRecord(e, s));
  CHECK_OK(cudaStreamWaitEvent(second, e, 0));
  CHECK_OK(cudaStreamSynchronize(second));
  set("sticky_error", cudaErrorECCUncorrectable);            /* one device fails, the other goes on */
  CHECK_ERROR(cudaStreamSynchronize(second), cudaErrorECCUncorrectable);
  CHECK_OK(cudaSetDevice(0));
  CHECK_OK(cudaStreamSynchronize(s));
  CHECK_OK(cudaFree(y));
}

static void no_devices() {
  int count = -1;
  void *p;
  set("devices", 0);
  CHECK_ERROR(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  CHECK(count == 0);
  CHECK_ERROR(cudaMalloc(&p, 4), cudaErrorNoDevice);
}

static void driver_functions() {
  using address_range = int (*)(uint64_t *, size_t *, uint64_t);
  void *found_function;
  cudaDriverEntryPointQueryResult result;
  CHECK_OK(cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &found_function, 12000, 0, &result));
  CHECK(result == cudaDriverEntryPointSuccess);
  float *y = device_floats(4, 0.0f);
  uint64_t base = 0;
  size_t bytes = 0;
  CHECK(reinterpret_cast<address_range>(found_function)(&base, &bytes, reinterpret_cast<uint64_t>(y + 2)) == 0);
  CHECK(base == reinterpret_cast<uint64_t>(y) && bytes == 16);
  CHECK(reinterpret_cast<address_range>(found_function)(&base, &bytes, 4096) != 0);
  CHECK_OK(cudaGetDriverEntryPointByVersion("cuNothing", &found_function, 12000, 0, &result));
  CHECK(result == cudaDriverEntryPointSymbolNotFound && !found_function);
  CHECK_OK(cudaFree(y));
}

static void settings_are_checked() {
  fprintf(stderr, "two refusals follow\n");
  CHECK(ortcore_emulator_configure("no such thing", 1) == -1);
  CHECK(ortcore_emulator_configure("devices", 9) == -1);
  CHECK(ortcore_emulator_counter("no such thing") == -1);
}

int main() {
  return run_tests({
    {"last errors", last_errors},
    {"every error has a name", every_error_has_a_name},
    {"an illegal address is sticky", an_illegal_address_is_sticky},
    {"endless kernels end", endless_kernels_end},
    {"injected errors", injected_errors},
    {"no driver", no_driver},
    {"launches have limits", launches_have_limits},
    {"dynamic shared memory is allowed by attribute", dynamic_shared_memory_is_allowed_by_attribute},
    {"occupancy", occupancy},
    {"devices and threads", devices_and_threads},
    {"streams belong to devices", streams_belong_to_devices},
    {"no devices", no_devices},
    {"driver functions", driver_functions},
    {"settings are checked", settings_are_checked},
  });
}
