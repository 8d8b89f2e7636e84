/* LabelEncoder, OneHotEncoder and ArrayFeatureExtractor: a thread an element of the result. Keys are compared as doubles, as the CPU does. */
#include "ml_encode.h"

#include "ml.cuh"

#include <type_traits>

using namespace ortcore;

namespace {

/* The first key that is not below this one; NaN is above all. */
ON_GPU int64_t find_key(const cuda_dictionary &d, double key) {
  int64_t low = 0, high = d.count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    double at = d.keys[middle];
    if (key != key ? at == at : at < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

template <class X, class V> __global__ void __launch_bounds__(threads_per_block) look_up_kernel(const X *x, int64_t count, cuda_dictionary d, V *y) {
  const V *values = static_cast<const V *>(d.values);
  for (int64_t i = first_index(); i < count; i += index_step()) {
    double key = static_cast<double>(x[i]);
    int64_t at = find_key(d, key);
    bool found = at < d.count && (d.keys[at] == key || (key != key && d.keys[at] != d.keys[at]));
    y[i] = values[found ? at : d.count];
  }
}

template <class X> ON_GPU bool is_known(const cuda_categories &c, X x) {
  for (int64_t i = 0; i < c.count; ++i)
    if (trunc(static_cast<double>(x)) == c.at[i]) return true;
  return false;
}

template <class X> __global__ void __launch_bounds__(threads_per_block) one_hot_kernel(const X *x, int64_t count, cuda_categories c, float *y) {
  for (int64_t i = first_index(); i < count * c.count; i += index_step()) {
    int64_t element = i / c.count, category = i - element * c.count;
    y[i] = trunc(static_cast<double>(x[element])) == c.at[category];
    if (c.must_match && category == 0 && !is_known(c, x[element])) tell_fault(c.fault, GPU_FAULT_CATEGORY);
  }
}

template <class V>
__global__ void __launch_bounds__(threads_per_block) extract_kernel(const V *x, int64_t rows, int64_t columns, cuda_columns c, V *y) {
  for (int64_t i = first_index(); i < rows * c.count; i += index_step()) {
    int64_t row = i / c.count, column = c.index[i - row * c.count];
    if (column < 0 || column >= columns) {
      tell_fault(c.fault, GPU_FAULT_COLUMN);
      column = 0;
    }
    y[i] = x[row * columns + column];
  }
}

template <class X> int look_up(const void *x, int64_t count, const cuda_dictionary &d, void *y, void *stream) {
  return with_width(d.width, [&](auto *width) {
    using V = std::remove_pointer_t<decltype(width)>;
    if constexpr (sizeof(V) == 2 || sizeof(V) == 4 || sizeof(V) == 8) {
      look_up_kernel<<<blocks_for(count), threads_per_block, 0, as_stream(stream)>>>(static_cast<const X *>(x), count, d, static_cast<V *>(y));
      return static_cast<int>(cudaGetLastError());
    } else {
      return static_cast<int>(cudaErrorInvalidValue);
    }
  });
}

}  // namespace

int cuda_look_up(const void *x, dtype type, int64_t count, const cuda_dictionary *d, void *y, void *stream) {
  if (count == 0) return cudaSuccess;
  if (type == ORTC_INT16) return look_up<int16_t>(x, count, *d, y, stream);
  return with_features(type, [&](auto *of) { return look_up<std::remove_pointer_t<decltype(of)>>(x, count, *d, y, stream); });
}

int cuda_one_hot(const void *x, dtype type, int64_t count, const cuda_categories *c, float *y, void *stream) {
  if (count * c->count == 0) return cudaSuccess;
  return with_features(type, [&](auto *of) {
    using X = std::remove_pointer_t<decltype(of)>;
    one_hot_kernel<<<blocks_for(count * c->count), threads_per_block, 0, as_stream(stream)>>>(static_cast<const X *>(x), count, *c, y);
    return static_cast<int>(cudaGetLastError());
  });
}

int cuda_extract_columns(const void *x, int width, int64_t rows, int64_t columns, const cuda_columns *c, void *y, void *stream) {
  if (rows * c->count == 0) return cudaSuccess;
  return with_width(width, [&](auto *of) {
    using V = std::remove_pointer_t<decltype(of)>;
    if constexpr (sizeof(V) == 4 || sizeof(V) == 8) {
      extract_kernel<<<blocks_for(rows * c->count), threads_per_block, 0, as_stream(stream)>>>(static_cast<const V *>(x), rows, columns, *c,
                                                                                               static_cast<V *>(y));
      return static_cast<int>(cudaGetLastError());
    } else {
      return static_cast<int>(cudaErrorInvalidValue);
    }
  });
}
