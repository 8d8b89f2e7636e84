/* Elementwise loops of the signed integers. */
#include <stdint.h>

#define T int8_t
#define W uint32_t
#define SUFFIX i8
#define BITS 8
#define IS_SIGNED 1
#include <ortcore/kernels/cpu/elementwise_integer.h>
#define T int16_t
#define W uint32_t
#define SUFFIX i16
#define BITS 16
#define IS_SIGNED 1
#include <ortcore/kernels/cpu/elementwise_integer.h>
#define T int32_t
#define W uint32_t
#define SUFFIX i32
#define BITS 32
#define IS_SIGNED 1
#include <ortcore/kernels/cpu/elementwise_integer.h>
#define T int64_t
#define W uint64_t
#define SUFFIX i64
#define BITS 64
#define IS_SIGNED 1
#include <ortcore/kernels/cpu/elementwise_integer.h>
