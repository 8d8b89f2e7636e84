/* What the stand-ins for NVIDIA's libraries share. Each validates what it is given as the real library would, with the same status, and then
 * enqueues the provider's own kernels. */
#ifndef EMULATOR_LIBRARIES_STAND_INS_H
#define EMULATOR_LIBRARIES_STAND_INS_H

#include <cuda_runtime_api.h>
#include <ortcore/provider/cuda/library_tables.h>

namespace emulator {

struct stand_in {
  const char *symbol;                                       /* the library's name of the function */
  void *function;
};

/* Both end with a row whose symbol is NULL. */
extern const stand_in cublas_stand_ins[], cudnn_stand_ins[];

/* Is that memory of a device, at an address that is a multiple of `alignment`? */
inline bool is_device_memory(const void *data, uintptr_t alignment) {
  cudaPointerAttributes attributes;
  if (!data || reinterpret_cast<uintptr_t>(data) % alignment) return false;
  if (cudaPointerGetAttributes(&attributes, data) != cudaSuccess) return false;
  return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

}  // namespace emulator

#endif
