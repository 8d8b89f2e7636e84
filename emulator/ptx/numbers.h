/* Arithmetic of PTX on one number: what the C++ operators do not do in the same way. Types carry their PTX names. */
#ifndef EMULATOR_PTX_NUMBERS_H
#define EMULATOR_PTX_NUMBERS_H

#include <stdint.h>

namespace emulator {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using b8 = u8;
using b16 = u16;
using b32 = u32;
using b64 = u64;
using f32 = float;
using f64 = double;
using tf32 = u32;
using pred = bool;
__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

template <class T> constexpr u32 bits_of_type = sizeof(T) * 8;
template <class T> constexpr bool is_signed_type = T(-1) < T(0);

/* The unsigned and the doubled type of an integer. */
template <class T> struct related;
template <> struct related<u8> { using unsigned_type = u8; using wide = u16; };
template <> struct related<s8> { using unsigned_type = u8; using wide = s16; };
template <> struct related<u16> { using unsigned_type = u16; using wide = u32; };
template <> struct related<s16> { using unsigned_type = u16; using wide = s32; };
template <> struct related<u32> { using unsigned_type = u32; using wide = u64; };
template <> struct related<s32> { using unsigned_type = u32; using wide = s64; };
template <> struct related<u64> { using unsigned_type = u64; using wide = u128; };
template <> struct related<s64> { using unsigned_type = u64; using wide = s128; };
template <class T> using unsigned_of = typename related<T>::unsigned_type;
template <class T> using wide_of = typename related<T>::wide;

/* --- the same bits seen as another type --- */

inline f32 as_f32(u32 bits) { return __builtin_bit_cast(f32, bits); }
inline f64 as_f64(u64 bits) { return __builtin_bit_cast(f64, bits); }
inline u32 bits_of(f32 x) { return __builtin_bit_cast(u32, x); }
inline u64 bits_of(f64 x) { return __builtin_bit_cast(u64, x); }

/* --- integers --- */

template <class T> T lowest() { return is_signed_type<T> ? T(unsigned_of<T>(1) << (bits_of_type<T> - 1)) : T(0); }
template <class T> T highest() { return T(~lowest<T>()); }

/* A division by zero has all bits set on a GPU, and does not trap. */
template <class T> T quotient(T a, T b) {
  if (b == 0) return T(-1);
  return is_signed_type<T> && b == T(-1) ? T(0 - unsigned_of<T>(a)) : T(a / b);
}
template <class T> T remainder(T a, T b) {
  if (b == 0) return a;
  return is_signed_type<T> && b == T(-1) ? T(0) : T(a % b);
}

template <class T> T smaller(T a, T b) { return b < a ? b : a; }
template <class T> T larger(T a, T b) { return a < b ? b : a; }
template <class T> T clamp(T x, T low, T high) { return x < low ? low : high < x ? high : x; }
template <class T> T product_high(T a, T b) { return T((wide_of<T>(a) * wide_of<T>(b)) >> bits_of_type<T>); }
template <class T> T absolute_difference(T a, T b) { return a < b ? T(b - a) : T(a - b); }

inline s32 saturate_s32(s64 x) { return s32(clamp<s64>(x, INT32_MIN, INT32_MAX)); }
inline s32 product_24(s32 a, s32 b) { return s32(s64(a << 8 >> 8) * (b << 8 >> 8)); }
inline u32 product_24(u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); }

/* Shifts by more than all bits leave none, or the sign. */
template <class T> T shift_left(T a, u32 n) { return n < bits_of_type<T> ? T(a << n) : T(0); }
template <class T> T shift_right(T a, u32 n) {
  if (n < bits_of_type<T>) return T(a >> n);
  return is_signed_type<T> ? T(a >> (bits_of_type<T> - 1)) : T(0);
}
inline u32 funnel_left(u32 low, u32 high, u32 n) { return u32(((u64(high) << 32 | low) << n) >> 32); }
inline u32 funnel_right(u32 low, u32 high, u32 n) { return u32((u64(high) << 32 | low) >> n); }

