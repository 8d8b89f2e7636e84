#include <ortcore/kernels/cpu/quantize.h>

#include <math.h>
#include <ortcore/base/cpu.h>
#include <ortcore/base/half.h>

#define AS_F32(q) (q)
#define AS_F16(q) f16_to_f32(f32_to_f16(q))
#define AS_BF16(q) bf16_to_f32(f32_to_bf16(q))

#define ELEMENTWISE(name) static void name(void *out, const void *const *in, int64_t n, unsigned repeated, const void *params)
#define EACH(n) _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i)
/* Scale and zero point may be one for all. */
#define LOOPS(expression) \
  do { \
    const float *x0 = in[0], *scales = in[1], *zeros = in[2]; \
    float *y = out; \
    if (repeated) { \
      const float scale = *scales, zero = *zeros; \
      EACH(n) { \
        float x = x0[i]; \
        y[i] = expression; \
      } \
    } else { \
      EACH(n) { \
        float x = x0[i], scale = scales[i], zero = zeros[i]; \
        y[i] = expression; \
      } \
    } \
  } while (0)

static inline float bounded(float v, quantize_params p) {
  v = v > p.low ? v : p.low;                               /* NaN becomes the least value */
  return v < p.high ? v : p.high;
}

#define QUANTIZE(name, PRECISION) \
  MULTIVERSION ELEMENTWISE(integer_##name) { \
    const quantize_params p = *(const quantize_params *)params; \
    LOOPS(bounded(rintf(PRECISION(x / scale)) + zero, p)); \
  } \
  ELEMENTWISE(float_##name) { \
    (void)params; \
    LOOPS(PRECISION(x / scale) + zero); \
  }
QUANTIZE(f32, AS_F32)
QUANTIZE(f16, AS_F16)
QUANTIZE(bf16, AS_BF16)

#define ROW(fn) {#fn, fn, GRAIN_FUNCTION, ACCEPTS_LAST_TWO}
static const elementwise to_integer[] = {ROW(integer_f32), ROW(integer_f16), ROW(integer_bf16)};
static const elementwise to_float[] = {ROW(float_f32), ROW(float_f16), ROW(float_bf16)};

static int index_of(dtype precision) { return precision == ORTC_FLOAT16 ? 1 : precision == ORTC_BFLOAT16 ? 2 : 0; }
const elementwise *quantize_to_integer(dtype precision) { return &to_integer[index_of(precision)]; }
const elementwise *quantize_to_float(dtype precision) { return &to_float[index_of(precision)]; }

#define STORE(name, type) \
  MULTIVERSION static void store_##name(const void *restrict in, void *restrict out, int64_t n) { \
    for (int64_t i = 0; i < n; ++i) ((type *)out)[i] = (type)(int32_t)((const float *)in)[i]; \
  }
STORE(i8, int8_t)
STORE(u8, uint8_t)
STORE(i16, int16_t)
STORE(u16, uint16_t)

convert_fn quantize_store(dtype type) {
  switch (type) {
    case ORTC_INT8: return store_i8;
    case ORTC_UINT8: return store_u8;
    case ORTC_INT16: return store_i16;
    case ORTC_UINT16: return store_u16;
    default: return NULL;
  }
}

MULTIVERSION ELEMENTWISE(dequantize) {
  (void)params;
  LOOPS((x - zero) * scale);
}
const elementwise dequantize_kernel = ROW(dequantize);

MULTIVERSION void quantize_byte_sum(const byte_sum *s, int64_t begin, int64_t end) {
  const uint8_t *restrict a = s->a, *restrict b = s->b;
  uint8_t *restrict y = s->y;
  const uint8_t flip_a = s->flip_a, flip_b = s->flip_b, flip_y = s->flip_y;
  const float a_scale = s->a_scale, b_scale = s->b_scale, offset = s->offset;
  for (int64_t i = begin; i < end; ++i) {
    float v = rintf((float)(a[i] ^ flip_a) * a_scale + (float)(b[i] ^ flip_b) * b_scale + offset);
    v = v < 0 ? 0 : v;
    v = v > 255 ? 255 : v;
    y[i] = (uint8_t)((uint8_t)(int32_t)v ^ flip_y);
  }
}

MULTIVERSION void quantize_range(const float *restrict x, int64_t n, float *out_low, float *out_high) {
  enum { LANES = 64 };                                     /* partial results, so that the loop is not one chain */
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
