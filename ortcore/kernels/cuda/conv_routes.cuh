/* The kernels that conv.cu chooses among, one translation unit each. All return a cudaError_t. */
#ifndef ORTCORE_KERNELS_CUDA_CONV_ROUTES_CUH
#define ORTCORE_KERNELS_CUDA_CONV_ROUTES_CUH

#include "conv.h"

namespace ortcore {

int conv_window_f32(const cuda_conv &c, const cuda_operands &o, void *stream);
int conv_window_f64(const cuda_conv &c, const cuda_operands &o, void *stream);
int conv_window_f16(const cuda_conv &c, const cuda_operands &o, void *stream);
int conv_window_bf16(const cuda_conv &c, const cuda_operands &o, void *stream);
int conv_direct(const cuda_conv &c, const cuda_operands &o, void *stream);

}  // namespace ortcore

#endif
