/* What files of kernels share: numbers as they are stored and as they are computed with, indices of threads, sizes of launches. */
#ifndef ORTCORE_KERNELS_CUDA_COMMON_CUH
#define ORTCORE_KERNELS_CUDA_COMMON_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <ortcore/base/dtype.h>

#define ON_GPU __device__ __forceinline__

namespace ortcore {

/* What a stored type is computed in: floats for what is at most as wide, doubles for doubles. */
template <class T> struct computed { using type = float; };
template <> struct computed<double> { using type = double; };
template <class T> using computed_t = typename computed<T>::type;

ON_GPU float load(float x) { return x; }
ON_GPU double load(double x) { return x; }
ON_GPU float load(__half x) { return __half2float(x); }
ON_GPU float load(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T> ON_GPU T store(computed_t<T> x);
template <> ON_GPU float store<float>(float x) { return x; }
template <> ON_GPU double store<double>(double x) { return x; }
template <> ON_GPU __half store<__half>(float x) { return __float2half_rn(x); }
template <> ON_GPU __nv_bfloat16 store<__nv_bfloat16>(float x) { return __float2bfloat16_rn(x); }

/* Elements that are moved by one 16-byte access. */
template <class T> struct alignas(16) pack {
  static constexpr int size = 16 / sizeof(T);
  T at[size];
};
/* 16 bytes that are only moved. */
struct alignas(16) bytes16 { uint64_t low, high; };

inline bool aligned16(const void *a) { return (reinterpret_cast<uintptr_t>(a) & 15) == 0; }
template <class... MORE> bool aligned16(const void *a, MORE... more) { return aligned16(a) && aligned16(more...); }

constexpr int threads_per_block = 256;
constexpr int64_t most_blocks = 1 << 16;                   /* beyond it, threads take several turns */

/* Loops over items: for (int64_t i = first_index(); i < count; i += index_step()). */
ON_GPU int64_t first_index() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
ON_GPU int64_t index_step() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

/* Blocks of `threads` threads for a loop over `items` > 0 items. */
inline unsigned blocks_for(int64_t items, int threads = threads_per_block) {
  int64_t blocks = (items + threads - 1) / threads;
  return static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks);
}

inline cudaStream_t as_stream(void *stream) { return static_cast<cudaStream_t>(stream); }

/* Calls f with a null pointer of the C++ type of `type`, for rows whose types are float, float16, bfloat16 and double:
 *     return with_float(type, [&](auto *t) { using T = std::remove_pointer_t<decltype(t)>; ... return cudaGetLastError(); }); */
template <class F> int with_float(dtype type, F f) {
  switch (type) {
    case ORTC_FLOAT: return f(static_cast<float *>(nullptr));
    case ORTC_FLOAT16: return f(static_cast<__half *>(nullptr));
    case ORTC_BFLOAT16: return f(static_cast<__nv_bfloat16 *>(nullptr));
    case ORTC_DOUBLE: return f(static_cast<double *>(nullptr));
    default: return cudaErrorInvalidValue;
  }
}

/* The same for elements that are only moved, by their width in bytes: 1, 2, 4, 8 or 16. */
template <class F> int with_width(int width, F f) {
  switch (width) {
    case 1: return f(static_cast<uint8_t *>(nullptr));
    case 2: return f(static_cast<uint16_t *>(nullptr));
    case 4: return f(static_cast<uint32_t *>(nullptr));
    case 8: return f(static_cast<uint64_t *>(nullptr));
    case 16: return f(static_cast<bytes16 *>(nullptr));
    default: return cudaErrorInvalidValue;
  }
}

}  // namespace ortcore

#endif
