/* RNN, GRU, LSTM and onnxruntime's DynamicQuantizeLSTM. Constant weights are packed once, at load. */
#include <ortcore/base/half.h>
#include <ortcore/kernels/cpu/rnn.h>
#include <ortcore/ops/float_io.h>
#include <string.h>
#include <strings.h>

/* Positions of inputs; -1: the operator has none. */
typedef struct rnn_inputs { int8_t b, lengths, h, c, peepholes, w_scale, w_zero, r_scale, r_zero; } rnn_inputs;

typedef struct rnn_def { rnn_kind kind; int gates, functions; const char *defaults[3]; rnn_inputs at; } rnn_def;

static const rnn_def simple_def = {RNN_SIMPLE, 1, 1, {"Tanh"}, {3, 4, 5, -1, -1, -1, -1, -1, -1}};
static const rnn_def gru_def = {RNN_GRU, 3, 2, {"Sigmoid", "Tanh"}, {3, 4, 5, -1, -1, -1, -1, -1, -1}};
static const rnn_def lstm_def = {RNN_LSTM, 4, 3, {"Sigmoid", "Tanh", "Tanh"}, {3, 4, 5, 6, 7, -1, -1, -1, -1}};
static const rnn_def quantised_def = {RNN_LSTM, 4, 3, {"Sigmoid", "Tanh", "Tanh"}, {3, 4, 5, 6, 7, 8, 9, 10, 11}};

typedef struct rnn_params {
  const rnn_def *def;
  rnn_layer layer;                                          /* hidden and inputs are 0 until the weights are known */
  int layout;
  bool packed;                                              /* layer.weights is complete */
} rnn_params;

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
static status read_activations(const node *n, rnn_params *p) {
  int64_t count, alpha_count, beta_count, alpha = 0, beta = 0, needed = p->layer.directions * p->def->functions;
  const text *names = attr_strings(n, "activations", &count);
  const float *alphas = attr_floats(n, "activation_alpha", &alpha_count), *betas = attr_floats(n, "activation_beta", &beta_count);
  if (count && count != needed)
    return ERROR(INVALID_ARGUMENT, "attribute 'activations' has %lld names, but %s with %d direction(s) takes %lld", (long long)count, n->op_type, p->layer.directions, (long long)needed);
  for (int64_t i = 0; i < needed; ++i) {
    rnn_activation *a = &p->layer.activations[i / p->def->functions][i % p->def->functions];
    TRY(find_function(count ? names[i].data : p->def->defaults[i % p->def->functions], a));
    if (functions[a->function].takes_alpha && alpha < alpha_count) a->alpha = alphas[alpha++];
    if (functions[a->function].takes_beta && beta < beta_count) a->beta = betas[beta++];
  }
  return OK;
}

static status read_direction(const node *n, int *out_directions, bool *out_reverse) {
  text direction = attr_string_or(n, "direction", "forward");
  bool both = !strcmp(direction.data, "bidirectional");
  *out_reverse = !strcmp(direction.data, "reverse");
  *out_directions = both ? 2 : 1;
  if (both || *out_reverse || !strcmp(direction.data, "forward")) return OK;
  return ERROR(INVALID_ARGUMENT, "attribute 'direction' is '%s', expected forward, reverse or bidirectional", direction.data);
}

/* ---- Weights ------------------------------------------------------------------------------------------------------------------------- */

static const tensor *input_at(const tensor *const *in, int32_t count, int i) { return i >= 0 && i < count ? in[i] : NULL; }

static status check_shape(const tensor *t, const char *name, int rank, const int64_t *dims) {
  if (!t || dims_equal(t->rank, t->dims, rank, dims)) return OK;
  char given[DIMS_TEXT], expected[DIMS_TEXT];
  return ERROR(INVALID_ARGUMENT, "input '%s' has shape %s, expected %s", name, dims_format(given, sizeof given, t->rank, t->dims), dims_format(expected, sizeof expected, rank, dims));
}

