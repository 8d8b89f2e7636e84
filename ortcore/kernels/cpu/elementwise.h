/* Elementwise kernels by operator and type: plain loops over n adjacent elements. kernels/cpu/broadcast.h feeds them. */
#ifndef ORTCORE_KERNELS_CPU_ELEMENTWISE_H
#define ORTCORE_KERNELS_CPU_ELEMENTWISE_H

#include <ortcore/base/dtype.h>
#include <stdint.h>

/* y[i] = f(x[0][i], x[1][i], ...). y may be one of the x. Bit j of `repeated`: operand j is one element for all i. */
typedef void (*elementwise_fn)(void *y, const void *const *x, int64_t n, unsigned repeated, const void *params);

typedef struct elementwise {
  const char *op;
  elementwise_fn fn;
  int64_t grain;                                           /* elements that are worth a thread */
  unsigned accepts;                                        /* bit m: fn takes `repeated` = m; 0 is always taken */
} elementwise;

enum { ACCEPTS_EITHER = 1 << 1 | 1 << 2, ACCEPTS_LAST_TWO = 1 << 6 };

/* What parametric kernels read: up to two attributes. */
typedef struct elementwise_params { double p, q; } elementwise_params;

/* The loop of an operator for elements of that type (f32, f64, integers, bool; halves are computed in f32). NULL: there is none.
 * Operators are ONNX's, and "GeluTanh", "Silu", "ModFloor" and "ModTrunc", "ShiftLeft" and "ShiftRight", "Square", "Cube", "SquareRoot",
 * "Scale" (x times p). "Clip" takes three operands, "Where" is by width (elementwise_where). */
const elementwise *elementwise_find(const char *op, dtype type);
/* x[0] is bool, x[1] and x[2] have elements of `width` bytes: 1, 2, 4, 8 or 16. */
elementwise_fn elementwise_where(int width);

/* Tables of single types, for elementwise_find; each ends with a row whose op is NULL. */
extern const elementwise elementwise_f32[], elementwise_f64[], elementwise_bool[], elementwise_i8[], elementwise_i16[], elementwise_i32[], elementwise_i64[],
  elementwise_u8[], elementwise_u16[], elementwise_u32[], elementwise_u64[];

/* Some ten microseconds each. */
enum { GRAIN_CHEAP = 1 << 17, GRAIN_FUNCTION = 1 << 15, GRAIN_LIBRARY = 1 << 11 };

#endif
