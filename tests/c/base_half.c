/* Every bit pattern of the narrow formats against slow references that share nothing with the code under test: values by the formats'
 * definition in exact double arithmetic, roundings by search among the neighbours. */
#include "check.h"

#include <math.h>
#include <ortcore/base/half.h>

typedef struct spec {
  const char *name;
  int type, exponent_bits, mantissa_bits, bias;
  enum { IEEE, ALL_ONES, FNUZ, FINITE } specials;          /* which codes are infinities and NaNs */
} spec;

static const spec specs[] = {
  {"float16", 0, 5, 10, 15, IEEE}, {"bfloat16", 1, 8, 7, 127, IEEE},
  {"float8e4m3fn", ORTC_FLOAT8E4M3FN, 4, 3, 7, ALL_ONES}, {"float8e5m2", ORTC_FLOAT8E5M2, 5, 2, 15, IEEE},
  {"float8e4m3fnuz", ORTC_FLOAT8E4M3FNUZ, 4, 3, 8, FNUZ}, {"float8e5m2fnuz", ORTC_FLOAT8E5M2FNUZ, 5, 2, 16, FNUZ},
  {"float6e2m3", ORTC_FLOAT6E2M3, 2, 3, 1, FINITE}, {"float6e3m2", ORTC_FLOAT6E3M2, 3, 2, 3, FINITE}, {"float4e2m1", ORTC_FLOAT4E2M1, 2, 1, 1, FINITE},
};
enum { SPEC_COUNT = sizeof specs / sizeof *specs };

static int magnitudes(const spec *f) { return 1 << (f->exponent_bits + f->mantissa_bits); }

/* The value of a magnitude as if the format had no special codes. */
static double plain_value_of(const spec *f, int magnitude) {
  int exponent = magnitude >> f->mantissa_bits, mantissa = magnitude & ((1 << f->mantissa_bits) - 1);
  if (exponent == 0) return ldexp(mantissa, 1 - f->bias - f->mantissa_bits);
  return ldexp(mantissa + (1 << f->mantissa_bits), exponent - f->bias - f->mantissa_bits);
}

static double plain_values[SPEC_COUNT][(1 << 15) + 1];
static int largest[SPEC_COUNT];                            /* finite magnitude */

static double plain_value(const spec *f, int magnitude) { return plain_values[f - specs][magnitude]; }

static double value_of(const spec *f, int code) {
  int sign = code / magnitudes(f), magnitude = code % magnitudes(f);
  double value = plain_value(f, magnitude);
  if (f->specials == IEEE && magnitude >> f->mantissa_bits == (1 << f->exponent_bits) - 1) value = magnitude & ((1 << f->mantissa_bits) - 1) ? NAN : INFINITY;
  if (f->specials == ALL_ONES && magnitude == magnitudes(f) - 1) value = NAN;
  if (f->specials == FNUZ && magnitude == 0 && sign) return NAN;
  return sign ? -value : value;
}

static void compute_tables(void) {
  for (int s = 0; s < SPEC_COUNT; ++s) {
    for (int m = 0; m <= magnitudes(&specs[s]); ++m) plain_values[s][m] = plain_value_of(&specs[s], m);
    largest[s] = magnitudes(&specs[s]) - 1;
    while (!isfinite(value_of(&specs[s], largest[s]))) --largest[s];
  }
}

static int largest_finite(const spec *f) { return largest[f - specs]; }

/* Round to nearest even; the code, or -1 for "beyond the largest". x is not NaN. */
static int nearest(const spec *f, double x) {
  double a = fabs(x);
  int low = 0, high = largest_finite(f) + 1;               /* plain_value(low) <= a < plain_value(high), where high is one step beyond */
  if (a >= plain_value(f, high)) return -1;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (plain_value(f, middle) <= a) low = middle;
    else high = middle;
  }
  double below = a - plain_value(f, low), above = plain_value(f, high) - a;
  int m = below < above || (below == above && low % 2 == 0) ? low : high;
  if (m > largest_finite(f)) return -1;
  if (f->specials == FNUZ && m == 0) return 0;
  return signbit(x) ? m + magnitudes(f) : m;
}

static double decode(const spec *f, int code) {
  if (f->type == 0) return f16_to_f32((f16){(uint16_t)code});
  if (f->type == 1) return bf16_to_f32((bf16){(uint16_t)code});
  return minifloat_to_f32(f->type, (uint8_t)code);
}

static int encode(const spec *f, double x, bool saturate) {
  if (f->type == 0) return f64_to_f16(x).bits;
  if (f->type == 1) return f64_to_bf16(x).bits;
  return f32_to_minifloat(f->type, (float)x, saturate);
}

static bool same(double a, double b) { return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b)); }

static void test_decode(void) {
  for (int s = 0; s < SPEC_COUNT; ++s) {
    for (int code = 0; code < 2 * magnitudes(&specs[s]); ++code) {
      double actual = decode(&specs[s], code), expected = value_of(&specs[s], code);
      CHECKF(same(actual, expected), "%s %#x is %g, expected %g", specs[s].name, code, actual, expected);
    }
  }
}

/* What must come of x: an ordinary code; or beyond the largest, saturated or special. */
static void check_encode(const spec *f, double x, bool saturate) {
  int code = encode(f, x, saturate), expected = nearest(f, x);
  double value = value_of(f, code);
  if (expected >= 0) CHECKF(code == expected, "%s of %a is %#x, expected %#x", f->name, x, code, expected);
  else if (f->specials == FINITE || (saturate && f->type > 1)) CHECKF(fabs(value) == plain_value(f, largest_finite(f)) && signbit(value) == signbit(x), "%s of %a is %g", f->name, x, value);
  else if (f->specials == IEEE) CHECKF(isinf(value) && signbit(value) == signbit(x), "%s of %a is %g", f->name, x, value);
  else CHECKF(isnan(value), "%s of %a is %g", f->name, x, value);
}

