/* Matrix products of every element type: for each batch, C[m,n] = sum over k of A[m,k] * B[n,k], tile by tile.
 *
 * Where numbers come from is a side's business (a matrix with strides, an image seen through a window), and what becomes of finished
 * rows is the sink's (bias, activation, rounding, the place in memory). Between them stands one blocked loop for each accumulator:
 * f32 also serves f16 and bf16, i32 all 8-bit integers, and integer arithmetic wraps. */
#ifndef ORTCORE_KERNELS_CPU_GEMM_H
#define ORTCORE_KERNELS_CPU_GEMM_H

#include <ortcore/value/tensor.h>

typedef enum gemm_acc {
  GEMM_F32, GEMM_F64, GEMM_I32, GEMM_I64,
  GEMM_I8,                                                  /* sums of 32 bits from packed bytes: both sides must have pack_bytes */
} gemm_acc;

/* "Outer" counts rows of A or columns of B; "inner" is the dimension that is summed away. */
typedef struct gemm_side gemm_side;
struct gemm_side {
  /* Writes outers x inners numbers, starting at (outer, inner) of this batch, as panels of `width` outer indices: in a panel come, for each
   * inner index, `width` accumulators. The last panel is filled up with zeros. */
  void (*pack)(const gemm_side *s, int64_t batch, int64_t outer, int64_t outers, int64_t inner, int64_t inners, int width, void *out);
  /* The same for GEMM_I8 (see gemm_i8.h): bytes in groups of four inner indices, moved to unsigned (left) or signed by a flipped top bit. sums[i] +=
   * the bytes of outer index i. `out` holds zeros. */
  void (*pack_bytes)(const gemm_side *s, int64_t batch, int64_t outer, int64_t outers, int64_t inner, int64_t inners, bool left, int width,
                     uint8_t *out, int32_t *sums);
  /* Zero points of outer indices as they stand in the tensor. */
  void (*zeros)(const gemm_side *s, int64_t batch, int64_t outer, int64_t outers, int32_t *out);
  bool is_signed;                                           /* of the bytes in the tensor */
  const void *packed;                                       /* the whole side, by gemm_pack_side; then `pack` is not called */
};

typedef struct gemm_sink gemm_sink;
struct gemm_sink {
  /* Takes `count` finished accumulators of one row, which it may change. */
  void (*store)(const gemm_sink *s, int64_t batch, int64_t row, int64_t column, int64_t count, void *acc);
};

typedef struct gemm_problem {
  gemm_acc acc;
  int64_t batch, m, n, k;
  const gemm_side *a, *b;
  const gemm_sink *sink;
} gemm_problem;

/* What gemm_run needs as scratch with that many threads or fewer, 64-byte aligned; at most some 2 MB a thread whatever the problem's size. */
size_t gemm_scratch_bytes(gemm_acc acc, int threads, int64_t m, int64_t n, int64_t k);
void gemm_run(const gemm_problem *p, int threads, void *scratch);

/* All of a B side of one batch, packed for gemm_side.packed. `out` is 64-byte aligned. */
size_t gemm_packed_bytes(gemm_acc acc, int64_t n, int64_t k);
void gemm_pack_side(gemm_acc acc, const gemm_side *b, int64_t n, int64_t k, void *out);

/* A matrix in memory as a side. The element at (batch, outer, inner) is data[offset(batch) + outer * outer_stride + inner * inner_stride]
 * less its zero point (integers of 8 and 16 bits only). */
typedef struct gemm_matrix {
  gemm_side side;
  const void *data;
  dtype type;
  const int64_t *offsets;                                   /* one a batch, in elements; NULL: batch * batch_stride */
  int64_t batch_stride, outer_stride, inner_stride;
  /* Of `type`; NULL: none. That of (batch, outer) is
   * zero_points[batch % zero_point_batches * zero_point_batch_stride + outer % zero_point_period]. */
  const void *zero_points;
  int64_t zero_point_period, zero_point_batches, zero_point_batch_stride;
} gemm_matrix;

/* Sets side.pack for the type; false if there is no arithmetic for it. */
bool gemm_matrix_init(gemm_matrix *m, dtype type);
gemm_acc gemm_acc_of(dtype type);                           /* what sums of this type are made in */
/* GEMM_I8 where both are bytes and this processor has the instructions, else what gemm_acc_of says. */
gemm_acc gemm_acc_of_pair(dtype a, dtype b);
size_t gemm_acc_bytes(gemm_acc acc);

/* y[n] = sum over k of x[k] * b[k * k_stride + n * n_stride], one of the strides 1; the product for a single row. */
void gemv_f32(int threads, int64_t n, int64_t k, const float *x, const float *b, int64_t k_stride, int64_t n_stride, float *y);

#endif
