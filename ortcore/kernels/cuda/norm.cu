/* Normalisation of rows. A row of up to some thousand elements stays in the registers of its threads between the mean, the variance about it
 * and the result, so that memory is read once and written once; longer rows are read three times. */
#include "norm.h"

#include <ortcore/kernels/cuda/block.cuh>
#include <type_traits>

using namespace ortcore;

namespace {

constexpr int most_threads = 512;

/* WIDTH elements that are moved at once. */
template <class T, int WIDTH> struct alignas(WIDTH * sizeof(T)) chunk { T at[WIDTH]; };

/* What one row reads and writes; its elements [i, i + WIDTH) are a chunk. */
template <class T, int WIDTH> struct row_view {
  using C = computed_t<T>;
  using part = chunk<T, WIDTH>;
  const T *x, *skip, *added, *scale, *bias;
  T *y, *sum;
  uint32_t each;

  ON_GPU row_view(const cuda_norm &a, int64_t row) {
    int64_t from = row * a.n, scale_from = row % a.period * a.step;
    x = static_cast<const T *>(a.x) + from;
    skip = a.skip ? static_cast<const T *>(a.skip) + row % a.skip_rows * a.n : nullptr;
    added = static_cast<const T *>(a.added);
    scale = a.scale ? static_cast<const T *>(a.scale) + scale_from : nullptr;
    bias = a.bias ? static_cast<const T *>(a.bias) + scale_from : nullptr;
    y = static_cast<T *>(a.y) + from;
    sum = a.sum ? static_cast<T *>(a.sum) + from : nullptr;
    each = static_cast<uint32_t>(a.each);
  }

  static ON_GPU void add(const T *from, C (&v)[WIDTH]) {
    part more = *reinterpret_cast<const part *>(from);
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) v[j] += load(more.at[j]);
  }

  static ON_GPU void write(T *to, const C (&v)[WIDTH]) {
    part out;
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) out.at[j] = store<T>(v[j]);
    *reinterpret_cast<part *>(to) = out;
  }

  ON_GPU void read(int i, C (&v)[WIDTH]) const {
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) v[j] = 0;
    add(x + i, v);
    if (skip) add(skip + i, v);
    if (added) add(added + i, v);
  }

  /* Each element has its own scale and bias, or all of the chunk share one. */
  ON_GPU void finish(int i, C (&v)[WIDTH], C mean, C inverse) const {
    C factors[WIDTH] = {0}, shared = 1;
    uint32_t at = each == 1 ? i : static_cast<uint32_t>(i) / each;
    bool own = each == 1 && scale;
    if (own) add(scale + at, factors);
    else if (scale) shared = load(scale[at]);
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) v[j] = (v[j] - mean) * inverse * (own ? factors[j] : shared);
    if (bias && each == 1) {
      add(bias + at, v);
    } else if (bias) {
      C offset = load(bias[at]);
#pragma unroll
      for (int j = 0; j < WIDTH; ++j) v[j] += offset;
    }
    write(y + i, v);
  }
};

template <class C> ON_GPU void write_statistics(const cuda_norm &a, int64_t row, C mean, C inverse) {
  if (threadIdx.x != 0 || row >= a.rows) return;
  if (a.means) a.means[row] = static_cast<float>(mean);
  if (a.inverses) a.inverses[row] = static_cast<float>(inverse);
}

template <class C> ON_GPU C inverse_deviation(const cuda_norm &a, C squares) {
  return 1 / sqrt(squares / static_cast<C>(a.n) + static_cast<C>(a.epsilon));
}

ON_GPU int64_t first_row() { return static_cast<int64_t>(blockIdx.x) * blockDim.y; }
ON_GPU int64_t row_step() { return static_cast<int64_t>(gridDim.x) * blockDim.y; }

/* Each thread holds ROUNDS packs of its row; blockDim.x threads hold all of it. Threads whose row is beyond the last hold nothing. */
template <class T, int ROUNDS> __global__ void __launch_bounds__(most_threads) held_kernel(cuda_norm a) {
  using C = computed_t<T>;
  constexpr int width = pack<T>::size;
  __shared__ C shared[most_warps];
  for (int64_t first = first_row(); first < a.rows; first += row_step()) {
    int64_t row = first + threadIdx.y;
    int n = row < a.rows ? static_cast<int>(a.n) : 0, begin = threadIdx.x * width, step = blockDim.x * width;
    row_view<T, width> view(a, row);
    C v[ROUNDS][width], mean = 0, total = 0;
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
      if (begin + r * step >= n) continue;
      view.read(begin + r * step, v[r]);
      if (view.sum) view.write(view.sum + begin + r * step, v[r]);
#pragma unroll
      for (int j = 0; j < width; ++j) total += v[r][j];
    }
    if (a.centre) mean = row_reduce(total, shared, plus()) / static_cast<C>(a.n);
    total = 0;
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r)
#pragma unroll
      for (int j = 0; j < width; ++j) total += begin + r * step < n ? (v[r][j] - mean) * (v[r][j] - mean) : 0;
    C inverse = inverse_deviation(a, row_reduce(total, shared, plus()));
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r)
      if (begin + r * step < n) view.finish(begin + r * step, v[r], mean, inverse);
    write_statistics(a, row, mean, inverse);
  }
}

