/* An image seen through a window, as a side of a product: outer indices are output positions of all images, one after the other, inner ones
 * input channel times tap. */
#ifndef ORTCORE_KERNELS_CUDA_CONV_IMAGE_CUH
#define ORTCORE_KERNELS_CUDA_CONV_IMAGE_CUH

#include "conv.h"
#include "product_tiles.cuh"
#include "window.cuh"

namespace ortcore {

constexpr int nowhere = INT_MIN / 2;                       /* a coordinate that stays outside whatever tap is added */

template <class T, bool TRANSPOSED> struct image_source {
  using stored = T;
  using element = T;
  struct spot { int64_t base; int at[CUDA_SPATIAL]; };      /* of a window's first tap */
  struct entry { int offset, at[CUDA_SPATIAL]; };           /* of a tap in an input channel, relative to that; offset -1: none */
  static constexpr bool planned = true, vectors = false, along_inner = false;
  const T *data;
  int outers, inners, channel_step, axis_step[CUDA_SPATIAL];
  int64_t image_step;
  cuda_window window;
  window_places places;
  divisor strides[CUDA_SPATIAL];

  ON_GPU spot look(int outer) const {
    spot s;
    s.base = image_step * split(outer, places.positions, places.out_plane, places.out_row, s.at);
#pragma unroll
    for (int d = 0; d < CUDA_SPATIAL; ++d) {
      s.at[d] = TRANSPOSED ? s.at[d] + window.begin[d] : s.at[d] * window.stride[d] - window.begin[d];
      if (!TRANSPOSED) s.base += static_cast<int64_t>(s.at[d]) * axis_step[d];
    }
    if (outer >= outers) s.at[0] = nowhere;
    return s;
  }
  ON_GPU void plan(int inner, entry *out) const {
    entry e;
    e.offset = channel_step * split(inner, places.taps, places.kernel_plane, places.kernel_row, e.at);
#pragma unroll
    for (int d = 0; d < CUDA_SPATIAL; ++d) {
      e.at[d] *= TRANSPOSED ? -window.dilation[d] : window.dilation[d];
      if (!TRANSPOSED) e.offset += e.at[d] * axis_step[d];
    }
    if (inner >= inners) e.offset = -1;
    *out = e;
  }
  ON_GPU void move(const T *from, const spot &s, int, const entry *e, T *to) const {
    int64_t place = s.base + e->offset;
    bool inside = e->offset >= 0;
#pragma unroll
    for (int d = 0; d < CUDA_SPATIAL; ++d) {
      int at = s.at[d] + e->at[d];
      if (TRANSPOSED) {                                     /* only every stride-th place of the output stems from the tap */
        int input = at < 0 ? -1 : static_cast<int>(strides[d].quotient(at));
        inside = inside && input >= 0 && input < window.in[d] && input * window.stride[d] == at;
        place += static_cast<int64_t>(input) * axis_step[d];
      } else {
        inside = inside && static_cast<unsigned>(at) < static_cast<unsigned>(window.in[d]);
      }
    }
    move_element(to, inside ? from + place : from, inside);
  }
  ON_GPU void copy(const T *, int, int, void *) const {}
};

/* Weights of a transposed convolution, [C in, C out, taps], as the left side. */
template <class T> struct turned_weights_source {
  using stored = T;
  using element = T;
  using spot = int;
  struct entry { int offset; };
  static constexpr bool planned = true, vectors = false, along_inner = true;
  const T *data;
  int outers, inners, channel_step;
  divisor taps;

  ON_GPU spot look(int outer) const { return outer; }
  ON_GPU void plan(int inner, entry *out) const {
    int channel = taps.quotient(inner);
    out->offset = inner < inners ? channel * channel_step + inner - channel * static_cast<int>(taps.d) : -1;
  }
  ON_GPU void move(const T *from, spot outer, int, const entry *e, T *to) const {
    bool there = outer < outers && e->offset >= 0;
    move_element(to, there ? from + static_cast<int64_t>(outer) * taps.d + e->offset : from, there);
  }
  ON_GPU void copy(const T *, int, int, void *) const {}
};

template <class T, bool TRANSPOSED> image_source<T, TRANSPOSED> image_of(const cuda_conv &c, const void *x) {
  image_source<T, TRANSPOSED> s = {};
  s.data = static_cast<const T *>(x);
  s.outers = static_cast<int>(c.product.n), s.inners = static_cast<int>(c.product.k);
  s.channel_step = static_cast<int>(c.x.channel), s.image_step = c.x.image;
  s.window = c.window;
  s.places = places_of(c.window);
  for (int d = 0; d < CUDA_SPATIAL; ++d) s.axis_step[d] = static_cast<int>(c.x.axis[d]), s.strides[d] = divide_by(c.window.stride[d]);
  return s;
}

template <class T> turned_weights_source<T> turned_weights_of(const cuda_conv &c, const void *w) {
  divisor taps = places_of(c.window).taps;
  return {static_cast<const T *>(w), static_cast<int>(c.outs), static_cast<int>(c.product.k), static_cast<int>(c.outs * taps.d), taps};
}

}  // namespace ortcore

#endif
