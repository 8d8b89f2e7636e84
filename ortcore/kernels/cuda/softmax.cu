/* Softmax, LogSoftmax, Hardmax, LpNormalization. A line is read twice: once for what its elements have in common (one pass, in which the
 * exponentials are rescaled whenever a larger element turns up), and once more, from a cache as a rule, to be scaled. */
#include "softmax.h"

#include <ortcore/kernels/cuda/block.cuh>

using namespace ortcore;

namespace {

constexpr int most_threads = 512;
constexpr int columns_at_once = 32;                        /* lines that a block of the column kernels has side by side */

/* sum of e^(x - most), which never overflows. Of nothing, or of minus infinities, it is 0 whatever stands for `most`; NaN and infinity end
 * in NaN, as they do on the CPU. */
template <class C> struct exponentials {
  C most = -INFINITY, sum = 0;
  static ON_GPU C shift(C most) { return most == -INFINITY ? 0 : most; }
  template <int N> ON_GPU void add(const C (&x)[N], bool) {
    C now = most;
#pragma unroll
    for (int i = 0; i < N; ++i) now = fmax(now, x[i]);
    sum *= exp(most - shift(now));
#pragma unroll
    for (int i = 0; i < N; ++i) sum += exp(x[i] - shift(now));
    most = now;
  }
  static ON_GPU exponentials join(exponentials a, exponentials b) {
    exponentials both;
    both.most = fmax(a.most, b.most);
    both.sum = a.sum * exp(a.most - shift(both.most)) + b.sum * exp(b.most - shift(both.most));
    return both;
  }
  ON_GPU void finish(bool logarithm) { sum = logarithm ? log(sum) : 1 / sum; }
  ON_GPU C scale(C x, bool logarithm) const { return logarithm ? (x - most) - sum : exp(x - most) * sum; }
};

template <class C> struct length {
  C sum = 0;
  template <int N> ON_GPU void add(const C (&x)[N], bool squares) {
#pragma unroll
    for (int i = 0; i < N; ++i) sum += squares ? x[i] * x[i] : fabs(x[i]);
  }
  static ON_GPU length join(length a, length b) {
    a.sum += b.sum;
    return a;
  }
  ON_GPU void finish(bool squares) { sum = squares ? sqrt(sum) : sum; }
  ON_GPU C scale(C x, bool) const { return sum == 0 ? 0 : x / sum; }
};

template <class T> ON_GPU void widen_pack(const pack<T> &from, computed_t<T> (&to)[pack<T>::size]) {
#pragma unroll
  for (int i = 0; i < pack<T>::size; ++i) to[i] = load(from.at[i]);
}

/* Lines that lie in one piece: blockDim.x threads for each, blockDim.y lines a block. The first `packs` packs of a line are moved whole. */
template <template <class> class LINE, class T>
__global__ void __launch_bounds__(most_threads, 1) rows_kernel(const T *x, T *y, int64_t rows, int64_t n, int64_t packs, bool variant) {
  using C = computed_t<T>;
  constexpr int size = pack<T>::size;
  __shared__ alignas(16) unsigned char memory[most_warps * sizeof(LINE<C>)];
  auto join = [](const LINE<C> &a, const LINE<C> &b) { return LINE<C>::join(a, b); };
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.y; first < rows; first += static_cast<int64_t>(gridDim.x) * blockDim.y) {
    int64_t row = first + threadIdx.y, end = row < rows ? n : 0, end_packs = row < rows ? packs : 0;
    const T *from = x + row * n;
    T *to = y + row * n;
    LINE<C> line;
    for (int64_t i = threadIdx.x; i < end_packs; i += blockDim.x) {
      C values[size];
      widen_pack(reinterpret_cast<const pack<T> *>(from)[i], values);
      line.add(values, variant);
    }
    for (int64_t i = end_packs * size + threadIdx.x; i < end; i += blockDim.x) {
      C value[1] = {load(from[i])};
      line.add(value, variant);
    }
    line = row_reduce(line, reinterpret_cast<LINE<C> *>(memory), join);
    line.finish(variant);
    for (int64_t i = threadIdx.x; i < end_packs; i += blockDim.x) {
      pack<T> values = reinterpret_cast<const pack<T> *>(from)[i];
#pragma unroll
      for (int j = 0; j < size; ++j) values.at[j] = store<T>(line.scale(load(values.at[j]), variant));
      reinterpret_cast<pack<T> *>(to)[i] = values;
    }
    for (int64_t i = end_packs * size + threadIdx.x; i < end; i += blockDim.x) to[i] = store<T>(line.scale(load(from[i]), variant));
  }
}

