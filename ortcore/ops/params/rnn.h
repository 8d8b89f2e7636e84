/* A recurrent layer as its attributes and the shapes of its weights tell, for kernels of every device. */
#ifndef ORTCORE_OPS_PARAMS_RNN_H
#define ORTCORE_OPS_PARAMS_RNN_H

#include <stdbool.h>
#include <stdint.h>

typedef enum rnn_kind { RNN_SIMPLE, RNN_GRU, RNN_LSTM } rnn_kind;

typedef enum rnn_function {
  RNN_SIGMOID, RNN_TANH, RNN_RELU, RNN_AFFINE, RNN_LEAKY_RELU, RNN_THRESHOLDED_RELU, RNN_SCALED_TANH, RNN_HARD_SIGMOID, RNN_ELU, RNN_SOFTSIGN, RNN_SOFTPLUS
} rnn_function;

typedef struct rnn_activation { rnn_function function; float alpha, beta; } rnn_activation;

typedef struct rnn_layer {
  rnn_kind kind;
  int64_t gates, hidden, inputs;                           /* hidden and inputs are 0 until the weights are known */
  int directions;
  bool reverse[2];
  rnn_activation activations[2][3];
  float clip;                                              /* 0: none */
  bool input_forget, linear_before_reset;
  bool quantise;                                           /* inputs and states are rounded to 8 bits before each product */
  bool batch_first;                                        /* attribute layout: X [batch, steps, inputs], Y [batch, steps, directions, hidden] */
} rnn_layer;

/* The dims of one run and how its tensors are walked: X in rows of `inputs` numbers, Y and the states in elements. */
typedef struct rnn_shape {
  int64_t steps, batch;
  int64_t y_dims[4], state_dims[3];
  int64_t x_step, x_row;
  int64_t y_step, y_row, y_direction;
  int64_t state_row, state_direction;
} rnn_shape;

#endif
