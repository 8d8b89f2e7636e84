/* Elementwise programs: what one pass over the elements of broadcast inputs computes, on any device.
 *
 * A program is a list of steps, each an operator of kernels/arithmetic.h. A step takes up to three arguments: the result of the step before
 * it, an input, a result that was kept, or one of its two numbers p and q. The result of the last step is what the program computes. One
 * operator is a program of one step; a fused chain has more. */
#ifndef ORTCORE_KERNELS_PROGRAM_H
#define ORTCORE_KERNELS_PROGRAM_H

#include <ortcore/kernels/arithmetic.h>
#include <stdbool.h>
#include <stdint.h>

/* X(operator, expression) for every operator that a step may be, once. Those from Sin on are long; a GPU has them in kernels of their own. */
#define PROGRAM_1(X) \
  X(Copy, x) X(Not, x == 0) ARITHMETIC_UNARY(X) ARITHMETIC_POWERS(X) ARITHMETIC_PARAMETRIC(X) ARITHMETIC_TEST(X) \
  X(Bound, x > p ? x < q ? x : q : p)                      /* NaN gives p */ \
  X(RoundToFloat16, FLOAT16(x)) X(RoundToBfloat16, BFLOAT16(x))
#define PROGRAM_2(X) ARITHMETIC_BINARY(X) ARITHMETIC_COMPARE(X) ARITHMETIC_TRUTH(X) ARITHMETIC_GATED(X)
#define PROGRAM_3(X) ARITHMETIC_CLIP(X) X(Where, a != 0 ? b : c)
#define PROGRAM_LONG_1(X) ARITHMETIC_PERIODIC(X) ARITHMETIC_TRIGONOMETRIC(X)
#define PROGRAM_LONG_2(X) ARITHMETIC_LIBRARY(X)
#define PROGRAM_BITS(X) X(BitwiseAnd, 2) X(BitwiseOr, 2) X(BitwiseXor, 2) X(ShiftLeft, 2) X(ShiftRight, 2) X(BitwiseNot, 1)

typedef enum program_op {
#define X(name, expression) PROGRAM_##name,
  PROGRAM_BITS(X) PROGRAM_1(X) PROGRAM_2(X) PROGRAM_3(X) PROGRAM_LONG_1(X) PROGRAM_LONG_2(X)
#undef X
  PROGRAM_OP_COUNT
} program_op;

enum { PROGRAM_INPUTS = 8, PROGRAM_STEPS = 32, PROGRAM_KEPT = 4 };

/* Where an argument comes from; inputs and kept results are counted from the first one. */
enum { FROM_NOWHERE, FROM_LAST, FROM_P, FROM_Q, FROM_INPUT, FROM_KEPT = FROM_INPUT + PROGRAM_INPUTS, FROM_END = FROM_KEPT + PROGRAM_KEPT };

typedef struct program_step {
  uint8_t op;                                              /* program_op */
  uint8_t from[3];                                         /* a (or x), b, c; FROM_NOWHERE from the first that the operator does not have */
  uint8_t keep;                                            /* 0: for the next step only; n: kept as FROM_KEPT + n - 1 */
  double p, q;
} program_step;

typedef struct program {
  int32_t count, inputs, kept;                             /* steps; inputs that they read; results that are kept */
  program_step steps[PROGRAM_STEPS];
} program;

/* Appends a step with these arguments; FROM_NOWHERE for those that the operator does not have. NULL if the program is full. */
program_step *program_append(program *p, program_op op, int a, int b, int c);
/* The operator of that name, or -1. Names are those of elementwise_find, and "Copy". */
int program_find(const char *name);
int program_arity(program_op op);
const char *program_name(program_op op);
static inline bool program_is_long(program_op op) { return op >= PROGRAM_Sin; }

#endif
