/* Elementwise kernels: one body for unary and one for binary operators, instantiated for each row of the arithmetic table and each type.
 * Halves are computed in float. Where every pointer is aligned, 16 bytes are moved at a time. */
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <ortcore/kernels/arithmetic.h>

#include "elementwise.h"

/* The functions that the table's expressions name, in float on a GPU. */
namespace arithmetic {
#define ON_GPU __device__ __forceinline__
ON_GPU float FABS(float x) { return fabsf(x); }
ON_GPU float CEIL(float x) { return ceilf(x); }
ON_GPU float FLOOR(float x) { return floorf(x); }
ON_GPU float RINT(float x) { return rintf(x); }
ON_GPU float SQRT(float x) { return sqrtf(x); }
ON_GPU float EXP(float x) { return expf(x); }
ON_GPU float LOG(float x) { return logf(x); }
ON_GPU float TANH(float x) { return tanhf(x); }
ON_GPU float ERF(float x) { return erff(x); }
ON_GPU float SIGMOID(float x) { return 1.0f / (1.0f + expf(-x)); }
ON_GPU float SOFTPLUS(float x) { return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x))); }
ON_GPU float MISH(float x) { return x * tanhf(SOFTPLUS(x)); }
ON_GPU float GELU(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }
}  // namespace arithmetic

namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 1 << 16;                   /* beyond it, threads take several turns */

ON_GPU float load(float x) { return x; }
ON_GPU float load(__half x) { return __half2float(x); }
template <class T> ON_GPU T store(float x);
template <> ON_GPU float store<float>(float x) { return x; }
template <> ON_GPU __half store<__half>(float x) { return __float2half_rn(x); }

template <class T> struct alignas(16) pack {
  static constexpr int size = 16 / sizeof(T);
  T at[size];
};

ON_GPU int64_t first_index() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
ON_GPU int64_t index_step() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

unsigned blocks_for(int64_t items) {
  int64_t blocks = (items + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

bool aligned(const void *a, const void *b, const void *c) {
  return ((reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b) | reinterpret_cast<uintptr_t>(c)) & 15) == 0;
}

/* The first `packs` * pack::size elements by packs, the others one by one. */
template <class OP, class T> __global__ void __launch_bounds__(kThreads) unary_kernel(const T *x, T *y, int64_t packs, int64_t count) {
  for (int64_t i = first_index(); i < packs; i += index_step()) {
    pack<T> in = reinterpret_cast<const pack<T> *>(x)[i], out;
#pragma unroll
    for (int j = 0; j < pack<T>::size; ++j) out.at[j] = store<T>(OP::of(load(in.at[j])));
    reinterpret_cast<pack<T> *>(y)[i] = out;
  }
  for (int64_t i = packs * pack<T>::size + first_index(); i < count; i += index_step()) y[i] = store<T>(OP::of(load(x[i])));
}

template <class OP, class T> __global__ void __launch_bounds__(kThreads) binary_kernel(const T *a, const T *b, T *y, int64_t packs, int64_t count) {
  for (int64_t i = first_index(); i < packs; i += index_step()) {
    pack<T> left = reinterpret_cast<const pack<T> *>(a)[i], right = reinterpret_cast<const pack<T> *>(b)[i], out;
#pragma unroll
    for (int j = 0; j < pack<T>::size; ++j) out.at[j] = store<T>(OP::of(load(left.at[j]), load(right.at[j])));
    reinterpret_cast<pack<T> *>(y)[i] = out;
  }
  for (int64_t i = packs * pack<T>::size + first_index(); i < count; i += index_step()) y[i] = store<T>(OP::of(load(a[i]), load(b[i])));
}

template <class OP, class T>
__global__ void __launch_bounds__(kThreads) broadcast_kernel(const T *a, const T *b, T *y, int64_t count, cuda_broadcast how) {
  for (int64_t i = first_index(); i < count; i += index_step()) {
    int64_t rest = i, at_a = 0, at_b = 0;
    for (int d = how.rank - 1; d >= 0; --d) {
      int64_t along = rest % how.dims[d];
      rest /= how.dims[d];
      at_a += along * how.a_steps[d];
      at_b += along * how.b_steps[d];
    }
    y[i] = store<T>(OP::of(load(a[at_a]), load(b[at_b])));
  }
}

template <class OP, class T> int unary(const void *x, void *y, int64_t count, void *stream) {
  if (count == 0) return cudaSuccess;
  int64_t packs = aligned(x, y, y) ? count / pack<T>::size : 0;
  unary_kernel<OP, T><<<blocks_for(packs ? packs : count), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<const T *>(x), static_cast<T *>(y),
                                                                                                           packs, count);
  return cudaGetLastError();
}

template <class OP, class T> int binary(const void *a, const void *b, void *y, int64_t count, const cuda_broadcast *how, void *stream) {
  if (count == 0) return cudaSuccess;
  const T *left = static_cast<const T *>(a), *right = static_cast<const T *>(b);
  T *out = static_cast<T *>(y);
  cudaStream_t on = static_cast<cudaStream_t>(stream);
  if (how->rank) {
    broadcast_kernel<OP, T><<<blocks_for(count), kThreads, 0, on>>>(left, right, out, count, *how);
  } else {
    int64_t packs = aligned(a, b, y) ? count / pack<T>::size : 0;
    binary_kernel<OP, T><<<blocks_for(packs ? packs : count), kThreads, 0, on>>>(left, right, out, packs, count);
  }
  return cudaGetLastError();
}

/* One functor a row of the table. T is the type that its expressions compute in. */
#define FUNCTOR_1(name, expression) struct name { using T = float; static ON_GPU float of(float x) { return expression; } };
#define FUNCTOR_2(name, expression) struct name { using T = float; static ON_GPU float of(float a, float b) { return expression; } };
using namespace arithmetic;
namespace unary_op { ARITHMETIC_UNARY(FUNCTOR_1) }
namespace binary_op { ARITHMETIC_BINARY(FUNCTOR_2) }

}  // namespace

#define UNARY_ROW(name, expression) {#name, unary<unary_op::name, float>, unary<unary_op::name, __half>},
#define BINARY_ROW(name, expression) {#name, binary<binary_op::name, float>, binary<binary_op::name, __half>},
const cuda_unary cuda_unary_table[] = {ARITHMETIC_UNARY(UNARY_ROW){nullptr, nullptr, nullptr}};
const cuda_binary cuda_binary_table[] = {ARITHMETIC_BINARY(BINARY_ROW){nullptr, nullptr, nullptr}};
