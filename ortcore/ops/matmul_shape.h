/* Shapes of matrix products, for every operator that multiplies as numpy.matmul does. */
#ifndef ORTCORE_OPS_MATMUL_SHAPE_H
#define ORTCORE_OPS_MATMUL_SHAPE_H

#include <ortcore/kernels/cpu/gemm.h>
#include <ortcore/ops/op.h>

/* The output's fact from those of A and B; unknown ranks and dims give unknown ones. trans_a and trans_b swap the last two dims. */
status matmul_infer(const fact *a, const fact *b, bool trans_a, bool trans_b, fact *out) MUST_CHECK;

/* One product in numbers: strides and offsets in elements. When all of B is one matrix the batches of A are folded into its rows. */
typedef struct matmul_shape {
  int64_t batch, m, n, k;
  int64_t a_row, a_inner, b_inner, b_column;
  int64_t *a_offsets, *b_offsets;                           /* one a batch; NULL when batch is 1 */
  int out_rank;
  int64_t out_dims[MAX_RANK];
} matmul_shape;

status matmul_shape_init(matmul_shape *s, const tensor *a, const tensor *b, bool trans_a, bool trans_b) MUST_CHECK;
void matmul_shape_deinit(matmul_shape *s);
/* The two sides of it; false if the type has no arithmetic. */
bool matmul_sides(const matmul_shape *s, dtype a_type, dtype b_type, gemm_matrix *a, gemm_matrix *b);

#endif
