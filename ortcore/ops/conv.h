/* What the convolutions share: geometry read once, tables for each set of dims. */
#ifndef ORTCORE_OPS_CONV_H
#define ORTCORE_OPS_CONV_H

#include "window_read.h"
#include <ortcore/kernels/cpu/conv.h>

typedef struct conv_attrs {
  window_attrs window;
  int64_t group;
  bool transposed;
  int64_t output_padding[SPATIAL], output_shape[SPATIAL];   /* transposed only; output_shape 0: not given */
} conv_attrs;

/* One convolution in numbers. */
typedef struct conv_shape {
  window w;
  int64_t images, groups, ins, outs;                        /* channels of one group */
  int64_t out_dims[2 + SPATIAL];
  int32_t *tables[SPATIAL];                                 /* this and the next by conv_shape_init */
  int64_t *weight_offsets;                                  /* one a batch of the product; NULL if there is one group */
  bool pointwise;                                           /* a plain matrix product: one tap, no stride, no pads */
} conv_shape;

/* `x` and `weights` are facts of the image and of the weights. Only conv_infer_shape takes and gives images as the node has them; all else here
 * expects [N, C, spatial...], see image_tensor. */
status conv_attrs_read(const node *n, const fact *x, const fact *weights, bool transposed, conv_attrs *out) MUST_CHECK;
status conv_infer_shape(const node *n, const fact *x, const fact *weights, bool transposed, fact *out) MUST_CHECK;
status conv_shape_read(conv_shape *s, const node *n, const tensor *x, const tensor *weights, bool transposed) MUST_CHECK;   /* without tables */
status conv_shape_init(conv_shape *s, const node *n, const tensor *x, const tensor *weights, bool transposed) MUST_CHECK;
void conv_shape_deinit(conv_shape *s);
status conv_check_bias(const tensor *bias, const conv_shape *s) MUST_CHECK;
/* It has the output's dims, as the node has them. NULL is fine. */
status conv_check_residual(const tensor *residual, int rank, const int64_t *dims) MUST_CHECK;

/* The sides of the product for an image and weights [group, outs, ins, taps]. */
typedef struct conv_sides {
  gemm_matrix weights, matrix;
  conv_image image;
  gemm_problem problem;                                     /* all but the sink */
} conv_sides;
bool conv_sides_init(conv_sides *c, const conv_shape *s, const tensor *x, int32_t x_zero_point, dtype weight_type, const void *weights);
/* Strides of the output for a sink: offset of a batch (images * groups of them, to be freed with mem_free), of a row, of a column. */
typedef struct conv_places { int64_t *offsets, row, column; } conv_places;
status conv_places_init(conv_places *p, const conv_shape *s, layout order) MUST_CHECK;

#endif
