/* Recurrent layers in float and double: one product projects the inputs of all steps, then each step multiplies its state and applies the cell.
 *
 * Weights lie in panels of 64 columns ([ceil(n/64)][k][64], filled up with zeros), so that a row's product with a panel stays in registers
 * while the panel streams by. */
#ifndef ORTCORE_KERNELS_CPU_RNN_H
#define ORTCORE_KERNELS_CPU_RNN_H

#include <ortcore/base/dtype.h>
#include <ortcore/ops/params/rnn.h>

/* A matrix of a quantised layer that stays bytes: signed, in panels of their own; the element of column c stands for (w - zeros[c]) * scales[c].
 * zeros is NULL where all are 0. */
typedef struct rnn_bytes { const int8_t *panels; const int32_t *sums, *zeros; const float *scales; int64_t columns, k; } rnn_bytes;

/* Everything of one direction. Pointers are to numbers of the run's type; panels as above. */
typedef struct rnn_weights {
  const void *input;                                       /* gates * hidden columns, k = inputs */
  const void *state;                                       /* k = hidden; all gates, but without GRU's candidate */
  const void *candidate;                                   /* GRU: the candidate's hidden columns */
  const void *bias;                                        /* [gates * hidden], both biases added; NULL: none */
  const void *candidate_bias;                              /* GRU with linear_before_reset: [hidden], left out of `bias`; NULL: none */
  const void *peepholes;                                   /* LSTM: [3 * hidden] for input, output, forget; NULL: none */
  const rnn_bytes *input_bytes, *state_bytes;              /* instead of input and state; NULL: floats */
} rnn_weights;

/* The tensors of one run. */
typedef struct rnn_run {
  const rnn_layer *layer;
  const rnn_weights *weights;                              /* of each direction */
  rnn_shape shape;
  const void *x;
  void *y;                                                 /* NULL: not wanted */
  const int32_t *lengths;                                  /* NULL: all sequences have all steps */
  const void *initial_h, *initial_c;                       /* NULL: zeros */
  void *last_h, *last_c;                                   /* never NULL (last_c only for LSTM); the states live here */
} rnn_run;

static inline int64_t rnn_padded(int64_t columns) { return (columns + 63) / 64 * 64; }
/* Elements of the panels of a matrix with `columns` columns and `k` rows. */
static inline int64_t rnn_panel_count(int64_t columns, int64_t k) { return rnn_padded(columns) * k; }
/* The element of column c at k is matrix[c * column_stride + k * k_stride]. */
void rnn_pack_f32(const float *matrix, int64_t columns, int64_t k, int64_t column_stride, int64_t k_stride, float *panels);
void rnn_pack_f64(const double *matrix, int64_t columns, int64_t k, int64_t column_stride, int64_t k_stride, double *panels);

/* Products of bytes (float layers): whether there are instructions for them, the bytes of a matrix's panels, and these from [k, columns]. `sums`
 * become those of the columns. Unsigned weights become signed by subtracting 128, and so must their zero points. */
bool rnn_bytes_available(void);
int64_t rnn_bytes_count(int64_t columns, int64_t k);
void rnn_bytes_pack(const void *matrix, bool is_signed, int64_t columns, int64_t k, int8_t *panels, int32_t *sums);
/* y = x times w, with x rounded to bytes as a whole. scratch has room for 4 * ceil(k / 4) bytes a row. */
void rnn_bytes_multiply(int threads, const rnn_bytes *w, const float *x, int64_t x_stride, int64_t rows, uint8_t *scratch, float *y, int64_t y_stride);

/* Elements of scratch that a run needs; -1 if that overflows. */
int64_t rnn_scratch_count(const rnn_layer *layer, int64_t steps, int64_t batch);
void rnn_run_f32(const rnn_run *run, int threads, float *scratch);
void rnn_run_f64(const rnn_run *run, int threads, double *scratch);

#endif