/* The sizes of the layer, from W and R, and everything else against them. */
static status read_sizes(const rnn_params *p, rnn_layer *l, const tensor *const *in, int32_t count) {
  const tensor *w = in[1], *r = in[2];
  bool transposed = l->quantise;
  if (w->rank != 3 || r->rank != 3) return ERROR(INVALID_ARGUMENT, "inputs 'W' and 'R' must have rank 3, but have %d and %d", w->rank, r->rank);
  l->inputs = w->dims[transposed ? 1 : 2];
  l->hidden = r->dims[transposed ? 1 : 2];
  int64_t d = l->directions, columns = l->gates * l->hidden;
  TRY(check_shape(w, "W", 3, transposed ? (int64_t[]){d, l->inputs, columns} : (int64_t[]){d, columns, l->inputs}));
  TRY(check_shape(r, "R", 3, transposed ? (int64_t[]){d, l->hidden, columns} : (int64_t[]){d, columns, l->hidden}));
  TRY(check_shape(input_at(in, count, p->def->at.b), "B", 2, (int64_t[]){d, 2 * columns}));
  return check_shape(input_at(in, count, p->def->at.peepholes), "P", 2, (int64_t[]){d, 3 * l->hidden});
}

/* Memory for packed weights: the session's zone, or scratch of a run. */
typedef struct packer { zone *memory; kernel_ctx *k; dtype type; } packer;

static status pack_alloc(const packer *a, int64_t count, void **out) {
  size_t bytes = (size_t)count * (a->type == ORTC_DOUBLE ? sizeof(double) : sizeof(float));
  if (a->k) return kernel_scratch(a->k, bytes, out);
  *out = zone_alloc(a->memory, bytes);
  return *out ? OK : status_out_of_memory();
}

static status pack_panels(const packer *a, const void *matrix, int64_t columns, int64_t k, int64_t column_stride, int64_t k_stride, const void **out) {
  void *panels;
  TRY(pack_alloc(a, rnn_panel_count(columns, k), &panels));
  if (a->type == ORTC_DOUBLE) rnn_pack_f64(matrix, columns, k, column_stride, k_stride, panels);
  else rnn_pack_f32(matrix, columns, k, column_stride, k_stride, panels);
  *out = panels;
  return OK;
}

static const void *element(const packer *a, const void *data, int64_t i) { return (const char *)data + i * (a->type == ORTC_DOUBLE ? 8 : 4); }

static status pack_bias(const packer *a, const rnn_layer *l, const tensor *b, int d, rnn_weights *w) {
  int64_t n = l->gates * l->hidden, separate = l->kind == RNN_GRU && l->linear_before_reset ? 2 * l->hidden : n;
  if (!b) return OK;
  const void *input = element(a, b->data, d * 2 * n), *state = element(a, input, n);
  void *sum;
  TRY(pack_alloc(a, n, &sum));
  memcpy(sum, input, (size_t)(n * (a->type == ORTC_DOUBLE ? 8 : 4)));
  for (int64_t i = 0; i < separate; ++i) {
    if (a->type == ORTC_DOUBLE) ((double *)sum)[i] += ((const double *)state)[i];
    else ((float *)sum)[i] += ((const float *)state)[i];
  }
  w->bias = sum;
  if (separate == n) return OK;
  void *rest;
  TRY(pack_alloc(a, l->hidden, &rest));
  memcpy(rest, element(a, state, separate), (size_t)(l->hidden * (a->type == ORTC_DOUBLE ? 8 : 4)));
  w->candidate_bias = rest;
  return OK;
}

/* w, r, b, peepholes are of the packer's type. */
static status pack_weights(const packer *a, rnn_layer *l, const tensor *w, const tensor *r, const tensor *b, const tensor *peepholes) {
  int64_t n = l->hidden, columns = l->gates * n, recurrent = l->kind == RNN_GRU ? 2 * n : columns;
  for (int d = 0; d < l->directions; ++d) {
    rnn_weights *to = &l->weights[d];
    bool transposed = l->quantise;                          /* there a column's elements lie a row apart */
    const void *input = element(a, w->data, d * columns * l->inputs), *state = element(a, r->data, d * columns * n);
    TRY(pack_panels(a, input, columns, l->inputs, transposed ? 1 : l->inputs, transposed ? columns : 1, &to->input));
    TRY(pack_panels(a, state, recurrent, n, transposed ? 1 : n, transposed ? columns : 1, &to->state));
    if (l->kind == RNN_GRU) TRY(pack_panels(a, element(a, state, recurrent * n), n, n, n, 1, &to->candidate));
    TRY(pack_bias(a, l, b, d, to));
    if (!peepholes) continue;
    void *copy;
    TRY(pack_alloc(a, 3 * n, &copy));
    memcpy(copy, element(a, peepholes->data, d * 3 * n), (size_t)(3 * n * (a->type == ORTC_DOUBLE ? 8 : 4)));
    to->peepholes = copy;
  }
  return OK;
}

