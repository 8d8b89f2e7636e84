/* Products of float16 through shared memory and tensor cores. */
#include "product_half.cuh"
#include "product_routes.cuh"

int ortcore::product_tiles_f16(const cuda_product &p, const cuda_operands &o, void *stream) {
  return multiply_halves<__half>(p, o, stream);
}
