/* What elementwise operators read from their nodes, for the kernels of every device. The kernel's name, `kernel->op`, is the operator of
 * kernels/arithmetic.h that is meant; its loop is the CPU's. */
#ifndef ORTCORE_OPS_PARAMS_ELEMENTWISE_H
#define ORTCORE_OPS_PARAMS_ELEMENTWISE_H

#include <ortcore/kernels/cpu/elementwise.h>

typedef struct elementwise_step {
  const elementwise *kernel;
  elementwise_params attrs;
  dtype compute;                                           /* what the kernel computes in */
  bool truth;                                              /* its results are bools */
  bool fold;                                               /* a kernel of two operands for any number of inputs */
  const elementwise *finish;                               /* applied to the result, with finish_attrs; may be NULL */
  elementwise_params finish_attrs;
  bool zero_divides;                                       /* input 1 must not hold a zero: integer division */
} elementwise_step;

typedef struct pow_params {
  elementwise_step general;
  elementwise_step constant;                               /* for an exponent that is one of the common numbers; kernel NULL: it is not */
} pow_params;

typedef struct clip_params {
  elementwise_step step;
  bool by_attributes;                                      /* the bounds are low and high; else they are optional inputs */
  float low, high;
} clip_params;

#endif
