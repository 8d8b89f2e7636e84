/* The float functions of kernels/cpu/mathf.h against long double, over every 1,999th bit pattern: normal, subnormal, infinite, NaN. */
#include "check.h"

#include <ortcore/base/cpu.h>
#include <ortcore/kernels/cpu/mathf.h>

enum { BLOCK = 1024 };
static float in[BLOCK], out[BLOCK];

static long double sigmoid_l(long double x) { return 1 / (1 + expl(-x)); }
static long double softplus_l(long double x) { return fmaxl(x, 0) + log1pl(expl(-fabsl(x))); }
static long double gelu_l(long double x) { return x * 0.5L * erfcl(-x * 0.70710678118654752440L); }

#define FUNCTIONS(X) \
  X(exp, expl, 2) X(expm1, expm1l, 2) X(log, logl, 2) X(log1p, log1pl, 3) X(tanh, tanhl, 4.5) X(sigmoid, sigmoid_l, 3) X(erf, erfl, 3) \
  X(softplus, softplus_l, 3) X(sin, sinl, 2) X(cos, cosl, 2)
/* The loops are compiled as kernels are, for each instruction set. */
#define LOOP(name, reference, ulps) \
  MULTIVERSION static void name##_block(void) { \
    for (int i = 0; i < BLOCK; ++i) out[i] = mathf_##name(in[i]); \
  }
FUNCTIONS(LOOP)
MULTIVERSION static void gelu_block(void) {
  for (int i = 0; i < BLOCK; ++i) out[i] = mathf_gelu(in[i]);
}

/* |got - want| in units of the last place of a float near `want`. */
static double distance(float got, long double want) {
  if (isnan(want)) return isnan(got) ? 0 : INFINITY;
  float nearest = (float)want;
  if (got == nearest) return 0;
  if (isinf(nearest) || isinf(got) || isnan(got)) return INFINITY;
  int exponent;
  frexpl(want, &exponent);
  return (double)(fabsl((long double)got - want) / ldexpl(1, exponent < -125 ? -149 : exponent - 24));
}

static void compare(const char *name, void (*block)(void), long double (*reference)(long double), double allowed, float limit) {
  double worst = 0;
  float at = 0;
  for (uint64_t base = 0; base < 1ull << 32; base += 1999ull * BLOCK) {
    for (int i = 0; i < BLOCK; ++i) in[i] = bits_float((uint32_t)(base + 1999ull * (uint64_t)i));
    block();
    for (int i = 0; i < BLOCK; ++i) {
      if (fabsf(in[i]) > limit) continue;
      double d = distance(out[i], reference(in[i]));
      if (d > worst) worst = d, at = in[i];
    }
  }
  printf("%-9s %.2f ulp at %a\n", name, worst, (double)at);
  CHECKF(worst <= allowed, "%s is off by %.2f units in the last place", name, worst);
}

static void test_special(void) {
  CHECK(mathf_exp(-INFINITY) == 0 && mathf_exp(INFINITY) == INFINITY && isnan(mathf_exp(NAN)));
  CHECK(mathf_log(0.0f) == -INFINITY && mathf_log(-0.0f) == -INFINITY && isnan(mathf_log(-1.0f)) && mathf_log(INFINITY) == INFINITY);
  CHECK(mathf_tanh(INFINITY) == 1 && mathf_tanh(-INFINITY) == -1 && signbit(mathf_tanh(-0.0f)));
  CHECK(mathf_erf(INFINITY) == 1 && mathf_erf(-INFINITY) == -1 && signbit(mathf_erf(-0.0f)));
  CHECK(mathf_sigmoid(-INFINITY) == 0 && mathf_sigmoid(INFINITY) == 1);
  CHECK(mathf_softplus(INFINITY) == INFINITY && mathf_softplus(-INFINITY) == 0);
  CHECK(signbit(mathf_expm1(-0.0f)) && mathf_expm1(-INFINITY) == -1);
}

int main(void) {
#define COMPARE(name, reference, ulps) compare(#name, name##_block, reference, ulps, reference == sinl || reference == cosl ? MATHF_SIN_LIMIT : INFINITY);
  FUNCTIONS(COMPARE)
  compare("gelu", gelu_block, gelu_l, 8, INFINITY);
  RUN(test_special);
  return check_result();
}
