/* NVIDIA's own prototypes of the CUDA runtime, which this library implements and exports: nothing is declared a second time, so nothing drifts. */
#ifndef EMULATOR_RUNTIME_CUDA_API_H
#define EMULATOR_RUNTIME_CUDA_API_H

#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#endif
