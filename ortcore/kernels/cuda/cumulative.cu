/* Running sums and products. Lines whose elements are neighbours are scanned by blocks, part after part; others by a thread each, which then
 * read side by side. */
#include <type_traits>

#include "cumulative.h"
#include "elements.cuh"
#include "scan.cuh"

using namespace ortcore;

namespace {

constexpr int kEach = 4, kPart = threads_per_block * kEach;   /* elements of a thread, and of a block, at a time */

/* What T is accumulated in: integers wrap in an unsigned type. */
template <class T> struct accumulator { using type = computed_t<T>; };
template <> struct accumulator<uint32_t> { using type = uint32_t; };
template <> struct accumulator<uint64_t> { using type = uint64_t; };
template <class T> using accumulator_t = typename accumulator<T>::type;

template <bool PRODUCT> struct combine {
  template <class A> ON_GPU A operator()(A a, A b) const { return PRODUCT ? a * b : a + b; }
};

/* One line to a block. Element i of a line, in the order of the walk, lies at i from its start or from its end. */
template <bool PRODUCT, class T>
__global__ void __launch_bounds__(threads_per_block) rows_kernel(const T *x, T *y, int64_t rows, int64_t n, bool exclusive, bool reverse) {
  using A = accumulator_t<T>;
  __shared__ A warps[most_warps];
  combine<PRODUCT> join;
  const A none = PRODUCT ? 1 : 0;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    A carry = none;
    for (int64_t first = 0; first < n; first += kPart) {
      A at[kEach], mine = none, total;
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        int64_t i = first + threadIdx.x * kEach + j;
        at[j] = i < n ? element_get<A>(x[row * n + (reverse ? n - 1 - i : i)]) : none;
        mine = join(mine, at[j]);
      }
      A sum = join(carry, block_scan(mine, none, warps, join, &total));
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        int64_t i = first + threadIdx.x * kEach + j;
        A before = sum;
        sum = join(sum, at[j]);
        if (i < n) y[row * n + (reverse ? n - 1 - i : i)] = element_of<T>(exclusive ? before : sum);
      }
      carry = join(carry, total);
    }
  }
}

/* One line to a thread. */
template <bool PRODUCT, class T>
__global__ void __launch_bounds__(threads_per_block) columns_kernel(const T *x, T *y, int64_t lines, int64_t n, int64_t inner, bool exclusive,
                                                                    bool reverse) {
  using A = accumulator_t<T>;
  combine<PRODUCT> join;
  for (int64_t line = first_index(); line < lines; line += index_step()) {
    A sum = PRODUCT ? 1 : 0;
    for (int64_t i = 0; i < n; ++i) {
      int64_t at = (line / inner * n + (reverse ? n - 1 - i : i)) * inner + line % inner;
      A before = sum;
      sum = join(sum, element_get<A>(x[at]));
      y[at] = element_of<T>(exclusive ? before : sum);
    }
  }
}

template <bool PRODUCT, class T> int run_type(const cuda_cumulative &c, const T *x, T *y, cudaStream_t stream) {
  int64_t lines = c.outer * c.inner;
  if (c.inner == 1 && c.n > kEach) {
    unsigned blocks = static_cast<unsigned>(lines < most_blocks ? lines : most_blocks);
    rows_kernel<PRODUCT><<<blocks, threads_per_block, 0, stream>>>(x, y, lines, c.n, c.exclusive, c.reverse);
  } else {
    columns_kernel<PRODUCT><<<blocks_for(lines), threads_per_block, 0, stream>>>(x, y, lines, c.n, c.inner, c.exclusive, c.reverse);
  }
  return cudaGetLastError();
}

}  // namespace

int cuda_cumulative_run(const cuda_cumulative *c, const void *x, void *y, void *stream) {
  if (c->outer == 0 || c->n == 0 || c->inner == 0) return cudaSuccess;
  auto run = [&](auto *type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T *from = static_cast<const T *>(x);
    T *to = static_cast<T *>(y);
    return c->product ? run_type<true>(*c, from, to, as_stream(stream)) : run_type<false>(*c, from, to, as_stream(stream));
  };
  switch (c->type) {
    case ORTC_INT32: case ORTC_UINT32: return run(static_cast<uint32_t *>(nullptr));
    case ORTC_INT64: case ORTC_UINT64: return run(static_cast<uint64_t *>(nullptr));
    default: return with_float(c->type, run);
  }
}
