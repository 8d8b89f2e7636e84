/* What elementwise operators compute, once for every device: tables of expressions that gcc and nvcc both take.
 *
 * Whoever includes this names the arithmetic type T (float or double; halves are computed in float) and the functions FABS, SQRT, EXP, EXPM1,
 * LOG, TANH, ERF, SIGMOID, SOFTPLUS, GELU and so on for it. X(operator, expression) then gives an operator's value in terms of x, of a and
 * b, or of a, b and c; `p` and `q` are the operator's parameters. Comparisons are written so that NaN goes through: where x < 0 is false,
 * x is kept. The tables of integers stand at the end. */
#ifndef ORTCORE_KERNELS_ARITHMETIC_H
#define ORTCORE_KERNELS_ARITHMETIC_H

#include <math.h>

/* A few instructions each. */
#define ARITHMETIC_SIMPLE(X) \
  X(Abs, FABS(x)) \
  X(Neg, -x) \
  X(Ceil, CEIL(x)) \
  X(Floor, FLOOR(x)) \
  X(Round, RINT(x)) \
  X(Sqrt, SQRT(x)) \
  X(Reciprocal, (T)1 / x) \
  X(Sign, x > 0 ? (T)1 : x < 0 ? (T)-1 : x) \
  X(Relu, x < 0 ? (T)0 : x) \
  X(HardSwish, x * ARITHMETIC_CLAMP(x / (T)6 + (T)0.5, (T)0, (T)1)) \
  X(Softsign, x / ((T)1 + FABS(x)))

#define ARITHMETIC_FUNCTIONS(X) \
  X(Exp, EXP(x)) \
  X(Log, LOG(x)) \
  X(Tanh, TANH(x)) \
  X(Erf, ERF(x)) \
  X(Sigmoid, SIGMOID(x)) \
  X(Softplus, SOFTPLUS(x)) \
  X(Silu, x * SIGMOID(x)) \
  X(Mish, MISH(x)) \
  X(Gelu, GELU(x)) \
  X(GeluTanh, x * SIGMOID((T)1.5957691216057308 * (x + (T)0.044715 * x * x * x)))   /* (1 + tanh u) / 2 is sigmoid(2u) */

#define ARITHMETIC_UNARY(X) ARITHMETIC_SIMPLE(X) ARITHMETIC_FUNCTIONS(X)

#define ARITHMETIC_PERIODIC(X) \
  X(Sin, SIN(x)) \
  X(Cos, COS(x))

/* Through the C library, an element at a time. */
#define ARITHMETIC_TRIGONOMETRIC(X) \
  X(Tan, TAN(x)) \
  X(Asin, ASIN(x)) \
  X(Acos, ACOS(x)) \
  X(Atan, ATAN(x)) \
  X(Sinh, SINH(x)) \
  X(Cosh, COSH(x)) \
  X(Asinh, ASINH(x)) \
  X(Acosh, ACOSH(x)) \
  X(Atanh, ATANH(x))

/* p and q are the attributes in the order that the comment gives. */
#define ARITHMETIC_PARAMETRIC(X) \
  X(HardSigmoid, ARITHMETIC_CLAMP(p * x + q, (T)0, (T)1))                /* alpha, beta */ \
  X(LeakyRelu, x < 0 ? p * x : x)                                        /* alpha */ \
  X(Elu, x < 0 ? p * EXPM1(x) : x)                                       /* alpha */ \
  X(Selu, x < 0 ? p * q * EXPM1(x) : q * x)                              /* alpha, gamma */ \
  X(Celu, x < 0 ? p * EXPM1(x / p) : x)                                  /* alpha */ \
  X(ThresholdedRelu, x > p || x != x ? x : (T)0)                         /* alpha */ \
  X(Shrink, x < -p ? x + q : x > p ? x - q : x != x ? x : (T)0)          /* lambd, bias */ \
  X(Swish, x * SIGMOID(p * x))                                           /* alpha */ \
  X(Scale, x * p)                                                        /* the factor */

