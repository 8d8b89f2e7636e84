#include <ortcore/base/cpu.h>
#include <ortcore/base/half.h>

#include <math.h>

/* Towards zero, with the last bit set if anything was lost. */
float f64_to_f32_odd(double x) {
  float f = (float)x;
  if ((double)f == x || isnan(x)) return f;
  uint32_t u = float_bits(f);
  if (fabs((double)f) > fabs(x)) --u;                      /* from infinity this is the largest float */
  return bits_float(u | 1);
}

f16 f64_to_f16(double x) { return f32_to_f16(f64_to_f32_odd(x)); }
bf16 f64_to_bf16(double x) { return f32_to_bf16(f64_to_f32_odd(x)); }

MULTIVERSION static void f16_to_f32_portable(const f16 *restrict in, float *restrict out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = f16_to_f32(in[i]);
}

MULTIVERSION static void f32_to_f16_portable(const float *restrict in, f16 *restrict out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = f32_to_f16(in[i]);
}

/* Processors with AVX2 convert eight halves in one instruction, which gcc does not find by itself. */
#if defined(__x86_64__)
#include <immintrin.h>
#define F16C __attribute__((target("avx,f16c")))

F16C static size_t f16_to_f32_f16c(const f16 *in, float *out, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + i))));
  return i;
}

F16C static size_t f32_to_f16_f16c(const float *in, f16 *out, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) _mm_storeu_si128((__m128i *)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
static bool has_f16c(void) { return __builtin_cpu_supports("f16c"); }
#else
static size_t f16_to_f32_f16c(const f16 *in, float *out, size_t n) { return (void)in, (void)out, n * 0; }
static size_t f32_to_f16_f16c(const float *in, f16 *out, size_t n) { return (void)in, (void)out, n * 0; }
static bool has_f16c(void) { return false; }
#endif

void f16_to_f32_n(const f16 *restrict in, float *restrict out, size_t n) {
  size_t done = has_f16c() ? f16_to_f32_f16c(in, out, n) : 0;
  f16_to_f32_portable(in + done, out + done, n - done);
}

void f32_to_f16_n(const float *restrict in, f16 *restrict out, size_t n) {
  size_t done = has_f16c() ? f32_to_f16_f16c(in, out, n) : 0;
  f32_to_f16_portable(in + done, out + done, n - done);
}

MULTIVERSION void bf16_to_f32_n(const bf16 *restrict in, float *restrict out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = bf16_to_f32(in[i]);
}

MULTIVERSION void f32_to_bf16_n(const float *restrict in, bf16 *restrict out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = f32_to_bf16(in[i]);
}
