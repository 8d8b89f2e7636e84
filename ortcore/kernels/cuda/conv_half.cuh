/* Convolutions of float16 or bfloat16 as products by tensor cores. */
#ifndef ORTCORE_KERNELS_CUDA_CONV_HALF_CUH
#define ORTCORE_KERNELS_CUDA_CONV_HALF_CUH

#include "conv_image.cuh"
#include "product_mma.cuh"

namespace ortcore {

/* Weights run along taps, images along positions. */
template <class T> int convolve_halves(const cuda_conv &c, const cuda_operands &o, void *stream) {
  const cuda_product &p = c.product;
  auto end = end_of<T, float>(p, o);
  if (c.transposed) return multiply<mma_64<T, true, false>>(p, turned_weights_of<T>(c, o.a), image_of<T, true>(c, o.b), end, stream);
  auto weights = left_of<T>(p, o.a);
  auto image = image_of<T, false>(c, o.b);
  if (p.route == CUDA_PRODUCT_TILES_128) return multiply<mma_128<T, true, false>>(p, weights, image, end, stream);
  return multiply<mma_64<T, true, false>>(p, weights, image, end, stream);
}

}  // namespace ortcore

#endif
