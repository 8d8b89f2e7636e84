/* Attributes and shapes of RNN, GRU, LSTM and DynamicQuantizeLSTM, read and checked once for every device. */
#ifndef ORTCORE_OPS_RNN_READ_H
#define ORTCORE_OPS_RNN_READ_H

#include <ortcore/ops/op.h>
#include <ortcore/ops/params/rnn.h>

/* Positions of inputs; -1: the operator has none. */
typedef struct rnn_inputs { int8_t b, lengths, h, c, peepholes, w_scale, w_zero, r_scale, r_zero; } rnn_inputs;

typedef struct rnn_def { rnn_kind kind; int gates, functions; const char *defaults[3]; rnn_inputs at; } rnn_def;

extern const rnn_def rnn_simple_def, rnn_gru_def, rnn_lstm_def, rnn_quantised_def;

static inline const tensor *rnn_input(const tensor *const *in, int32_t count, int i) { return i >= 0 && i < count ? in[i] : NULL; }

status rnn_read_direction(const node *n, int *out_directions, bool *out_reverse) MUST_CHECK;
/* Everything of the layer but its sizes. */
status rnn_read_attrs(const node *n, const rnn_def *def, rnn_layer *out) MUST_CHECK;
/* The sizes of the layer, from W and R, and every other weight against them. Only dims are looked at. */
status rnn_read_sizes(const rnn_def *def, rnn_layer *l, const tensor *const *in, int32_t count) MUST_CHECK;
/* X and the initial states of a run. Only dims are looked at. */
status rnn_read_shape(const rnn_def *def, const rnn_layer *l, const tensor *const *in, int32_t count, rnn_shape *out) MUST_CHECK;
/* sequence_lens: as many numbers as sequences, each from 0 to the steps. */
status rnn_check_lengths(const tensor *lengths, const rnn_shape *shape) MUST_CHECK;

#endif
