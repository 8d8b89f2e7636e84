#include "gemm_i8.h"

#include <ortcore/base/cpu.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

bool gemm_i8_available(void) { return cpu_has_vnni(); }

__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
static void micro(const uint8_t *a, const uint8_t *b, int64_t quads, uint32_t *tile, int64_t ld, bool first) {
  __m512i sum[GEMM_I8_MR][2];
#pragma GCC unroll 8
  for (int i = 0; i < GEMM_I8_MR; ++i) {
    sum[i][0] = first ? _mm512_setzero_si512() : _mm512_loadu_si512(tile + i * ld);
    sum[i][1] = first ? _mm512_setzero_si512() : _mm512_loadu_si512(tile + i * ld + 16);
  }
  for (int64_t q = 0; q < quads; ++q, a += GEMM_I8_MR * GEMM_I8_QUAD, b += GEMM_I8_NR * GEMM_I8_QUAD) {
    __m512i low = _mm512_loadu_si512(b), high = _mm512_loadu_si512(b + 64);
#pragma GCC unroll 8
    for (int i = 0; i < GEMM_I8_MR; ++i) {
      int32_t four;
      memcpy(&four, a + i * GEMM_I8_QUAD, sizeof four);
      __m512i row = _mm512_set1_epi32(four);
      ADD_PRODUCTS(sum[i][0], row, low);
      ADD_PRODUCTS(sum[i][1], row, high);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < GEMM_I8_MR; ++i) {
    _mm512_storeu_si512(tile + i * ld, sum[i][0]);
    _mm512_storeu_si512(tile + i * ld + 16, sum[i][1]);
  }
}

void gemm_i8_block(const uint8_t *a, const uint8_t *b, int64_t m, int64_t n, int64_t quads, uint32_t *tile, int64_t ld, bool first) {
  for (int64_t j = 0; j < n; j += GEMM_I8_NR)
    for (int64_t i = 0; i < m; i += GEMM_I8_MR)
      micro(a + i * quads * GEMM_I8_QUAD, b + j * quads * GEMM_I8_QUAD, quads, tile + i * ld + j, ld, first);
}

#else

bool gemm_i8_available(void) { return false; }
void gemm_i8_block(const uint8_t *a, const uint8_t *b, int64_t m, int64_t n, int64_t quads, uint32_t *tile, int64_t ld, bool first) {
  (void)a, (void)b, (void)m, (void)n, (void)quads, (void)tile, (void)ld, (void)first;
}

#endif

MULTIVERSION
int32_t gemm_i8_place(const uint8_t *bytes, int64_t stride, int64_t count, uint8_t flip, bool is_signed, int width, uint8_t *out) {
  int32_t sum = 0;
  int64_t i = 0, step = (int64_t)width * GEMM_I8_QUAD;
  if (stride == 1)
    for (; i + GEMM_I8_QUAD <= count; i += GEMM_I8_QUAD, out += step) {
      uint32_t four;
      memcpy(&four, bytes + i, sizeof four);
      four ^= 0x01010101u * flip;
      memcpy(out, &four, sizeof four);
      for (int b = 0; b < GEMM_I8_QUAD; ++b) sum += is_signed ? (int8_t)(four >> (8 * b)) : (uint8_t)(four >> (8 * b));
    }
  for (; i < count; i += GEMM_I8_QUAD, out += step)
    for (int b = 0; b < GEMM_I8_QUAD && i + b < count; ++b) {
      out[b] = bytes[(i + b) * stride] ^ flip;
      sum += is_signed ? (int8_t)out[b] : out[b];
    }
  return sum;
}
