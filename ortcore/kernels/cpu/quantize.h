/* Loops of QuantizeLinear and DequantizeLinear, in float: operands are x, scale and zero point (see kernels/cpu/broadcast.h). */
#ifndef ORTCORE_KERNELS_CPU_QUANTIZE_H
#define ORTCORE_KERNELS_CPU_QUANTIZE_H

#include <ortcore/kernels/cpu/convert.h>
#include <ortcore/kernels/cpu/elementwise.h>

/* y = clamp(round(x / scale) + zero, low, high), or without rounding and bounds (to small floats). The quotient is rounded to `precision`. */
typedef struct quantize_params {
  float low, high;
} quantize_params;

const elementwise *quantize_to_integer(dtype precision);
const elementwise *quantize_to_float(dtype precision);
extern const elementwise dequantize_kernel;                /* y = (x - zero) * scale */
/* From float to int8, uint8, int16 or uint16, for whole numbers in their range; NULL for other types. */
convert_fn quantize_store(dtype type);
/* y = round(a * a_scale + b * b_scale + offset), saturated: all of bytes. flip_*: 0x80 for int8, which is seen as uint8 by flipping its sign; the
 * offset takes that into account. */
typedef struct byte_sum {
  const uint8_t *a, *b;
  uint8_t *y;
  uint8_t flip_a, flip_b, flip_y;
  float a_scale, b_scale, offset;
} byte_sum;
void quantize_byte_sum(const byte_sum *s, int64_t begin, int64_t end);
/* Least and largest of n numbers and 0; NaN is passed over. */
void quantize_range(const float *x, int64_t n, float *out_low, float *out_high);

#endif
