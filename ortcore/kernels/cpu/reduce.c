#include <ortcore/base/cpu.h>
#include <ortcore/kernels/cpu/reduce.h>
#include <math.h>

#define SQRT sqrtf
#define LOG logf
#define T float
#define A float
#define NAME(f) f##_f32
#define IS_FLOAT 1
#include <ortcore/kernels/cpu/reduce_type.h>
#undef SQRT
#undef LOG
#define SQRT sqrt
#define LOG log
#define T double
#define A double
#define NAME(f) f##_f64
#define IS_FLOAT 1
#include <ortcore/kernels/cpu/reduce_type.h>

/* Integers accumulate in unsigned types, where wrapping is defined. */

#define T int8_t
#define A uint32_t
#define T_MIN INT8_MIN
#define T_MAX INT8_MAX
#define NAME(f) f##_i8
#define IS_FLOAT 0
#include <ortcore/kernels/cpu/reduce_type.h>
#undef T_MIN
#undef T_MAX
#define T int16_t
#define A uint32_t
#define T_MIN INT16_MIN
#define T_MAX INT16_MAX
#define NAME(f) f##_i16
#define IS_FLOAT 0
#include <ortcore/kernels/cpu/reduce_type.h>
#undef T_MIN
#undef T_MAX
#define T int32_t
#define A uint32_t
#define T_MIN INT32_MIN
#define T_MAX INT32_MAX
#define NAME(f) f##_i32
#define IS_FLOAT 0
#include <ortcore/kernels/cpu/reduce_type.h>
#undef T_MIN
#undef T_MAX
#define T int64_t
#define A uint64_t
#define T_MIN INT64_MIN
#define T_MAX INT64_MAX
#define NAME(f) f##_i64
#define IS_FLOAT 0
#include <ortcore/kernels/cpu/reduce_type.h>
#undef T_MIN
#undef T_MAX
#define T uint8_t
#define A uint32_t
#define T_MIN 0
#define T_MAX UINT8_MAX
#define NAME(f) f##_u8
#define IS_FLOAT 0
#include <ortcore/kernels/cpu/reduce_type.h>
#undef T_MAX
#define T uint16_t
#define A uint32_t
#define T_MAX UINT16_MAX
#define NAME(f) f##_u16
#define IS_FLOAT 0
#include <ortcore/kernels/cpu/reduce_type.h>
#undef T_MAX
#define T uint32_t
#define A uint32_t
#define T_MAX UINT32_MAX
#define NAME(f) f##_u32
#define IS_FLOAT 0
#include <ortcore/kernels/cpu/reduce_type.h>
#undef T_MAX
#define T uint64_t
#define A uint64_t
#define T_MAX UINT64_MAX
#define NAME(f) f##_u64
#define IS_FLOAT 0
#include <ortcore/kernels/cpu/reduce_type.h>

/* X(suffix, dtype) */
#define TYPES(X) \
  X(f32, FLOAT) X(f64, DOUBLE) X(i8, INT8) X(i16, INT16) X(i32, INT32) X(i64, INT64) X(u8, UINT8) X(u16, UINT16) X(u32, UINT32) X(u64, UINT64) X(u8, BOOL)

reduce_fn reduce_for(reduce_op op, dtype type) {
#define ROW(name, suffix) [REDUCE_##name] = name##_##suffix,
#define COLUMN(suffix, number) [ORTC_##number] = {ROW(Sum, suffix) ROW(Mean, suffix) ROW(Prod, suffix) ROW(Max, suffix) ROW(Min, suffix) ROW(L1, suffix) \
                                                  ROW(L2, suffix) ROW(SumSquare, suffix) ROW(LogSum, suffix) ROW(LogSumExp, suffix)},
  static const reduce_fn table[ORTC_ELEMENT_TYPE_COUNT][REDUCE_COUNT] = {TYPES(COLUMN)};
#undef COLUMN
#undef ROW
  return table[type][op];
}

arg_fn arg_for(bool smallest, dtype type) {
#define ROW(suffix, number) [ORTC_##number] = {argmax_##suffix, argmin_##suffix},
  static const arg_fn table[ORTC_ELEMENT_TYPE_COUNT][2] = {TYPES(ROW)};
#undef ROW
  return table[type][smallest];
}
