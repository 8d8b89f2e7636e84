/* Pools: a thread for each output under a sliding window; some threads for each plane of a global pool. NaN wins a maximum. */
#include "pool.h"

#include "block.cuh"
#include "window.cuh"

using namespace ortcore;

namespace {

/* What a pool computes in; integers only have maxima. */
template <class T> struct pooled {
  using type = computed_t<T>;
  static ON_GPU type number(T x) { return load(x); }
  static ON_GPU T stored(type x) { return store<T>(x); }
};
template <> struct pooled<int8_t> {
  using type = float;
  static ON_GPU float number(int8_t x) { return x; }
  static ON_GPU int8_t stored(float x) { return static_cast<int8_t>(x); }
};
template <> struct pooled<uint8_t> {
  using type = float;
  static ON_GPU float number(uint8_t x) { return x; }
  static ON_GPU uint8_t stored(float x) { return static_cast<uint8_t>(x); }
};

struct pool_dims {
  cuda_pool_op op;
  cuda_window window;
  window_places places;
  int64_t count, plane;                                     /* outputs of all planes; elements of one plane */
  bool pads_count, column_major;
  float p, lowest;                                          /* lowest: of a maximum over nothing */
};

template <class N> ON_GPU N maximum(N a, N b) { return b > a || b != b ? b : a; }
template <class N> ON_GPU N power(N x, float p) { return p == 2 ? x * x : p == 1 ? fabs(x) : pow(fabs(x), static_cast<N>(p)); }

/* Adds one element to what was found before. */
template <class N> ON_GPU N joined(cuda_pool_op op, float p, N sum, N x) {
  if (op == CUDA_POOL_MAX) return maximum(sum, x);
  return sum + (op == CUDA_POOL_LP ? power(x, p) : x);
}
template <class N> ON_GPU N finished(cuda_pool_op op, float p, N sum, int64_t count) {
  if (op == CUDA_POOL_AVERAGE) return count ? sum / static_cast<N>(count) : 0;
  if (op == CUDA_POOL_LP && p != 1) return pow(sum, 1 / static_cast<N>(p));
  return sum;
}

/* Taps that an average counts along an axis: those inside the input, or inside the input and its pads. */
ON_GPU int counted(const pool_dims &d, int axis, int first) {
  const cuda_window &w = d.window;
  int low = d.pads_count ? -w.begin[axis] : 0, high = w.in[axis] + (d.pads_count ? w.end[axis] : 0), count = 0;
  for (int k = 0; k < w.kernel[axis]; ++k) count += first + k * w.dilation[axis] >= low && first + k * w.dilation[axis] < high;
  return count;
}

template <class T> __global__ void __launch_bounds__(threads_per_block, 1) window_kernel(const T *x, T *y, int64_t *indices, pool_dims d) {
  using N = typename pooled<T>::type;
  const cuda_window &w = d.window;
  for (int64_t item = first_index(); item < d.count; item += index_step()) {
    const int64_t plane = item / d.places.positions.d;
    int first[CUDA_SPATIAL];
    split(static_cast<uint32_t>(item - plane * d.places.positions.d), d.places.positions, d.places.out_plane, d.places.out_row, first);
    int64_t taps = 1, place = 0;
#pragma unroll
    for (int axis = 0; axis < CUDA_SPATIAL; ++axis) first[axis] = first[axis] * w.stride[axis] - w.begin[axis];
    N sum = d.op == CUDA_POOL_MAX ? static_cast<N>(d.lowest) : N(0);
    bool found = false;
    const T *from = x + plane * d.plane;
    for (int kd = 0; kd < w.kernel[0]; ++kd) {
      int at_d = first[0] + kd * w.dilation[0];
      if (static_cast<unsigned>(at_d) >= static_cast<unsigned>(w.in[0])) continue;
      for (int kh = 0; kh < w.kernel[1]; ++kh) {
        int at_h = first[1] + kh * w.dilation[1];
        if (static_cast<unsigned>(at_h) >= static_cast<unsigned>(w.in[1])) continue;
        int line = (at_d * w.in[1] + at_h) * w.in[2];
        for (int kw = 0; kw < w.kernel[2]; ++kw) {
          int at_w = first[2] + kw * w.dilation[2];
          if (static_cast<unsigned>(at_w) >= static_cast<unsigned>(w.in[2])) continue;
          N value = pooled<T>::number(from[line + at_w]);
          if (indices && (!found || value > sum || (value != value && sum == sum)))
            place = d.column_major ? at_d + (at_h + static_cast<int64_t>(at_w) * w.in[1]) * w.in[0] : line + at_w;
          found = true;
          sum = joined(d.op, d.p, sum, value);
        }
      }
    }
    if (d.op == CUDA_POOL_AVERAGE)
      for (int axis = 0; axis < CUDA_SPATIAL; ++axis) taps *= counted(d, axis, first[axis]);
    y[item] = pooled<T>::stored(finished(d.op, d.p, sum, taps));
    if (indices) indices[item] = plane * d.plane + place;
  }
}

/* blockDim.x threads for a plane, blockDim.y planes in a block. */
template <class T>
__global__ void __launch_bounds__(threads_per_block, 1)
    global_kernel(const T *x, T *y, int64_t planes, int64_t positions, cuda_pool_op op, float p) {
  using N = typename pooled<T>::type;
  __shared__ N parts[most_warps];
  const int64_t turns = (planes + blockDim.y - 1) / blockDim.y;
  for (int64_t turn = blockIdx.x; turn < turns; turn += gridDim.x) {
    const int64_t plane = turn * blockDim.y + threadIdx.y;
    const N neutral = op == CUDA_POOL_MAX ? static_cast<N>(-INFINITY) : N(0);
    N sum = neutral;
    if (plane < planes)
      for (int64_t i = threadIdx.x; i < positions; i += blockDim.x) sum = joined(op, p, sum, pooled<T>::number(x[plane * positions + i]));
    sum = row_reduce(sum, parts, [=](N a, N b) { return op == CUDA_POOL_MAX ? maximum(a, b) : a + b; });
    if (plane < planes && threadIdx.x == 0) y[plane] = pooled<T>::stored(finished(op, p, sum, positions));
  }
}

template <class F> int with_pooled(dtype type, F f) {
  if (type == ORTC_INT8) return f(static_cast<int8_t *>(nullptr));
  if (type == ORTC_UINT8) return f(static_cast<uint8_t *>(nullptr));
  return with_float(type, f);
}

float lowest_of(dtype type) { return type == ORTC_INT8 ? -128.0f : type == ORTC_UINT8 ? 0.0f : -INFINITY; }

}  // namespace

