/* Conversions between float and the narrow float formats, round to nearest even unless said. NaN stays NaN.
 * Formats: IEEE 754 binary16; bfloat16; OCP FP8 (E4M3FN, E5M2), their FNUZ variants (bias 8 and 16, no negative zero, NaN 0x80);
 * E8M0 (a power of two, 0xFF NaN); OCP MX FP4 E2M1, FP6 E2M3, FP6 E3M2. */
#ifndef ORTCORE_BASE_HALF_H
#define ORTCORE_BASE_HALF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct f16 { uint16_t bits; } f16;
typedef struct bf16 { uint16_t bits; } bf16;

static inline uint32_t float_bits(float x) { uint32_t u; memcpy(&u, &x, 4); return u; }
static inline float bits_float(uint32_t u) { float x; memcpy(&x, &u, 4); return x; }

static inline float bf16_to_f32(bf16 x) { return bits_float((uint32_t)x.bits << 16); }
static inline bf16 f32_to_bf16(float x) {
  uint32_t u = float_bits(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (bf16){(uint16_t)(u >> 16 | 0x40)};
  return (bf16){(uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16)};
}

static inline float f16_to_f32(f16 h) {
  uint32_t sign = (uint32_t)(h.bits & 0x8000u) << 16, magnitude = h.bits & 0x7fffu;
  /* Normal and subnormal halves alike become floats by scaling with 2^112; infinities and NaNs keep their pattern. */
  float scaled = bits_float(magnitude << 13) * 0x1p112f;
  uint32_t bits = magnitude >= 0x7c00u ? (magnitude << 13) | 0x7f800000u : float_bits(scaled);
  return bits_float(bits | sign);
}
/* Written without branches, so that loops over it become vector code: the three cases are all computed and one is selected. */
static inline f16 f32_to_f16(float x) {
  uint32_t u = float_bits(x), sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;
  /* Normal: rebias the exponent and round the 13 bits that go to nearest even. The carry runs into the exponent, up to infinity. */
  uint32_t normal = (a - 0x38000000u + 0xfffu + (a >> 13 & 1)) >> 13;
  /* Subnormal: 0.5 has ulps of 2^-24, the smallest half, so the addition rounds and leaves the code in the low bits. */
  uint32_t subnormal = float_bits(bits_float(a) + 0.5f) - 0x3f000000u;
  uint32_t nan = 0x7e00u | (a >> 13 & 0x3ffu);
  uint32_t code = a < 0x38800000u ? subnormal : normal;
  code = a >= 0x47800000u ? 0x7c00u : code;
  code = a > 0x7f800000u ? nan : code;
  return (f16){(uint16_t)(sign | code)};
}
/* Rounds to odd: a second rounding to nearest, to a format at least two bits narrower, gives what one rounding from the double would have given. */
float f64_to_f32_odd(double x);
f16 f64_to_f16(double x);                                  /* one rounding, not two */
bf16 f64_to_bf16(double x);

/* Whole rows, vectorised where the machine can. */
void f16_to_f32_n(const f16 *in, float *out, size_t n);
void f32_to_f16_n(const float *in, f16 *out, size_t n);
void bf16_to_f32_n(const bf16 *in, float *out, size_t n);
void f32_to_bf16_n(const float *in, bf16 *out, size_t n);

/* The 8-, 6- and 4-bit floats, code in the low bits. `type` is an ortc_element_type. saturate: beyond the largest finite value gives that
 * value, else the format's infinity or NaN (ONNX Cast's attribute). E8M0 takes round: 0 nearest, 1 up, 2 down. */
float minifloat_to_f32(int type, uint8_t code);
uint8_t f32_to_minifloat(int type, float x, bool saturate);
uint8_t f32_to_e8m0(float x, bool saturate, int round);

#endif
