/* ArgMax and ArgMin: a reduction whose value carries its index. */
#include <ortcore/kernels/cuda/reduce.cuh>

using namespace ortcore;

namespace {

constexpr int most_threads = 512;

template <class A> struct candidate {
  A value;
  int32_t there;                                           /* 0: of no elements */
  int64_t index;
};

/* Which of two is taken: NaN before numbers, then the extreme, then the first or the last. */
struct choice {
  bool smallest, last;
  template <class A> ON_GPU candidate<A> operator()(const candidate<A> &a, const candidate<A> &b) const {
    if (!a.there || !b.there) return a.there ? a : b;
    bool a_nan = is_nan(a.value), b_nan = is_nan(b.value);
    if (a_nan != b_nan) return a_nan ? a : b;
    if (a_nan || a.value == b.value) return (a.index < b.index) != last ? a : b;
    return (a.value < b.value) == smallest ? a : b;
  }
};

template <class T> __global__ void __launch_bounds__(most_threads) rows_kernel(const T *x, int64_t *y, int64_t rows, int64_t n, choice best) {
  using A = accumulated_t<T>;
  __shared__ alignas(16) unsigned char memory[most_warps * sizeof(candidate<A>)];
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.y; first < rows; first += static_cast<int64_t>(gridDim.x) * blockDim.y) {
    int64_t row = first + threadIdx.y, end = row < rows ? n : 0;
    candidate<A> found = {0, 0, 0};
    for (int64_t i = threadIdx.x; i < end; i += blockDim.x) found = best(found, candidate<A>{take(x[row * n + i]), 1, i});
    found = row_reduce(found, reinterpret_cast<candidate<A> *>(memory), best);
    if (threadIdx.x == 0 && row < rows) y[row] = found.index;
  }
}

template <class T>
__global__ void __launch_bounds__(most_threads) columns_kernel(const T *x, int64_t *y, int64_t lines, int64_t n, int64_t inner, choice best) {
  using A = accumulated_t<T>;
  __shared__ alignas(16) unsigned char memory[most_threads * sizeof(candidate<A>)];
  candidate<A> *shared = reinterpret_cast<candidate<A> *>(memory);
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * columns_at_once; first < lines; first += static_cast<int64_t>(gridDim.x) * columns_at_once) {
    int64_t line = first + threadIdx.x, end = line < lines ? n : 0, at = line / inner * n * inner + line % inner;
    candidate<A> found = {0, 0, 0};
    for (int64_t i = threadIdx.y; i < end; i += blockDim.y) found = best(found, candidate<A>{take(x[at + i * inner]), 1, i});
    shared[threadIdx.y * columns_at_once + threadIdx.x] = found;
    __syncthreads();
    if (threadIdx.y == 0 && line < lines) {
      for (int other = 1; other < blockDim.y; ++other) found = best(found, shared[other * columns_at_once + threadIdx.x]);
      y[line] = found.index;
    }
    __syncthreads();
  }
}

}  // namespace

int cuda_arg_extreme(dtype type, bool smallest, bool last, const void *x, int64_t *y, int64_t outer, int64_t n, int64_t inner, void *stream) {
  if (outer * inner == 0) return cudaSuccess;
  return with_reducible(type, [&](auto *element) -> int {
    using T = std::remove_pointer_t<decltype(element)>;
    const T *from = static_cast<const T *>(x);
    if (inner == 1) {
      dim3 block = block_for_rows(threads_for_row(n, 8, most_threads));
      rows_kernel<T><<<blocks_for(outer, block.y), block, 0, as_stream(stream)>>>(from, y, outer, n, choice{smallest, last});
    } else {
      dim3 block(columns_at_once, threads_for_row(n, 8, most_threads / columns_at_once));
      unsigned blocks = blocks_for(outer * inner, columns_at_once);
      columns_kernel<T><<<blocks, block, 0, as_stream(stream)>>>(from, y, outer * inner, n, inner, choice{smallest, last});
    }
    return cudaGetLastError();
  });
}
