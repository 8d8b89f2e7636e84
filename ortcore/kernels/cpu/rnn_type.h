/* Recurrent layers for one type. Before inclusion: T, NAME(f), EXP, TANH, SIGMOID, SOFTPLUS. */

void NAME(rnn_pack)(const T *matrix, int64_t columns, int64_t k, int64_t column_stride, int64_t k_stride, T *panels) {
  for (int64_t first = 0; first < columns; first += PANEL)
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < PANEL; ++j) *panels++ = first + j < columns ? matrix[(first + j) * column_stride + i * k_stride] : 0;
}

/* ---- Products with panels ---------------------------------------------------------------------------------------------------------- */

MULTIVERSION static void NAME(panel_row)(const T *restrict x, const T *restrict panel, int64_t k, T *restrict y) {
  T sums[PANEL] = {0};
  for (int64_t i = 0; i < k; ++i, panel += PANEL)
    for (int j = 0; j < PANEL; ++j) sums[j] += x[i] * panel[j];
  for (int j = 0; j < PANEL; ++j) y[j] = sums[j];
}

/* Four rows by half a panel. */
MULTIVERSION static void NAME(panel_rows)(const T *restrict x, int64_t x_stride, const T *restrict panel, int64_t k, T *restrict y, int64_t y_stride) {
  T sums[4][PANEL / 2] = {{0}};
  for (int64_t i = 0; i < k; ++i, panel += PANEL)
    for (int r = 0; r < 4; ++r)
      for (int j = 0; j < PANEL / 2; ++j) sums[r][j] += x[r * x_stride + i] * panel[j];
  for (int r = 0; r < 4; ++r)
    for (int j = 0; j < PANEL / 2; ++j) y[r * y_stride + j] = sums[r][j];
}

typedef struct NAME(product) { const T *x; int64_t x_stride, rows; const T *panels; int64_t k, columns; T *y; int64_t y_stride; } NAME(product);

/* y[row] = x[row] times these panels, for panels begin..end. */
static void NAME(multiply_panels)(void *context, int64_t begin, int64_t end) {
  const NAME(product) *p = context;
  for (int64_t n = begin; n < end; ++n) {
    const T *panel = p->panels + n * p->k * PANEL, *x = p->x;
    T *y = p->y + n * PANEL;
    int64_t row = 0;
    for (; row + 4 <= p->rows; row += 4, x += 4 * p->x_stride, y += 4 * p->y_stride)
      for (int half = 0; half < PANEL; half += PANEL / 2) NAME(panel_rows)(x, p->x_stride, panel + half, p->k, y + half, p->y_stride);
    for (; row < p->rows; ++row, x += p->x_stride, y += p->y_stride) NAME(panel_row)(x, panel, p->k, y);
  }
}

static void NAME(multiply)(int threads, NAME(product) p) {
  int64_t panels = rnn_padded(p.columns) / PANEL, work = p.rows * p.k * PANEL;
  parallel_for(threads, panels, work > 0 ? MULTIPLICATIONS_PER_THREAD / work + 1 : panels, NAME(multiply_panels), &p);
}

/* ---- Rows of numbers --------------------------------------------------------------------------------------------------------------- */

