/* DynamicQuantizeLinear on a GPU, for C. */
#ifndef ORTCORE_KERNELS_CUDA_QUANTIZE_H
#define ORTCORE_KERNELS_CUDA_QUANTIZE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_RANGE_BLOCKS = 256, CUDA_RANGE_BYTES = CUDA_RANGE_BLOCKS * 8 };   /* partial ranges: a least and a largest number each */

/* x to bytes by a scale and zero point that fit its range, which includes 0. NaN is passed over; `strict`: it makes the scale NaN, as infinities
 * do. Any of the outputs may be NULL. `scratch`: CUDA_RANGE_BYTES on the device. Returns a cudaError_t. */
int cuda_dynamic_quantize(const float *x, int64_t count, bool strict, uint8_t *y, float *scale, uint8_t *zero, void *scratch, void *stream);

#ifdef __cplusplus
}
#endif
#endif
