#include <ortcore/kernels/cpu/combine.h>

#include <ortcore/base/cpu.h>
#include <ortcore/base/half.h>

/* Signed integers are added and multiplied as unsigned 64-bit numbers, which wrap, and cut to size. */
#define ADD(a, b) (int64_t)((uint64_t)(a) + (uint64_t)(b))
#define MUL(a, b) (int64_t)((uint64_t)(a) * (uint64_t)(b))
#define T int8_t
#define A int64_t
#define LD(x) x
#define ST(a) (T)(a)
#define NAME i8
#include <ortcore/kernels/cpu/combine_type.h>
#define T int16_t
#define A int64_t
#define LD(x) x
#define ST(a) (T)(a)
#define NAME i16
#include <ortcore/kernels/cpu/combine_type.h>
#define T int32_t
#define A int64_t
#define LD(x) x
#define ST(a) (T)(a)
#define NAME i32
#include <ortcore/kernels/cpu/combine_type.h>
#define T int64_t
#define A int64_t
#define LD(x) x
#define ST(a) (T)(a)
#define NAME i64
#include <ortcore/kernels/cpu/combine_type.h>
#undef ADD
#undef MUL

#define ADD(a, b) (a) + (b)
#define MUL(a, b) (a) * (b)
#define T uint8_t
#define A uint64_t
#define LD(x) x
#define ST(a) (T)(a)
#define NAME u8
#include <ortcore/kernels/cpu/combine_type.h>
#define T uint16_t
#define A uint64_t
#define LD(x) x
#define ST(a) (T)(a)
#define NAME u16
#include <ortcore/kernels/cpu/combine_type.h>
#define T uint32_t
#define A uint64_t
#define LD(x) x
#define ST(a) (T)(a)
#define NAME u32
#include <ortcore/kernels/cpu/combine_type.h>
#define T uint64_t
#define A uint64_t
#define LD(x) x
#define ST(a) (T)(a)
#define NAME u64
#include <ortcore/kernels/cpu/combine_type.h>
#define T bool
#define A int
#define LD(x) x
#define ST(a) (a) != 0
#define NAME b8
#include <ortcore/kernels/cpu/combine_type.h>
#define T float
#define A float
#define LD(x) x
#define ST(a) a
#define NAME f32
#include <ortcore/kernels/cpu/combine_type.h>
#define T double
#define A double
#define LD(x) x
#define ST(a) a
#define NAME f64
#include <ortcore/kernels/cpu/combine_type.h>
#define T f16
#define A float
#define LD(x) f16_to_f32(x)
#define ST(a) f32_to_f16(a)
#define NAME f16
#include <ortcore/kernels/cpu/combine_type.h>
#define T bf16
#define A float
#define LD(x) bf16_to_f32(x)
#define ST(a) f32_to_bf16(a)
#define NAME bf16
#include <ortcore/kernels/cpu/combine_type.h>

const combine_fns *combine_for(combine how, dtype type) {
#define WAY(how, name) {how##_##name, how##_at_##name}
#define ROW(type, name) [ORTC_##type] = {{0}, WAY(add, name), WAY(mul, name), WAY(max, name), WAY(min, name)}
  static const combine_fns table[ORTC_ELEMENT_TYPE_COUNT][5] = {
    ROW(INT8, i8), ROW(INT16, i16), ROW(INT32, i32), ROW(INT64, i64), ROW(UINT8, u8), ROW(UINT16, u16), ROW(UINT32, u32), ROW(UINT64, u64),
    ROW(BOOL, b8), ROW(FLOAT, f32), ROW(DOUBLE, f64), ROW(FLOAT16, f16), ROW(BFLOAT16, bf16)};
#undef ROW
#undef WAY
  return table[type][how].at ? &table[type][how] : NULL;
}
