/* Template: the elementwise loops of an integer type T. W is unsigned and as wide as T, at least 32 bits: arithmetic wraps there without
 * overflowing. BITS is T's width, IS_SIGNED 0 or 1. Divisors are not zero: who calls has looked. */
#include <ortcore/kernels/cpu/elementwise_loops.h>

#define TABLE PASTE(elementwise, SUFFIX)
#if IS_SIGNED
#define NEGATIVE(x) ((x) < 0)
#else
#define NEGATIVE(x) 0
#endif

#define UNARY(name, expression) UNARY_LOOP(name, T, expression)
#define BINARY(name, expression) BINARY_LOOP(name, T, expression)
#define TERNARY(name, expression) TERNARY_LOOP(name, T, expression)
#define COMPARE(name, expression) BINARY_LOOP(name, uint8_t, expression)
#define MOD_TRUNC PASTE(mod_trunc, SUFFIX)
#define MOD_FLOOR PASTE(mod_floor, SUFFIX)
#define POWER PASTE(power, SUFFIX)

/* Division by -1 is negation, which wraps where the quotient would not fit. */
#if IS_SIGNED
#define DIVIDE(a, b) (b == -1 ? (T)((W)0 - (W)a) : (T)(a / b))
static inline T MOD_TRUNC(T a, T b) { return b == -1 ? 0 : (T)(a % b); }
static inline T MOD_FLOOR(T a, T b) {
  T r = MOD_TRUNC(a, b);
  return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;
}
#else
#define DIVIDE(a, b) (a / b)
static inline T MOD_TRUNC(T a, T b) { return (T)(a % b); }
static inline T MOD_FLOOR(T a, T b) { return (T)(a % b); }
#endif

/* Whole powers by squaring. A negative one is a fraction, which is cut to zero but for the bases 1 and -1. */
static inline T POWER(T base, T exponent) {
  if (NEGATIVE(exponent)) return base == 1 ? 1 : base == (T)-1 ? (T)(exponent & 1 ? -1 : 1) : 0;
  W result = 1, square = (W)base;
  for (W e = (W)exponent; e; e >>= 1, square *= square)
    if (e & 1) result *= square;
  return (T)result;
}

ARITHMETIC_INTEGER_UNARY(UNARY)
ARITHMETIC_INTEGER_BINARY(BINARY)
ARITHMETIC_INTEGER_DIVISION(BINARY)
ARITHMETIC_INTEGER_CLIP(TERNARY)
ARITHMETIC_COMPARE(COMPARE)
UNARY(Erf, erf((double)x))
PARAMETRIC_LOOP(Shrink, T, double, (double)x < -p ? x + q : (double)x > p ? x - q : 0)

const elementwise TABLE[] = {
  ARITHMETIC_INTEGER_UNARY(CHEAP) ARITHMETIC_INTEGER_BINARY(CHEAP_2) ARITHMETIC_INTEGER_DIVISION(FUNCTION_2) ARITHMETIC_INTEGER_CLIP(CHEAP_3)
  ARITHMETIC_COMPARE(CHEAP_2) FUNCTION(Erf) CHEAP(Shrink)
  {0}};

#undef TABLE
#undef NEGATIVE
#undef UNARY
#undef BINARY
#undef TERNARY
#undef COMPARE
#undef DIVIDE
#undef MOD_TRUNC
#undef MOD_FLOOR
#undef POWER
#undef T
#undef W
#undef SUFFIX
#undef BITS
#undef IS_SIGNED
