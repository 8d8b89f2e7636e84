/* Shapes of matrix products, for every operator that multiplies as numpy.matmul does. */
#ifndef ORTCORE_OPS_MATMUL_SHAPE_H
#define ORTCORE_OPS_MATMUL_SHAPE_H

#include <ortcore/kernels/cpu/gemm.h>
#include <ortcore/ops/op.h>

/* The output's fact from those of A and B; unknown ranks and dims give unknown ones. trans_a and trans_b swap the last two dims. */
status matmul_infer(const fact *a, const fact *b, bool trans_a, bool trans_b, fact *out) MUST_CHECK;

/* One product in numbers: strides, steps and offsets in elements. When all of B is one matrix the batches of A are folded into its rows. */
typedef struct matmul_shape {
  int64_t batch, m, n, k;
  int64_t a_row, a_inner, b_inner, b_column;
  int batch_rank;                                           /* the batch's dims are the first of out_dims; 0 where they are folded */
  int64_t a_steps[MAX_RANK], b_steps[MAX_RANK];             /* along each of them; 0 where the operand repeats */
  int64_t *a_offsets, *b_offsets;                           /* one a batch, by matmul_shape_init; NULL when batch is 1 */
  int out_rank;
  int64_t out_dims[MAX_RANK];
} matmul_shape;

status matmul_shape_read(matmul_shape *s, const tensor *a, const tensor *b, bool trans_a, bool trans_b) MUST_CHECK;   /* without offsets */
/* A bias as rows and columns of the output: strides are 0 where it repeats. */
status matmul_bias_strides(const tensor *bias, const matmul_shape *s, int64_t *row, int64_t *column) MUST_CHECK;
status matmul_check_residual(const tensor *residual, const matmul_shape *s) MUST_CHECK;   /* it has the output's shape; NULL is fine */

/* ---- For the CPU's loop --------------------------------------------------------------------------------------------- */

status matmul_shape_init(matmul_shape *s, const tensor *a, const tensor *b, bool trans_a, bool trans_b) MUST_CHECK;
void matmul_shape_deinit(matmul_shape *s);
/* The two sides of it; false if the type has no arithmetic. */
bool matmul_sides(const matmul_shape *s, dtype a_type, dtype b_type, gemm_matrix *a, gemm_matrix *b);

#endif
