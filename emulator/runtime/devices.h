/* The emulated devices. */
#ifndef EMULATOR_RUNTIME_DEVICES_H
#define EMULATOR_RUNTIME_DEVICES_H

#include <emulator/runtime/cuda_api.h>
#include <emulator/runtime/memory.h>
#include <emulator/runtime/settings.h>

#include <memory>
#include <string>

namespace emulator {

struct device {
  explicit device(int ordinal) : ordinal(ordinal), memory(ordinal) {}
  int ordinal;
  device_memory memory;
  std::shared_ptr<stream> default_stream;
  cudaError_t failed = cudaSuccess;                         /* its sticky error */
  unsigned peers = 0;                                       /* bit i: may access device i */
  cudaMemPool_t default_pool = nullptr, current_pool = nullptr;
};

/* Those limits of a device that launches and allocations are checked against: an NVIDIA A100's (sm_80), what the kernels are compiled for. */
struct device_limits {
  static constexpr int block_threads = 1024, block_x = 1024, block_y = 1024, block_z = 64;
  static constexpr int grid_x = 2147483647, grid_y = 65535, grid_z = 65535;
  static constexpr int processors = 4;                      /* few: kernels that fill the device with blocks stay small */
  static constexpr int processor_threads = 2048, processor_blocks = 32;
  static constexpr size_t shared_per_block = 48 << 10, shared_opt_in = 163 << 10, shared_per_processor = 164 << 10;
};

/* Made on first use; NULL beyond settings.devices. */
device *device_at(int ordinal);
device &current_device();
/* Devices that were used; NULL beyond them. */
device *used_device(int ordinal);

void fail_device(device &d, cudaError_t error, const std::string &why);
void fail_current_device(cudaError_t error, const char *why);
void lose_current_device(bool lost);

}  // namespace emulator

#endif
