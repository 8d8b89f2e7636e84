#include "rnn_read.h"

#include <string.h>
#include <strings.h>

const rnn_def rnn_simple_def = {RNN_SIMPLE, 1, 1, {"Tanh"}, {3, 4, 5, -1, -1, -1, -1, -1, -1}};
const rnn_def rnn_gru_def = {RNN_GRU, 3, 2, {"Sigmoid", "Tanh"}, {3, 4, 5, -1, -1, -1, -1, -1, -1}};
const rnn_def rnn_lstm_def = {RNN_LSTM, 4, 3, {"Sigmoid", "Tanh", "Tanh"}, {3, 4, 5, 6, 7, -1, -1, -1, -1}};
const rnn_def rnn_quantised_def = {RNN_LSTM, 4, 3, {"Sigmoid", "Tanh", "Tanh"}, {3, 4, 5, 6, 7, 8, 9, 10, 11}};

/* ---- Attributes ---------------------------------------------------------------------------------------------------------------------- */

typedef struct function_def { const char *name; bool takes_alpha, takes_beta; float alpha, beta; } function_def;

static const function_def functions[] = {
  [RNN_SIGMOID] = {.name = "Sigmoid"},
  [RNN_TANH] = {.name = "Tanh"},
  [RNN_RELU] = {.name = "Relu"},
  [RNN_AFFINE] = {"Affine", true, true, 1, 0},
  [RNN_LEAKY_RELU] = {"LeakyRelu", true, false, 0.01f, 0},
  [RNN_THRESHOLDED_RELU] = {"ThresholdedRelu", true, false, 1, 0},
  [RNN_SCALED_TANH] = {"ScaledTanh", true, true, 1, 1},
  [RNN_HARD_SIGMOID] = {"HardSigmoid", true, true, 0.2f, 0.5f},
  [RNN_ELU] = {"Elu", true, false, 1, 0},
  [RNN_SOFTSIGN] = {.name = "Softsign"},
  [RNN_SOFTPLUS] = {.name = "Softplus"},
};

static status find_function(const char *name, rnn_activation *out) {
  for (size_t f = 0; f < sizeof functions / sizeof *functions; ++f)
    if (!strcasecmp(name, functions[f].name)) {
      *out = (rnn_activation){(rnn_function)f, functions[f].alpha, functions[f].beta};
      return OK;
    }
  return ERROR(INVALID_ARGUMENT, "attribute 'activations' has '%s', which is none of Sigmoid, Tanh, Relu, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, HardSigmoid, Elu, Softsign, Softplus", name);
}

/* Values of activation_alpha and activation_beta go, in order, to the functions that take one. */
static status read_activations(const node *n, const rnn_def *def, rnn_layer *l) {
  int64_t count, alpha_count, beta_count, alpha = 0, beta = 0, needed = l->directions * def->functions;
  const text *names = attr_strings(n, "activations", &count);
  const float *alphas = attr_floats(n, "activation_alpha", &alpha_count), *betas = attr_floats(n, "activation_beta", &beta_count);
  if (count && count != needed)
    return ERROR(INVALID_ARGUMENT, "attribute 'activations' has %lld names, but %s with %d direction(s) takes %lld", (long long)count, n->op_type, l->directions, (long long)needed);
  for (int64_t i = 0; i < needed; ++i) {
    rnn_activation *a = &l->activations[i / def->functions][i % def->functions];
    TRY(find_function(count ? names[i].data : def->defaults[i % def->functions], a));
    if (functions[a->function].takes_alpha && alpha < alpha_count) a->alpha = alphas[alpha++];
    if (functions[a->function].takes_beta && beta < beta_count) a->beta = betas[beta++];
  }
  return OK;
}

status rnn_read_direction(const node *n, int *out_directions, bool *out_reverse) {
  text direction = attr_string_or(n, "direction", "forward");
  bool both = !strcmp(direction.data, "bidirectional");
  *out_reverse = !strcmp(direction.data, "reverse");
  *out_directions = both ? 2 : 1;
  if (both || *out_reverse || !strcmp(direction.data, "forward")) return OK;
  return ERROR(INVALID_ARGUMENT, "attribute 'direction' is '%s', expected forward, reverse or bidirectional", direction.data);
}

