/* Scales and zero points of quantised operators: one number, or one for each row, column or channel. */
#ifndef ORTCORE_OPS_QUANTISED_H
#define ORTCORE_OPS_QUANTISED_H

#include <ortcore/kernels/cpu/requantise.h>
#include <ortcore/ops/op.h>

/* How the numbers of `t` run along one side of a product. `outers` is the size of the side's own dim (rows of one matrix of A, columns of B),
 * `batches` the number of its matrices. folded: the matrices are the rows of one. */
typedef struct quantised_side { const char *what; int64_t outers, batches; bool folded; } quantised_side;
status quantised_cycle(const tensor *t, const quantised_side *side, int64_t *period, int64_t *repeat, int64_t *batch_stride) MUST_CHECK;
/* A float scale (any float type), as f32; scratch of the kernel holds converted ones. NULL t gives 1. */
status quantised_scale(kernel_ctx *k, const tensor *t, const quantised_side *side, cycle *out) MUST_CHECK;
status quantised_zero_points(const tensor *t, const quantised_side *side, gemm_matrix *m) MUST_CHECK;
/* A single number; the fallback where t is NULL. */
status quantised_scalar_scale(const tensor *t, const char *what, float *out) MUST_CHECK;
status quantised_scalar_zero_point(const tensor *t, const char *what, int32_t *out) MUST_CHECK;

#endif
