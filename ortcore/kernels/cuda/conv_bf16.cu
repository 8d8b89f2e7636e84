/* Convolutions of bfloat16 as products by tensor cores. */
#include "conv_half.cuh"
#include "conv_routes.cuh"

int ortcore::conv_window_bf16(const cuda_conv &c, const cuda_operands &o, void *stream) {
  return convolve_halves<__nv_bfloat16>(c, o, stream);
}
