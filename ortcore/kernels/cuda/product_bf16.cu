/* Products of bfloat16 through shared memory and tensor cores. */
#include "product_half.cuh"
#include "product_routes.cuh"

int ortcore::product_tiles_bf16(const cuda_product &p, const cuda_operands &o, void *stream) {
  return multiply_halves<__nv_bfloat16>(p, o, stream);
}
