/* Kernels and module variables as nvcc's host code registers them when the library is loaded. */
#ifndef EMULATOR_RUNTIME_SYMBOLS_H
#define EMULATOR_RUNTIME_SYMBOLS_H

#include <emulator/executor/executor.h>
#include <emulator/runtime/cuda_api.h>

#include <string>

namespace emulator {

/* One __global__ function. */
struct kernel_symbol {
  std::string name;                                         /* as in the PTX */
  const kernel_image *image = nullptr;                      /* looked up at the first use: registration has no fixed order */
  size_t most_dynamic_shared = 0;                           /* what every device has, until cudaFuncSetAttribute says otherwise */
};

/* By the address of the host function that stands for it, which is also its cudaKernel_t and cudaFunction_t. NULL if there is none. */
kernel_symbol *find_kernel_symbol(const void *function);
/* softmax_kernel<float, 4>(float const*, float*, int) */
std::string readable(const std::string &mangled);

/* By the address of the host variable. */
const variable_image *find_symbol(const void *host_variable);
/* By an address within its storage. */
const variable_image *find_symbol_at(const void *p);

}  // namespace emulator

#endif
