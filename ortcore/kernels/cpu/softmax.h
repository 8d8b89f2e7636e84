/* Softmax, LogSoftmax and Hardmax of a [outer, n, inner] block along n, in float and double. */
#ifndef ORTCORE_KERNELS_CPU_SOFTMAX_H
#define ORTCORE_KERNELS_CPU_SOFTMAX_H

#include <ortcore/ops/params/softmax.h>
#include <ortcore/value/tensor.h>

/* Outer in [begin, end); x and y may be the same memory. */
typedef void (*softmax_fn)(softmax_kind kind, const void *x, void *y, int64_t begin, int64_t end, int64_t n, int64_t inner);
softmax_fn softmax_for(dtype type);                          /* NULL unless float or double */

#endif
