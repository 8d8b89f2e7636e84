/* What reductions and arg reductions share: how elements of any type are read, and lines found. */
#ifndef ORTCORE_KERNELS_CUDA_REDUCE_CUH
#define ORTCORE_KERNELS_CUDA_REDUCE_CUH

#include <ortcore/kernels/cuda/block.cuh>
#include <ortcore/kernels/cuda/reduce.h>
#include <type_traits>

namespace ortcore {

/* What elements are accumulated in: floats as they are computed with, integers in themselves, bytes in a whole word. */
template <class T> struct accumulated { using type = computed_t<T>; };
template <> struct accumulated<int32_t> { using type = int32_t; };
template <> struct accumulated<int64_t> { using type = int64_t; };
template <> struct accumulated<uint8_t> { using type = int32_t; };
template <class T> using accumulated_t = typename accumulated<T>::type;

template <class T> ON_GPU accumulated_t<T> take(T x) {
  if constexpr (std::is_integral_v<T>) return x;
  else return load(x);
}

template <class A> ON_GPU bool is_nan(A x) { return x != x; }

/* Calls f with a null pointer of the C++ type of an element that can be reduced. */
template <class F> int with_reducible(dtype type, F f) {
  switch (type) {
    case ORTC_INT32: return f(static_cast<int32_t *>(nullptr));
    case ORTC_INT64: return f(static_cast<int64_t *>(nullptr));
    case ORTC_UINT8:
    case ORTC_BOOL: return f(static_cast<uint8_t *>(nullptr));
    default: return with_float(type, f);
  }
}

constexpr int columns_at_once = 32;                        /* lines that a block of the column kernels has side by side */

}  // namespace ortcore
#endif
