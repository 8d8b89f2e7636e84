#include <emulator/runtime/devices.h>

#include <emulator/runtime/api.h>
#include <emulator/runtime/capture.h>
#include <emulator/runtime/race.h>
#include <emulator/runtime/report.h>
#include <emulator/runtime/streams.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace emulator {

namespace {

device *devices[kMostDevices];

constexpr int kMajor = 8, kMinor = 0;                       /* compute capability */
constexpr int kRegistersPerProcessor = 65536;
constexpr int kClockKHz = 1000000, kMemoryClockKHz = 1000000, kBusBits = 256, kCacheBytes = 4 << 20;

/* X(attribute, value): what cudaDeviceGetAttribute answers; every other attribute is 0. */
struct attribute_value {
  cudaDeviceAttr attribute;
  int value;
};
using most = device_limits;
const attribute_value attribute_values[] = {
  {cudaDevAttrMaxThreadsPerBlock, most::block_threads},
  {cudaDevAttrMaxBlockDimX, most::block_x},
  {cudaDevAttrMaxBlockDimY, most::block_y},
  {cudaDevAttrMaxBlockDimZ, most::block_z},
  {cudaDevAttrMaxGridDimX, most::grid_x},
  {cudaDevAttrMaxGridDimY, most::grid_y},
  {cudaDevAttrMaxGridDimZ, most::grid_z},
  {cudaDevAttrMaxSharedMemoryPerBlock, most::shared_per_block},
  {cudaDevAttrMaxSharedMemoryPerBlockOptin, most::shared_opt_in},
  {cudaDevAttrMaxSharedMemoryPerMultiprocessor, most::shared_per_processor},
  {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
  {cudaDevAttrTotalConstantMemory, 65536},
  {cudaDevAttrWarpSize, 32},
  {cudaDevAttrMaxPitch, 2147483647},
  {cudaDevAttrMaxRegistersPerBlock, kRegistersPerProcessor},
  {cudaDevAttrMaxRegistersPerMultiprocessor, kRegistersPerProcessor},
  {cudaDevAttrClockRate, kClockKHz},
  {cudaDevAttrMemoryClockRate, kMemoryClockKHz},
  {cudaDevAttrGlobalMemoryBusWidth, kBusBits},
  {cudaDevAttrL2CacheSize, kCacheBytes},
  {cudaDevAttrTextureAlignment, 512},
  {cudaDevAttrGpuOverlap, 1},
  {cudaDevAttrMultiProcessorCount, most::processors},
  {cudaDevAttrMaxThreadsPerMultiProcessor, most::processor_threads},
  {cudaDevAttrMaxBlocksPerMultiprocessor, most::processor_blocks},
  {cudaDevAttrCanMapHostMemory, 1},
  {cudaDevAttrConcurrentKernels, 1},
  {cudaDevAttrAsyncEngineCount, 2},
  {cudaDevAttrUnifiedAddressing, 1},
  {cudaDevAttrComputeCapabilityMajor, kMajor},
  {cudaDevAttrComputeCapabilityMinor, kMinor},
  {cudaDevAttrStreamPrioritiesSupported, 1},
  {cudaDevAttrGlobalL1CacheSupported, 1},
  {cudaDevAttrLocalL1CacheSupported, 1},
  {cudaDevAttrManagedMemory, 1},
  {cudaDevAttrHostRegisterSupported, 1},
  {cudaDevAttrCanUseHostPointerForRegisteredMem, 1},
  {cudaDevAttrMemoryPoolsSupported, 1},
};

void fill_properties(cudaDeviceProp *p, const device &d) {
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "ortcore emulated GPU %d", d.ordinal);
  memcpy(p->uuid.bytes, "ortcore-emulated", sizeof p->uuid.bytes);
  p->uuid.bytes[15] = static_cast<char>('0' + d.ordinal);
  p->totalGlobalMem = static_cast<size_t>(settings.memory_bytes);
  p->sharedMemPerBlock = most::shared_per_block;
  p->sharedMemPerBlockOptin = most::shared_opt_in;
  p->sharedMemPerMultiprocessor = most::shared_per_processor;
  p->reservedSharedMemPerBlock = 1024;
  p->regsPerBlock = p->regsPerMultiprocessor = kRegistersPerProcessor;
  p->warpSize = 32;
  p->memPitch = 2147483647;
  p->maxThreadsPerBlock = most::block_threads;
  p->maxThreadsPerMultiProcessor = most::processor_threads;
  p->maxBlocksPerMultiProcessor = most::processor_blocks;
  int block[] = {most::block_x, most::block_y, most::block_z}, grid[] = {most::grid_x, most::grid_y, most::grid_z};
  memcpy(p->maxThreadsDim, block, sizeof block);
  memcpy(p->maxGridSize, grid, sizeof grid);
  p->totalConstMem = 65536;
  p->major = kMajor;
  p->minor = kMinor;
  p->textureAlignment = 512;
  p->multiProcessorCount = most::processors;
  p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory = 1;
  p->streamPrioritiesSupported = p->globalL1CacheSupported = p->localL1CacheSupported = 1;
  p->hostRegisterSupported = p->canUseHostPointerForRegisteredMem = p->memoryPoolsSupported = 1;
  p->asyncEngineCount = 2;
  p->memoryBusWidth = kBusBits;
  p->l2CacheSize = kCacheBytes;
  p->pciBusID = d.ordinal + 1;
}

cudaError_t synchronise_device(const char *call) {
  device &d = current_device();
  for (auto &s : all_streams()) {
    if (s->owner != &d || !s->capturing) continue;
    return invalidate(*s->capturing, call, cudaErrorStreamCaptureUnsupported, "it waits for all streams, and " + s->describe() + " captures");
  }
  ++counters.synchronisations;
  run_all_of(d);
  forget_settled_accesses();
  d.memory.check_red_zones();
  return d.failed;
}

cudaError_t peer_pair(int from, int to) { return device_at(from) && device_at(to) && from != to ? cudaSuccess : cudaErrorInvalidDevice; }

}  // namespace

