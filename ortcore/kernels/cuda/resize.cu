/* Resizing: a small kernel makes each resized axis' table of taps, which elements of the input each of its elements comes from and what they
 * weigh; then every element of the output is made at once from its taps along all axes. */
#include <string.h>
#include <type_traits>

#include "elements.cuh"
#include "resize.h"

using namespace ortcore;

namespace {

/* Kernels are made for two axes, images, and for as many as there may be; axes that are missing have one element. */
constexpr int kImageAxes = 2;
constexpr int64_t kMostElements = INT32_MAX;               /* of a launch, whose indices have 32 bits */

/* The taps of one axis: [taps][out] in device memory. */
template <class W> struct taps_table {
  int taps, out, step;                                     /* step: between elements of the input along this axis */
  int32_t *index;
  W *weight;
  bool *outside;
};

/* ---- Tables --------------------------------------------------------------------------------------------------------------------------- */

template <class W> struct all_tables { resize_axis axis[CUDA_RESIZE_AXES]; taps_table<W> table[CUDA_RESIZE_AXES]; };

/* Weights are computed in double, as on the CPU: cubic filters cancel. */
template <class W> ON_GPU void fill_taps(const resize_how &how, const resize_axis &a, const taps_table<W> &t, int j, float place) {
  float x = resize_filter_place(&how, &a, place);
  int64_t first = resize_first_tap(x, t.taps);
  double sum = 0;
  for (int i = 0; i < t.taps; ++i) sum += resize_weight(&how, &a, x, first + i);
  for (int i = 0; i < t.taps; ++i) {
    double w = resize_weight(&how, &a, x, first + i);
    t.index[i * t.out + j] = static_cast<int32_t>(resize_tap_index(&a, first + i));
    t.weight[i * t.out + j] = static_cast<W>(sum != 0 ? w / sum : w);
  }
}

template <class W> __global__ void __launch_bounds__(threads_per_block, 1) tables_kernel(resize_how how, all_tables<W> all) {
  resize_axis a = all.axis[blockIdx.y];
  taps_table<W> t = all.table[blockIdx.y];
  for (int j = static_cast<int>(first_index()); j < t.out; j += static_cast<int>(index_step())) {
    float x = resize_place(&how, &a, j);
    if (resize_is_identity(&how, &a)) {
      t.index[j] = j;
      t.weight[j] = 1;
    } else if (how.filter == RESIZE_NEAREST) {
      t.index[j] = static_cast<int32_t>(resize_nearest_index(&how, &a, x));
    } else {
      fill_taps(how, a, t, j, x);
    }
    t.outside[j] = resize_is_outside(&how, &a, x);
  }
}

/* ---- Elements ------------------------------------------------------------------------------------------------------------------------- */

/* What both kernels know of an output: sizes of what lies between axes, and steps of the input along it. */
template <int AXES, class W> struct layout {
  uint32_t count;
  int inner[AXES + 1], inner_step[AXES + 1];
  taps_table<W> table[AXES];
  bool crop;                                               /* places may lie outside */
  bytes16 fill;
};

/* Where an element of the output is along each axis, the offset of what lies between them, and whether its place is outside. */
template <int AXES, class W> ON_GPU int place_of(const layout<AXES, W> &l, uint32_t i, int (&at)[AXES], bool *outside) {
  int offset = 0;
  *outside = false;
#pragma unroll
  for (int d = AXES; d >= 0; --d) {
    if (l.inner[d] > 1) {
      offset += static_cast<int>(i % l.inner[d]) * l.inner_step[d];
      i /= l.inner[d];
    }
    if (d == 0) continue;
    at[d - 1] = static_cast<int>(i % l.table[d - 1].out);
    i /= l.table[d - 1].out;
    if (l.crop) *outside |= l.table[d - 1].outside[at[d - 1]];
  }
  return offset;
}

template <class T> ON_GPU T fill_of(bytes16 fill) {
  T value;
  memcpy(&value, &fill, sizeof value);
  return value;
}

template <int AXES, class U> __global__ void __launch_bounds__(threads_per_block) nearest_kernel(layout<AXES, float> l, const U *x, U *y) {
  for (uint32_t i = static_cast<uint32_t>(first_index()); i < l.count; i += static_cast<uint32_t>(index_step())) {
    int at[AXES];
    bool outside;
    int64_t from = place_of(l, i, at, &outside);
#pragma unroll
    for (int d = 0; d < AXES; ++d) from += static_cast<int64_t>(l.table[d].index[at[d]]) * l.table[d].step;
    y[i] = outside ? fill_of<U>(l.fill) : x[from];
  }
}

/* The weighted sum over the taps of axis D and of those after it. */
template <int D, int AXES, class T, class W> ON_GPU W sum_of(const layout<AXES, W> &l, const T *x, const int (&at)[AXES]) {
  if constexpr (D == AXES) {
    return element_get<W>(*x);
  } else {
    const taps_table<W> &t = l.table[D];
    W sum = 0;
    for (int tap = 0; tap < t.taps; ++tap) {
      int64_t place = static_cast<int64_t>(tap) * t.out + at[D];
      sum += t.weight[place] * sum_of<D + 1>(l, x + static_cast<int64_t>(t.index[place]) * t.step, at);
    }
    return sum;
  }
}

/* 8-bit integers are cut off, but rounded where a filter has weighed many; the ends of the type hold what cubic filters overshoot. */
template <class T, class W> ON_GPU T finished(W x, bool rounded) {
  if constexpr (sizeof(T) == 1) {
    constexpr float low = std::is_signed_v<T> ? -128 : 0, high = std::is_signed_v<T> ? 127 : 255;
    x = rounded ? rintf(x) : x;
    x = x < low ? low : x > high ? high : x;
  }
  return element_of<T>(x);
}

template <int AXES, class T, class W>
__global__ void __launch_bounds__(threads_per_block, 1) weighing_kernel(layout<AXES, W> l, const T *x, T *y, bool rounded) {
  for (uint32_t i = static_cast<uint32_t>(first_index()); i < l.count; i += static_cast<uint32_t>(index_step())) {
    int at[AXES];
    bool outside;
    int offset = place_of(l, i, at, &outside);
    y[i] = outside ? fill_of<T>(l.fill) : finished<T>(sum_of<0>(l, x + offset, at), rounded);
  }
}

/* ---- Launches ------------------------------------------------------------------------------------------------------------------------- */

int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* The tables' places in scratch memory. With `base` NULL it only counts. */
template <class W> size_t place_tables(const cuda_resize &r, char *base, all_tables<W> *all) {
  size_t bytes = 0;
  auto take = [&](int64_t count, size_t width) {
    char *part = base + bytes;
    bytes += (static_cast<size_t>(count) * width + 255) / 256 * 256;
    return part;
  };
  for (int d = 0; d < CUDA_RESIZE_AXES; ++d) {
    resize_axis a = d < r.axes ? r.axis[d] : resize_axis{1, 1, 1, 0, 1};
    taps_table<W> t = {};
    t.taps = resize_is_identity(&r.how, &a) ? 1 : resize_tap_count(&r.how, &a);
    t.out = static_cast<int>(a.out);
    t.index = reinterpret_cast<int32_t *>(take(t.taps * a.out, sizeof(int32_t)));
    t.weight = reinterpret_cast<W *>(take(t.taps * a.out, sizeof(W)));
    t.outside = reinterpret_cast<bool *>(take(a.out, sizeof(bool)));
    if (all) all->axis[d] = a, all->table[d] = t;
  }
  return bytes;
}

template <int AXES, class W> layout<AXES, W> layout_of(const cuda_resize &r, const all_tables<W> &all) {
  layout<AXES, W> l = {};
  int64_t step = 1;
  for (int d = AXES; d >= 0; --d) {
    l.inner[d] = d <= r.axes ? static_cast<int>(d == 0 ? 1 : r.inner[d]) : 1;
    l.inner_step[d] = static_cast<int>(step);
    step *= l.inner[d];
    if (d == 0) continue;
    l.table[d - 1] = all.table[d - 1];
    l.table[d - 1].step = static_cast<int>(step);
    step *= all.axis[d - 1].in;
  }
  l.crop = r.how.coordinates == RESIZE_TF_CROP;
  memcpy(&l.fill, r.fill, sizeof l.fill);
  return l;
}

/* launch(layout, first image, images): as many of the outermost images at once as 32 bits can count. */
template <int AXES, class W, class LAUNCH> cudaError_t in_parts(const cuda_resize &r, const all_tables<W> &all, LAUNCH launch) {
  layout<AXES, W> l = layout_of<AXES>(r, all);
  int64_t in = 1, out = 1;
  for (int d = 0; d < r.axes; ++d) {
    in *= r.axis[d].in * r.inner[d + 1];
    out *= r.axis[d].out * r.inner[d + 1];
  }
  int64_t together = kMostElements / most(in, out);
  if (together == 0) return cudaErrorInvalidValue;
  for (int64_t first = 0; first < r.inner[0]; first += together) {
    int64_t images = r.inner[0] - first < together ? r.inner[0] - first : together;
    l.inner[0] = static_cast<int>(images);
    l.inner_step[0] = static_cast<int>(in);
    l.count = static_cast<uint32_t>(images * out);
    launch(l, first * in, first * out);
    cudaError_t error = cudaGetLastError();
    if (error) return error;
  }
  return cudaSuccess;
}

template <class W> cudaError_t make_tables(const cuda_resize &r, void *scratch, cudaStream_t stream, all_tables<W> *all) {
  place_tables(r, static_cast<char *>(scratch), all);
  int64_t longest = 1;
  for (int d = 0; d < r.axes; ++d) longest = most(longest, r.axis[d].out);
  int axes = r.axes <= kImageAxes ? kImageAxes : CUDA_RESIZE_AXES;
  tables_kernel<<<dim3(blocks_for(longest), axes), threads_per_block, 0, stream>>>(r.how, *all);
  return cudaGetLastError();
}

template <int AXES, class T, class W> cudaError_t weigh(const cuda_resize &r, const all_tables<W> &all, const void *x, void *y, cudaStream_t stream) {
  return in_parts<AXES>(r, all, [&](const layout<AXES, W> &l, int64_t in, int64_t out) {
    const T *from = static_cast<const T *>(x) + in;
    weighing_kernel<AXES><<<blocks_for(l.count), threads_per_block, 0, stream>>>(l, from, static_cast<T *>(y) + out, r.how.antialias);
  });
}

template <int AXES, class U> cudaError_t pick(const cuda_resize &r, const all_tables<float> &all, const void *x, void *y, cudaStream_t stream) {
  return in_parts<AXES>(r, all, [&](const layout<AXES, float> &l, int64_t in, int64_t out) {
    nearest_kernel<AXES><<<blocks_for(l.count), threads_per_block, 0, stream>>>(l, static_cast<const U *>(x) + in, static_cast<U *>(y) + out);
  });
}

/* What elements of type T are weighed in. */
template <class T> using weight_t = std::conditional_t<std::is_same_v<T, double> || (std::is_integral_v<T> && sizeof(T) >= 4), double, float>;

template <class F> int with_weighable(dtype type, F f) {
  switch (type) {
    case ORTC_UINT8: return f(static_cast<uint8_t *>(nullptr));
    case ORTC_INT8: return f(static_cast<int8_t *>(nullptr));
    case ORTC_INT32: return f(static_cast<int32_t *>(nullptr));
    default: return with_float(type, f);
  }
}

}  // namespace

