/* Convolutions as matrix products: rows are output channels, columns output positions, and the summed dimension is input channel times tap.
 * The image is never unfolded in memory: a side of the product reads it through the window as panels are packed. */
#ifndef ORTCORE_KERNELS_CPU_CONV_H
#define ORTCORE_KERNELS_CPU_CONV_H

#include "gemm.h"
#include "window.h"

/* The image side. A batch of the product is image times groups, group fastest. */
typedef struct conv_image {
  gemm_side side;
  const void *data;
  image_strides strides;
  const window *w;
  const int32_t *tables[SPATIAL];                           /* window_axis_table of each axis */
  int64_t channels;                                         /* of one group */
  int64_t groups;
  bool unit_step;                                           /* neighbours of an output row are neighbours in memory */
  int32_t zero_point;                                       /* subtracted from integers; padding is exactly zero */
} conv_image;

/* False if there is no arithmetic for the type. */
bool conv_image_init(conv_image *image, dtype type);

/* One input channel a group, f32: too few sums for a matrix product, so each output row is summed tap by tap. weights: [channels out, taps].
 * `sink` is given rows as the product would give them: batch image times groups, row within the group, column position. */
void conv_depthwise_f32(const conv_image *image, int64_t images, int64_t outs_per_group, const float *weights, const gemm_sink *sink, int threads);

/* ConvTranspose's weights [C in, C out of a group, taps] -> [group, C out of a group, C in of a group, taps], by element width. */
void conv_transposed_weights(const void *in, void *out, int width, int64_t groups, int64_t ins, int64_t outs, int64_t taps);

#endif
