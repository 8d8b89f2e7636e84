/* Rows of the types that have arithmetic, and of the halves: every pair of them. */
#include <ortcore/base/cpu.h>
#include <ortcore/base/half.h>
#include <ortcore/kernels/cpu/convert.h>
#include <pthread.h>

#define SAME(x) (x)
#define TRUTH(x) ((x) != 0)
#define FLOAT_TO_F16(x) f32_to_f16((float)(x))
#define FLOAT_TO_BF16(x) f32_to_bf16((float)(x))

#define S float
#define T float
#define SUFFIX f32
#define IS_FLOAT 1
#define LD SAME
#define F16 FLOAT_TO_F16
#define BF16 FLOAT_TO_BF16
#include <ortcore/kernels/cpu/convert_type.h>

#define S double
#define T double
#define SUFFIX f64
#define IS_FLOAT 1
#define LD SAME
#define F16 f64_to_f16
#define BF16 f64_to_bf16
#include <ortcore/kernels/cpu/convert_type.h>

#define S f16
#define T float
#define SUFFIX f16
#define IS_FLOAT 1
#define LD f16_to_f32
#define F16 FLOAT_TO_F16
#define BF16 FLOAT_TO_BF16
#include <ortcore/kernels/cpu/convert_type.h>

#define S bf16
#define T float
#define SUFFIX bf16
#define IS_FLOAT 1
#define LD bf16_to_f32
#define F16 FLOAT_TO_F16
#define BF16 FLOAT_TO_BF16
#include <ortcore/kernels/cpu/convert_type.h>

#define S int8_t
#define T int8_t
#define SUFFIX i8
#define IS_FLOAT 0
#define LD SAME
#define F16 FLOAT_TO_F16
#define BF16 FLOAT_TO_BF16
#include <ortcore/kernels/cpu/convert_type.h>

#define S int16_t
#define T int16_t
#define SUFFIX i16
#define IS_FLOAT 0
#define LD SAME
#define F16 FLOAT_TO_F16
#define BF16 FLOAT_TO_BF16
#include <ortcore/kernels/cpu/convert_type.h>

#define S int32_t
#define T int32_t
#define SUFFIX i32
#define IS_FLOAT 0
#define LD SAME
#define F16 FLOAT_TO_F16
#define BF16 FLOAT_TO_BF16
#include <ortcore/kernels/cpu/convert_type.h>

#define S int64_t
#define T int64_t
#define SUFFIX i64
#define IS_FLOAT 0
#define LD SAME
#define F16 FLOAT_TO_F16
#define BF16 FLOAT_TO_BF16
#include <ortcore/kernels/cpu/convert_type.h>

#define S uint8_t
#define T uint8_t
#define SUFFIX u8
#define IS_FLOAT 0
#define LD SAME
#define F16 FLOAT_TO_F16
#define BF16 FLOAT_TO_BF16
#include <ortcore/kernels/cpu/convert_type.h>

#define S uint16_t
#define T uint16_t
#define SUFFIX u16
#define IS_FLOAT 0
#define LD SAME
#define F16 FLOAT_TO_F16
#define BF16 FLOAT_TO_BF16
#include <ortcore/kernels/cpu/convert_type.h>

#define S uint32_t
#define T uint32_t
#define SUFFIX u32
#define IS_FLOAT 0
#define LD SAME
#define F16 FLOAT_TO_F16
#define BF16 FLOAT_TO_BF16
#include <ortcore/kernels/cpu/convert_type.h>

#define S uint64_t
#define T uint64_t
#define SUFFIX u64
#define IS_FLOAT 0
#define LD SAME
#define F16 FLOAT_TO_F16
#define BF16 FLOAT_TO_BF16
#include <ortcore/kernels/cpu/convert_type.h>

#define S uint8_t
#define T int32_t
#define SUFFIX truth
#define IS_FLOAT 0
#define LD TRUTH
#define F16 FLOAT_TO_F16
#define BF16 FLOAT_TO_BF16
#include <ortcore/kernels/cpu/convert_type.h>

/* The one conversion to a half that base/half.h has vector code for. */
static void f32_to_f16_row(const void *in, void *out, int64_t n) { f32_to_f16_n(in, out, (size_t)n); }

/* 8-bit floats: a table of all their values each. */
#define SMALL_FLOATS(X) X(FLOAT8E4M3FN) X(FLOAT8E4M3FNUZ) X(FLOAT8E5M2) X(FLOAT8E5M2FNUZ) X(FLOAT8E8M0)
#define TABLE(type) static float values_##type[256];
SMALL_FLOATS(TABLE)

static void make_tables(void) {
  for (int code = 0; code < 256; ++code) {
#define ENTER(type) values_##type[code] = minifloat_to_f32(ORTC_##type, (uint8_t)code);
    SMALL_FLOATS(ENTER)
  }
}
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

#define FROM_TABLE(type) \
  static void convert_##type(const void *in, void *out, int64_t n) { \
    pthread_once(&tables_once, make_tables); \
    const uint8_t *codes = in; \
    float *y = out; \
    for (int64_t i = 0; i < n; ++i) y[i] = values_##type[codes[i]]; \
  }
SMALL_FLOATS(FROM_TABLE)

convert_fn convert_find(dtype from, dtype to) {
  static const convert_fn *const rows[ORTC_ELEMENT_TYPE_COUNT] = {
    [ORTC_FLOAT] = convert_f32_rows, [ORTC_DOUBLE] = convert_f64_rows, [ORTC_FLOAT16] = convert_f16_rows, [ORTC_BFLOAT16] = convert_bf16_rows,
    [ORTC_INT8] = convert_i8_rows, [ORTC_INT16] = convert_i16_rows, [ORTC_INT32] = convert_i32_rows, [ORTC_INT64] = convert_i64_rows,
    [ORTC_UINT8] = convert_u8_rows, [ORTC_UINT16] = convert_u16_rows, [ORTC_UINT32] = convert_u32_rows, [ORTC_UINT64] = convert_u64_rows,
    [ORTC_BOOL] = convert_truth_rows};
#define FIND(type) [ORTC_##type] = convert_##type,
  static const convert_fn small[ORTC_ELEMENT_TYPE_COUNT] = {SMALL_FLOATS(FIND)};
  if (from == ORTC_FLOAT && to == ORTC_FLOAT16) return f32_to_f16_row;
  if (rows[from]) return rows[from][to];
  return to == ORTC_FLOAT ? small[from] : NULL;
}
