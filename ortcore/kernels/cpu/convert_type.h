/* Template: rows of elements S, seen as T by LD, converted to every type that has arithmetic or is a half. The rows are named after SUFFIX.
 * IS_FLOAT: whether T is a float; F16 and BF16 round a T to the halves. */
#define PASTE3_(a, b, c) a##_##b##_##c
#define PASTE3(a, b, c) PASTE3_(a, b, c)
#define ROW(name, to, expression) \
  MULTIVERSION static void PASTE3(convert, SUFFIX, name)(const void *in, void *out, int64_t n) { \
    const S *restrict a = in; \
    to *restrict y = out; \
    for (int64_t i = 0; i < n; ++i) { \
      T x = LD(a[i]); \
      y[i] = expression; \
    } \
  }

#if IS_FLOAT
/* What C leaves undefined is the least integer. */
#define I32 (x >= -0x1p31f && x < 0x1p31f ? (int32_t)x : INT32_MIN)
#define I64 (x >= -0x1p63f && x < 0x1p63f ? (int64_t)x : INT64_MIN)
#define U64 (x >= 0x1p63f && x < 0x1p64f ? (uint64_t)x : (uint64_t)I64)
#else
#define I32 x
#define I64 x
#define U64 x
#endif
ROW(f32, float, (float)x)
ROW(f64, double, (double)x)
ROW(f16, f16, F16(x))
ROW(bf16, bf16, BF16(x))
ROW(i8, int8_t, (int8_t)I32)
ROW(i16, int16_t, (int16_t)I32)
ROW(i32, int32_t, (int32_t)I32)
ROW(i64, int64_t, (int64_t)I64)
ROW(u8, uint8_t, (uint8_t)I32)
ROW(u16, uint16_t, (uint16_t)I32)
ROW(u32, uint32_t, (uint32_t)I64)
ROW(u64, uint64_t, (uint64_t)U64)
ROW(truth, uint8_t, x != 0)

#define ENTRY(name) PASTE3(convert, SUFFIX, name)
static const convert_fn PASTE3(convert, SUFFIX, rows)[ORTC_ELEMENT_TYPE_COUNT] = {
  [ORTC_FLOAT] = ENTRY(f32), [ORTC_DOUBLE] = ENTRY(f64), [ORTC_FLOAT16] = ENTRY(f16), [ORTC_BFLOAT16] = ENTRY(bf16), [ORTC_INT8] = ENTRY(i8),
  [ORTC_INT16] = ENTRY(i16), [ORTC_INT32] = ENTRY(i32), [ORTC_INT64] = ENTRY(i64), [ORTC_UINT8] = ENTRY(u8), [ORTC_UINT16] = ENTRY(u16),
  [ORTC_UINT32] = ENTRY(u32), [ORTC_UINT64] = ENTRY(u64), [ORTC_BOOL] = ENTRY(truth)};

#undef PASTE3
#undef PASTE3_
#undef ROW
#undef ENTRY
#undef I32
#undef I64
#undef U64
#undef S
#undef T
#undef SUFFIX
#undef IS_FLOAT
#undef LD
#undef F16
#undef BF16
