/* Arithmetic on sizes that come from files and callers: true means overflow, and *out is then unspecified. */
#ifndef ORTCORE_BASE_CHECKED_H
#define ORTCORE_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define checked_add(a, b, out) __builtin_add_overflow(a, b, out)
#define checked_sub(a, b, out) __builtin_sub_overflow(a, b, out)
#define checked_mul(a, b, out) __builtin_mul_overflow(a, b, out)

static inline size_t align_up(size_t n, size_t alignment) { return (n + alignment - 1) & ~(alignment - 1); }

#endif
