/* BatchNormalization, LRN, MeanVarianceNormalization. */
#include "normalize.h"

#include <ortcore/kernels/cuda/block.cuh>
#include <type_traits>

using namespace ortcore;

namespace {

constexpr int most_threads = 512;

/* Element i of data whose type is known at run time only. */
template <class C> ON_GPU C read(dtype type, const void *data, int64_t i) {
  switch (type) {
    case ORTC_FLOAT16: return load(static_cast<const __half *>(data)[i]);
    case ORTC_BFLOAT16: return load(static_cast<const __nv_bfloat16 *>(data)[i]);
    case ORTC_DOUBLE: return static_cast<C>(static_cast<const double *>(data)[i]);
    default: return static_cast<const float *>(data)[i];
  }
}

/* x * factor + offset of one channel. */
template <class C> struct channel_line {
  C factor, offset;
  ON_GPU channel_line(const cuda_batchnorm &b, int64_t c) {
    factor = read<C>(b.scale_type, b.scale, c) / sqrt(read<C>(b.mean_type, b.variance, c) + static_cast<C>(b.epsilon));
    offset = read<C>(b.scale_type, b.bias, c) - read<C>(b.mean_type, b.mean, c) * factor;
  }
};

/* Where all of a pack is in one channel, a pack at a time; else element by element. */
template <class T, int WIDTH> __global__ void __launch_bounds__(threads_per_block, 1) batchnorm_kernel(cuda_batchnorm b) {
  struct alignas(WIDTH * sizeof(T)) chunk { T at[WIDTH]; };
  using C = computed_t<T>;
  const chunk *x = static_cast<const chunk *>(b.x);
  chunk *y = static_cast<chunk *>(b.y);
  for (int64_t i = first_index(); i < b.count / WIDTH; i += index_step()) {
    channel_line<C> line(b, i * WIDTH / b.inner % b.channels);
    chunk values = x[i];
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) values.at[j] = store<T>(load(values.at[j]) * line.factor + line.offset);
    y[i] = values;
  }
}

template <class T> __global__ void __launch_bounds__(threads_per_block, 1) lrn_kernel(cuda_lrn l) {
  using C = computed_t<T>;
  const T *x = static_cast<const T *>(l.x);
  T *y = static_cast<T *>(l.y);
  for (int64_t i = first_index(); i < l.count; i += index_step()) {
    int64_t c = i / l.inner % l.channels, begin = c - (l.size - 1) / 2, end = begin + l.size;
    begin = begin < 0 ? 0 : begin;
    end = end > l.channels ? l.channels : end;
    C sum = 0, value = load(x[i]);
    for (int64_t n = begin; n < end; ++n) {
      C other = load(x[i + (n - c) * l.inner]);
      sum += other * other;
    }
    sum = static_cast<C>(l.bias) + static_cast<C>(l.alpha / static_cast<double>(l.size)) * sum;
    y[i] = store<T>(value * exp(static_cast<C>(-l.beta) * log(sum)));
  }
}

ON_GPU int64_t place(const cuda_walk &walk, int64_t i) {
  int64_t at = 0;
  for (int d = walk.rank - 1; d >= 0; --d) {
    at += i % walk.dims[d] * walk.steps[d];
    i /= walk.dims[d];
  }
  return at;
}

/* A block for each statistic. */
template <class T> __global__ void __launch_bounds__(most_threads, 1) mean_variance_kernel(cuda_mean_variance m) {
  using C = computed_t<T>;
  __shared__ C shared[most_warps];
  const T *x = static_cast<const T *>(m.x);
  T *y = static_cast<T *>(m.y);
  for (int64_t group = blockIdx.x; group < m.groups; group += gridDim.x) {
    const int64_t from = place(m.kept, group);
    C sum = 0, squares = 0;
    for (int64_t i = threadIdx.x; i < m.each; i += blockDim.x) sum += load(x[from + place(m.averaged, i)]);
    const C mean = row_reduce(sum, shared, plus()) / static_cast<C>(m.each);
    for (int64_t i = threadIdx.x; i < m.each; i += blockDim.x) {
      C away = load(x[from + place(m.averaged, i)]) - mean;
      squares += away * away;
    }
    const C deviation = sqrt(row_reduce(squares, shared, plus()) / static_cast<C>(m.each)) + static_cast<C>(1e-9);
    for (int64_t i = threadIdx.x; i < m.each; i += blockDim.x) {
      int64_t at = from + place(m.averaged, i);
      y[at] = store<T>((load(x[at]) - mean) / deviation);
    }
  }
}

}  // namespace

int cuda_batchnorm_run(const cuda_batchnorm *b, void *stream) {
  if (b->count == 0) return cudaSuccess;
  return with_float(b->type, [&](auto *element) -> int {
    using T = std::remove_pointer_t<decltype(element)>;
    constexpr int width = pack<T>::size;
    if (b->inner % width == 0 && aligned16(b->x, b->y)) batchnorm_kernel<T, width><<<blocks_for(b->count / width), threads_per_block, 0, as_stream(stream)>>>(*b);
    else batchnorm_kernel<T, 1><<<blocks_for(b->count), threads_per_block, 0, as_stream(stream)>>>(*b);
    return cudaGetLastError();
  });
}

int cuda_lrn_run(const cuda_lrn *l, void *stream) {
  if (l->count == 0) return cudaSuccess;
  return with_float(l->type, [&](auto *element) -> int {
    using T = std::remove_pointer_t<decltype(element)>;
    lrn_kernel<T><<<blocks_for(l->count), threads_per_block, 0, as_stream(stream)>>>(*l);
    return cudaGetLastError();
  });
}

int cuda_mean_variance_run(const cuda_mean_variance *m, void *stream) {
  if (m->groups * m->each == 0) return cudaSuccess;
  return with_float(m->type, [&](auto *element) -> int {
    using T = std::remove_pointer_t<decltype(element)>;
    int threads = threads_for_row(m->each, 4, most_threads);
    mean_variance_kernel<T><<<blocks_for(m->groups, 1), threads < warp_threads ? warp_threads : threads, 0, as_stream(stream)>>>(*m);
    return cudaGetLastError();
  });
}
