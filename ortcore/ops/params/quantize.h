/* QuantizeLinear and DequantizeLinear for the kernels of every device: what their nodes say, and how scales lie over x. */
#ifndef ORTCORE_OPS_PARAMS_QUANTIZE_H
#define ORTCORE_OPS_PARAMS_QUANTIZE_H

#include <ortcore/kernels/cpu/quantize.h>
#include <ortcore/value/tensor.h>

typedef struct quantize_op {
  bool quantizes;                                          /* else dequantizes */
  int64_t axis, block;
  dtype precision;                                         /* what the quotient is rounded to */
  conversion to;                                           /* of a quantised result */
  const elementwise *kernel;                               /* the CPU's */
  quantize_params bounds;
} quantize_op;

/* x as [outer, blocks, size of a block, inner]; a scale has a place for each of [outer, blocks, inner] or fewer. */
typedef struct granularity {
  int64_t dims[4];
  int64_t scale_strides[4];
  int64_t axis_dim;
  bool cut;                                                /* the last block is shorter than the others */
} granularity;

status granularity_of(const quantize_op *p, const tensor *x, const tensor *scale, granularity *g) MUST_CHECK;
/* A zero point, if there is one, has the shape of the scale. */
status zero_point_check(const tensor *scale, const tensor *zero) MUST_CHECK;

#endif
