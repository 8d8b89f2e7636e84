/* Elementwise loops of the unsigned integers. */
#include <stdint.h>

#define T uint8_t
#define W uint32_t
#define SUFFIX u8
#define BITS 8
#define IS_SIGNED 0
#include <ortcore/kernels/cpu/elementwise_integer.h>
#define T uint16_t
#define W uint32_t
#define SUFFIX u16
#define BITS 16
#define IS_SIGNED 0
#include <ortcore/kernels/cpu/elementwise_integer.h>
#define T uint32_t
#define W uint32_t
#define SUFFIX u32
#define BITS 32
#define IS_SIGNED 0
#include <ortcore/kernels/cpu/elementwise_integer.h>
#define T uint64_t
#define W uint64_t
#define SUFFIX u64
#define BITS 64
#define IS_SIGNED 0
#include <ortcore/kernels/cpu/elementwise_integer.h>
