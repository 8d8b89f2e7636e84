/* Convolutions whose groups have few channels (depthwise ones above all): a thread sums some neighbouring outputs tap by tap. */
#include "conv_image.cuh"
#include "conv_routes.cuh"

using namespace ortcore;

namespace {

struct direct_dims {
  int groups, ins, outs, positions, channel_step, axis_step[CUDA_SPATIAL];
  int64_t x_image, y_image, items;
  bool transposed;
  cuda_window window;
  window_places places;
  divisor strides[CUDA_SPATIAL];
};

/* Where the input lies that a tap of an output sees; -1 if there is none. */
ON_GPU int offset_of(const direct_dims &d, const int (&out)[CUDA_SPATIAL], const int (&tap)[CUDA_SPATIAL]) {
  const cuda_window &w = d.window;
  int offset = 0;
  bool inside = true;
#pragma unroll
  for (int axis = 0; axis < CUDA_SPATIAL; ++axis) {
    int input;
    if (d.transposed) {
      int place = out[axis] + w.begin[axis] - tap[axis] * w.dilation[axis];
      input = place < 0 ? -1 : static_cast<int>(d.strides[axis].quotient(place));
      inside = inside && input * w.stride[axis] == place;
    } else {
      input = out[axis] * w.stride[axis] - w.begin[axis] + tap[axis] * w.dilation[axis];
    }
    inside = inside && static_cast<unsigned>(input) < static_cast<unsigned>(w.in[axis]);
    offset += input * d.axis_step[axis];
  }
  return inside ? offset : -1;
}

/* One item is end_width neighbouring positions of one channel of one image. */
template <class T>
__global__ void __launch_bounds__(threads_per_block, 1)
    direct_kernel(const T *weights, const T *x, plain_end<T, computed_t<T>> end, direct_dims d) {
  using N = computed_t<T>;
  const int channels = d.groups * d.outs, taps = d.places.taps.d, pieces = (d.positions + end_width - 1) / end_width;
  const int input_step = d.transposed ? d.outs * taps : taps;
  for (int64_t item = first_index(); item < d.items; item += index_step()) {
    const int64_t row = item / pieces;
    const int first = static_cast<int>(item - row * pieces) * end_width, count = min(d.positions - first, end_width);
    const int image = static_cast<int>(row / channels), channel = static_cast<int>(row - static_cast<int64_t>(image) * channels);
    const int group = channel / d.outs, out = channel - group * d.outs;
    const T *plane = x + image * d.x_image + static_cast<int64_t>(group) * d.ins * d.channel_step;
    /* Of a group they are [C out, C in, taps], or [C in, C out, taps]. */
    const T *from =
        weights + static_cast<int64_t>(group) * d.outs * d.ins * taps + static_cast<int64_t>(out) * taps * (d.transposed ? 1 : d.ins);
    int at[end_width][CUDA_SPATIAL];
    N sums[end_width] = {};
#pragma unroll
    for (int j = 0; j < end_width; ++j) split(first + j, d.places.positions, d.places.out_plane, d.places.out_row, at[j]);
    for (int tap = 0; tap < taps; ++tap) {
      int k[CUDA_SPATIAL], offset[end_width];
      split(tap, d.places.taps, d.places.kernel_plane, d.places.kernel_row, k);
#pragma unroll
      for (int j = 0; j < end_width; ++j) offset[j] = j < count ? offset_of(d, at[j], k) : -1;
      for (int c = 0; c < d.ins; ++c) {
        N weight = load(from[c * input_step + tap]);
#pragma unroll
        for (int j = 0; j < end_width; ++j)
          if (offset[j] >= 0) sums[j] += weight * load(plane[static_cast<int64_t>(c) * d.channel_step + offset[j]]);
      }
    }
    plain_end<T, N> here = end;
    here.open({0, 0, image * d.y_image, 0});
    here.store(channel, first, sums, count);
  }
}

}  // namespace

int ortcore::conv_direct(const cuda_conv &c, const cuda_operands &o, void *stream) {
  direct_dims d = {};
  d.groups = static_cast<int>(c.groups), d.ins = static_cast<int>(c.ins), d.outs = static_cast<int>(c.outs);
  d.positions = static_cast<int>(c.product.n);
  d.channel_step = static_cast<int>(c.x.channel);
  d.x_image = c.x.image, d.y_image = c.y.image;
  d.items = c.images * c.groups * c.outs * tiles_of(d.positions, end_width);
  d.transposed = c.transposed;
  d.window = c.window;
  d.places = places_of(c.window);
  for (int a = 0; a < CUDA_SPATIAL; ++a) d.axis_step[a] = static_cast<int>(c.x.axis[a]), d.strides[a] = divide_by(c.window.stride[a]);
  return with_float(c.type, [&](auto *t) {
    using T = std::remove_pointer_t<decltype(t)>;
    auto end = end_of<T, computed_t<T>>(c.product, o);
    direct_kernel<T><<<blocks_for(d.items), threads_per_block, 0, as_stream(stream)>>>(static_cast<const T *>(o.a),
                                                                                       static_cast<const T *>(o.b), end, d);
    return static_cast<int>(cudaGetLastError());
  });
}
