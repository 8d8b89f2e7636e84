/* Reductions of a [outer, n, inner] block to [outer, inner]. Kernels know nothing of axes. */
#ifndef ORTCORE_KERNELS_CPU_REDUCE_H
#define ORTCORE_KERNELS_CPU_REDUCE_H

#include <ortcore/value/tensor.h>

/* X(name): what is made of the elements x. Floats: NaN in gives NaN out. Integers wrap; Mean, L2 and the logarithms go through double. */
#define REDUCE_OPS(X) X(Sum) X(Mean) X(Prod) X(Max) X(Min) X(L1) X(L2) X(SumSquare) X(LogSum) X(LogSumExp)

typedef enum reduce_op {
#define X(name) REDUCE_##name,
  REDUCE_OPS(X)
#undef X
  REDUCE_COUNT
} reduce_op;

/* Of contiguous rows outer in [begin, end): x is [outer, n, inner]. */
typedef void (*reduce_fn)(const void *x, void *y, int64_t begin, int64_t end, int64_t n, int64_t inner);

/* NULL for a type that has no kernel: halves are converted by the caller. */
reduce_fn reduce_for(reduce_op op, dtype type);

/* Index of the largest (or smallest) element along n, int64 [outer, inner]; the first of equals, or the last. NaN counts as the extreme. */
typedef void (*arg_fn)(const void *x, int64_t *y, int64_t begin, int64_t end, int64_t n, int64_t inner, bool last);
arg_fn arg_for(bool smallest, dtype type);

#endif