/* Lines side by side: columns_at_once of them a block, each read by blockDim.y threads. */
template <template <class> class LINE, class T>
__global__ void __launch_bounds__(most_threads, 1) columns_kernel(const T *x, T *y, int64_t lines, int64_t n, int64_t inner, bool variant) {
  using C = computed_t<T>;
  __shared__ alignas(16) unsigned char memory[most_threads * sizeof(LINE<C>)];
  LINE<C> *shared = reinterpret_cast<LINE<C> *>(memory);
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * columns_at_once; first < lines; first += static_cast<int64_t>(gridDim.x) * columns_at_once) {
    int64_t line_index = first + threadIdx.x, end = line_index < lines ? n : 0, at = line_index / inner * n * inner + line_index % inner;
    LINE<C> line;
    for (int64_t i = threadIdx.y; i < end; i += blockDim.y) {
      C value[1] = {load(x[at + i * inner])};
      line.add(value, variant);
    }
    shared[threadIdx.y * columns_at_once + threadIdx.x] = line;
    __syncthreads();
    line = shared[threadIdx.x];
    for (int other = 1; other < blockDim.y; ++other) line = LINE<C>::join(line, shared[other * columns_at_once + threadIdx.x]);
    __syncthreads();
    line.finish(variant);
    for (int64_t i = threadIdx.y; i < end; i += blockDim.y) y[at + i * inner] = store<T>(line.scale(load(x[at + i * inner]), variant));
  }
}

/* The first of the largest elements, which is the first NaN if there is one, as ArgMax has it. */
template <class C> struct largest {
  C value;
  int32_t set;                                             /* 0: of no elements */
  int64_t index;
  static ON_GPU bool above(C p, C q) { return p > q || (isnan(p) && !isnan(q)); }
  static ON_GPU largest join(const largest &a, const largest &b) {
    bool take_b = !a.set || (b.set && (above(b.value, a.value) || (!above(a.value, b.value) && b.index < a.index)));
    return take_b ? b : a;
  }
};

template <class T> __global__ void __launch_bounds__(most_threads, 1) hard_kernel(const T *x, T *y, int64_t lines, int64_t n, int64_t inner) {
  using C = computed_t<T>;
  __shared__ alignas(16) unsigned char memory[most_warps * sizeof(largest<C>)];
  auto join = [](const largest<C> &a, const largest<C> &b) { return largest<C>::join(a, b); };
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.y; first < lines; first += static_cast<int64_t>(gridDim.x) * blockDim.y) {
    int64_t line = first + threadIdx.y, end = line < lines ? n : 0, at = line / inner * n * inner + line % inner;
    largest<C> best = {0, 0, 0};
    for (int64_t i = threadIdx.x; i < end; i += blockDim.x) best = largest<C>::join(best, largest<C>{load(x[at + i * inner]), 1, i});
    best = row_reduce(best, reinterpret_cast<largest<C> *>(memory), join);
    for (int64_t i = threadIdx.x; i < end; i += blockDim.x) y[at + i * inner] = store<T>(i == best.index);
  }
}

template <template <class> class LINE, class T>
int launch(const T *x, T *y, int64_t outer, int64_t n, int64_t inner, bool variant, cudaStream_t stream) {
  if (inner == 1) {
    int64_t packs = aligned16(x, y) && n % pack<T>::size == 0 ? n / pack<T>::size : 0;
    dim3 block = block_for_rows(threads_for_row(n, packs ? 2 * pack<T>::size : 4, most_threads));
    rows_kernel<LINE, T><<<blocks_for(outer, block.y), block, 0, stream>>>(x, y, outer, n, packs, variant);
  } else {
    dim3 block(columns_at_once, threads_for_row(n, 8, most_threads / columns_at_once));
    columns_kernel<LINE, T><<<blocks_for(outer * inner, columns_at_once), block, 0, stream>>>(x, y, outer * inner, n, inner, variant);
  }
  return cudaGetLastError();
}

}  // namespace

int cuda_softmax(dtype type, softmax_kind kind, const void *x, void *y, int64_t outer, int64_t n, int64_t inner, void *stream) {
  if (outer * n * inner == 0) return cudaSuccess;
  return with_float(type, [&](auto *element) -> int {
    using T = std::remove_pointer_t<decltype(element)>;
    const T *from = static_cast<const T *>(x);
    T *to = static_cast<T *>(y);
    if (kind != SOFTMAX_HARD) return launch<exponentials, T>(from, to, outer, n, inner, kind == SOFTMAX_LOG, as_stream(stream));
    dim3 block = block_for_rows(threads_for_row(n, 4, most_threads));
    hard_kernel<T><<<blocks_for(outer * inner, block.y), block, 0, as_stream(stream)>>>(from, to, outer * inner, n, inner);
    return cudaGetLastError();
  });
}

int cuda_lp_normalise(dtype type, int power, const void *x, void *y, int64_t outer, int64_t n, int64_t inner, void *stream) {
  if (outer * n * inner == 0) return cudaSuccess;
  return with_float(type, [&](auto *element) -> int {
    using T = std::remove_pointer_t<decltype(element)>;
    return launch<length, T>(static_cast<const T *>(x), static_cast<T *>(y), outer, n, inner, power == 2, as_stream(stream));
  });
}