/* Every code's value, the midpoint to the next, and what lies just beside both, with either sign. */
static void test_encode(void) {
  for (int s = 0; s < SPEC_COUNT; ++s) {
    const spec *f = &specs[s];
    bool wide = f->type <= 1;                              /* these are converted from double: ulps of double beside a midpoint must count */
    for (int m = 0; m <= largest_finite(f) + 1; ++m) {
      double value = plain_value(f, m), middle = (value + plain_value(f, m + 1)) / 2, points[] = {value, middle};
      for (int p = 0; p < 2; ++p) {
        double x = points[p], near[] = {x, wide ? nextafter(x, INFINITY) : nextafterf((float)x, INFINITY), wide ? nextafter(x, -INFINITY) : nextafterf((float)x, -INFINITY)};
        for (int n = 0; n < 3; ++n) {
          for (int saturate = 0; saturate < 2; ++saturate) {
            check_encode(f, near[n], saturate);
            check_encode(f, -near[n], saturate);
          }
        }
      }
    }
    for (int saturate = 0; saturate < 2; ++saturate) {
      check_encode(f, INFINITY, saturate);
      check_encode(f, -INFINITY, saturate);
      check_encode(f, 3e38f, saturate);
      int nan = encode(f, NAN, saturate);
      if (f->specials == FINITE) CHECK(value_of(f, nan) == 0);
      else CHECKF(isnan(value_of(f, nan)), "%s of NaN is %#x", f->name, nan);
    }
  }
}

/* All 2^32 floats would take long; an odd stride visits every exponent and many low bits. */
static void test_float_to_half(void) {
  for (uint64_t u = 0; u < (uint64_t)1 << 32; u += 9973) {
    float x = bits_float((uint32_t)u);
    f16 h = f32_to_f16(x), d = f64_to_f16(x);
    bf16 b = f32_to_bf16(x), e = f64_to_bf16(x);
    if (isnan(x)) CHECK(isnan(f16_to_f32(h)) && isnan(f16_to_f32(d)) && isnan(bf16_to_f32(b)) && isnan(bf16_to_f32(e)));
    else CHECKF(h.bits == d.bits && b.bits == e.bits, "%a: %#x %#x %#x %#x", (double)x, h.bits, d.bits, b.bits, e.bits);
  }
}

static void test_rows(void) {
  enum { N = 65536 + 7 };
  static f16 halves[N];
  static bf16 brains[N];
  static float floats[N];
  for (int i = 0; i < N; ++i) halves[i].bits = brains[i].bits = (uint16_t)i;
  f16_to_f32_n(halves, floats, N);
  for (int i = 0; i < N; ++i) CHECK(same(floats[i], f16_to_f32(halves[i])));
  f32_to_f16_n(floats, halves, N);
  for (int i = 0; i < N; ++i) CHECK(same(f16_to_f32(halves[i]), floats[i]));
  bf16_to_f32_n(brains, floats, N);
  for (int i = 0; i < N; ++i) CHECK(same(floats[i], bf16_to_f32(brains[i])));
  f32_to_bf16_n(floats, brains, N);
  for (int i = 0; i < N; ++i) CHECK(same(bf16_to_f32(brains[i]), floats[i]));
  /* Other lengths and alignments write what they should and nothing behind it. */
  for (int i = 0; i < N; ++i) halves[i].bits = (uint16_t)i;
  for (int n = 0; n < 40; ++n) {
    float out[48];
    for (int i = 0; i < 48; ++i) out[i] = -1;
    f16_to_f32_n(halves + 15360 + n, out + 1, (size_t)n);
    CHECK(out[0] == -1 && out[n + 1] == -1);
    for (int i = 0; i < n; ++i) CHECK(out[i + 1] == f16_to_f32((f16){(uint16_t)(15360 + n + i)}));
  }
}

static void test_e8m0(void) {
  for (int code = 0; code < 255; ++code) {
    float value = minifloat_to_f32(ORTC_FLOAT8E8M0, (uint8_t)code);
    CHECK(value == (float)ldexp(1, code - 127));
    for (int round = 0; round < 3; ++round) {
      CHECK_INT(f32_to_e8m0(value, true, round), code);
      if (code == 254) continue;
      CHECK_INT(f32_to_e8m0(value * 1.25f, true, round), round == 1 ? code + 1 : code);
      CHECK_INT(f32_to_e8m0(value * 1.5f, true, round), round == 2 ? code : code + 1);
      CHECK_INT(f32_to_e8m0(value * 1.75f, true, round), round == 2 ? code : code + 1);
    }
  }
  CHECK(isnan(minifloat_to_f32(ORTC_FLOAT8E8M0, 255)));
  CHECK_INT(f32_to_e8m0(NAN, true, 1), 255);
  CHECK_INT(f32_to_e8m0(INFINITY, true, 1), 254);
  CHECK_INT(f32_to_e8m0(INFINITY, false, 0), 255);
  CHECK_INT(f32_to_e8m0(3e38f, true, 1), 254);
  CHECK_INT(f32_to_e8m0(3e38f, false, 1), 255);
  CHECK_INT(f32_to_e8m0(0, true, 1), 0);
  CHECK_INT(f32_to_e8m0(0, false, 0), 255);
}

int main(void) {
  compute_tables();
  RUN(test_decode);
  RUN(test_encode);
  RUN(test_float_to_half);
  RUN(test_rows);
  RUN(test_e8m0);
  return check_result();
}
