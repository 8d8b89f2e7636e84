/* Convolutions of floats and doubles as products through shared memory. */
#include "conv_image.cuh"
#include "conv_routes.cuh"
#include "product_simt.cuh"

using namespace ortcore;

int ortcore::conv_window_f32(const cuda_conv &c, const cuda_operands &o, void *stream) {
  const cuda_product &p = c.product;
  auto end = end_of<float, float>(p, o);
  if (c.transposed) return multiply<simt_64<float>>(p, turned_weights_of<float>(c, o.a), image_of<float, true>(c, o.b), end, stream);
  auto weights = left_of<float>(p, o.a);
  auto image = image_of<float, false>(c, o.b);
  if (p.route == CUDA_PRODUCT_TILES_128) return multiply<simt_128<float>>(p, weights, image, end, stream);
  return multiply<simt_64<float>>(p, weights, image, end, stream);
}

int ortcore::conv_window_f64(const cuda_conv &c, const cuda_operands &o, void *stream) {
  const cuda_product &p = c.product;
  auto end = end_of<double, double>(p, o);
  if (c.transposed) return multiply<simt_64<double>>(p, turned_weights_of<double>(c, o.a), image_of<double, true>(c, o.b), end, stream);
  return multiply<simt_64<double>>(p, left_of<double>(p, o.a), image_of<double, false>(c, o.b), end, stream);
}
