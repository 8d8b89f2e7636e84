#include "matmul_shape.h"

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

/* Where one operand's matrices lie in the broadcast batch: the step along each of its dims, 0 where the operand repeats. */
static void batch_steps(int rank, int own_rank, const int64_t *own_dims, int64_t matrix, int64_t *steps) {
  int64_t step = matrix;
  for (int d = rank - 1; d >= 0; --d) {
    int own = d - (rank - own_rank);
    steps[d] = own >= 0 && own_dims[own] != 1 ? step : 0;
    if (own >= 0) step *= own_dims[own];
  }
}

status matmul_shape_read(matmul_shape *s, const tensor *a, const tensor *b, bool trans_a, bool trans_b) {
  *s = (matmul_shape){0};
  parts pa, pb;
  TRY(combine(a->rank, a->dims, b->rank, b->dims, trans_a, trans_b, &pa, &pb, &s->out_rank, s->out_dims));
  s->batch_rank = s->out_rank - !pa.vector - !pb.vector;
  s->batch = dims_product(s->out_dims, 0, s->batch_rank);
  s->m = pa.outer, s->n = pb.outer, s->k = pa.inner;
  bool swap_a = trans_a && !pa.vector, swap_b = trans_b && !pb.vector;
  s->a_row = swap_a ? 1 : s->k, s->a_inner = swap_a ? s->m : 1;
  s->b_inner = swap_b ? 1 : s->n, s->b_column = swap_b ? s->k : 1;
  if (!swap_a && dims_product(b->dims, 0, pb.batch_rank) == 1 && s->batch == dims_product(a->dims, 0, pa.batch_rank)) {
    s->m *= s->batch;
    s->batch = 1;
    s->batch_rank = 0;
  }
  batch_steps(s->batch_rank, pa.batch_rank, a->dims, s->m * s->k, s->a_steps);
  batch_steps(s->batch_rank, pb.batch_rank, b->dims, s->n * s->k, s->b_steps);
  return OK;
}

status matmul_bias_strides(const tensor *bias, const matmul_shape *s, int64_t *row, int64_t *column) {
  char given[DIMS_TEXT], wanted[DIMS_TEXT];
  *row = *column = 0;
  bool fits = true;
  int64_t stride = 1;
  for (int i = 0; i < bias->rank; ++i) {
    int64_t d = bias->dims[bias->rank - 1 - i], out = i < s->out_rank ? s->out_dims[s->out_rank - 1 - i] : 1;
    if (d == 1) continue;
    fits = fits && d == out && i < 2;
    if (i == 0) *column = stride;
    else *row = stride;
    stride *= d;
  }
  /* Rows of several batches are one matrix here; a bias for each row has them all only if there is one batch. */
  if (*row && s->out_rank > 2) fits = false;
  if (fits) return OK;
  return ERROR(INVALID_ARGUMENT, "the bias has shape %s, which does not broadcast to the product's shape %s",
               dims_format(given, sizeof given, bias->rank, bias->dims),
               dims_format(wanted, sizeof wanted, s->out_rank, s->out_dims));
}

status matmul_check_residual(const tensor *residual, const matmul_shape *s) {
  if (!residual || dims_equal(residual->rank, residual->dims, s->out_rank, s->out_dims)) return OK;
  char given[DIMS_TEXT], wanted[DIMS_TEXT];
  return ERROR(INVALID_ARGUMENT, "input 'Z' has shape %s; it is added to a product of shape %s",
               dims_format(given, sizeof given, residual->rank, residual->dims),
               dims_format(wanted, sizeof wanted, s->out_rank, s->out_dims));
}