device *device_at(int ordinal) {
  if (ordinal < 0 || ordinal >= settings.devices) return nullptr;
  if (!devices[ordinal]) {
    devices[ordinal] = new device(ordinal);
    devices[ordinal]->default_stream = make_default_stream(*devices[ordinal]);
  }
  return devices[ordinal];
}

device *used_device(int ordinal) { return ordinal >= 0 && ordinal < kMostDevices ? devices[ordinal] : nullptr; }

/* The gate has checked that it is there. */
device &current_device() { return *devices[this_thread.device]; }

void fail_device(device &d, cudaError_t error, const std::string &why) {
  if (d.failed == cudaSuccess) d.failed = error;
  if (settings.verbose) fprintf(stderr, "emulated GPU: device %d fails with error %d: %s\n", d.ordinal, error, why.c_str());
}

void fail_current_device(cudaError_t error, const char *why) {
  device *d = device_at(this_thread.device);
  if (!d) return;
  d->failed = cudaSuccess;
  if (error != cudaSuccess) fail_device(*d, error, why);
}

void lose_current_device(bool lost) { fail_current_device(lost ? cudaErrorDevicesUnavailable : cudaSuccess, "the device is lost"); }

}  // namespace emulator

using namespace emulator;

cudaError_t cudaGetDeviceCount(int *out) {
  return api("cudaGetDeviceCount", deviceless, [&] {
    if (!out) return cudaErrorInvalidValue;
    *out = static_cast<int>(settings.devices);
    return settings.devices ? cudaSuccess : cudaErrorNoDevice;
  });
}

