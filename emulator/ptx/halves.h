/* f16, bf16 and their packed pairs. Every operation rounds once, as the device does. */
#ifndef EMULATOR_PTX_HALVES_H
#define EMULATOR_PTX_HALVES_H

#include <emulator/ptx/floats.h>

namespace emulator {

/* Of a format with EXPONENT and MANTISSA bits, the number nearest to x in the direction R. */
template <int EXPONENT, int MANTISSA, rounding R> u16 narrow_bits(f64 x) {
  constexpr int bias = (1 << (EXPONENT - 1)) - 1;
  constexpr u32 infinity = ((1u << EXPONENT) - 1) << MANTISSA;
  u64 bits = bits_of(x), magnitude = bits & ~(1ull << 63);
  u32 sign = u32(bits >> 63) << (EXPONENT + MANTISSA);
  if (magnitude > 0x7ff0000000000000ull) return 0x7fff;
  if (magnitude == 0x7ff0000000000000ull || magnitude == 0) return u16(sign | (magnitude ? infinity : 0));
  int power = int(magnitude >> 52) - 1023;
  u64 mantissa = (magnitude & 0xfffffffffffffull) | (power > -1023 ? 1ull << 52 : 0);
  int drop = 52 - MANTISSA + (power < 1 - bias ? 1 - bias - power : 0);      /* more bits go where the result is subnormal */
  if (drop > 54) drop = 54;
  u64 kept = mantissa >> drop, lost = mantissa & ((1ull << drop) - 1), half = 1ull << (drop - 1);
  bool away = R == rounding::rn ? lost > half || (lost == half && (kept & 1)) : R == rounding::rm ? sign && lost : R == rounding::rp ? !sign && lost : false;
  u64 result = kept + (power < 1 - bias ? 0 : u64(power + bias - 1) << MANTISSA) + away;
  if (result >= infinity) {
    bool finite = R == rounding::rz || (R == rounding::rm && !sign) || (R == rounding::rp && sign);
    result = finite ? infinity - 1 : infinity;
  }
  return u16(sign | result);
}

struct f16 {
  u16 bits;
  explicit operator f32() const;
  explicit operator f64() const { return f32(*this); }
};
struct bf16 {
  u16 bits;
  explicit operator f32() const { return as_f32(u32(bits) << 16); }
  explicit operator f64() const { return f32(*this); }
};

#if defined(__F16C__)
typedef f32 f32x4 __attribute__((vector_size(16)));
typedef short s16x8 __attribute__((vector_size(16)));
inline f16::operator f32() const { return __builtin_ia32_vcvtph2ps(s16x8{short(bits)})[0]; }
inline f16 to_f16(f32 x) { return is_nan(x) ? f16{0x7fff} : f16{u16(__builtin_ia32_vcvtps2ph(f32x4{x}, 0)[0])}; }
#else
/* The exponent is moved by a product, which puts subnormal numbers right as well. */
inline f16::operator f32() const {
  f32 magnitude = as_f32(u32(bits & 0x7fff) << 13) * 0x1p112f;
  if ((bits & 0x7c00) == 0x7c00) magnitude = as_f32(bits_of(magnitude) | 0x7f800000);
  return as_f32(bits_of(magnitude) | u32(bits & 0x8000) << 16);
}
inline f16 to_f16(f32 x) { return f16{narrow_bits<5, 10, rounding::rn>(x)}; }
#endif
inline bf16 to_bf16(f32 x) {
  u32 bits = bits_of(x);
  return is_nan(x) ? bf16{0x7fff} : bf16{u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

/* From f64, which may be rounded to odd. */
template <class H, rounding R = rounding::rn> H narrow_half(f64 x);
template <> inline f16 narrow_half<f16, rounding::rn>(f64 x) {
  f32 single = f32(x);
  return f64(single) == x ? to_f16(single) : f16{narrow_bits<5, 10, rounding::rn>(x)};
}
template <> inline bf16 narrow_half<bf16, rounding::rn>(f64 x) {
  f32 single = f32(x);
  return f64(single) == x ? to_bf16(single) : bf16{narrow_bits<8, 7, rounding::rn>(x)};
}
template <> inline f16 narrow_half<f16, rounding::rz>(f64 x) { return f16{narrow_bits<5, 10, rounding::rz>(x)}; }
template <> inline f16 narrow_half<f16, rounding::rm>(f64 x) { return f16{narrow_bits<5, 10, rounding::rm>(x)}; }
template <> inline f16 narrow_half<f16, rounding::rp>(f64 x) { return f16{narrow_bits<5, 10, rounding::rp>(x)}; }
template <> inline bf16 narrow_half<bf16, rounding::rz>(f64 x) { return bf16{narrow_bits<8, 7, rounding::rz>(x)}; }
template <> inline bf16 narrow_half<bf16, rounding::rm>(f64 x) { return bf16{narrow_bits<8, 7, rounding::rm>(x)}; }
template <> inline bf16 narrow_half<bf16, rounding::rp>(f64 x) { return bf16{narrow_bits<8, 7, rounding::rp>(x)}; }

/* Two of them in 32 bits, the first in the low half. */
template <class H> struct pair_of {
  u32 bits;
  H low() const { return H{u16(bits)}; }
  H high() const { return H{u16(bits >> 16)}; }
};
template <class H> pair_of<H> make_pair(H low, H high) { return pair_of<H>{u32(low.bits) | u32(high.bits) << 16}; }
using f16x2 = pair_of<f16>;
using bf16x2 = pair_of<bf16>;
inline f16 as_f16(u16 bits) { return f16{bits}; }
inline bf16 as_bf16(u16 bits) { return bf16{bits}; }
inline f16x2 as_f16x2(u32 bits) { return f16x2{bits}; }
inline bf16x2 as_bf16x2(u32 bits) { return bf16x2{bits}; }
inline u16 bits_of(f16 x) { return x.bits; }
inline u16 bits_of(bf16 x) { return x.bits; }
template <class H> u32 bits_of(pair_of<H> x) { return x.bits; }

/* Sums and products of two halves are exact in f64, or so much finer than the result that rounding twice does not show. */
template <class H> struct half_rules {
  static H add(H a, H b) { return narrow_half<H>(f64(a) + f64(b)); }
  static H subtract(H a, H b) { return narrow_half<H>(f64(a) - f64(b)); }
  static H multiply(H a, H b) { return narrow_half<H>(f64(a) * f64(b)); }
  static H fused(H a, H b, H c) { return narrow_half<H>(sum_to_odd(f64(a) * f64(b), f64(c))); }
  static H negate(H a) { return H{u16(a.bits ^ 0x8000)}; }
  static H magnitude(H a) { return H{u16(a.bits & 0x7fff)}; }
  static H least(H a, H b) { return narrow_half<H>(minimum(f32(a), f32(b))); }
  static H most(H a, H b) { return narrow_half<H>(maximum(f32(a), f32(b))); }
  static H least_nan(H a, H b) { return narrow_half<H>(minimum_nan(f32(a), f32(b))); }
  static H most_nan(H a, H b) { return narrow_half<H>(maximum_nan(f32(a), f32(b))); }
  static H saturate(H a) { return narrow_half<H>(saturated(f32(a))); }
  static H positive(H a) { return narrow_half<H>(is_nan(f32(a)) ? f32(a) : f32(a) > 0 ? f32(a) : 0.0f); }
  static H exp2(H a) { return narrow_half<H>(exp2_approx(f32(a))); }
  static H tanh(H a) { return narrow_half<H>(tanh_approx(f32(a))); }
};

/* One name for a half and for a pair of them. */
#define HALF_1(name, rule) \
  inline f16 name(f16 a) { return half_rules<f16>::rule(a); } \
  inline bf16 name(bf16 a) { return half_rules<bf16>::rule(a); } \
  template <class H> pair_of<H> name(pair_of<H> a) { return make_pair(half_rules<H>::rule(a.low()), half_rules<H>::rule(a.high())); }
#define HALF_2(name, rule) \
  inline f16 name(f16 a, f16 b) { return half_rules<f16>::rule(a, b); } \
  inline bf16 name(bf16 a, bf16 b) { return half_rules<bf16>::rule(a, b); } \
  template <class H> pair_of<H> name(pair_of<H> a, pair_of<H> b) { \
    return make_pair(half_rules<H>::rule(a.low(), b.low()), half_rules<H>::rule(a.high(), b.high())); \
  }
HALF_1(operator-, negate)
HALF_1(absolute, magnitude)
HALF_1(saturated, saturate)
HALF_1(rectified, positive)
HALF_1(exp2_approx, exp2)
HALF_1(tanh_approx, tanh)
HALF_2(operator+, add)
HALF_2(operator-, subtract)
HALF_2(operator*, multiply)
HALF_2(minimum, least)
HALF_2(maximum, most)
HALF_2(minimum_nan, least_nan)
HALF_2(maximum_nan, most_nan)
#undef HALF_1
#undef HALF_2
inline f16 fma(f16 a, f16 b, f16 c) { return half_rules<f16>::fused(a, b, c); }
inline bf16 fma(bf16 a, bf16 b, bf16 c) { return half_rules<bf16>::fused(a, b, c); }
template <class H> pair_of<H> fma(pair_of<H> a, pair_of<H> b, pair_of<H> c) {
  return make_pair(half_rules<H>::fused(a.low(), b.low(), c.low()), half_rules<H>::fused(a.high(), b.high(), c.high()));
}

}  // namespace emulator

#endif
