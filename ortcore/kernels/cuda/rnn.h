/* Recurrent layers on a GPU, for C. */
#ifndef ORTCORE_KERNELS_CUDA_RNN_H
#define ORTCORE_KERNELS_CUDA_RNN_H

#include <ortcore/base/dtype.h>
#include <ortcore/ops/params/rnn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One run. Weights and biases lie as the operator's inputs R, B and P do; absent inputs and outputs that nobody wants are NULL. */
typedef struct cuda_rnn {
  const rnn_layer *layer;
  const rnn_shape *shape;
  dtype type;
  const void *projected;                                   /* X times W with the input biases: [directions][steps * batch, as in X][gates * hidden] */
  const void *r, *b, *peepholes, *initial_h, *initial_c;
  const int32_t *lengths;                                  /* in host memory, read before cuda_rnn_run returns; within 0 and the steps */
  void *y, *last_h, *last_c;
} cuda_rnn;

/* Recurrent weights of DynamicQuantizeLSTM: bytes [directions][hidden][gates * hidden], which stand for (byte - zero) * scale. */
typedef struct cuda_rnn_weights {
  const void *data;
  bool is_signed;
  const float *scale;
  const void *zero;                                        /* bytes of the same kind; NULL: 0 */
  bool by_column;                                          /* scale and zero: one for each column of a direction; or one for each direction */
} cuda_rnn_weights;
enum { CUDA_RNN_LONGEST = 1 << 15 };                       /* products of bytes whose sums are sure to fit 32 bits */

/* Device memory that a run of so many sequences needs, 256-byte aligned. */
size_t cuda_rnn_scratch_bytes(const rnn_layer *layer, int64_t batch, dtype type);
/* Returns a cudaError_t. */
int cuda_rnn_run(const cuda_rnn *run, void *scratch, void *stream);

/* The same for an LSTM that rounds its states to bytes before each product; run->r is not looked at. */
size_t cuda_rnn_bytes_scratch_bytes(const rnn_layer *layer, int64_t batch);
int cuda_rnn_bytes_run(const cuda_rnn *run, const cuda_rnn_weights *r, void *scratch, void *stream);

#ifdef __cplusplus
}
#endif
#endif
