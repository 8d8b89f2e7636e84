/* Floating-point arithmetic of PTX in f32 and f64: rounding modes, saturation, flushing, conversions. */
#ifndef EMULATOR_PTX_FLOATS_H
#define EMULATOR_PTX_FLOATS_H

#include <emulator/ptx/numbers.h>

namespace emulator {

/* To nearest even, towards zero, down, up. */
enum class rounding : u8 { rn, rz, rm, rp };

inline bool is_nan(f32 x) { return __builtin_isnan(x); }
inline bool is_nan(f64 x) { return __builtin_isnan(x); }
template <class T> T canonical_nan();
template <> inline f32 canonical_nan<f32>() { return as_f32(0x7fffffff); }
template <> inline f64 canonical_nan<f64>() { return as_f64(0x7fffffffffffffffull); }

/* --- exact rounding: a result is first had in f64 rounded to odd, which no later rounding to fewer bits can spoil --- */

/* a + b; if bits were lost, the last bit says so. */
inline f64 sum_to_odd(f64 a, f64 b) {
  f64 sum = a + b, b_seen = sum - a;
  f64 lost = (a - (sum - b_seen)) + (b - b_seen);
  if (lost == 0 || !__builtin_isfinite(sum) || (bits_of(sum) & 1)) return sum;
  return as_f64(bits_of(sum) + ((lost > 0) == (sum > 0) ? 1 : -1));
}

/* The neighbour of x on the side of `up`. */
inline f32 next_to(f32 x, bool up) {
  if (x == 0) return up ? as_f32(1) : as_f32(0x80000001);
  return as_f32(bits_of(x) + ((x > 0) == up ? 1 : -1));
}

template <rounding R> f32 narrow(f64 x) {
  f32 nearest = f32(x);
  if (R == rounding::rn) return nearest;
  f64 rest = x - f64(nearest);
  bool down = R == rounding::rm || (R == rounding::rz && x > 0);
  if (down ? rest < 0 : rest > 0) return next_to(nearest, !down);
  return nearest;
}

template <rounding R> f32 sum_rounded(f32 a, f32 b) { return narrow<R>(sum_to_odd(a, b)); }
template <rounding R> f32 difference_rounded(f32 a, f32 b) { return narrow<R>(sum_to_odd(a, -f64(b))); }
template <rounding R> f32 product_rounded(f32 a, f32 b) { return narrow<R>(f64(a) * f64(b)); }
template <rounding R> f32 fma_rounded(f32 a, f32 b, f32 c) { return narrow<R>(sum_to_odd(f64(a) * f64(b), c)); }
/* Of what a division or a root in f64 leaves, its side is all that a directed rounding needs. */
inline f64 nudged(f64 x, f64 rest) { return rest > 0 ? sum_to_odd(x, 0x1p-1074) : rest < 0 ? sum_to_odd(x, -0x1p-1074) : x; }
template <rounding R> f32 quotient_rounded(f32 a, f32 b) {
  f64 q = f64(a) / b, rest = __builtin_fma(-q, b, a);
  return narrow<R>(nudged(q, b > 0 ? rest : -rest));
}
template <rounding R> f32 root_rounded(f32 a) {
  f64 root = __builtin_sqrt(f64(a));
  return narrow<R>(nudged(root, __builtin_fma(-root, root, a)));
}

/* --- f32 and f64 --- */

inline f32 fma(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
inline f64 fma(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
inline f32 square_root(f32 x) { return __builtin_sqrtf(x); }
inline f64 square_root(f64 x) { return __builtin_sqrt(x); }
inline f32 inverse_root(f32 x) { return f32(1 / __builtin_sqrt(f64(x))); }
inline f64 inverse_root(f64 x) { return 1 / __builtin_sqrt(x); }
inline f32 absolute(f32 x) { return __builtin_fabsf(x); }
inline f64 absolute(f64 x) { return __builtin_fabs(x); }
/* The magnitude of `size` with the sign of `sign`. */
inline f32 with_sign(f32 sign, f32 size) { return __builtin_copysignf(size, sign); }
inline f64 with_sign(f64 sign, f64 size) { return __builtin_copysign(size, sign); }

/* The smaller and the larger number; NaN only if both are. Equal numbers have equal bits, but for -0, which is smaller than +0. */
template <class T, class BITS> T minimum_of(T a, T b, BITS either) {
  if (a == b) return __builtin_bit_cast(T, either);
  if (is_nan(a)) return is_nan(b) ? canonical_nan<T>() : b;
  return is_nan(b) || a < b ? a : b;
}
inline f32 minimum(f32 a, f32 b) { return minimum_of(a, b, bits_of(a) | bits_of(b)); }
inline f64 minimum(f64 a, f64 b) { return minimum_of(a, b, bits_of(a) | bits_of(b)); }
template <class T> T maximum(T a, T b) { return -minimum(T(-a), T(-b)); }
/* NaN if one is. */
template <class T> T minimum_nan(T a, T b) { return is_nan(a) || is_nan(b) ? canonical_nan<T>() : minimum(a, b); }
template <class T> T maximum_nan(T a, T b) { return is_nan(a) || is_nan(b) ? canonical_nan<T>() : maximum(a, b); }

/* Subnormal numbers become zeros. */
inline f32 flushed(f32 x) { return bits_of(x) & 0x7f800000 ? x : as_f32(bits_of(x) & 0x80000000); }
/* Into [0, 1]; NaN becomes 0. */
template <class T> T saturated(T x) { return x > T(0) ? (x < T(1) ? x : T(1)) : T(0); }

/* --- approximations: at least as exact as the device's --- */

inline f32 exp2_approx(f32 x) { return __builtin_exp2f(x); }
inline f32 log2_approx(f32 x) { return __builtin_log2f(x); }
inline f32 sin_approx(f32 x) { return __builtin_sinf(x); }
inline f32 cos_approx(f32 x) { return __builtin_cosf(x); }
inline f32 tanh_approx(f32 x) { return __builtin_tanhf(x); }

/* --- conversions --- */

inline f32 round_integer(rounding mode, f32 x) {
  return mode == rounding::rn ? __builtin_rintf(x) : mode == rounding::rz ? __builtin_truncf(x)
       : mode == rounding::rm ? __builtin_floorf(x) : __builtin_ceilf(x);
}
inline f64 round_integer(rounding mode, f64 x) {
  return mode == rounding::rn ? __builtin_rint(x) : mode == rounding::rz ? __builtin_trunc(x)
       : mode == rounding::rm ? __builtin_floor(x) : __builtin_ceil(x);
}
template <rounding R, class T> T rounded_integer(T x) { return round_integer(R, x); }

/* To an integer, saturated; NaN becomes 0. The bound above is not exact in every F, but 2^bits is. */
template <class T, rounding R, class F> T to_integer(F x) {
  F whole = round_integer(R, x), beyond = F(2) * F(T(1) << (bits_of_type<T> - 2)) * (is_signed_type<T> ? 1 : 2);
  if (is_nan(whole)) return 0;
  if (whole <= F(lowest<T>())) return lowest<T>();
  return whole >= beyond ? highest<T>() : T(whole);
}

/* From an integer, which 64-bit ones need not have exactly. */
template <class F, rounding R, class T> F from_integer(T x) {
  if (R == rounding::rn) return F(x);
  F nearest = F(x);
  s128 rest = s128(x) - s128(nearest);
  bool down = R == rounding::rm || (R == rounding::rz && x > 0);
  if (down ? rest >= 0 : rest <= 0) return nearest;
  if constexpr (sizeof(F) == 4) return next_to(nearest, !down);
  return as_f64(bits_of(f64(nearest)) + ((nearest > 0) == !down ? 1 : -1));
}

/* In f64 rounded to odd. */
template <class T> f64 integer_to_odd(T x) {
  f64 inner = from_integer<f64, rounding::rz>(x);
  return s128(inner) == s128(x) ? inner : as_f64(bits_of(inner) | 1);
}

/* To an integer type that cannot hold every value of the other. */
template <class D, class S> D saturated_integer(S x) {
  if (s128(x) < s128(lowest<D>())) return lowest<D>();
  return s128(x) > s128(highest<D>()) ? highest<D>() : D(x);
}

/* Both saturated to T, b in the lower part; the lower half of `above` goes on top. */
template <class T> u32 pack_saturated(s32 a, s32 b, u32 above) {
  using part = unsigned_of<T>;
  u64 packed = part(saturated_integer<T>(b)) | u32(part(saturated_integer<T>(a))) << bits_of_type<T>;
  return u32(packed | u64(above) << 2 * bits_of_type<T>);
}

/* TF32: the mantissa rounded to 10 bits, ties away from zero. */
inline u32 to_tf32(f32 x) { return is_nan(x) ? 0x7fffffff : (bits_of(x) & 0x7f800000) == 0x7f800000 ? bits_of(x) : (bits_of(x) + 0x1000) & 0xffffe000; }

}  // namespace emulator

#endif