#define ARITHMETIC_BINARY(X) \
  X(Add, a + b) \
  X(Sub, a - b) \
  X(Mul, a * b) \
  X(Div, a / b) \
  X(Max, ARITHMETIC_MAXIMUM(a, b)) \
  X(Min, ARITHMETIC_MINIMUM(a, b)) \
  X(PRelu, a < 0 ? b * a : a)

/* b is one number for the whole tensor: the powers that models are made of. */
#define ARITHMETIC_POWERS(X) \
  X(Square, x * x) \
  X(Cube, x * x * x) \
  X(SquareRoot, x == -INFINITY ? (T)INFINITY : SQRT(x) + (T)0)           /* -0 gives 0, as pow does */

/* Through the C library. ModFloor's remainder has the divisor's sign, ModTrunc's the dividend's. */
#define ARITHMETIC_LIBRARY(X) \
  X(ModFloor, MOD_FLOOR(a, b)) \
  X(ModTrunc, FMOD(a, b)) \
  X(Pow, POW(a, b))

#define ARITHMETIC_CLIP(X) \
  X(Clip, ARITHMETIC_MINIMUM(c, ARITHMETIC_MAXIMUM(a, b)))

/* p is the alpha of the Swish. */
#define ARITHMETIC_GATED(X) \
  X(SwiGLU, a * SIGMOID(p * a) * b)

/* True or false. */
#define ARITHMETIC_TEST(X) \
  X(IsNaN, x != x) \
  X(IsInf, (x == -(T)INFINITY && p != 0) || (x == (T)INFINITY && q != 0))   /* whether negative and positive ones count */

#define ARITHMETIC_COMPARE(X) \
  X(Equal, a == b) \
  X(Less, a < b) \
  X(Greater, a > b) \
  X(LessOrEqual, a <= b) \
  X(GreaterOrEqual, a >= b)

#define ARITHMETIC_TRUTH(X) \
  X(And, (a != 0) & (b != 0)) \
  X(Or, (a != 0) | (b != 0)) \
  X(Xor, (a != 0) ^ (b != 0))

#define ARITHMETIC_CLAMP(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))
/* NaN wins. */
#define ARITHMETIC_MAXIMUM(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define ARITHMETIC_MINIMUM(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))

/* Integers. T is the type, W unsigned and as wide, at least 32 bits: arithmetic wraps there without overflowing. BITS is T's width, IS_SIGNED 0
 * or 1, NEGATIVE(x) whether x is below zero. The includer has DIVIDE, MOD_TRUNC, MOD_FLOOR and POWER. */
#define ARITHMETIC_INTEGER_UNARY(X) \
  X(Abs, NEGATIVE(x) ? (W)0 - (W)x : (W)x) \
  X(Neg, (W)0 - (W)x) \
  X(Sign, (x > 0) - NEGATIVE(x)) \
  X(Relu, NEGATIVE(x) ? 0 : x) \
  X(BitwiseNot, ~x)

/* Shifts by the width or more, or by a negative amount, move every bit out; what is left is the sign's. */
#define ARITHMETIC_INTEGER_BINARY(X) \
  X(Add, (W)a + (W)b) \
  X(Sub, (W)a - (W)b) \
  X(Mul, (W)a * (W)b) \
  X(Max, a > b ? a : b) \
  X(Min, a < b ? a : b) \
  X(PRelu, NEGATIVE(a) ? (W)a * (W)b : (W)a) \
  X(BitwiseAnd, a & b) \
  X(BitwiseOr, a | b) \
  X(BitwiseXor, a ^ b) \
  X(ShiftLeft, (W)b < BITS ? (W)a << (b & (BITS - 1)) : (W)0) \
  X(ShiftRight, a >> ((W)b < BITS ? b & (BITS - 1) : BITS - 1) >> (IS_SIGNED || (W)b < BITS ? 0 : 1))

/* Tens of instructions each. */
#define ARITHMETIC_INTEGER_DIVISION(X) \
  X(Div, DIVIDE(a, b)) \
  X(ModTrunc, MOD_TRUNC(a, b)) \
  X(ModFloor, MOD_FLOOR(a, b)) \
  X(Pow, POWER(a, b))

#define ARITHMETIC_INTEGER_CLIP(X) \
  X(Clip, (a < b ? b : a) > c ? c : a < b ? b : a)

#endif
