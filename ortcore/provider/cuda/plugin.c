/* The entry of libortcore_cuda.so: checks the build, counts devices, lists the kernels. */
#include <cuda_runtime_api.h>
#include <ortcore/provider/cuda/device.h>
#include <ortcore/provider/cuda/libraries.h>
#include <stdio.h>
#include <string.h>

#include "build_id.h"

const provider_host *plugin_host;

/* A driver that is too old answers 35, and so does the runtime without any driver; 100 is a driver without a device. */
static int device_count(const char **out_why_not) {
  static char why_not[256];
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  if (error == cudaErrorNoDevice || error == cudaSuccess) {
    snprintf(why_not, sizeof why_not, "the NVIDIA driver finds no device");
  } else if (error == cudaErrorInsufficientDriver) {
    snprintf(why_not, sizeof why_not, "the NVIDIA driver is missing or older than CUDA %d.%d, which this build needs", CUDART_VERSION / 1000,
             CUDART_VERSION % 1000 / 10);
  } else {
    snprintf(why_not, sizeof why_not, "CUDA cannot count devices: %s (error %d)", cudaGetErrorString(error), (int)error);
  }
  *out_why_not = why_not;
  return 0;
}

#define X(family) extern KERNEL_FAMILY(family);
#include <ortcore/provider/cuda/cuda_families.h>
#undef X
#define X(family) cuda_rows_##family,
static const kernel_row *const families[] = {
#include <ortcore/provider/cuda/cuda_families.h>
  NULL};
#undef X

static const provider cuda_provider = {.size = sizeof(provider), .build_id = ORTCORE_BUILD_ID, .name = PROVIDER_CUDA, .device_count = device_count,
                                       .device_at = cuda_device_at, .set_library_folders = cuda_set_library_folders, .families = families};

__attribute__((visibility("default"))) const provider *ortcore_provider(const provider_host *host);
const provider *ortcore_provider(const provider_host *host) {
  if (host->size != sizeof *host || strcmp(host->build_id, ORTCORE_BUILD_ID) != 0) return NULL;
  plugin_host = host;
  return &cuda_provider;
}