/* Any length and, with a WIDTH of 1, any alignment: the row is read again for each pass. */
template <class T, int WIDTH> __global__ void __launch_bounds__(most_threads) streamed_kernel(cuda_norm a) {
  using C = computed_t<T>;
  __shared__ C shared[most_warps];
  for (int64_t first = first_row(); first < a.rows; first += row_step()) {
    int64_t row = first + threadIdx.y;
    int n = row < a.rows ? static_cast<int>(a.n) : 0, begin = threadIdx.x * WIDTH, step = blockDim.x * WIDTH;
    row_view<T, WIDTH> view(a, row);
    C v[WIDTH], mean = 0, total = 0;
#pragma unroll 1
    for (int i = begin; i < n && (a.centre || view.sum); i += step) {
      view.read(i, v);
      if (view.sum) view.write(view.sum + i, v);
#pragma unroll
      for (int j = 0; j < WIDTH; ++j) total += v[j];
    }
    if (a.centre) mean = row_reduce(total, shared, plus()) / static_cast<C>(a.n);
    total = 0;
#pragma unroll 1
    for (int i = begin; i < n; i += step) {
      view.read(i, v);
#pragma unroll
      for (int j = 0; j < WIDTH; ++j) total += (v[j] - mean) * (v[j] - mean);
    }
    C inverse = inverse_deviation(a, row_reduce(total, shared, plus()));
#pragma unroll 1
    for (int i = begin; i < n; i += step) {
      view.read(i, v);
      view.finish(i, v, mean, inverse);
    }
    write_statistics(a, row, mean, inverse);
  }
}

template <class T, int WIDTH> void launch_streamed(const cuda_norm &a, cudaStream_t stream) {
  dim3 block = block_for_rows(threads_for_row(a.n, 4 * WIDTH, most_threads));
  streamed_kernel<T, WIDTH><<<blocks_for(a.rows, block.y), block, 0, stream>>>(a);
}

/* Packs of a row are aligned, and no pack needs more than one element of scale and bias unless these come in packs too. */
template <class T> bool goes_by_packs(const cuda_norm &a) {
  constexpr int width = pack<T>::size;
  bool scales = a.each == 1 ? aligned16(a.scale, a.bias) && a.step % width == 0 : a.each % width == 0;
  return scales && a.n % width == 0 && aligned16(a.x, a.skip, a.added, a.y, a.sum);
}

template <class T> void launch(const cuda_norm &a, cudaStream_t stream) {
  int64_t packs = a.n / pack<T>::size;
  int rounds = packs <= 64 ? 1 : packs <= 256 ? 2 : 4;
  if (!goes_by_packs<T>(a)) return launch_streamed<T, 1>(a, stream);
  if (packs > static_cast<int64_t>(rounds) * most_threads) return launch_streamed<T, pack<T>::size>(a, stream);
  dim3 block = block_for_rows(threads_for_row(packs, rounds, most_threads));
  unsigned blocks = blocks_for(a.rows, block.y);
  if (rounds == 1) held_kernel<T, 1><<<blocks, block, 0, stream>>>(a);
  else if (rounds == 2) held_kernel<T, 2><<<blocks, block, 0, stream>>>(a);
  else held_kernel<T, 4><<<blocks, block, 0, stream>>>(a);
}
/* Doubles are too seldom to be held. */
template <> void launch<double>(const cuda_norm &a, cudaStream_t stream) { launch_streamed<double, 1>(a, stream); }

}  // namespace

int cuda_norm_rows(const cuda_norm *norm, void *stream) {
  if (norm->rows * norm->n == 0) return cudaSuccess;
  return with_float(norm->type, [&](auto *element) -> int {
    launch<std::remove_pointer_t<decltype(element)>>(*norm, as_stream(stream));
    return cudaGetLastError();
  });
}
