/* What elementwise operators read from their nodes, for the kernels of every device. The kernel's name, `kernel->op`, is the operator of
 * kernels/arithmetic.h that is meant; its loop is the CPU's. */
#ifndef ORTCORE_OPS_PARAMS_ELEMENTWISE_H
#define ORTCORE_OPS_PARAMS_ELEMENTWISE_H

#include <ortcore/kernels/cpu/elementwise.h>
#include <ortcore/kernels/program.h>

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

/* What the operators compute as steps of a program, whose arguments are given (program.h); FROM_NOWHERE stands for an absent one. False if
 * there is no such step or no room. The steps are the last ones: their result is FROM_LAST. */
bool elementwise_steps(program *p, const elementwise_step *s, int count, const int *arguments);   /* one kernel, over all arguments from left to right */
bool pow_steps(program *p, const pow_params *s, int base, int exponent);
/* Bounds that are absent are the limits of `type`. */
bool clip_steps(program *p, const clip_params *s, dtype type, int x, int low, int high);

#endif