/* 8-bit weights [directions, k, columns] as float; scale and zero point are one for each direction or column. */
static status dequantise(const packer *a, const tensor *w, const tensor *scale, const tensor *zero, const char *name, tensor *out) {
  int64_t directions = w->dims[0], columns = w->dims[2], rows = w->dims[1];
  if (!scale || scale->type != ORTC_FLOAT || (scale->count != directions && scale->count != directions * columns))
    return ERROR(INVALID_ARGUMENT, "input '%s_scale' must have one element for each direction, or for each column", name);
  if (zero && (zero->type != w->type || zero->count != scale->count))
    return ERROR(INVALID_ARGUMENT, "input '%s_zero_point' must be %s like '%s' and have as many elements as its scale (%lld)", name, dtype_name(w->type), name, (long long)scale->count);
  bool per_column = scale->count != directions, is_signed = w->type == ORTC_INT8;
  *out = *w;
  out->type = ORTC_FLOAT;
  TRY(pack_alloc(a, w->count, &out->data));
  for (int64_t i = 0; i < w->count; ++i) {
    int64_t s = per_column ? i / (rows * columns) * columns + i % columns : i / (rows * columns);
    int value = is_signed ? ((const int8_t *)w->data)[i] : ((const uint8_t *)w->data)[i];
    int origin = !zero ? 0 : is_signed ? ((const int8_t *)zero->data)[s] : ((const uint8_t *)zero->data)[s];
    ((float *)out->data)[i] = (float)(value - origin) * ((const float *)scale->data)[s];
  }
  return OK;
}

/* From inputs that may be halves or 8-bit integers to packed numbers. */
static status load_weights(const packer *a, const rnn_params *p, rnn_layer *l, const tensor *const *in, int32_t count) {
  const rnn_inputs *at = &p->def->at;
  const tensor *parts[4] = {in[1], in[2], input_at(in, count, at->b), input_at(in, count, at->peepholes)};
  tensor wide[4];
  TRY(read_sizes(p, l, in, count));
  for (int i = 0; i < 4; ++i) {
    const tensor *t = parts[i];
    if (!t) continue;
    if (l->quantise && i < 2) {
      TRY(dequantise(a, t, input_at(in, count, i ? at->r_scale : at->w_scale), input_at(in, count, i ? at->r_zero : at->w_zero), i ? "R" : "W", &wide[i]));
      parts[i] = &wide[i];
    } else if (is_half(t->type)) {
      wide[i] = *t;
      wide[i].type = ORTC_FLOAT;
      TRY(pack_alloc(a, t->count, &wide[i].data));
      if (t->type == ORTC_FLOAT16) f16_to_f32_n(t->data, wide[i].data, (size_t)t->count);
      else bf16_to_f32_n(t->data, wide[i].data, (size_t)t->count);
      parts[i] = &wide[i];
    }
  }
  return pack_weights(a, l, parts[0], parts[1], parts[2], parts[3]);
}

/* ---- The operator -------------------------------------------------------------------------------------------------------------------- */

static status rnn_prepare(prepare_ctx *c, void **out_params) {
  rnn_params *p = *out_params = ZONE_NEW(c->memory, rnn_params);
  if (!p) return status_out_of_memory();
  rnn_layer *l = &p->layer;
  p->def = c->op->data;
  l->kind = p->def->kind;
  l->gates = p->def->gates;
  l->quantise = p->def->at.w_scale >= 0;
  l->clip = attr_float_or(c->node, "clip", 0);
  l->input_forget = attr_int_or(c->node, "input_forget", 0);
  l->linear_before_reset = attr_int_or(c->node, "linear_before_reset", 0);
  p->layout = (int)attr_int_or(c->node, "layout", 0);
  TRY(read_direction(c->node, &l->directions, &l->reverse[0]));
  if (l->directions == 2) l->reverse[1] = true;
  TRY(read_activations(c->node, p));
  const tensor *in[16] = {NULL};
  int32_t count = c->in_count < 16 ? c->in_count : 16;
  const rnn_inputs *at = &p->def->at;
  p->packed = true;
  for (int32_t i = 1; i < count; ++i) {
    if (!c->in[i] || i == at->lengths || i == at->h || i == at->c) continue;
    in[i] = c->in[i]->value;
    p->packed &= in[i] != NULL;
  }
  if (!p->packed) return OK;
  packer a = {.memory = c->memory, .type = c->in[0]->type};
  return load_weights(&a, p, l, in, count);
}

