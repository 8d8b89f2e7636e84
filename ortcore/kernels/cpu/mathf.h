/* exp, log, tanh, erf and their kin in float, written so that a counted loop over them becomes vector code: no branches, no calls, no
 * tables. Each is within 3 units in the last place of the true value everywhere, subnormal results and the tails included (a test in C
 * compares with long double), but for tanh with 4.5, and Gelu with 8 where its result is subnormal; NaN, infinities and signed zeros come out as libm's.
 *
 * Where a float is needed as an integer, a number is rounded by adding 1.5 * 2^23: the sum's low bits are then the integer, in every
 * instruction set. The polynomials are minimax fits of the functions that the comments name. */
#ifndef ORTCORE_KERNELS_CPU_MATHF_H
#define ORTCORE_KERNELS_CPU_MATHF_H

#include <math.h>
#include <ortcore/base/half.h>

#define MATHF static inline __attribute__((always_inline))
#define MATHF_ROUND 0x1.8p23f
#define MATHF_LOG2E 1.44269504f
#define MATHF_LN2_HIGH 0x1.62e4p-1f                         /* few bits: its product with a small integer is exact */
#define MATHF_LN2_LOW 1.42860677e-06f

MATHF float mathf_min(float a, float b) { return a < b ? a : b; }   /* b if either is NaN */
MATHF float mathf_max(float a, float b) { return a > b ? a : b; }

/* x = n ln 2 + r with |r| <= ln(2)/2. `low` is a small addend that x has no bits for. */
MATHF float mathf_reduce(float x, float low, int32_t *n) {
  float shifted = x * MATHF_LOG2E + MATHF_ROUND, k = shifted - MATHF_ROUND;
  *n = (int32_t)(float_bits(shifted) - float_bits(MATHF_ROUND));
  return (x - k * MATHF_LN2_HIGH) - (k * MATHF_LN2_LOW - low);
}

/* e^r - 1 for |r| <= ln(2)/2: r + r^2/2 + r^3 q(r). */
MATHF float mathf_expm1_reduced(float r) {
  float q = 1.3898232e-03f;
  q = q * r + 8.366067e-03f;
  q = q * r + 4.1666854e-02f;
  q = q * r + 1.6666548e-01f;
  return (q * r + 0.5f) * (r * r) + r;
}

MATHF float mathf_pow2(int32_t n) { return bits_float((uint32_t)(n + 127) << 23); }   /* -126 <= n <= 127 */

/* e^(x + low). Scaling by 2^n goes in two steps, since n may lie beyond the exponents of normal floats; the second one rounds. */
MATHF float mathf_exp_sum(float x, float low) {
  int32_t n;
  float r = mathf_reduce(mathf_max(-104.0f, mathf_min(89.0f, x)), low, &n);
  return (1.0f + mathf_expm1_reduced(r)) * mathf_pow2(n >> 1) * mathf_pow2(n - (n >> 1));
}

MATHF float mathf_exp(float x) { return mathf_exp_sum(x, 0.0f); }

MATHF float mathf_expm1(float x) {
  int32_t n;
  float r = mathf_reduce(mathf_max(-104.0f, mathf_min(89.0f, x)), 0.0f, &n);
  float half_scale = mathf_pow2(n - 1 < -126 ? -126 : n - 1), m = mathf_expm1_reduced(r);
  float y = (half_scale * m + (half_scale - 0.5f)) * 2.0f;
  return copysignf(n == 0 ? m : y, x);                     /* zeros too have the sign of x */
}

/* 1 / (1 + e^-x), by the exponential that cannot overflow, so that the lower tail keeps its relative accuracy. */
MATHF float mathf_sigmoid(float x) {
  float e = mathf_exp(-fabsf(x)), q = 1.0f / (1.0f + e);
  return x < 0.0f ? e * q : q;
}

/* A rational function up to 9, from where on tanh is 1. */
MATHF float mathf_tanh(float x) {
  float a = mathf_min(9.02f, mathf_max(-9.02f, x)), u = a * a;
  float p = 1.33188145e-08f, q = 7.761916e-07f;
  p = p * u + 2.0583302e-05f;
  q = q * u + 3.2830753e-04f;
  p = p * u + 3.494024e-03f;
  q = q * u + 2.5871035e-02f;
  p = p * u + 1.337971e-01f;
  q = q * u + 4.6713024e-01f;
  p = p * u + 1.0f;
  q = q * u + 1.0f;
  return a * p / q;
}

/* x = m 2^k with m in [sqrt(1/2), sqrt(2)); log x = log m + k ln 2, and log(1 + f) = f - f^2/2 + f^3 p(f). */
MATHF float mathf_log(float x) {
  float scaled = x < 0x1p-126f ? x * 0x1p23f : x;
  uint32_t u = float_bits(scaled), above = u - 0x3f3504f3u;   /* from sqrt(1/2) on */
  int32_t exponent = (int32_t)above >> 23;
  float f = bits_float(u - ((uint32_t)exponent << 23)) - 1.0f, k = (float)exponent - (x < 0x1p-126f ? 23.0f : 0.0f);
  float p = -7.6344974e-02f;
  p = p * f + 1.2761578e-01f;
  p = p * f - 1.3160183e-01f;
  p = p * f + 1.4201757e-01f;
  p = p * f - 1.6623357e-01f;
  p = p * f + 2.0001227e-01f;
  p = p * f - 2.500082e-01f;
  p = p * f + 3.333333e-01f;
  float f2 = f * f, y = (p * f2 * f - 0.5f * f2) + k * MATHF_LN2_LOW + f + k * MATHF_LN2_HIGH;
  y = x < INFINITY ? y : x;                                /* infinity and NaN */
  y = x == 0.0f ? -INFINITY : y;
  return x < 0.0f ? NAN : y;
}

