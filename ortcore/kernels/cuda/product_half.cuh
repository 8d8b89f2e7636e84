/* Products of float16 or bfloat16 through shared memory and tensor cores. */
#ifndef ORTCORE_KERNELS_CUDA_PRODUCT_HALF_CUH
#define ORTCORE_KERNELS_CUDA_PRODUCT_HALF_CUH

#include "product_mma.cuh"

namespace ortcore {

template <class T, bool A_INNER, bool B_INNER> int multiply_halves_as(const cuda_product &p, const cuda_operands &o, void *stream) {
  auto a = left_of<T>(p, o.a);
  auto b = right_of<T>(p, o.b);
  auto end = end_of<T, float>(p, o);
  if (p.route == CUDA_PRODUCT_TILES_128) return multiply<mma_128<T, A_INNER, B_INNER>>(p, a, b, end, stream);
  return multiply<mma_64<T, A_INNER, B_INNER>>(p, a, b, end, stream);
}

/* Shared memory runs as each operand does. */
template <class T> int multiply_halves(const cuda_product &p, const cuda_operands &o, void *stream) {
  bool a_inner = left_of<T>(p, o.a).along_inner, b_inner = right_of<T>(p, o.b).along_inner;
  if (a_inner) return b_inner ? multiply_halves_as<T, true, true>(p, o, stream) : multiply_halves_as<T, true, false>(p, o, stream);
  return b_inner ? multiply_halves_as<T, false, true>(p, o, stream) : multiply_halves_as<T, false, false>(p, o, stream);
}

}  // namespace ortcore

#endif
