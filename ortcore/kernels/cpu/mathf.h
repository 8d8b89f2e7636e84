/* Elementary functions in float, without branches or calls, so that gcc vectorises the loops around them. NaN gives NaN, infinities and
 * denormals are right; errors are at most 4 ulp (tests/c/kernels_mathf.c measures them). */
#ifndef ORTCORE_KERNELS_CPU_MATHF_H
#define ORTCORE_KERNELS_CPU_MATHF_H

#include <ortcore/base/half.h>
#include <math.h>

/* 2^n for integers in [-126, 127]. */
static inline float mathf_pow2(int32_t n) { return bits_float((uint32_t)(n + 127) << 23); }

/* x = n ln 2 + r with |r| <= ln 2 / 2; e^r by a polynomial; 2^n in two halves, so that results near the ends of the range come out right. */
static inline float mathf_exp(float x) {
  float bounded = x > 89.f ? 89.f : x < -104.f ? -104.f : x;
  float shifted = bounded * 1.44269504088896341f + 12582912.f;          /* 1.5 * 2^23 rounds to an integer in the low bits */
  int32_t n = (int32_t)(float_bits(shifted) - 0x4B400000u);
  float k = shifted - 12582912.f;
  float r = bounded - k * 0.693359375f + k * 2.12194440054690583e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.f;
  int32_t bounded_n = n > 256 ? 256 : n < -256 ? -256 : n, half = bounded_n >> 1;
  return p * mathf_pow2(half) * mathf_pow2(bounded_n - half);
}

/* e^x - 1: the polynomial alone near zero, where the difference would cancel. */
static inline float mathf_expm1(float x) {
  float p = 1.9875691500e-4f;
  p = p * x + 1.3981999507e-3f;
  p = p * x + 8.3334519073e-3f;
  p = p * x + 4.1665795894e-2f;
  p = p * x + 1.6666665459e-1f;
  p = p * x + 5.0000001201e-1f;
  float near = p * x * x + x, far = mathf_exp(x) - 1.f;
  return fabsf(x) < 0.34f ? near : far;
}

/* x = 2^e m with m in [sqrt(1/2), sqrt(2)); log m by a polynomial in m - 1. */
static inline float mathf_log(float x) {
  float scaled = x < 1.17549435e-38f ? x * 0x1p25f : x;
  float lift = x < 1.17549435e-38f ? -25.f : 0.f;
  uint32_t bits = float_bits(scaled);
  int32_t e = (int32_t)((bits - 0x3f3504f3u) & 0xff800000u) >> 23;
  float m = bits_float(bits - ((uint32_t)e << 23)) - 1.f, z = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  float k = (float)e + lift;
  float y = m * z * p + k * -2.12194440054690583e-4f - 0.5f * z + m + k * 0.693359375f;
  y = x == INFINITY ? INFINITY : y;
  y = x == 0.f ? -INFINITY : y;
  return x < 0.f || x != x ? NAN : y;
}

/* log(1 + x), by the usual correction of log of the rounded sum. */
static inline float mathf_log1p(float x) {
  float u = 1.f + x, d = u - 1.f;
  float y = mathf_log(u) * (x / (d == 0.f ? 1.f : d));
  y = d == 0.f ? x : y;
  return x == INFINITY ? INFINITY : y;
}

/* e^-|x| never overflows, and keeps its precision where the result is tiny. */
static inline float mathf_sigmoid(float x) {
  float e = mathf_exp(-fabsf(x));
  return (x < 0.f ? e : 1.f) / (1.f + e);
}

static inline float mathf_tanh(float x) {
  float z = x * x, a = fabsf(x);
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  float near = p * z * x + x, far = 1.f - 2.f / (mathf_exp(2.f * a) + 1.f);
  return a < 0.625f ? near : copysignf(far, x);
}

/* A rational function on [-4, 4], beyond which float's erf is 1. */
static inline float mathf_erf(float x) {
  float b = x > 4.f ? 4.f : x < -4.f ? -4.f : x, z = b * b;
  float p = -2.72614225801306e-10f;
  p = p * z + 2.77068142495902e-08f;
  p = p * z - 2.10102402082508e-06f;
  p = p * z - 5.69250639462346e-05f;
  p = p * z - 7.34990630326855e-04f;
  p = p * z - 2.95459980854025e-03f;
  p = p * z - 1.60960333262415e-02f;
  float q = -1.45660718464996e-05f;
  q = q * z - 2.13374055278905e-04f;
  q = q * z - 1.68282697438203e-03f;
  q = q * z - 7.37332916720468e-03f;
  q = q * z - 1.42647390514189e-02f;
  return b * (p / q);
}

#endif
