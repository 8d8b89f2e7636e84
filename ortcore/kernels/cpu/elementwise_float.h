/* Template: the elementwise loops of a floating type. The includer defines T, SUFFIX, TABLE and the functions of kernels/arithmetic.h. */
#include <ortcore/kernels/cpu/elementwise_loops.h>

#define UNARY(name, expression) UNARY_LOOP(name, T, expression)
#define BINARY(name, expression) BINARY_LOOP(name, T, expression)
#define COMPARE(name, expression) BINARY_LOOP(name, uint8_t, expression)
#define PARAMETRIC(name, expression) PARAMETRIC_LOOP(name, T, T, expression)

ARITHMETIC_UNARY(UNARY)
ARITHMETIC_TRIGONOMETRIC(UNARY)
ARITHMETIC_POWERS(UNARY)
ARITHMETIC_PARAMETRIC(PARAMETRIC)
PARAMETRIC(Scale, x * p)
ARITHMETIC_BINARY(BINARY)
ARITHMETIC_COMPARE(COMPARE)

/* The remainder with the divisor's sign, as numpy has it. */
static inline T PASTE(mod_floor, SUFFIX)(T a, T b) {
  T r = FMOD(a, b);
  if (r == 0) return COPYSIGN((T)0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
BINARY(ModFloor, PASTE(mod_floor, SUFFIX)(a, b))
BINARY(ModTrunc, FMOD(a, b))
BINARY(Pow, POW(a, b))
TERNARY_LOOP(Clip, T, ARITHMETIC_MINIMUM(c, ARITHMETIC_MAXIMUM(a, b)))
UNARY_LOOP(IsNaN, uint8_t, x != x)
/* p, q: whether negative and positive infinities count. */
PARAMETRIC_LOOP(IsInf, uint8_t, double, (x == -(T)INFINITY && p != 0) || (x == (T)INFINITY && q != 0))

#define CHEAP(name, ...) {#name, PASTE(name, SUFFIX), GRAIN_CHEAP},
#define FUNCTION(name, ...) {#name, PASTE(name, SUFFIX), GRAIN_FUNCTION},
#define LIBRARY(name, ...) {#name, PASTE(name, SUFFIX), GRAIN_LIBRARY},

const elementwise TABLE[] = {
  ARITHMETIC_UNARY(FUNCTION) ARITHMETIC_TRIGONOMETRIC(LIBRARY) ARITHMETIC_POWERS(CHEAP) ARITHMETIC_PARAMETRIC(FUNCTION) CHEAP(Scale)
  ARITHMETIC_BINARY(CHEAP) ARITHMETIC_COMPARE(CHEAP)
  LIBRARY(ModFloor) LIBRARY(ModTrunc) LIBRARY(Pow) CHEAP(Clip) CHEAP(IsNaN) CHEAP(IsInf)
  {0}};
