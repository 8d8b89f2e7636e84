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
/* Least and largest of n numbers and 0; NaN is passed over. */
void quantize_range(const float *x, int64_t n, float *out_low, float *out_high);

#endif
