/* RNN, GRU, LSTM and onnxruntime's DynamicQuantizeLSTM. Constant weights are packed once, at load. */
#include <ortcore/base/half.h>
#include <ortcore/kernels/cpu/rnn.h>
#include <ortcore/ops/float_io.h>
#include <ortcore/ops/rnn_read.h>
#include <string.h>

typedef struct rnn_params {
  const rnn_def *def;
  rnn_layer layer;
  rnn_weights weights[2];
  bool packed;                                              /* the weights are constant, and complete */
} rnn_params;

/* ---- Weights ------------------------------------------------------------------------------------------------------------------------- */

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
static status pack_weights(const packer *a, const rnn_layer *l, const tensor *w, const tensor *r, const tensor *b, const tensor *peepholes, rnn_weights *out) {
  int64_t n = l->hidden, columns = l->gates * n, recurrent = l->kind == RNN_GRU ? 2 * n : columns;
  for (int d = 0; d < l->directions; ++d) {
    rnn_weights *to = &out[d];
    bool transposed = l->quantise;                          /* there a column's elements lie a row apart */
    const void *input = element(a, w->data, d * columns * l->inputs), *state = element(a, r->data, d * columns * n);
    if (!to->input_bytes) TRY(pack_panels(a, input, columns, l->inputs, transposed ? 1 : l->inputs, transposed ? columns : 1, &to->input));
    if (!to->state_bytes) TRY(pack_panels(a, state, recurrent, n, transposed ? 1 : n, transposed ? columns : 1, &to->state));
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

/* 8-bit weights are [directions, k, columns]; scale and zero point are one for each direction or column. */
static status check_quantised(const tensor *w, const tensor *scale, const tensor *zero, const char *name) {
  int64_t directions = w->dims[0], columns = w->dims[2];
  if (!scale || scale->type != ORTC_FLOAT || (scale->count != directions && scale->count != directions * columns))
    return ERROR(INVALID_ARGUMENT, "input '%s_scale' must have one element for each direction, or for each column", name);
  if (zero && (zero->type != w->type || zero->count != scale->count))
    return ERROR(INVALID_ARGUMENT, "input '%s_zero_point' must be %s like '%s' and have as many elements as its scale (%lld)", name, dtype_name(w->type), name, (long long)scale->count);
  return OK;
}

static int zero_at(const tensor *zero, int64_t i) {
  return !zero ? 0 : zero->type == ORTC_INT8 ? ((const int8_t *)zero->data)[i] : ((const uint8_t *)zero->data)[i];
}

/* Their sums fit 32 bits. */
static bool suits_bytes(const tensor *w) { return rnn_bytes_available() && w->dims[1] <= 1 << 14; }

/* As they are, for products of bytes. */
static status keep_bytes(const packer *a, const tensor *w, const tensor *scale, const tensor *zero, int64_t direction, const rnn_bytes **out) {
  int64_t columns = w->dims[2], k = w->dims[1], first = scale->count == w->dims[0] ? direction : direction * columns;
  void *panels, *numbers, *header;
  TRY(pack_alloc(a, (rnn_bytes_count(columns, k) + 3) / 4, &panels));
  TRY(pack_alloc(a, 3 * columns, &numbers));
  TRY(pack_alloc(a, (int64_t)((sizeof(rnn_bytes) + 3) / 4), &header));
  int32_t *sums = numbers, *zeros = sums + columns;
  float *scales = (float *)(zeros + columns);
  bool centred = true;
  rnn_bytes_pack((const char *)w->data + direction * k * columns, w->type == ORTC_INT8, columns, k, panels, sums);
  for (int64_t c = 0; c < columns; ++c) {
    int64_t at = scale->count == w->dims[0] ? first : first + c;
    scales[c] = ((const float *)scale->data)[at];
    zeros[c] = zero_at(zero, at) - (w->type == ORTC_INT8 ? 0 : 128);
    centred &= zeros[c] == 0;
  }
  rnn_bytes *bytes = header;
  *bytes = (rnn_bytes){.panels = panels, .sums = sums, .zeros = centred ? NULL : zeros, .scales = scales, .columns = columns, .k = k};
  *out = bytes;
  return OK;
}

/* As float, where there are no such products. */
static status dequantise(const packer *a, const tensor *w, const tensor *scale, const tensor *zero, tensor *out) {
  int64_t directions = w->dims[0], columns = w->dims[2], rows = w->dims[1];
  bool per_column = scale->count != directions, is_signed = w->type == ORTC_INT8;
  *out = *w;
  out->type = ORTC_FLOAT;
  TRY(pack_alloc(a, w->count, &out->data));
  for (int64_t i = 0; i < w->count; ++i) {
    int64_t s = per_column ? i / (rows * columns) * columns + i % columns : i / (rows * columns);
    int value = is_signed ? ((const int8_t *)w->data)[i] : ((const uint8_t *)w->data)[i];
    ((float *)out->data)[i] = (float)(value - zero_at(zero, s)) * ((const float *)scale->data)[s];
  }
  return OK;
}

/* From inputs that may be halves or 8-bit integers to packed numbers. */
static status load_weights(const packer *a, const rnn_def *def, rnn_layer *l, const tensor *const *in, int32_t count, rnn_weights *out) {
  const rnn_inputs *at = &def->at;
  const tensor *parts[4] = {in[1], in[2], rnn_input(in, count, at->b), rnn_input(in, count, at->peepholes)};
  tensor wide[4];
  TRY(rnn_read_sizes(def, l, in, count));
  for (int i = 0; i < 4; ++i) {
    const tensor *t = parts[i];
    if (!t) continue;
    if (l->quantise && i < 2) {
      const tensor *scale = rnn_input(in, count, i ? at->r_scale : at->w_scale), *zero = rnn_input(in, count, i ? at->r_zero : at->w_zero);
      TRY(check_quantised(t, scale, zero, i ? "R" : "W"));
      for (int d = 0; d < l->directions && suits_bytes(t); ++d) TRY(keep_bytes(a, t, scale, zero, d, i ? &out[d].state_bytes : &out[d].input_bytes));
      if (suits_bytes(t)) continue;
      TRY(dequantise(a, t, scale, zero, &wide[i]));
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
  return pack_weights(a, l, parts[0], parts[1], parts[2], parts[3], out);
}

/* ---- The operator -------------------------------------------------------------------------------------------------------------------- */

static status rnn_prepare(prepare_ctx *c, void **out_params) {
  rnn_params *p = *out_params = ZONE_NEW(c->memory, rnn_params);
  if (!p) return status_out_of_memory();
  p->def = c->op->data;
  TRY(rnn_read_attrs(c->node, p->def, &p->layer));
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
  return load_weights(&a, p->def, &p->layer, in, count, p->weights);
}

static status rnn_infer(infer_ctx *c) {
  const rnn_def *def = c->op->data;
  const fact *x = c->in[0], *r = c->in[2];
  int directions;
  bool reverse, batch_first = attr_int_or(c->node, "layout", 0) != 0;
  TRY(rnn_read_direction(c->node, &directions, &reverse));
  if (x->rank >= 0 && x->rank != 3) return ERROR(INVALID_ARGUMENT, "input 'X' must have rank 3 (steps, batch, inputs), but has rank %d", x->rank);
  dim steps = x->rank == 3 ? x->dims[batch_first] : DIM_UNKNOWN, batch = x->rank == 3 ? x->dims[!batch_first] : DIM_UNKNOWN;
  dim hidden = r->rank == 3 ? r->dims[def->at.w_scale >= 0 ? 1 : 2] : attr_int_or(c->node, "hidden_size", DIM_UNKNOWN);
  if (c->out_count > 0 && c->out[0]) fact_set_shape(c->out[0], 4, batch_first ? (dim[]){batch, steps, directions, hidden} : (dim[]){steps, directions, batch, hidden});
  for (int32_t i = 1; i < c->out_count; ++i)
    if (c->out[i]) fact_set_shape(c->out[i], 3, batch_first ? (dim[]){batch, directions, hidden} : (dim[]){directions, batch, hidden});
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
  rnn_weights fresh[2] = {{0}};
  rnn_shape shape;
  const tensor *lengths = rnn_input(k->in, k->in_count, at->lengths);
  dtype type = k->in[0]->type == ORTC_DOUBLE ? ORTC_DOUBLE : ORTC_FLOAT;
  packer a = {.k = k, .type = type};
  if (!p->packed) TRY(load_weights(&a, p->def, &layer, k->in, k->in_count, fresh));
  TRY(rnn_read_shape(p->def, &layer, k->in, k->in_count, &shape));
  if (lengths) TRY(rnn_check_lengths(lengths, &shape));

  tensor copies[3], wide[3], *y = NULL, *h, *c = NULL, *works[3] = {NULL};
  const tensor *x, *initial_h, *initial_c = NULL;
  TRY(float_input(k, 0, &copies[0], &x));
  TRY(float_input(k, at->h, &copies[1], &initial_h));
  if (at->c >= 0) TRY(float_input(k, at->c, &copies[2], &initial_c));
  if (kernel_wants(k, 0)) TRY(kernel_output(k, 0, 4, shape.y_dims, &y));
  TRY(float_output(k, y, &wide[0], &works[0]));
  TRY(state_output(k, 1, type, shape.state_dims, &wide[1], &h, &works[1]));
  if (layer.kind == RNN_LSTM) TRY(state_output(k, 2, type, shape.state_dims, &wide[2], &c, &works[2]));

  rnn_run run = {.layer = &layer, .weights = p->packed ? p->weights : fresh, .shape = shape, .x = x->data, .y = works[0] ? works[0]->data : NULL,
                 .lengths = lengths ? lengths->data : NULL, .initial_h = initial_h ? initial_h->data : NULL, .initial_c = initial_c ? initial_c->data : NULL,
                 .last_h = works[1]->data, .last_c = works[2] ? works[2]->data : NULL};
  int64_t count = rnn_scratch_count(&layer, shape.steps, shape.batch);
  size_t bytes;
  void *scratch;
  if (!dtype_bytes(type, count, &bytes))
    return ERROR(INVALID_ARGUMENT, "%lld steps of %lld sequences with %lld hidden units are too large", (long long)shape.steps, (long long)shape.batch,
                 (long long)layer.hidden);
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
  RECURRENT("RNN", 1, "X:T W:T R:T B:T? sequence_lens:i32? initial_h:T? -> Y:T? Y_h:T?", rnn_simple_def),
  RECURRENT("GRU", 1, "X:T W:T R:T B:T? sequence_lens:i32? initial_h:T? -> Y:T? Y_h:T?", rnn_gru_def),
  RECURRENT("LSTM", 1, "X:T W:T R:T B:T? sequence_lens:i32? initial_h:T? initial_c:T? P:T? -> Y:T? Y_h:T? Y_c:T?", rnn_lstm_def),
  {.name = "DynamicQuantizeLSTM", .domain = "com.microsoft", .since = 1, .T = TS(FLOAT), .T1 = TS(INT8) | TS(UINT8), .T2 = TS(INT8) | TS(UINT8),
   .signature = "X:T W:T1 R:T2 B:T? sequence_lens:i32? initial_h:T? initial_c:T? P:T? W_scale:f32 W_zero_point:T1 R_scale:f32 R_zero_point:T2 -> Y:T? Y_h:T? Y_c:T?",
   .infer = rnn_infer, .prepare = rnn_prepare, .run = rnn_run_node, .data = &rnn_quantised_def},
  {0}};
