/* What the elements that Pad adds are made of, once for every device: gcc and nvcc both take it. */
#ifndef ORTCORE_KERNELS_PAD_H
#define ORTCORE_KERNELS_PAD_H

#include <stdint.h>

typedef enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP } pad_mode;

#ifdef __CUDACC__
#define PAD_FUNCTION __host__ __device__ static inline
#else
#define PAD_FUNCTION static inline
#endif

/* An index outside [0, n) as one inside; -1: the constant. */
PAD_FUNCTION int64_t pad_source(pad_mode mode, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  if (mode == PAD_CONSTANT) return -1;
  if (mode == PAD_EDGE || n == 1) return i < 0 ? 0 : n - 1;
  int64_t period = mode == PAD_WRAP ? n : 2 * (n - 1);
  i %= period;
  i += i < 0 ? period : 0;
  return i < n ? i : period - i;
}

#endif