cudaError_t cudaGetDevice(int *out) {
  return api("cudaGetDevice", deviceless, [&] {
    if (!out) return cudaErrorInvalidValue;
    if (settings.devices == 0) return cudaErrorNoDevice;
    *out = this_thread.device;
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int ordinal) {
  return api("cudaSetDevice", deviceless, [&] {
    device *d = device_at(ordinal);
    if (!d) return settings.devices == 0 ? cudaErrorNoDevice : cudaErrorInvalidDevice;
    this_thread.device = ordinal;
    return d->failed;
  });
}

cudaError_t cudaInitDevice(int ordinal, unsigned, unsigned) {
  return api("cudaInitDevice", deviceless, [&] { return device_at(ordinal) ? cudaSuccess : cudaErrorInvalidDevice; });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int ordinal) {
  return api("cudaGetDeviceProperties", deviceless, [&] {
    device *d = device_at(ordinal);
    if (!out || !d) return out ? cudaErrorInvalidDevice : cudaErrorInvalidValue;
    fill_properties(out, *d);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int *out, cudaDeviceAttr attribute, int ordinal) {
  return api("cudaDeviceGetAttribute", deviceless, [&] {
    if (!out || attribute <= 0 || attribute >= cudaDevAttrMax) return cudaErrorInvalidValue;
    if (!device_at(ordinal)) return cudaErrorInvalidDevice;
    *out = attribute == cudaDevAttrPciBusId ? ordinal + 1 : 0;
    for (const attribute_value &v : attribute_values) {
      if (v.attribute == attribute) *out = v.value;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return api("cudaDeviceSynchronize", ordinary, [] { return synchronise_device("cudaDeviceSynchronize"); });
}

/* Frees everything on the device; a failed one stays failed, as a process that lost its context has to be restarted. */
cudaError_t cudaDeviceReset() {
  return api("cudaDeviceReset", unsafe_in_capture, [] {
    device &d = current_device();
    run_all_of(d);
    d.memory.release_all("cudaDeviceReset");
    d.peers = 0;
    return d.failed;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int *out, int from, int to) {
  return api("cudaDeviceCanAccessPeer", deviceless, [&] {
    if (!out) return cudaErrorInvalidValue;
    if (!device_at(from) || !device_at(to)) return cudaErrorInvalidDevice;
    *out = from != to;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return api("cudaDeviceEnablePeerAccess", ordinary, [&] {
    if (flags) return cudaErrorInvalidValue;
    if (cudaError_t error = peer_pair(this_thread.device, peer)) return error;
    unsigned bit = 1u << peer;
    if (current_device().peers & bit) return cudaErrorPeerAccessAlreadyEnabled;
    current_device().peers |= bit;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return api("cudaDeviceDisablePeerAccess", ordinary, [&] {
    if (cudaError_t error = peer_pair(this_thread.device, peer)) return error;
    unsigned bit = 1u << peer;
    if (!(current_device().peers & bit)) return cudaErrorPeerAccessNotEnabled;
    current_device().peers &= ~bit;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char *out, int capacity, int ordinal) {
  return api("cudaDeviceGetPCIBusId", deviceless, [&] {
    if (!out || capacity < 13) return cudaErrorInvalidValue;
    if (!device_at(ordinal)) return cudaErrorInvalidDevice;
    snprintf(out, static_cast<size_t>(capacity), "0000:%02x:00.0", ordinal + 1);
    return cudaSuccess;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned) { return api("cudaSetDeviceFlags", ordinary, [] { return cudaSuccess; }); }

cudaError_t cudaGetDeviceFlags(unsigned *out) {
  return api("cudaGetDeviceFlags", ordinary, [&] {
    if (!out) return cudaErrorInvalidValue;
    *out = cudaDeviceScheduleAuto;
    return cudaSuccess;
  });
}

cudaError_t cudaRuntimeGetVersion(int *out) {
  if (!out) return cudaErrorInvalidValue;
  *out = CUDART_VERSION;
  return cudaSuccess;
}

/* 0 where there is no driver. */
cudaError_t cudaDriverGetVersion(int *out) {
  return api("cudaDriverGetVersion", driverless, [&] {
    if (!out) return cudaErrorInvalidValue;
    *out = settings.driver_error ? 0 : CUDART_VERSION;
    return cudaSuccess;
  });
}
