/* Unsigned codes that compare as the numbers do. NaN is larger than every number; -0 equals 0. */
#ifndef ORTCORE_KERNELS_CPU_ORDER_H
#define ORTCORE_KERNELS_CPU_ORDER_H

#include <ortcore/base/half.h>

static inline uint32_t code_i32(int32_t x) { return (uint32_t)x ^ 0x80000000u; }
static inline uint64_t code_i64(int64_t x) { return (uint64_t)x ^ (uint64_t)1 << 63; }
static inline uint32_t code_f32(float x) {
  uint32_t u = float_bits(x == 0 ? 0 : x);
  return x != x ? UINT32_MAX : u >> 31 ? ~u : u | 0x80000000u;
}
static inline uint64_t code_f64(double x) {
  uint64_t u;
  x = x == 0 ? 0 : x;
  memcpy(&u, &x, sizeof u);
  return x != x ? UINT64_MAX : u >> 63 ? ~u : u | (uint64_t)1 << 63;
}

#endif
