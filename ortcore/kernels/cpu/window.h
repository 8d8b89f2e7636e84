/* A window that slides over the spatial dims of an image: convolutions and pools. Always three spatial dims here (depth, height, width);
 * images with fewer have leading dims of 1. */
#ifndef ORTCORE_KERNELS_CPU_WINDOW_H
#define ORTCORE_KERNELS_CPU_WINDOW_H

#include <ortcore/value/tensor.h>

enum { SPATIAL = 3, TAPS_MAX = 1 << 24 };

typedef struct window {
  int rank;                                                 /* spatial dims that the operator really has: 1..3 */
  int64_t kernel[SPATIAL], stride[SPATIAL], dilation[SPATIAL], begin[SPATIAL], end[SPATIAL];
  int64_t in[SPATIAL], out[SPATIAL];
} window;

static inline int64_t window_taps(const window *w) { return w->kernel[0] * w->kernel[1] * w->kernel[2]; }
static inline int64_t window_in(const window *w) { return w->in[0] * w->in[1] * w->in[2]; }
static inline int64_t window_out(const window *w) { return w->out[0] * w->out[1] * w->out[2]; }

/* Element strides of an image [N, C, spatial...] in either order. */
typedef struct image_strides { int64_t batch, channel, spatial[SPATIAL]; } image_strides;
image_strides image_strides_of(layout order, int64_t channels, const int64_t spatial[SPATIAL]);

/* For one axis: the input index that tap `k` of output `o` reads, at table[k * out + o]; -1 where it falls outside. A transposed window
 * (ConvTranspose) has holes as well. `table` has kernel * out entries. */
void window_axis_table(const window *w, int axis, bool transposed, int32_t *table);

#endif
