#include "window.h"

image_strides image_strides_of(layout order, int64_t channels, const int64_t spatial[SPATIAL]) {
  int64_t plane = spatial[0] * spatial[1] * spatial[2], unit = order == LAYOUT_CHANNELS_LAST ? channels : 1;
  return (image_strides){.batch = channels * plane, .channel = order == LAYOUT_CHANNELS_LAST ? 1 : plane,
                         .spatial = {spatial[1] * spatial[2] * unit, spatial[2] * unit, unit}};
}

void window_axis_table(const window *w, int axis, bool transposed, int32_t *table) {
  int64_t in = w->in[axis], out = w->out[axis];
  for (int64_t k = 0; k < w->kernel[axis]; ++k)
    for (int64_t o = 0; o < out; ++o) {
      int64_t i;
      if (transposed) {
        int64_t place = o + w->begin[axis] - k * w->dilation[axis];
        i = place >= 0 && place % w->stride[axis] == 0 ? place / w->stride[axis] : -1;
      } else {
        i = o * w->stride[axis] - w->begin[axis] + k * w->dilation[axis];
      }
      table[k * out + o] = i >= 0 && i < in ? (int32_t)i : -1;
    }
}
