/* What DynamicQuantizeLinear and layers that quantise as they go share: a range of numbers, and bytes by the scale and zero point that fit it. */
#ifndef ORTCORE_KERNELS_CUDA_RANGE_CUH
#define ORTCORE_KERNELS_CUDA_RANGE_CUH

#include <ortcore/kernels/cuda/common.cuh>

namespace ortcore {

/* From the least to the largest number, and 0 always within. Ranges of what no byte can stand for begin at NaN. */
struct range { float low, high; };

/* `strict`: NaN and infinities spoil the range. Otherwise NaN is passed over. */
ON_GPU range range_of(float x, bool strict) {
  if (strict && x - x != 0.0f) return {x - x, 0.0f};
  return x == x ? range{x, x} : range{0.0f, 0.0f};
}

struct wider {
  ON_GPU range operator()(range a, range b) const { return {b.low < a.low || b.low != b.low ? b.low : a.low, b.high > a.high ? b.high : a.high}; }
};

struct byte_scale { float scale, zero; };

/* A spoilt range makes the scale NaN, and the zero point 0. */
ON_GPU byte_scale scale_of(range r) {
  float scale = (r.high - r.low) / 255.0f;
  if (scale == 0.0f) scale = 1.0f;                         /* all elements are zero */
  return {scale, fminf(fmaxf(rintf(-r.low / scale), 0.0f), 255.0f)};
}

/* NaN becomes the least value. */
ON_GPU int to_byte(float x, byte_scale by) {
  float v = rintf(x / by.scale) + by.zero;
  v = v > 0.0f ? v : 0.0f;
  return static_cast<int>(v < 255.0f ? v : 255.0f);
}

}  // namespace ortcore

#endif
