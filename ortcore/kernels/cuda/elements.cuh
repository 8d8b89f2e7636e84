/* Elements of any type in memory, read and written a few at a time as numbers of one type that is computed in. Conversions are Cast's: integers
 * wrap; a float that the integer type does not have wraps like the 32 bits (64 for uint32) that hold it, and beyond those is the least. */
#ifndef ORTCORE_KERNELS_CUDA_ELEMENTS_CUH
#define ORTCORE_KERNELS_CUDA_ELEMENTS_CUH

#include <cstdint>
#include <ortcore/kernels/cuda/common.cuh>
#include <type_traits>

namespace ortcore {

struct truth { uint8_t value; };                           /* a bool in memory */

/* X(ONNX's name, C++ type) */
#define ELEMENTS_INTEGER(X) \
  X(INT8, int8_t) X(INT16, int16_t) X(INT32, int32_t) X(INT64, int64_t) X(UINT8, uint8_t) X(UINT16, uint16_t) X(UINT32, uint32_t) X(UINT64, uint64_t) \
  X(BOOL, truth)
#define ELEMENTS_FLOAT(X) X(FLOAT, float) X(FLOAT16, __half) X(BFLOAT16, __nv_bfloat16) X(DOUBLE, double)

/* ---- One element ---- */

template <class T, class S> ON_GPU T element_get(S x) {
  if constexpr (std::is_same_v<S, truth>) return static_cast<T>(x.value != 0);
  else if constexpr (std::is_arithmetic_v<S>) return static_cast<T>(x);
  else return static_cast<T>(load(x));
}

/* What C leaves undefined is the least integer, as on the CPU. */
template <class T> ON_GPU int32_t to_int32(T x) { return x >= -0x1p31f && x < 0x1p31f ? static_cast<int32_t>(x) : INT32_MIN; }
template <class T> ON_GPU int64_t to_int64(T x) { return x >= -0x1p63f && x < 0x1p63f ? static_cast<int64_t>(x) : INT64_MIN; }
template <class T> ON_GPU uint64_t to_uint64(T x) {
  return x >= 0x1p63f && x < 0x1p64f ? static_cast<uint64_t>(x) : static_cast<uint64_t>(to_int64(x));
}

template <class S, class T> ON_GPU S element_of(T x) {
  if constexpr (std::is_same_v<S, truth>) return {static_cast<uint8_t>(x != 0)};
  else if constexpr (std::is_same_v<S, __half>) {
    if constexpr (std::is_same_v<T, double>) return __double2half(x);
    else return __float2half_rn(static_cast<float>(x));
  } else if constexpr (std::is_same_v<S, __nv_bfloat16>) {
    if constexpr (std::is_same_v<T, double>) return __double2bfloat16(x);
    else return __float2bfloat16_rn(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<T> && std::is_integral_v<S>) {
    if constexpr (std::is_same_v<S, uint64_t>) return to_uint64(x);
    else if constexpr (sizeof(S) == 8 || std::is_same_v<S, uint32_t>) return static_cast<S>(to_int64(x));
    else return static_cast<S>(to_int32(x));
  } else return static_cast<S>(x);
}

/* ---- N adjacent elements, of which the first n are wanted ---- */

template <class S, int N> struct alignas(sizeof(S) * N < 16 ? sizeof(S) * N : 16) element_row { S at[N]; };

template <class S, int N> ON_GPU bool is_row(const S *at) { return reinterpret_cast<uintptr_t>(at) % alignof(element_row<S, N>) == 0; }

/* `repeated`: one element in memory stands for all. Without enough elements the first stands for those that are missing. */
template <class S, class T, int N> ON_GPU void read_as(const void *data, int64_t first, int n, bool repeated, T (&x)[N]) {
  const S *from = static_cast<const S *>(data) + first;
  if (!repeated && n == N && is_row<S, N>(from)) {
    element_row<S, N> row = *reinterpret_cast<const element_row<S, N> *>(from);
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] = element_get<T>(row.at[j]);
  } else {
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] = element_get<T>(from[repeated || j >= n ? 0 : j]);
  }
}

template <class S, class T, int N> ON_GPU void write_as(void *data, int64_t first, int n, const T (&x)[N]) {
  S *to = static_cast<S *>(data) + first;
  if (n == N && is_row<S, N>(to)) {
    element_row<S, N> row;
#pragma unroll
    for (int j = 0; j < N; ++j) row.at[j] = element_of<S>(x[j]);
    *reinterpret_cast<element_row<S, N> *>(to) = row;
  } else {
#pragma unroll
    for (int j = 0; j < N; ++j)
      if (j < n) to[j] = element_of<S>(x[j]);
  }
}

/* The type is the same for all threads of a launch. Integers are not computed from floats: those are read in a float type. */
template <class T, int N> ON_GPU void read_elements(dtype type, const void *data, int64_t first, int n, bool repeated, T (&x)[N]) {
#define READ(name, S) case ORTC_##name: read_as<S>(data, first, n, repeated, x); return;
  switch (type) {
    ELEMENTS_INTEGER(READ)
    default: break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (type) {
      ELEMENTS_FLOAT(READ)
      default: break;
    }
  }
#undef READ
}

template <class T, int N> ON_GPU void write_elements(dtype type, void *data, int64_t first, int n, const T (&x)[N]) {
#define WRITE(name, S) case ORTC_##name: write_as<S>(data, first, n, x); return;
  switch (type) {
    ELEMENTS_INTEGER(WRITE)
    ELEMENTS_FLOAT(WRITE)
    default: break;
  }
#undef WRITE
}

}  // namespace ortcore

#endif