int cuda_pool_run(const cuda_pool *p, const void *x, void *y, int64_t *indices, void *stream) {
  const cuda_window &w = p->window;
  int64_t positions = cuda_window_positions(&w);
  if (positions == 0 || p->planes == 0) return cudaSuccess;
  pool_dims d = {
      p->op,           w,    places_of(w),      p->planes * positions, static_cast<int64_t>(w.in[0]) * w.in[1] * w.in[2], p->pads_count,
      p->column_major, p->p, lowest_of(p->type)};
  return with_pooled(p->type, [&](auto *t) {
    using T = std::remove_pointer_t<decltype(t)>;
    window_kernel<T>
        <<<blocks_for(d.count), threads_per_block, 0, as_stream(stream)>>>(static_cast<const T *>(x), static_cast<T *>(y), indices, d);
    return static_cast<int>(cudaGetLastError());
  });
}

int cuda_pool_global(const cuda_pool *p, int64_t positions, const void *x, void *y, void *stream) {
  if (p->planes == 0) return cudaSuccess;
  return with_float(p->type, [&](auto *t) {
    using T = std::remove_pointer_t<decltype(t)>;
    dim3 block = block_for_rows(threads_for_row(positions, 4, threads_per_block));
    int64_t turns = (p->planes + block.y - 1) / block.y;
    global_kernel<T><<<static_cast<unsigned>(turns < most_blocks ? turns : most_blocks), block, 0, as_stream(stream)>>>(
        static_cast<const T *>(x), static_cast<T *>(y), p->planes, positions, p->op, p->p);
    return static_cast<int>(cudaGetLastError());
  });
}
