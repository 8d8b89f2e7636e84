/* Windows that slide over the spatial axes of images, for C: convolutions and pools. */
#ifndef ORTCORE_KERNELS_CUDA_WINDOW_H
#define ORTCORE_KERNELS_CUDA_WINDOW_H

#include <stdint.h>

enum { CUDA_SPATIAL = 3 };

/* Always three axes (depth, height, width); those that an image lacks have one element. A transposed window: the pads are taken off its output. */
typedef struct cuda_window {
  int32_t kernel[CUDA_SPATIAL], stride[CUDA_SPATIAL], dilation[CUDA_SPATIAL], begin[CUDA_SPATIAL], end[CUDA_SPATIAL];
  int32_t in[CUDA_SPATIAL], out[CUDA_SPATIAL];
} cuda_window;

/* Steps in elements from one image, channel, or place along an axis to the next. */
typedef struct cuda_image { int64_t image, channel, axis[CUDA_SPATIAL]; } cuda_image;

static inline int64_t cuda_window_taps(const cuda_window *w) { return (int64_t)w->kernel[0] * w->kernel[1] * w->kernel[2]; }
static inline int64_t cuda_window_positions(const cuda_window *w) { return (int64_t)w->out[0] * w->out[1] * w->out[2]; }

#endif
