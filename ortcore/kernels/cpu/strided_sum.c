#include "strided_sum.h"

#include <ortcore/base/half.h>

#define IN float
#define OUT float
#define ACC float
#define LD(x) (x)
#define ST(x) (x)
#define NAME(x) f32_load_##x
#include "strided_sum_type.h"
#define IN f16
#define OUT float
#define ACC float
#define LD(x) f16_to_f32(x)
#define ST(x) (x)
#define NAME(x) f16_load_##x
#include "strided_sum_type.h"
#define IN float
#define OUT f16
#define ACC float
#define LD(x) (x)
#define ST(x) f32_to_f16(x)
#define NAME(x) f16_store_##x
#include "strided_sum_type.h"
#define IN bf16
#define OUT float
#define ACC float
#define LD(x) bf16_to_f32(x)
#define ST(x) (x)
#define NAME(x) bf16_load_##x
#include "strided_sum_type.h"
#define IN float
#define OUT bf16
#define ACC float
#define LD(x) (x)
#define ST(x) f32_to_bf16(x)
#define NAME(x) bf16_store_##x
#include "strided_sum_type.h"
#define IN double
#define OUT double
#define ACC double
#define LD(x) (x)
#define ST(x) (x)
#define NAME(x) f64_load_##x
#include "strided_sum_type.h"
#define IN int8_t
#define OUT uint32_t
#define ACC uint32_t
#define LD(x) (uint32_t)(int32_t)(x)
#define ST(x) (x)
#define NAME(x) i8_load_##x
#include "strided_sum_type.h"
#define IN uint32_t
#define OUT int8_t
#define ACC uint32_t
#define LD(x) (x)
#define ST(x) (int8_t)(x)
#define NAME(x) i8_store_##x
#include "strided_sum_type.h"
#define IN uint8_t
#define OUT uint32_t
#define ACC uint32_t
#define LD(x) (x)
#define ST(x) (x)
#define NAME(x) u8_load_##x
#include "strided_sum_type.h"
#define IN uint32_t
#define OUT uint8_t
#define ACC uint32_t
#define LD(x) (x)
#define ST(x) (uint8_t)(x)
#define NAME(x) u8_store_##x
#include "strided_sum_type.h"
#define IN int16_t
#define OUT uint32_t
#define ACC uint32_t
#define LD(x) (uint32_t)(int32_t)(x)
#define ST(x) (x)
#define NAME(x) i16_load_##x
#include "strided_sum_type.h"
#define IN uint32_t
#define OUT int16_t
#define ACC uint32_t
#define LD(x) (x)
#define ST(x) (int16_t)(x)
#define NAME(x) i16_store_##x
#include "strided_sum_type.h"
#define IN uint16_t
#define OUT uint32_t
#define ACC uint32_t
#define LD(x) (x)
#define ST(x) (x)
#define NAME(x) u16_load_##x
#include "strided_sum_type.h"
#define IN uint32_t
#define OUT uint16_t
#define ACC uint32_t
#define LD(x) (x)
#define ST(x) (uint16_t)(x)
#define NAME(x) u16_store_##x
#include "strided_sum_type.h"
#define IN uint32_t
#define OUT uint32_t
#define ACC uint32_t
#define LD(x) (x)
#define ST(x) (x)
#define NAME(x) u32_load_##x
#include "strided_sum_type.h"
#define IN uint64_t
#define OUT uint64_t
#define ACC uint64_t
#define LD(x) (x)
#define ST(x) (x)
#define NAME(x) u64_load_##x
#include "strided_sum_type.h"

typedef void (*loop_fn)(const strided_loop *l, const void *in, void *out);
static const struct { loop_fn load, store; } loops[ORTC_ELEMENT_TYPE_COUNT] = {
  [ORTC_FLOAT] = {f32_load_loop, f32_load_loop},
  [ORTC_FLOAT16] = {f16_load_loop, f16_store_loop},
  [ORTC_BFLOAT16] = {bf16_load_loop, bf16_store_loop},
  [ORTC_DOUBLE] = {f64_load_loop, f64_load_loop},
  [ORTC_INT8] = {i8_load_loop, i8_store_loop},
  [ORTC_UINT8] = {u8_load_loop, u8_store_loop},
  [ORTC_INT16] = {i16_load_loop, i16_store_loop},
  [ORTC_UINT16] = {u16_load_loop, u16_store_loop},
  [ORTC_UINT32] = {u32_load_loop, u32_load_loop},
  [ORTC_INT32] = {u32_load_loop, u32_load_loop},
  [ORTC_UINT64] = {u64_load_loop, u64_load_loop},
  [ORTC_INT64] = {u64_load_loop, u64_load_loop},
};

void strided_sum_load(const strided_loop *l, dtype type, const void *in, void *out) { loops[type].load(l, in, out); }
void strided_sum_store(const strided_loop *l, dtype type, const void *in, void *out) { loops[type].store(l, in, out); }
