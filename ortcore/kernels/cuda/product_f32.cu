/* Products of floats through shared memory. */
#include "product_simt.cuh"
#include "product_routes.cuh"

using namespace ortcore;

int ortcore::product_tiles_f32(const cuda_product &p, const cuda_operands &o, void *stream) {
  auto a = left_of<float>(p, o.a);
  auto b = right_of<float>(p, o.b);
  auto end = end_of<float, float>(p, o);
  if (p.route == CUDA_PRODUCT_TILES_128) return multiply<simt_128<float>>(p, a, b, end, stream);
  return multiply<simt_64<float>>(p, a, b, end, stream);
}