static status rnn_infer(infer_ctx *c) {
  const rnn_def *def = c->op->data;
  const fact *x = c->in[0], *r = c->in[2];
  int directions;
  bool reverse, batch_first = attr_int_or(c->node, "layout", 0) != 0;
  TRY(read_direction(c->node, &directions, &reverse));
  if (x->rank >= 0 && x->rank != 3) return ERROR(INVALID_ARGUMENT, "input 'X' must have rank 3 (steps, batch, inputs), but has rank %d", x->rank);
  dim steps = x->rank == 3 ? x->dims[batch_first] : DIM_UNKNOWN, batch = x->rank == 3 ? x->dims[!batch_first] : DIM_UNKNOWN;
  dim hidden = r->rank == 3 ? r->dims[def->at.w_scale >= 0 ? 1 : 2] : attr_int_or(c->node, "hidden_size", DIM_UNKNOWN);
  if (c->out_count > 0 && c->out[0]) fact_set_shape(c->out[0], 4, batch_first ? (dim[]){batch, steps, directions, hidden} : (dim[]){steps, directions, batch, hidden});
  for (int32_t i = 1; i < c->out_count; ++i)
    if (c->out[i]) fact_set_shape(c->out[i], 3, batch_first ? (dim[]){batch, directions, hidden} : (dim[]){directions, batch, hidden});
  return OK;
}

static status check_lengths(const tensor *lengths, int64_t batch, int64_t steps) {
  TRY(check_shape(lengths, "sequence_lens", 1, &batch));
  for (int64_t i = 0; i < batch; ++i) {
    int32_t length = ((const int32_t *)lengths->data)[i];
    if (length < 0 || length > steps)
      return ERROR(INVALID_ARGUMENT, "input 'sequence_lens' has %d at %lld, but X has %lld steps", length, (long long)i, (long long)steps);
  }
  return OK;
}

/* A state output, or scratch memory where it is not wanted: steps keep their states there. */
static status state_output(kernel_ctx *k, int32_t i, dtype type, const int64_t *dims, tensor *wide, tensor **out, tensor **work) {
  *out = NULL;
  if (kernel_wants(k, i)) TRY(kernel_output(k, i, 3, dims, out));
  if (*out) return float_output(k, *out, wide, work);
  TRY(tensor_init(wide, type, 3, dims));
  *work = wide;
  return kernel_scratch(k, tensor_bytes(wide), &wide->data);
}

