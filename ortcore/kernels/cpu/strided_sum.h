/* Strided copies that sum: out[kept dims] = sum of in over the other dims, each with any stride (0 and diagonals included). The input is of any
 * numeric type or the output is; the other side is of the type that sums are made in (f32, f64, u32, u64). For Einsum. */
#ifndef ORTCORE_KERNELS_CPU_STRIDED_SUM_H
#define ORTCORE_KERNELS_CPU_STRIDED_SUM_H

#include <ortcore/value/tensor.h>

enum { STRIDED_DIMS = 96 };

typedef struct strided_loop {
  int kept, summed;
  int64_t kept_dims[STRIDED_DIMS], kept_strides[STRIDED_DIMS], summed_dims[STRIDED_DIMS], summed_strides[STRIDED_DIMS];
} strided_loop;

/* `in` of `type` to dense sums. */
void strided_sum_load(const strided_loop *l, dtype type, const void *in, void *out);
/* Sums to a dense output of `type`. */
void strided_sum_store(const strided_loop *l, dtype type, const void *in, void *out);

#endif
