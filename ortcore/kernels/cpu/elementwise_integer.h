/* Template: the elementwise loops of an integer type T. W is unsigned and as wide as T, at least 32 bits: arithmetic wraps there without
 * overflowing. BITS is T's width, IS_SIGNED 0 or 1. Divisors are not zero: who calls has looked. */
#include <ortcore/kernels/cpu/elementwise_loops.h>

#define TABLE PASTE(elementwise, SUFFIX)
#if IS_SIGNED
#define NEGATIVE(x) ((x) < 0)
#else
#define NEGATIVE(x) 0
#endif

UNARY_LOOP(Abs, T, NEGATIVE(x) ? (W)0 - (W)x : (W)x)
UNARY_LOOP(Neg, T, (W)0 - (W)x)
UNARY_LOOP(Sign, T, (x > 0) - NEGATIVE(x))
UNARY_LOOP(Relu, T, NEGATIVE(x) ? 0 : x)
UNARY_LOOP(BitwiseNot, T, ~x)
UNARY_LOOP(Erf, T, erf((double)x))
PARAMETRIC_LOOP(Shrink, T, double, (double)x < -p ? x + q : (double)x > p ? x - q : 0)

#define COMPARE(name, expression) BINARY_LOOP(name, uint8_t, expression)
ARITHMETIC_COMPARE(COMPARE)
BINARY_LOOP(Add, T, (W)a + (W)b)
BINARY_LOOP(Sub, T, (W)a - (W)b)
BINARY_LOOP(Mul, T, (W)a * (W)b)
BINARY_LOOP(Max, T, a > b ? a : b)
BINARY_LOOP(Min, T, a < b ? a : b)
BINARY_LOOP(PRelu, T, NEGATIVE(a) ? (W)a * (W)b : (W)a)
BINARY_LOOP(BitwiseAnd, T, a & b)
BINARY_LOOP(BitwiseOr, T, a | b)
BINARY_LOOP(BitwiseXor, T, a ^ b)
TERNARY_LOOP(Clip, T, (a < b ? b : a) > c ? c : a < b ? b : a)

/* Division by -1 is negation, which wraps where the quotient would not fit. */
#if IS_SIGNED
BINARY_LOOP(Div, T, b == -1 ? (T)((W)0 - (W)a) : (T)(a / b))
static inline T PASTE(mod_trunc, SUFFIX)(T a, T b) { return b == -1 ? 0 : (T)(a % b); }
static inline T PASTE(mod_floor, SUFFIX)(T a, T b) {
  T r = PASTE(mod_trunc, SUFFIX)(a, b);
  return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;
}
#else
BINARY_LOOP(Div, T, a / b)
static inline T PASTE(mod_trunc, SUFFIX)(T a, T b) { return (T)(a % b); }
static inline T PASTE(mod_floor, SUFFIX)(T a, T b) { return (T)(a % b); }
#endif
BINARY_LOOP(ModTrunc, T, PASTE(mod_trunc, SUFFIX)(a, b))
BINARY_LOOP(ModFloor, T, PASTE(mod_floor, SUFFIX)(a, b))

/* Shifts by the width or more, or by a negative amount, move every bit out; what is left is the sign's. */
BINARY_LOOP(ShiftLeft, T, (W)b < BITS ? (W)a << (b & (BITS - 1)) : (W)0)
BINARY_LOOP(ShiftRight, T, a >> ((W)b < BITS ? b & (BITS - 1) : BITS - 1) >> (IS_SIGNED || (W)b < BITS ? 0 : 1))

/* Whole powers by squaring. A negative one is a fraction, which is cut to zero but for the bases 1 and -1. */
static inline T PASTE(power, SUFFIX)(T base, T exponent) {
  if (NEGATIVE(exponent)) return base == 1 ? 1 : base == (T)-1 ? (T)(exponent & 1 ? -1 : 1) : 0;
  W result = 1, square = (W)base;
  for (W e = (W)exponent; e; e >>= 1, square *= square)
    if (e & 1) result *= square;
  return (T)result;
}
BINARY_LOOP(Pow, T, PASTE(power, SUFFIX)(a, b))

const elementwise TABLE[] = {
  CHEAP(Abs) CHEAP(Neg) CHEAP(Sign) CHEAP(Relu) CHEAP(BitwiseNot) FUNCTION(Erf) CHEAP(Shrink) ARITHMETIC_COMPARE(CHEAP_2) CHEAP_2(Add) CHEAP_2(Sub) CHEAP_2(Mul)
  CHEAP_2(Max) CHEAP_2(Min) CHEAP_2(PRelu) CHEAP_2(BitwiseAnd) CHEAP_2(BitwiseOr) CHEAP_2(BitwiseXor) CHEAP_3(Clip) FUNCTION_2(Div) FUNCTION_2(ModTrunc)
  FUNCTION_2(ModFloor) CHEAP_2(ShiftLeft) CHEAP_2(ShiftRight) FUNCTION_2(Pow)
  {0}};

#undef TABLE
#undef NEGATIVE
#undef COMPARE
#undef T
#undef W
#undef SUFFIX
#undef BITS
#undef IS_SIGNED