static status rnn_run_node(kernel_ctx *k) {
  const rnn_params *p = k->params;
  const rnn_inputs *at = &p->def->at;
  rnn_layer layer = p->layer;
  dtype type = k->in[0]->type == ORTC_DOUBLE ? ORTC_DOUBLE : ORTC_FLOAT;
  packer a = {.k = k, .type = type};
  if (!p->packed) TRY(load_weights(&a, p, &layer, k->in, k->in_count));
  if (k->in[0]->rank != 3) return ERROR(INVALID_ARGUMENT, "input 'X' must have rank 3 (steps, batch, inputs), but has rank %d", k->in[0]->rank);
  int64_t steps = k->in[0]->dims[p->layout ? 1 : 0], batch = k->in[0]->dims[p->layout ? 0 : 1], n = layer.hidden, d = layer.directions;
  if (k->in[0]->dims[2] != layer.inputs)
    return ERROR(INVALID_ARGUMENT, "input 'X' has %lld numbers a step, but 'W' takes %lld", (long long)k->in[0]->dims[2], (long long)layer.inputs);
  int64_t state_dims[3] = {p->layout ? batch : d, p->layout ? d : batch, n};
  const tensor *lengths = input_at(k->in, k->in_count, at->lengths);
  if (lengths) TRY(check_lengths(lengths, batch, steps));
  TRY(check_shape(input_at(k->in, k->in_count, at->h), "initial_h", 3, state_dims));
  TRY(check_shape(input_at(k->in, k->in_count, at->c), "initial_c", 3, state_dims));

  tensor copies[3], wide[3], *y = NULL, *h, *c = NULL, *works[3] = {NULL};
  const tensor *x, *initial_h, *initial_c = NULL;
  TRY(float_input(k, 0, &copies[0], &x));
  TRY(float_input(k, at->h, &copies[1], &initial_h));
  if (at->c >= 0) TRY(float_input(k, at->c, &copies[2], &initial_c));
  if (kernel_wants(k, 0)) TRY(kernel_output(k, 0, 4, p->layout ? (int64_t[]){batch, steps, d, n} : (int64_t[]){steps, d, batch, n}, &y));
  TRY(float_output(k, y, &wide[0], &works[0]));
  TRY(state_output(k, 1, type, state_dims, &wide[1], &h, &works[1]));
  if (layer.kind == RNN_LSTM) TRY(state_output(k, 2, type, state_dims, &wide[2], &c, &works[2]));

  rnn_run run = {.layer = &layer, .steps = steps, .batch = batch, .x = x->data, .x_step = p->layout ? 1 : batch, .x_row = p->layout ? steps : 1,
                 .y = works[0] ? works[0]->data : NULL, .y_step = p->layout ? d * n : d * batch * n, .y_row = p->layout ? steps * d * n : n, .y_direction = p->layout ? n : batch * n,
                 .lengths = lengths ? lengths->data : NULL, .initial_h = initial_h ? initial_h->data : NULL, .initial_c = initial_c ? initial_c->data : NULL,
                 .last_h = works[1]->data, .last_c = works[2] ? works[2]->data : NULL, .state_row = p->layout ? d * n : n, .state_direction = p->layout ? n : batch * n};
  int64_t count = rnn_scratch_count(&layer, steps, batch);
  size_t bytes;
  void *scratch;
  if (!dtype_bytes(type, count, &bytes))
    return ERROR(INVALID_ARGUMENT, "%lld steps of %lld sequences with %lld hidden units are too large", (long long)steps, (long long)batch, (long long)n);
  TRY(kernel_scratch(k, bytes, &scratch));
  if (type == ORTC_DOUBLE) rnn_run_f64(&run, k->threads, scratch);
  else rnn_run_f32(&run, k->threads, scratch);
  float_finish(y, works[0]);
  float_finish(h, works[1]);
  float_finish(c, works[2]);
  return OK;
}

#define RECURRENT(op_name, since_version, op_signature, def) \
  {.name = op_name, .since = since_version, .signature = op_signature, .T = TS_FLOAT, .infer = rnn_infer, .prepare = rnn_prepare, .run = rnn_run_node, .data = &def}

OP_FAMILY(rnn) = {
  RECURRENT("RNN", 1, "X:T W:T R:T B:T? sequence_lens:i32? initial_h:T? -> Y:T? Y_h:T?", simple_def),
  RECURRENT("GRU", 1, "X:T W:T R:T B:T? sequence_lens:i32? initial_h:T? -> Y:T? Y_h:T?", gru_def),
  RECURRENT("LSTM", 1, "X:T W:T R:T B:T? sequence_lens:i32? initial_h:T? initial_c:T? P:T? -> Y:T? Y_h:T? Y_c:T?", lstm_def),
  {.name = "DynamicQuantizeLSTM", .domain = "com.microsoft", .since = 1, .T = TS(FLOAT), .T1 = TS(INT8) | TS(UINT8), .T2 = TS(INT8) | TS(UINT8),
   .signature = "X:T W:T1 R:T2 B:T? sequence_lens:i32? initial_h:T? initial_c:T? P:T? W_scale:f32 W_zero_point:T1 R_scale:f32 R_zero_point:T2 -> Y:T? Y_h:T? Y_c:T?",
   .infer = rnn_infer, .prepare = rnn_prepare, .run = rnn_run_node, .data = &quantised_def},
  {0}};
