#include <ortcore/kernels/cpu/quantize.h>

#include <math.h>
#include <ortcore/base/cpu.h>
#include <ortcore/base/half.h>

#define AS_F32(q) (q)
#define AS_F16(q) f16_to_f32(f32_to_f16(q))
#define AS_BF16(q) bf16_to_f32(f32_to_bf16(q))

#define QUANTIZE(name, PRECISION) \
  MULTIVERSION static void integer_##name(void *out, const void *const *in, int64_t n, const void *params) { \
    const quantize_params p = *(const quantize_params *)params; \
    const float *x = in[0], *scale = in[1], *zero = in[2]; \
    float *y = out; \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) { \
      float v = rintf(PRECISION(x[i] / scale[i])) + zero[i]; \
      v = v > p.low ? v : p.low; \
      y[i] = v < p.high ? v : p.high; \
    } \
  } \
  static void float_##name(void *out, const void *const *in, int64_t n, const void *params) { \
    (void)params; \
    const float *x = in[0], *scale = in[1], *zero = in[2]; \
    float *y = out; \
    for (int64_t i = 0; i < n; ++i) y[i] = PRECISION(x[i] / scale[i]) + zero[i]; \
  }
QUANTIZE(f32, AS_F32)
QUANTIZE(f16, AS_F16)
QUANTIZE(bf16, AS_BF16)

static const elementwise to_integer[] = {{"f32", integer_f32, GRAIN_FUNCTION}, {"f16", integer_f16, GRAIN_FUNCTION}, {"bf16", integer_bf16, GRAIN_FUNCTION}};
static const elementwise to_float[] = {{"f32", float_f32, GRAIN_FUNCTION}, {"f16", float_f16, GRAIN_FUNCTION}, {"bf16", float_bf16, GRAIN_FUNCTION}};

static int index_of(dtype precision) { return precision == ORTC_FLOAT16 ? 1 : precision == ORTC_BFLOAT16 ? 2 : 0; }
const elementwise *quantize_to_integer(dtype precision) { return &to_integer[index_of(precision)]; }
const elementwise *quantize_to_float(dtype precision) { return &to_float[index_of(precision)]; }

MULTIVERSION static void dequantize(void *out, const void *const *in, int64_t n, const void *params) {
  (void)params;
  const float *x = in[0], *scale = in[1], *zero = in[2];
  float *y = out;
  _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - zero[i]) * scale[i];
}
const elementwise dequantize_kernel = {"DequantizeLinear", dequantize, GRAIN_FUNCTION};

MULTIVERSION void quantize_range(const float *restrict x, int64_t n, float *out_low, float *out_high) {
  enum { LANES = 16 };                                     /* partial results, so that the loop is not one chain */
  float low[LANES] = {0}, high[LANES] = {0};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    for (int j = 0; j < LANES; ++j) {
      low[j] = x[i + j] < low[j] ? x[i + j] : low[j];
      high[j] = x[i + j] > high[j] ? x[i + j] : high[j];
    }
  }
  for (; i < n; ++i) {
    low[0] = x[i] < low[0] ? x[i] : low[0];
    high[0] = x[i] > high[0] ? x[i] : high[0];
  }
  *out_low = *out_high = 0;
  for (int j = 0; j < LANES; ++j) {
    *out_low = low[j] < *out_low ? low[j] : *out_low;
    *out_high = high[j] > *out_high ? high[j] : *out_high;
  }
}