MULTIVERSION static void NAME(activate)(rnn_activation a, T clip, T *restrict x, int64_t n) {
  T alpha = a.alpha, beta = a.beta;
  if (clip > 0)
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] > clip ? clip : x[i] < -clip ? -clip : x[i];
  switch (a.function) {
    case RNN_SIGMOID: for (int64_t i = 0; i < n; ++i) x[i] = SIGMOID(x[i]); break;
    case RNN_TANH: for (int64_t i = 0; i < n; ++i) x[i] = TANH(x[i]); break;
    case RNN_RELU: for (int64_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? 0 : x[i]; break;
    case RNN_AFFINE: for (int64_t i = 0; i < n; ++i) x[i] = alpha * x[i] + beta; break;
    case RNN_LEAKY_RELU: for (int64_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? alpha * x[i] : x[i]; break;
    case RNN_THRESHOLDED_RELU: for (int64_t i = 0; i < n; ++i) x[i] = x[i] < alpha ? 0 : x[i]; break;
    case RNN_SCALED_TANH: for (int64_t i = 0; i < n; ++i) x[i] = alpha * TANH(beta * x[i]); break;
    case RNN_HARD_SIGMOID:
      for (int64_t i = 0; i < n; ++i) {
        T line = alpha * x[i] + beta;
        x[i] = line < 0 ? 0 : line > 1 ? 1 : line;
      }
      break;
    case RNN_ELU: for (int64_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? alpha * (EXP(x[i]) - 1) : x[i]; break;
    case RNN_SOFTSIGN: for (int64_t i = 0; i < n; ++i) x[i] = x[i] / (1 + (x[i] < 0 ? -x[i] : x[i])); break;
    case RNN_SOFTPLUS: for (int64_t i = 0; i < n; ++i) x[i] = SOFTPLUS(x[i]); break;
  }
}

MULTIVERSION static void NAME(add)(const T *restrict x, T *restrict y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}

MULTIVERSION static void NAME(add_product)(const T *restrict a, const T *restrict b, T *restrict y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += a[i] * b[i];
}

/* c = forget * c + input * fresh */
MULTIVERSION static void NAME(renew)(const T *restrict forget, const T *restrict input, const T *restrict fresh, T *restrict c, int64_t n) {
  for (int64_t i = 0; i < n; ++i) c[i] = forget[i] * c[i] + input[i] * fresh[i];
}

/* h = fresh + update * (h - fresh) */
MULTIVERSION static void NAME(blend)(const T *restrict update, const T *restrict fresh, T *restrict h, int64_t n) {
  for (int64_t i = 0; i < n; ++i) h[i] = (1 - update[i]) * fresh[i] + update[i] * h[i];
}

MULTIVERSION static void NAME(product_of)(const T *restrict a, const T *restrict b, T *restrict y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] * b[i];
}

/* x as 8-bit integers with one scale and zero point for all of it would represent it: NaN throughout if x holds NaN or infinities. */
MULTIVERSION static void NAME(round_to_bytes)(const T *restrict x, T *restrict y, int64_t n) {
  T low = 0, high = 0;
  int strange = 0;
  for (int64_t i = 0; i < n; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
    strange |= x[i] - x[i] != 0;
  }
  T scale = strange ? NAN : high > low ? (high - low) / 255 : 1, zero = nearbyint(-low / scale);
  for (int64_t i = 0; i < n; ++i) {
    T q = nearbyint(x[i] / scale) + zero;
    y[i] = ((q < 0 ? 0 : q > 255 ? 255 : q) - zero) * scale;
  }
}

/* ---- Cells: x is the projected input (changed), z the product of the state ------------------------------------------------------------- */

static void NAME(lstm_cell)(const rnn_layer *l, const rnn_weights *w, int d, T *restrict x, const T *restrict z, T *restrict h, T *restrict c) {
  const rnn_activation *a = l->activations[d];
  const T *peepholes = w->peepholes;
  int64_t n = l->hidden;
  T *input = x, *output = x + n, *forget = x + 2 * n, *fresh = x + 3 * n, clip = l->clip;
  NAME(add)(z, x, 4 * n);
  if (peepholes) {
    NAME(add_product)(peepholes, c, input, n);
    NAME(add_product)(peepholes + 2 * n, c, forget, n);
  }
  NAME(activate)(a[0], clip, input, n);
  if (l->input_forget)
    for (int64_t i = 0; i < n; ++i) forget[i] = 1 - input[i];
  else
    NAME(activate)(a[0], clip, forget, n);
  NAME(activate)(a[1], clip, fresh, n);
  NAME(renew)(forget, input, fresh, c, n);
  if (peepholes) NAME(add_product)(peepholes + n, c, output, n);
  NAME(activate)(a[0], clip, output, n);
  memcpy(fresh, c, (size_t)n * sizeof(T));
  NAME(activate)(a[2], 0, fresh, n);
  NAME(product_of)(output, fresh, h, n);
}

/* GRU's gates update and reset; then `candidate` becomes what the candidate's weights multiply: the reset state, or the state itself. */
static void NAME(gru_gates)(const rnn_layer *l, int d, T *restrict x, const T *restrict z, const T *restrict h, T *restrict candidate) {
  int64_t n = l->hidden;
  NAME(add)(z, x, 2 * n);
  NAME(activate)(l->activations[d][0], l->clip, x, 2 * n);
  if (l->linear_before_reset) memcpy(candidate, h, (size_t)n * sizeof(T));
  else NAME(product_of)(x + n, h, candidate, n);
}

static void NAME(gru_cell)(const rnn_layer *l, const rnn_weights *w, int d, T *restrict x, T *restrict z, T *restrict h) {
  int64_t n = l->hidden;
  T *update = x, *reset = x + n, *fresh = x + 2 * n;
  if (l->linear_before_reset) {
    if (w->candidate_bias) NAME(add)(w->candidate_bias, z, n);
    NAME(add_product)(reset, z, fresh, n);
  } else {
    NAME(add)(z, fresh, n);
  }
  NAME(activate)(l->activations[d][1], l->clip, fresh, n);
  NAME(blend)(update, fresh, h, n);
}

static void NAME(simple_cell)(const rnn_layer *l, int d, T *restrict x, const T *restrict z, T *restrict h) {
  NAME(add)(z, x, l->hidden);
  NAME(activate)(l->activations[d][0], l->clip, x, l->hidden);
  memcpy(h, x, (size_t)l->hidden * sizeof(T));
}

/* ---- Sequences --------------------------------------------------------------------------------------------------------------------- */

typedef struct NAME(sequence) { const rnn_run *run; T *projected, *product, *candidate, *state; int64_t width, parts; int threads; } NAME(sequence);

/* Rows begin..end of one direction: their product with the recurrent weights. `state` has rows of `hidden`. */
static void NAME(multiply_state)(const NAME(sequence) *s, const T *state, int64_t stride, int64_t rows, const T *panels, int64_t columns, T *product) {
  NAME(multiply)(s->threads, (NAME(product)){state, stride, rows, panels, s->run->layer->hidden, columns, product, s->width});
}

static void NAME(run_rows)(const NAME(sequence) *s, int d, int64_t begin, int64_t end) {
  const rnn_run *r = s->run;
  const rnn_layer *l = r->layer;
  const rnn_weights *w = &r->weights[d];
  int64_t n = l->hidden, rows = end - begin;
  T *h = (T *)r->last_h + d * r->shape.state_direction + begin * r->shape.state_row, *c = r->last_c ? (T *)r->last_c + d * r->shape.state_direction + begin * r->shape.state_row : NULL;
  T *projected = s->projected + d * r->shape.steps * r->shape.batch * s->width, *product = s->product + (d * r->shape.batch + begin) * s->width;
  T *candidate = s->candidate + (d * r->shape.batch + begin) * n, *rounded = s->state + (d * r->shape.batch + begin) * n;
  int64_t recurrent_columns = l->kind == RNN_GRU ? 2 * n : l->gates * n;
  for (int64_t step = 0; step < r->shape.steps; ++step) {
    const T *state = h;
    int64_t stride = r->shape.state_row;
    if (w->state_bytes) {
      rnn_bytes_multiply(s->threads, w->state_bytes, (const float *)h, stride, rows, (uint8_t *)candidate, (float *)product, s->width);
    } else if (l->quantise) {
      for (int64_t b = 0; b < rows; ++b) memcpy(rounded + b * n, h + b * stride, (size_t)n * sizeof(T));
      NAME(round_to_bytes)(rounded, candidate, rows * n);
      state = candidate;
      stride = n;
    }
    if (!w->state_bytes) NAME(multiply_state)(s, state, stride, rows, w->state, recurrent_columns, product);
    for (int pass = 0; pass < (l->kind == RNN_GRU ? 2 : 1); ++pass) {
      if (pass == 1) NAME(multiply_state)(s, candidate, n, rows, w->candidate, n, product);
      for (int64_t b = 0; b < rows; ++b) {
        int64_t length = r->lengths ? r->lengths[begin + b] : r->shape.steps, t = l->reverse[d] ? length - 1 - step : step;
        T *row_h = h + b * r->shape.state_row, *z = product + b * s->width;
        if (step >= length) continue;
        T *x = projected + (t * r->shape.x_step + (begin + b) * r->shape.x_row) * s->width;
        if (l->kind == RNN_LSTM) NAME(lstm_cell)(l, w, d, x, z, row_h, c + b * r->shape.state_row);
        else if (l->kind == RNN_SIMPLE) NAME(simple_cell)(l, d, x, z, row_h);
        else if (pass == 0) NAME(gru_gates)(l, d, x, z, row_h, candidate + b * n);
        else NAME(gru_cell)(l, w, d, x, z, row_h);
        if (r->y && (l->kind != RNN_GRU || pass == 1))
          memcpy((T *)r->y + t * r->shape.y_step + (begin + b) * r->shape.y_row + d * r->shape.y_direction, row_h, (size_t)n * sizeof(T));
      }
    }
  }
}

/* Task i is a direction and a part of the batch. */
static void NAME(run_tasks)(void *context, int64_t begin, int64_t end) {
  const NAME(sequence) *s = context;
  for (int64_t i = begin; i < end; ++i) {
    int64_t part = i % s->parts, batch = s->run->shape.batch;
    NAME(run_rows)(s, (int)(i / s->parts), batch * part / s->parts, batch * (part + 1) / s->parts);
  }
}

/* All steps' inputs times the input weights, with the bias. */
static void NAME(project)(const rnn_run *r, int threads, int64_t width, T *projected, T *rounded) {
  const rnn_layer *l = r->layer;
  int64_t rows = r->shape.steps * r->shape.batch, columns = l->gates * l->hidden;
  const T *x = r->x;
  if (l->quantise && !r->weights[0].input_bytes) {
    NAME(round_to_bytes)(x, rounded, rows * l->inputs);
    x = rounded;
  }
  for (int d = 0; d < l->directions; ++d, projected += rows * width) {
    const rnn_bytes *bytes = r->weights[d].input_bytes;
    if (bytes) rnn_bytes_multiply(threads, bytes, (const float *)x, l->inputs, rows, (uint8_t *)rounded, (float *)projected, width);
    else NAME(multiply)(threads, (NAME(product)){x, l->inputs, rows, r->weights[d].input, l->inputs, columns, projected, width});
    for (int64_t row = 0; r->weights[d].bias && row < rows; ++row) NAME(add)(r->weights[d].bias, projected + row * width, columns);
  }
}

/* Copies the initial states to where the states live, and clears what no step will write. */
static void NAME(begin_states)(const rnn_run *r) {
  const rnn_layer *l = r->layer;
  size_t bytes = (size_t)(l->directions * r->shape.batch * l->hidden) * sizeof(T);
  if (r->initial_h) memcpy(r->last_h, r->initial_h, bytes);
  else memset(r->last_h, 0, bytes);
  if (r->last_c && r->initial_c) memcpy(r->last_c, r->initial_c, bytes);
  else if (r->last_c) memset(r->last_c, 0, bytes);
  if (r->y && r->lengths) memset(r->y, 0, bytes * (size_t)r->shape.steps);
}

void NAME(rnn_run)(const rnn_run *r, int threads, T *scratch) {
  const rnn_layer *l = r->layer;
  int64_t rows = l->directions * r->shape.batch, width = rnn_padded(l->gates * l->hidden);
  NAME(begin_states)(r);
  if (!r->shape.steps || !r->shape.batch || !l->hidden) return;
  NAME(sequence) s = {.run = r, .projected = scratch, .width = width};
  s.product = s.projected + rows * r->shape.steps * width;
  s.candidate = s.product + rows * width;
  s.state = s.candidate + rows * l->hidden;
  NAME(project)(r, threads, width, s.projected, s.state + rows * l->hidden);
  /* Sequences are independent: a thread takes a direction, or some of its rows. What remains of the threads shares the panels of a step. */
  s.parts = l->quantise || threads <= l->directions ? 1 : threads / l->directions < r->shape.batch ? threads / l->directions : r->shape.batch;
  s.threads = threads >= 2 * l->directions * s.parts ? threads / (int)(l->directions * s.parts) : 1;
  if (l->directions * s.parts == 1) NAME(run_tasks)(&s, 0, 1);
  else parallel_for(threads, l->directions * s.parts, 1, NAME(run_tasks), &s);
}