/* log(1 + x) for finite x > -1. What rounding took from 1 + x is put back to first order. */
MATHF float mathf_log1p_finite(float x) {
  float u = 1.0f + x, y = mathf_log(u) + (x - (u - 1.0f)) / u;
  return u == 1.0f ? x : y;
}

MATHF float mathf_log1p(float x) {
  float y = mathf_log1p_finite(x);
  y = x < INFINITY ? y : x;                                /* infinity and NaN */
  y = x == -1.0f ? -INFINITY : y;
  return x < -1.0f ? NAN : y;
}

/* log(1 + e^x) */
MATHF float mathf_softplus(float x) { return mathf_max(0.0f, x) + mathf_log1p_finite(mathf_exp(-fabsf(x))); }

/* e^(-scale x^2) for a scale that is a power of two. The exponent is kept in two parts, since its rounding error would be magnified. */
MATHF float mathf_exp_square(float x, float scale) {
  float high = bits_float(float_bits(x) & 0xfffff000u);
  return mathf_exp_sum(-scale * (high * high), -scale * ((x - high) * (x + high)));
}

/* e^(a^2) erfc(a) for 0 <= a < 11: it falls smoothly, like 1/a, and t = (a - 2) / (a + 2) is a good variable for it. */
MATHF float mathf_erfcx(float a) {
  float q = 1.0f / ((a + 2.0f) * (1.0f + 2.0f * a)), t = (a - 2.0f) * (1.0f + 2.0f * a) * q;
  float p = -3.994465e-04f;
  p = p * t - 1.2279984e-03f;
  p = p * t + 1.3133072e-03f;
  p = p * t + 8.630093e-03f;
  p = p * t - 8.060142e-03f;
  p = p * t - 5.4203883e-02f;
  p = p * t + 1.6405542e-01f;
  p = p * t - 1.6603146e-01f;
  p = p * t - 9.276398e-02f;
  p = p * t + 1.2769784f;
  return p * ((a + 2.0f) * q);
}

MATHF float mathf_erf(float x) {
  float a = fabsf(x), u = x * x;
  float p = 7.8538615e-05f;                                /* erf(x) / x as a function of x^2, up to 1 */
  p = p * u - 8.0101937e-04f;
  p = p * u + 5.1883277e-03f;
  p = p * u - 2.6853813e-02f;
  p = p * u + 1.12835854e-01f;
  p = p * u - 3.7612626e-01f;
  p = p * u + 1.1283791f;
  float far = mathf_min(10.2f, a), tail = copysignf(1.0f - mathf_erfcx(far) * mathf_exp_square(far, 1.0f), x);
  return a < 1.0f ? x * p : tail;
}

/* x times the normal distribution function: the exact Gelu. */
MATHF float mathf_gelu(float x) {
  float a = mathf_min(14.4f, fabsf(x)), q = 0.5f * mathf_erfcx(a * 0.70710678f) * mathf_exp_square(a, 0.5f);
  return x * (x < 0.0f ? q : 1.0f - q);
}

/* Sine and cosine for |x| up to a limit. x = n pi/2 + r, |r| <= pi/4, is found in double, where n times the first part of pi/2 is exact. */
#define MATHF_SIN_LIMIT 0x1p25f
#define MATHF_ROUND_DOUBLE 0x1.8p52
#define MATHF_HALF_PI_HIGH 0x1.921fb54p+0
#define MATHF_HALF_PI_LOW 0x1.10b4611a62633p-30

MATHF float mathf_quadrant(float x, int32_t *n) {
  double shifted = (double)x * 0.63661977236758134308 + MATHF_ROUND_DOUBLE, k = shifted - MATHF_ROUND_DOUBLE;
  uint64_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  *n = (int32_t)bits;
  return (float)(((double)x - k * MATHF_HALF_PI_HIGH) - k * MATHF_HALF_PI_LOW);
}

/* sin(r + n pi/2): odd n take the cosine, n with bit 1 the negative. */
MATHF float mathf_sin_quadrant(float r, int32_t n) {
  float u = r * r;
  float s = ((-1.9514632e-04f * u + 8.332156e-03f) * u - 1.6666655e-01f) * u * r + r;
  float c = ((2.4432413e-05f * u - 1.388731e-03f) * u + 4.1666646e-02f) * (u * u) - 0.5f * u + 1.0f;
  float y = n & 1 ? c : s;
  return bits_float(float_bits(y) ^ ((uint32_t)n & 2) << 30);
}

MATHF float mathf_sin(float x) {
  int32_t n;
  float r = mathf_quadrant(x, &n), y = mathf_sin_quadrant(r, n);
  return x == 0.0f ? x : y;                                /* keeps the sign of zero */
}

MATHF float mathf_cos(float x) {
  int32_t n;
  float r = mathf_quadrant(x, &n);
  return mathf_sin_quadrant(r, n + 1);
}

/* x tanh(log(1 + e^x)): with w = e^x (e^x + 2) the hyperbolic tangent is w / (w + 2). */
MATHF float mathf_mish(float x) {
  float e = mathf_exp(mathf_min(30.0f, x)), w = e * (e + 2.0f);
  return x * (w / (w + 2.0f));
}

#endif
