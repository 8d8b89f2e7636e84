/* The functions that the expressions of kernels/arithmetic.h name, in float and in double. Where the textbook formula loses digits, another
 * one is used, as on the CPU. */
#ifndef ORTCORE_KERNELS_CUDA_FUNCTIONS_CUH
#define ORTCORE_KERNELS_CUDA_FUNCTIONS_CUH

#include <ortcore/kernels/arithmetic.h>
#include <ortcore/kernels/cuda/common.cuh>

namespace ortcore {

#define FUNCTION_ON_GPU(name, function) \
  ON_GPU float name(float x) { return function##f(x); } \
  ON_GPU double name(double x) { return function(x); }
FUNCTION_ON_GPU(FABS, fabs)
FUNCTION_ON_GPU(CEIL, ceil)
FUNCTION_ON_GPU(FLOOR, floor)
FUNCTION_ON_GPU(RINT, rint)
FUNCTION_ON_GPU(SQRT, sqrt)
FUNCTION_ON_GPU(EXP, exp)
FUNCTION_ON_GPU(EXPM1, expm1)
FUNCTION_ON_GPU(LOG, log)
FUNCTION_ON_GPU(LOG1P, log1p)
FUNCTION_ON_GPU(TANH, tanh)
FUNCTION_ON_GPU(ERF, erf)
FUNCTION_ON_GPU(NORMCDF, normcdf)
FUNCTION_ON_GPU(SIN, sin)
FUNCTION_ON_GPU(COS, cos)
FUNCTION_ON_GPU(TAN, tan)
FUNCTION_ON_GPU(ASIN, asin)
FUNCTION_ON_GPU(ACOS, acos)
FUNCTION_ON_GPU(ATAN, atan)
FUNCTION_ON_GPU(SINH, sinh)
FUNCTION_ON_GPU(COSH, cosh)
FUNCTION_ON_GPU(ASINH, asinh)
FUNCTION_ON_GPU(ACOSH, acosh)
FUNCTION_ON_GPU(ATANH, atanh)

ON_GPU float FMOD(float a, float b) { return fmodf(a, b); }
ON_GPU double FMOD(double a, double b) { return fmod(a, b); }
ON_GPU float POW(float a, float b) { return powf(a, b); }
ON_GPU double POW(double a, double b) { return pow(a, b); }
ON_GPU float COPYSIGN(float a, float b) { return copysignf(a, b); }
ON_GPU double COPYSIGN(double a, double b) { return copysign(a, b); }

/* The nearest number that a half has. */
ON_GPU float FLOAT16(float x) { return __half2float(__float2half_rn(x)); }
ON_GPU double FLOAT16(double x) { return static_cast<double>(__half2float(__double2half(x))); }
ON_GPU float BFLOAT16(float x) { return __bfloat162float(__float2bfloat16_rn(x)); }
ON_GPU double BFLOAT16(double x) { return static_cast<double>(__bfloat162float(__double2bfloat16(x))); }

/* By the exponential that cannot overflow. */
template <class T> ON_GPU T SIGMOID(T x) {
  T e = EXP(-FABS(x)), q = T(1) / (T(1) + e);
  return x < T(0) ? e * q : q;
}
template <class T> ON_GPU T SOFTPLUS(T x) { return (x < T(0) ? T(0) : x) + LOG1P(EXP(-FABS(x))); }
/* x tanh(log(1 + e^x)) with w = e^x (e^x + 2), of which the hyperbolic tangent is w / (w + 2). From 30 on that is 1. */
template <class T> ON_GPU T MISH(T x) {
  T e = EXP(x > T(30) ? T(30) : x), w = e * (e + T(2));
  return x * (w / (w + T(2)));
}
template <class T> ON_GPU T GELU(T x) { return x * NORMCDF(x); }
/* The remainder with the divisor's sign. */
template <class T> ON_GPU T MOD_FLOOR(T a, T b) {
  T r = FMOD(a, b);
  if (r == T(0)) return COPYSIGN(T(0), b);
  return (r < T(0)) != (b < T(0)) ? r + b : r;
}

}  // namespace ortcore

#endif
