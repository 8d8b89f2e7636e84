#include "matmul_shape.h"

#include <ortcore/base/mem.h>

/* Dims of the batch, broadcast; `what` is the message's start. */
static status broadcast_batch(const dim *a, int a_rank, const dim *b, int b_rank, dim *out, int *out_rank) {
  int rank = a_rank > b_rank ? a_rank : b_rank;
  for (int i = 0; i < rank; ++i) {
    dim x = i < rank - a_rank ? 1 : a[i - (rank - a_rank)], y = i < rank - b_rank ? 1 : b[i - (rank - b_rank)];
    if (x == y || y == 1) out[i] = x;
    else if (x == 1) out[i] = y;
    else if (dim_known(x) && dim_known(y))
      return ERROR(INVALID_ARGUMENT, "batch dims of A and B do not broadcast: %lld against %lld, %d before the matrix dims", (long long)x,
                   (long long)y, rank - i);
    else out[i] = dim_known(x) ? x : dim_known(y) ? y : DIM_UNKNOWN;
  }
  *out_rank = rank;
  return OK;
}

/* A vector is a matrix with one row (as A) or one column (as B), and that dim is dropped from the result; transposing it changes nothing. */
typedef struct parts { dim outer, inner; int batch_rank; bool vector; } parts;

static parts split(int rank, const dim *dims, bool is_b, bool transposed) {
  if (rank == 1) return (parts){1, dims[0], 0, true};
  dim first = dims[rank - 2], last = dims[rank - 1];
  bool outer_last = is_b != transposed;
  return (parts){outer_last ? last : first, outer_last ? first : last, rank - 2, false};
}

static status combine(int a_rank, const dim *a, int b_rank, const dim *b, bool trans_a, bool trans_b, parts *pa, parts *pb, int *out_rank, dim *out) {
  char ta[DIMS_TEXT], tb[DIMS_TEXT];
  if (a_rank == 0 || b_rank == 0) return ERROR(INVALID_ARGUMENT, "%s is a scalar; matrix products need at least one dim", a_rank ? "B" : "A");
  *pa = split(a_rank, a, false, trans_a);
  *pb = split(b_rank, b, true, trans_b);
  if (dim_known(pa->inner) && dim_known(pb->inner) && pa->inner != pb->inner)
    return ERROR(INVALID_ARGUMENT, "A of shape %s%s and B of shape %s%s cannot be multiplied: the dims summed over are %lld and %lld",
                 dims_format(ta, sizeof ta, a_rank, a), trans_a ? " (transposed)" : "", dims_format(tb, sizeof tb, b_rank, b), trans_b
                     ? " (transposed)" : "",
                 (long long)pa->inner, (long long)pb->inner);
  TRY(broadcast_batch(a, pa->batch_rank, b, pb->batch_rank, out, out_rank));
  if (!pa->vector) out[(*out_rank)++] = pa->outer;
  if (!pb->vector) out[(*out_rank)++] = pb->outer;
  return OK;
}

status matmul_infer(const fact *a, const fact *b, bool trans_a, bool trans_b, fact *out) {
  if (!out || a->rank == RANK_UNKNOWN || b->rank == RANK_UNKNOWN) return OK;
  parts pa, pb;
  int rank;
  dim dims[MAX_RANK];
  TRY(combine(a->rank, a->dims, b->rank, b->dims, trans_a, trans_b, &pa, &pb, &rank, dims));
  fact_set_shape(out, rank, dims);
  return OK;
}

/* Offsets of one operand's matrices for each batch of the broadcast shape; `matrix` is the number of elements of one. */
static int64_t *batch_offsets(int64_t batch, int rank, const int64_t *out_dims, int own_rank, const int64_t *own_dims, int64_t matrix) {
  int64_t *offsets = mem_calloc((size_t)batch, sizeof *offsets);
  if (!offsets) return NULL;
  for (int64_t i = 0; i < batch; ++i) {
    int64_t rest = i, stride = matrix;
    for (int d = rank - 1; d >= 0; --d) {
      int64_t position = rest % out_dims[d], own = d - (rank - own_rank);
      rest /= out_dims[d];
      if (own < 0) continue;
      if (own_dims[own] != 1) offsets[i] += position * stride;
      stride *= own_dims[own];
    }
  }
  return offsets;
}

status matmul_shape_init(matmul_shape *s, const tensor *a, const tensor *b, bool trans_a, bool trans_b) {
  *s = (matmul_shape){0};
  parts pa, pb;
  TRY(combine(a->rank, a->dims, b->rank, b->dims, trans_a, trans_b, &pa, &pb, &s->out_rank, s->out_dims));
  int batch_rank = s->out_rank - !pa.vector - !pb.vector;
  s->batch = dims_product(s->out_dims, 0, batch_rank);
  s->m = pa.outer, s->n = pb.outer, s->k = pa.inner;
  bool swap_a = trans_a && !pa.vector, swap_b = trans_b && !pb.vector;
  s->a_row = swap_a ? 1 : s->k, s->a_inner = swap_a ? s->m : 1;
  s->b_inner = swap_b ? 1 : s->n, s->b_column = swap_b ? s->k : 1;
  if (!swap_a && dims_product(b->dims, 0, pb.batch_rank) == 1 && s->batch == dims_product(a->dims, 0, pa.batch_rank)) {
    s->m *= s->batch;
    s->batch = 1;
  }
  if (s->batch <= 1) return OK;
  s->a_offsets = batch_offsets(s->batch, batch_rank, s->out_dims, pa.batch_rank, a->dims, s->m * s->k);
  s->b_offsets = batch_offsets(s->batch, batch_rank, s->out_dims, pb.batch_rank, b->dims, s->n * s->k);
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