status rnn_read_attrs(const node *n, const rnn_def *def, rnn_layer *l) {
  *l = (rnn_layer){.kind = def->kind, .gates = def->gates, .quantise = def->at.w_scale >= 0, .clip = attr_float_or(n, "clip", 0),
                   .input_forget = attr_int_or(n, "input_forget", 0), .linear_before_reset = attr_int_or(n, "linear_before_reset", 0),
                   .batch_first = attr_int_or(n, "layout", 0)};
  TRY(rnn_read_direction(n, &l->directions, &l->reverse[0]));
  if (l->directions == 2) l->reverse[1] = true;
  return read_activations(n, def, l);
}

/* ---- Shapes -------------------------------------------------------------------------------------------------------------------------- */

static status check_shape(const tensor *t, const char *name, int rank, const int64_t *dims) {
  if (!t || dims_equal(t->rank, t->dims, rank, dims)) return OK;
  char given[DIMS_TEXT], expected[DIMS_TEXT];
  return ERROR(INVALID_ARGUMENT, "input '%s' has shape %s, expected %s", name, dims_format(given, sizeof given, t->rank, t->dims), dims_format(expected, sizeof expected, rank, dims));
}

status rnn_read_sizes(const rnn_def *def, rnn_layer *l, const tensor *const *in, int32_t count) {
  const tensor *w = in[1], *r = in[2];
  bool transposed = l->quantise;
  if (w->rank != 3 || r->rank != 3) return ERROR(INVALID_ARGUMENT, "inputs 'W' and 'R' must have rank 3, but have %d and %d", w->rank, r->rank);
  l->inputs = w->dims[transposed ? 1 : 2];
  l->hidden = r->dims[transposed ? 1 : 2];
  int64_t d = l->directions, columns = l->gates * l->hidden;
  TRY(check_shape(w, "W", 3, transposed ? (int64_t[]){d, l->inputs, columns} : (int64_t[]){d, columns, l->inputs}));
  TRY(check_shape(r, "R", 3, transposed ? (int64_t[]){d, l->hidden, columns} : (int64_t[]){d, columns, l->hidden}));
  TRY(check_shape(rnn_input(in, count, def->at.b), "B", 2, (int64_t[]){d, 2 * columns}));
  return check_shape(rnn_input(in, count, def->at.peepholes), "P", 2, (int64_t[]){d, 3 * l->hidden});
}

status rnn_check_lengths(const tensor *lengths, const rnn_shape *shape) {
  TRY(check_shape(lengths, "sequence_lens", 1, &shape->batch));
  for (int64_t i = 0; i < shape->batch; ++i) {
    int32_t length = ((const int32_t *)lengths->data)[i];
    if (length < 0 || length > shape->steps)
      return ERROR(INVALID_ARGUMENT, "input 'sequence_lens' has %d at %lld, but X has %lld steps", length, (long long)i, (long long)shape->steps);
  }
  return OK;
}

status rnn_read_shape(const rnn_def *def, const rnn_layer *l, const tensor *const *in, int32_t count, rnn_shape *out) {
  const tensor *x = in[0];
  if (x->rank != 3) return ERROR(INVALID_ARGUMENT, "input 'X' must have rank 3 (steps, batch, inputs), but has rank %d", x->rank);
  if (x->dims[2] != l->inputs)
    return ERROR(INVALID_ARGUMENT, "input 'X' has %lld numbers a step, but 'W' takes %lld", (long long)x->dims[2], (long long)l->inputs);
  int64_t n = l->hidden, d = l->directions, steps = x->dims[l->batch_first], batch = x->dims[!l->batch_first];
  if (l->batch_first) {
    *out = (rnn_shape){steps, batch, {batch, steps, d, n}, {batch, d, n}, .x_step = 1, .x_row = steps, .y_step = d * n, .y_row = steps * d * n,
                       .y_direction = n, .state_row = d * n, .state_direction = n};
  } else {
    *out = (rnn_shape){steps, batch, {steps, d, batch, n}, {d, batch, n}, .x_step = batch, .x_row = 1, .y_step = d * batch * n, .y_row = n,
                       .y_direction = batch * n, .state_row = n, .state_direction = batch * n};
  }
  TRY(check_shape(rnn_input(in, count, def->at.h), "initial_h", 3, out->state_dims));
  return check_shape(rnn_input(in, count, def->at.c), "initial_c", 3, out->state_dims);
}
