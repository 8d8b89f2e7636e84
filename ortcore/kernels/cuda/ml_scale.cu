/* Scaler, Normalizer, Imputer, Binarizer and FeatureVectorizer: a thread an element; rows whose norm is wanted are read by several. */
#include "ml_scale.h"

#include "block.cuh"
#include "ml.cuh"

#include <type_traits>

using namespace ortcore;

namespace {

/* y[i] = f(x[i], column of i) */
template <class X, class Y, class F>
__global__ void __launch_bounds__(threads_per_block) each_kernel(const X *x, int64_t count, int64_t columns, Y *y, F f) {
  for (int64_t i = first_index(); i < count; i += index_step()) y[i] = f(x[i], i % columns);
}

template <class X, class Y, class F> int launch_each(const cuda_features &x, Y *y, F f, void *stream) {
  int64_t count = x.rows * x.columns;
  if (count == 0) return cudaSuccess;
  each_kernel<<<blocks_for(count), threads_per_block, 0, as_stream(stream)>>>(static_cast<const X *>(x.data), count, x.columns, y, f);
  return cudaGetLastError();
}

struct scale_by {
  cuda_scaler how;
  template <class X> ON_GPU float operator()(X x, int64_t column) const {
    return (static_cast<float>(feature(x)) - how.offsets[how.one_offset ? 0 : column]) * how.scales[how.one_scale ? 0 : column];
  }
};

template <class X> struct impute {
  cuda_imputer how;
  ON_GPU X operator()(X x, int64_t column) const {
    bool missing;
    if constexpr (std::is_floating_point_v<X>) missing = x == static_cast<X>(how.missing) || (x != x && how.missing != how.missing);
    else missing = x == how.missing_integer;
    return missing ? static_cast<const X *>(how.values)[how.one_value ? 0 : column] : x;
  }
};

struct is_above {
  double threshold;
  template <class X> ON_GPU X operator()(X x, int64_t) const { return static_cast<double>(x) > threshold; }
};

struct larger { ON_GPU float operator()(float a, float b) const { return b > a ? b : a; } };

/* Threads (of a row, row of the block). */
template <class X>
__global__ void __launch_bounds__(threads_per_block) norm_kernel(const X *x, int64_t rows, int64_t columns, cuda_norm how, float *y) {
  __shared__ float shared[most_warps];
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.y; first < rows; first += static_cast<int64_t>(gridDim.x) * blockDim.y) {
    int64_t row = first + threadIdx.y, count = row < rows ? columns : 0;
    const X *from = x + row * columns;
    float norm = how == CUDA_NORM_MAX ? -INFINITY : 0;
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
      float v = static_cast<float>(feature(from[i]));
      norm = how == CUDA_NORM_MAX ? larger()(norm, v) : norm + (how == CUDA_NORM_L1 ? fabsf(v) : v * v);
    }
    norm = how == CUDA_NORM_MAX ? row_reduce(norm, shared, larger()) : row_reduce(norm, shared, plus());
    if (how == CUDA_NORM_L2) norm = sqrtf(norm);
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
      float v = static_cast<float>(feature(from[i]));
      y[row * columns + i] = norm != 0 ? v / norm : v;
    }
  }
}

template <class X>
__global__ void __launch_bounds__(threads_per_block) place_kernel(const X *x, int64_t rows, int64_t columns, float *y, int64_t width, int64_t stride) {
  for (int64_t i = first_index(); i < rows * width; i += index_step()) {
    int64_t row = i / width, column = i - row * width;
    y[row * stride + column] = column < columns ? static_cast<float>(feature(x[row * columns + column])) : 0;
  }
}

}  // namespace

int cuda_scale(const cuda_features *x, const cuda_scaler *how, float *y, void *stream) {
  return with_features(x->type, [&](auto *type) { return launch_each<std::remove_pointer_t<decltype(type)>>(*x, y, scale_by{*how}, stream); });
}

int cuda_impute(const cuda_features *x, const cuda_imputer *how, void *y, void *stream) {
  return with_features(x->type, [&](auto *type) {
    using X = std::remove_pointer_t<decltype(type)>;
    return launch_each<X>(*x, static_cast<X *>(y), impute<X>{*how}, stream);
  });
}

int cuda_binarise(const cuda_features *x, float threshold, void *y, void *stream) {
  return with_features(x->type, [&](auto *type) {
    using X = std::remove_pointer_t<decltype(type)>;
    return launch_each<X>(*x, static_cast<X *>(y), is_above{threshold}, stream);
  });
}

int cuda_normalise_rows(const cuda_features *x, cuda_norm norm, float *y, void *stream) {
  if (x->rows * x->columns == 0) return cudaSuccess;
  return with_features(x->type, [&](auto *type) {
    using X = std::remove_pointer_t<decltype(type)>;
    dim3 block = block_for_rows(threads_for_row(x->columns, 1, threads_per_block));
    norm_kernel<<<blocks_for(x->rows, block.y), block, 0, as_stream(stream)>>>(static_cast<const X *>(x->data), x->rows, x->columns, norm, y);
    return static_cast<int>(cudaGetLastError());
  });
}

int cuda_place_features(const cuda_features *x, float *y, int64_t width, int64_t stride, void *stream) {
  if (x->rows * width == 0) return cudaSuccess;
  return with_features(x->type, [&](auto *type) {
    using X = std::remove_pointer_t<decltype(type)>;
    place_kernel<<<blocks_for(x->rows * width), threads_per_block, 0, as_stream(stream)>>>(static_cast<const X *>(x->data), x->rows, x->columns, y,
                                                                                           width, stride);
    return static_cast<int>(cudaGetLastError());
  });
}
