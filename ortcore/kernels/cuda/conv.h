/* Convolutions on a GPU, for C: y = activation(conv(x, w) + bias + residual), sliding or transposed, with one to three spatial axes.
 *
 * A convolution is a product of its weights with the image as the window sees it: rows are output channels, columns output positions, and the
 * summed dimension is input channel times tap. The image is never unfolded in memory. */
#ifndef ORTCORE_KERNELS_CUDA_CONV_H
#define ORTCORE_KERNELS_CUDA_CONV_H

#include "product.h"
#include "window.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cuda_conv_route {
  CUDA_CONV_MATRIX,                                         /* one tap and nothing skipped: the image is a matrix as it lies */
  CUDA_CONV_WINDOW,                                         /* the product reads the image through the window */
  CUDA_CONV_DIRECT                                          /* too few channels for a product: each thread sums its outputs tap by tap */
} cuda_conv_route;

typedef struct cuda_conv {
  dtype type;                                               /* f32 f16 bf16 f64 */
  bool transposed;                                          /* weights are [C in, C out of a group, taps], else [C out, C in of a group, taps] */
  int64_t images, groups, ins, outs;                        /* channels of one group */
  cuda_window window;
  cuda_image x, y;                                          /* an image's elements are below 2^31 */
  activation act;
  cuda_conv_route route;                                    /* by cuda_conv_plan, as is the product; its scratch_bytes are those of the convolution */
  cuda_product product;
} cuda_conv;

void cuda_conv_plan(cuda_conv *c, int processors);
/* a: weights, b: image, c: y; the bias has one element an output channel, the residual lies as y does. */
int cuda_conv_run(const cuda_conv *c, const cuda_operands *o, void *stream);
const char *cuda_conv_route_name(const cuda_conv *c);

#ifdef __cplusplus
}
#endif
#endif