bool cuda_resize_interpolates(dtype type) { return typeset_has(TS_FLOAT | TS(UINT8) | TS(INT8) | TS(INT32), type); }

bool cuda_resize_scratch_bytes(const cuda_resize *r, size_t *out_bytes) {
  for (int d = 0; d < r->axes; ++d)
    if (r->axis[d].in > kMostElements || resize_tap_count(&r->how, &r->axis[d]) * r->axis[d].out > kMostElements) return false;
  *out_bytes = place_tables<double>(*r, nullptr, nullptr);
  return true;
}

int cuda_resize_run(const cuda_resize *r, const void *x, void *y, void *scratch, void *stream) {
  cudaStream_t on = as_stream(stream);
  bool image = r->axes <= kImageAxes;
  if (r->how.filter == RESIZE_NEAREST) {
    all_tables<float> all;
    cudaError_t error = make_tables(*r, scratch, on, &all);
    if (error) return error;
    return with_width(r->width, [&](auto *type) {
      using U = std::remove_pointer_t<decltype(type)>;
      return image ? pick<kImageAxes, U>(*r, all, x, y, on) : pick<CUDA_RESIZE_AXES, U>(*r, all, x, y, on);
    });
  }
  return with_weighable(r->type, [&](auto *type) -> int {
    using T = std::remove_pointer_t<decltype(type)>;
    using W = weight_t<T>;
    all_tables<W> all;
    cudaError_t error = make_tables(*r, scratch, on, &all);
    if (error) return error;
    return image ? weigh<kImageAxes, T>(*r, all, x, y, on) : weigh<CUDA_RESIZE_AXES, T>(*r, all, x, y, on);
  });
}
