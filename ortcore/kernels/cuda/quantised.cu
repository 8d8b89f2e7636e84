/* Products and convolutions of 8-bit integers. */
#include "quantised.h"

#include "product_simt.cuh"
#include "window.cuh"

using namespace ortcore;

namespace {

ON_GPU int byte_of(const uint8_t *data, int64_t at, bool is_signed) { return is_signed ? static_cast<int8_t>(data[at]) : data[at]; }

ON_GPU int zero_of(const cuda_cycle &c, int index) {
  return c.data ? byte_of(static_cast<const uint8_t *>(c.data), index % c.period, c.type == ORTC_INT8) : 0;
}
ON_GPU float number_of(const cuda_cycle &c, int index, float otherwise) {
  if (!c.data) return otherwise;
  index %= c.period;
  if (c.type == ORTC_FLOAT) return static_cast<const float *>(c.data)[index];
  return c.type == ORTC_FLOAT16 ? load(static_cast<const __half *>(c.data)[index])
                                : load(static_cast<const __nv_bfloat16 *>(c.data)[index]);
}

/* A matrix of bytes, less its zero points. */
struct bytes_source {
  using stored = uint8_t;
  using element = int;
  struct spot { int outer, zero; };
  using entry = no_entry;
  static constexpr bool planned = false, vectors = false;
  const uint8_t *data;
  int outers, inners, outer_stride, inner_stride;
  bool is_signed, along_inner;
  cuda_cycle zeros;

  ON_GPU spot look(int outer) const { return {outer, zero_of(zeros, outer)}; }
  ON_GPU void move(const uint8_t *from, const spot &s, int inner, const entry *, int *to) const {
    int64_t at = static_cast<int64_t>(s.outer) * outer_stride + static_cast<int64_t>(inner) * inner_stride;
    *to = s.outer < outers && inner < inners ? byte_of(from, at, is_signed) - s.zero : 0;
  }
  ON_GPU void copy(const uint8_t *, int, int, void *) const {}
};

/* The end of a quantised sum. */
struct quantised_end {
  using sum = int;
  cuda_quantised_end how;
  int64_t row_step, column_step, offset;
  int *partial;                                             /* sums are never split */

  ON_GPU void open(const batch_place &at) { offset = at.c; }
  ON_GPU void store(int row, int column, const int *x, int count) const {
    for (int i = 0; i < count; ++i) put(row, column + i, x[i]);
  }

private:
  ON_GPU void put(int row, int column, int x) const {
    int64_t at = offset + row * row_step + column * column_step;
    if (how.row_bias) x = static_cast<int>(static_cast<uint32_t>(x) + static_cast<uint32_t>(how.row_bias[row]));
    if (how.type == ORTC_INT32) {
      static_cast<int *>(how.out)[at] = x;
      return;
    }
    float y =
        static_cast<float>(x) * (number_of(how.row_scale, row, 1) * number_of(how.column_scale, column, 1) / number_of(how.y_scale, 0, 1));
    y += number_of(how.column_bias, column, 0);
    switch (how.type) {
      case ORTC_FLOAT: static_cast<float *>(how.out)[at] = y; break;
      case ORTC_FLOAT16: static_cast<__half *>(how.out)[at] = ortcore::store<__half>(y); break;
      case ORTC_BFLOAT16: static_cast<__nv_bfloat16 *>(how.out)[at] = ortcore::store<__nv_bfloat16>(y); break;
      default: {
        int zero = zero_of(how.y_zero_point, 0);
        float low = static_cast<float>((how.type == ORTC_INT8 ? -128 : 0) - zero),
              high = static_cast<float>((how.type == ORTC_INT8 ? 127 : 255) - zero);
        y = y > low ? y : low;
        static_cast<uint8_t *>(how.out)[at] = static_cast<uint8_t>(__float2int_rn(y < high ? y : high) + zero);
      }
    }
  }
};

bytes_source bytes_of(const void *data, dtype type, int64_t outers, int64_t inners, int64_t outer, int64_t inner, cuda_cycle zeros) {
  return {static_cast<const uint8_t *>(data),
          static_cast<int>(outers),
          static_cast<int>(inners),
          static_cast<int>(outer),
          static_cast<int>(inner),
          type == ORTC_INT8,
          inner == 1,
          zeros};
}

struct conv_dims {
  int channels, outs, ins, positions, taps, channel_step, axis_step[CUDA_SPATIAL];
  int64_t x_image, y_image, count;
  cuda_window window;
  window_places places;
  bool w_signed, x_signed;
  cuda_cycle w_zeros, x_zero;
};

/* A thread an output. */
__global__ void __launch_bounds__(threads_per_block, 1)
    conv_kernel(const uint8_t *weights, const uint8_t *x, quantised_end end, const conv_dims d) {
  const cuda_window &w = d.window;
  const int x_zero = zero_of(d.x_zero, 0);
  for (int64_t item = first_index(); item < d.count; item += index_step()) {
    const int64_t row = item / d.positions, image = row / d.channels;
    const int position = static_cast<int>(item - row * d.positions), channel = static_cast<int>(row - image * d.channels),
              w_zero = zero_of(d.w_zeros, channel);
    const uint8_t *from = weights + static_cast<int64_t>(channel) * d.ins * d.taps;
    const uint8_t *plane = x + image * d.x_image + static_cast<int64_t>(channel / d.outs) * d.ins * d.channel_step;
    int out[CUDA_SPATIAL], sum = 0;
    split(position, d.places.positions, d.places.out_plane, d.places.out_row, out);
    for (int tap = 0; tap < d.taps; ++tap) {
      int k[CUDA_SPATIAL], offset = 0;
      bool inside = true;
      split(tap, d.places.taps, d.places.kernel_plane, d.places.kernel_row, k);
#pragma unroll
      for (int axis = 0; axis < CUDA_SPATIAL; ++axis) {
        int input = out[axis] * w.stride[axis] - w.begin[axis] + k[axis] * w.dilation[axis];
        inside = inside && static_cast<unsigned>(input) < static_cast<unsigned>(w.in[axis]);
        offset += input * d.axis_step[axis];
      }
      if (!inside) continue;                                /* pads are exactly zero */
      for (int c = 0; c < d.ins; ++c)
        sum += (byte_of(from, c * d.taps + tap, d.w_signed) - w_zero) *
               (byte_of(plane, static_cast<int64_t>(c) * d.channel_step + offset, d.x_signed) - x_zero);
    }
    quantised_end here = end;
    here.open({0, 0, image * d.y_image, 0});
    here.store(channel, position, &sum, 1);
  }
}

}  // namespace

