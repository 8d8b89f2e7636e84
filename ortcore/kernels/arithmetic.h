/* What elementwise operators compute, once for every device: a table of expressions that gcc and nvcc both take. X(operator, expression) is
 * given x, or a and b, as float. NaN goes through; Relu keeps it. */
#ifndef ORTCORE_KERNELS_ARITHMETIC_H
#define ORTCORE_KERNELS_ARITHMETIC_H

#include <math.h>

#define ARITHMETIC_UNARY(X) \
  X(Abs, fabsf(x)) \
  X(Neg, -x) \
  X(Sqrt, sqrtf(x)) \
  X(Exp, expf(x)) \
  X(Log, logf(x)) \
  X(Tanh, tanhf(x)) \
  X(Sigmoid, 1.0f / (1.0f + expf(-x))) \
  X(Relu, x < 0.0f ? 0.0f : x)

#define ARITHMETIC_BINARY(X) \
  X(Add, a + b) \
  X(Sub, a - b) \
  X(Mul, a * b) \
  X(Div, a / b)

#endif
