/* Winograd's F(4x4, 3x3): a 3x3 convolution of stride 1 with 36 products for each 4x4 outputs and pair of channels instead of 144. Images are
 * channels last, f32. Its rounding error is some 1e-5 of the largest output. */
#ifndef ORTCORE_KERNELS_CPU_WINOGRAD_H
#define ORTCORE_KERNELS_CPU_WINOGRAD_H

#include "activation.h"
#include "window.h"

enum { WINOGRAD_POINTS = 36, WINOGRAD_LANES = 16 };         /* channels are multiples of the lanes */

typedef struct winograd {
  const window *w;
  int64_t images, ins, outs;
  int64_t tiles;                                            /* of all images */
  const float *bias, *residual;                             /* NULL: none; the residual lies as the output */
  activation act;
} winograd;

bool winograd_fits(const window *w, int64_t groups, int64_t ins, int64_t outs);
int64_t winograd_tiles(const window *w, int64_t images);
/* Weights [outs, ins, 3, 3] -> [36, ins, outs]. */
void winograd_weights(const float *weights, int64_t ins, int64_t outs, float *out);
/* Tiles [first, first + count) of the images -> [36, chunk, ins], chunk >= count; and back from [36, chunk, outs]. */
void winograd_input(const winograd *g, const float *x, int64_t first, int64_t count, int64_t chunk, float *out, int threads);
void winograd_output(const winograd *g, const float *products, int64_t first, int64_t count, int64_t chunk, float *y, int threads);

#endif