inline u32 count_ones(u64 x) { return u32(__builtin_popcountll(x)); }
inline u32 leading_zeros(u32 x) { return x ? u32(__builtin_clz(x)) : 32; }
inline u32 leading_zeros(u64 x) { return x ? u32(__builtin_clzll(x)) : 64; }

/* Position of the highest bit that differs from the sign; all bits set if there is none. */
template <class T> u32 highest_bit(T x) {
  u64 magnitude = u64(unsigned_of<T>(is_signed_type<T> && x < 0 ? T(~x) : x));
  return magnitude ? 63 - u32(__builtin_clzll(magnitude)) : ~0u;
}
template <class T> u32 shift_to_highest_bit(T x) {
  u32 at = highest_bit(x);
  return at == ~0u ? at : bits_of_type<T> - 1 - at;
}

u32 reverse_bits(u32 x);
u64 reverse_bits(u64 x);

/* `count` bits from `begin` on, sign-extended for signed types; positions are taken modulo 256. */
template <class T> T extract_bits(T a, u32 begin, u32 count) {
  begin &= 255;
  count &= 255;
  u32 width = bits_of_type<T>;
  if (count == 0) return 0;
  if (begin >= width) return is_signed_type<T> ? T(a >> (width - 1)) : T(0);
  if (count > width - begin) count = width - begin;
  return T(T(unsigned_of<T>(a) << (width - begin - count)) >> (width - count));
}
template <class T> T insert_bits(T a, T b, u32 begin, u32 count) {
  begin &= 255;
  count &= 255;
  if (begin >= bits_of_type<T>) return b;
  T ones = count >= bits_of_type<T> ? T(~T(0)) : T((T(1) << count) - 1);
  T mask = T(ones << begin);
  return T((T(a << begin) & mask) | (b & ~mask));
}
inline u32 bit_mask(u32 begin, u32 count) {
  u32 ones = count >= 32 ? ~0u : (1u << count) - 1;
  return begin >= 32 ? 0 : ones << begin;
}
inline u32 bit_mask_wrapped(u32 begin, u32 count) { return bit_mask(begin & 31, count & 31); }

/* Four bytes out of eight; a selector's high bit asks for the sign of its byte. */
inline u32 permute_bytes(u32 a, u32 b, u32 selectors) {
  u64 bytes = u64(b) << 32 | a;
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    u32 selector = selectors >> (4 * i);
    u32 byte = u32(bytes >> (8 * (selector & 7))) & 255;
    if (selector & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}
enum class permutation : u8 { f4e, b4e, rc8, ecl, ecr, rc16 };
u32 permute_bytes(permutation mode, u32 a, u32 b, u32 c);

/* Sums of products of bytes (dp4a) and of 16-bit numbers with bytes (dp2a); A and B say how the parts are extended. */
template <class A, class B> s32 dot_4(u32 a, u32 b, s32 sum) {
  for (u32 i = 0; i < 32; i += 8) sum += s32(A(a >> i)) * s32(B(b >> i));
  return sum;
}
template <class A, class B> s32 dot_2(u32 a, u32 b, s32 sum, u32 first_byte) {
  for (u32 i = 0; i < 2; ++i) sum += s32(A(a >> (16 * i))) * s32(B(b >> (8 * (first_byte + i))));
  return sum;
}

/* Sums with the carry flag, which add.cc sets and addc takes. */
template <class T> T add_carry(T a, T b, bool in, bool &out) {
  unsigned_of<T> sum = unsigned_of<T>(a) + unsigned_of<T>(b);
  bool carry = sum < unsigned_of<T>(a);
  unsigned_of<T> total = sum + in;
  out = carry || total < sum;
  return T(total);
}
/* The flag is 1 after a subtraction that borrowed. */
template <class T> T subtract_borrow(T a, T b, bool in, bool &out) {
  unsigned_of<T> x = unsigned_of<T>(a), y = unsigned_of<T>(b);
  out = x < y || (x == y && in);
  return T(x - y - in);
}

}  // namespace emulator

#endif
