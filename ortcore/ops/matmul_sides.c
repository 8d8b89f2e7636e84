/* A product's shape as the CPU's loop takes it: offsets of every batch's matrices, and the two sides. */
#include "matmul_shape.h"

#include <ortcore/base/mem.h>

static int64_t *batch_offsets(const matmul_shape *s, const int64_t *steps) {
  int64_t *offsets = mem_calloc((size_t)s->batch, sizeof *offsets);
  for (int64_t i = 0; offsets && i < s->batch; ++i) {
    int64_t rest = i;
    for (int d = s->batch_rank - 1; d >= 0; --d) {
      offsets[i] += rest % s->out_dims[d] * steps[d];
      rest /= s->out_dims[d];
    }
  }
  return offsets;
}

status matmul_shape_init(matmul_shape *s, const tensor *a, const tensor *b, bool trans_a, bool trans_b) {
  TRY(matmul_shape_read(s, a, b, trans_a, trans_b));
  if (s->batch <= 1) return OK;
  s->a_offsets = batch_offsets(s, s->a_steps);
  s->b_offsets = batch_offsets(s, s->b_steps);
  if (s->a_offsets && s->b_offsets) return OK;
  matmul_shape_deinit(s);
  return status_out_of_memory();
}

void matmul_shape_deinit(matmul_shape *s) {
  mem_free(s->a_offsets);
  mem_free(s->b_offsets);
  s->a_offsets = s->b_offsets = NULL;
}

bool matmul_sides(const matmul_shape *s, dtype a_type, dtype b_type, gemm_matrix *a, gemm_matrix *b) {
  if (!gemm_matrix_init(a, a_type) || !gemm_matrix_init(b, b_type)) return false;
  a->offsets = s->a_offsets, a->outer_stride = s->a_row, a->inner_stride = s->a_inner;
  b->offsets = s->b_offsets, b->outer_stride = s->b_column, b->inner_stride = s->b_inner;
  return true;
}