int cuda_quantised_product(const cuda_product *p, const void *a, dtype a_type, cuda_cycle a_zero_point, const void *b, dtype b_type,
                           cuda_cycle b_zero_point, const cuda_quantised_end *end, void *stream) {
  if (p->m == 0 || p->n == 0 || p->batch.count == 0) return cudaSuccess;
  cuda_product whole = *p;
  whole.splits = 1;
  quantised_end e = {*end, p->c_row, p->c_column, 0, nullptr};
  dim3 grid;
  product_dims d = dims_of<simt_64<int>>(whole, &grid);
  product_kernel<simt_64<int>, bytes_source, bytes_source, quantised_end>
      <<<grid, simt_64<int>::threads, 0, as_stream(stream)>>>(bytes_of(a, a_type, p->m, p->k, p->a_row, p->a_inner, a_zero_point),
                                                              bytes_of(b, b_type, p->n, p->k, p->b_column, p->b_inner, b_zero_point), e, d);
  return cudaGetLastError();
}

int cuda_quantised_conv(const cuda_conv *c, const void *w, dtype w_type, cuda_cycle w_zero_point, const void *x, dtype x_type,
                        cuda_cycle x_zero_point, const cuda_quantised_end *end, void *stream) {
  int64_t positions = cuda_window_positions(&c->window), channels = c->groups * c->outs;
  if (c->images * channels * positions == 0) return cudaSuccess;
  conv_dims d = {};
  d.channels = static_cast<int>(channels), d.outs = static_cast<int>(c->outs), d.ins = static_cast<int>(c->ins),
  d.positions = static_cast<int>(positions);
  d.taps = static_cast<int>(cuda_window_taps(&c->window)), d.channel_step = static_cast<int>(c->x.channel);
  for (int axis = 0; axis < CUDA_SPATIAL; ++axis) d.axis_step[axis] = static_cast<int>(c->x.axis[axis]);
  d.x_image = c->x.image, d.y_image = c->y.image;
  d.count = c->images * channels * positions;
  d.window = c->window, d.places = places_of(c->window);
  d.w_signed = w_type == ORTC_INT8, d.x_signed = x_type == ORTC_INT8;
  d.w_zeros = w_zero_point, d.x_zero = x_zero_point;
  quantised_end e = {*end, c->y.channel, c->y.axis[2], 0, nullptr};
  conv_kernel<<<blocks_for(d.count), threads_per_block, 0, as_stream(stream)>>>(static_cast<const uint8_t *>(w),
                                                                                static_cast<const uint8_t *>(x), e, d);
  return cudaGetLastError();
}
