/* DFT, STFT, the window functions and MelWeightMatrix. */
#include <math.h>
#include <ortcore/base/checked.h>
#include <ortcore/base/threads.h>
#include <ortcore/kernels/cpu/convert.h>
#include <ortcore/kernels/cpu/fft.h>
#include <ortcore/ops/float_io.h>
#include <ortcore/ops/infer_common.h>
#include <ortcore/ops/movement.h>

enum { LONGEST = 1 << 26 };                                 /* of a transform */

static double get(const tensor *t, int64_t i) { return t->type == ORTC_DOUBLE ? ((const double *)t->data)[i] : (double)((const float *)t->data)[i]; }
static void set(tensor *t, int64_t i, double v) {
  if (t->type == ORTC_DOUBLE) ((double *)t->data)[i] = v;
  else ((float *)t->data)[i] = (float)v;
}

/* An integer input of one element. */
static status scalar_input(const tensor *t, const char *name, int64_t *out) {
  if (t->count != 1) return ERROR(INVALID_ARGUMENT, "input '%s' has %lld elements, expected 1", name, (long long)t->count);
  *out = integer_at(t, 0);
  return OK;
}

/* ---- Many transforms of one length ----------------------------------------------------------------------------------------------------------- */

/* Line i of the input begins at element first(i); its numbers lie `stride` complex (or real) elements apart. */
typedef struct transform {
  fft f;
  const tensor *x, *window;                                 /* window may be NULL */
  tensor *y;
  int64_t lines, in_length, out_length;
  int64_t in_parts, out_parts;                              /* 1 real, 2 complex */
  bool conjugate;                                           /* the input is one half of a spectrum that a real signal has */
  int64_t inner, step, steps;                               /* DFT: elements behind the axis (steps 0); STFT: frames and their distance */
  double *slots;
  int64_t slot_count, slot_size;
} transform;

static void read_line(const transform *t, int64_t line, double *to) {
  int64_t n = t->f.n, first, stride;
  if (t->steps) {
    first = line / t->steps * t->in_length + line % t->steps * t->step;
    stride = 1;
  } else {
    first = line / t->inner * t->in_length * t->inner + line % t->inner;
    stride = t->inner;
  }
  int64_t count = t->steps || n < t->in_length ? n : t->in_length;
  memset(to, 0, (size_t)(2 * n) * sizeof *to);
  for (int64_t i = 0; i < count; ++i) {
    double weight = t->window ? get(t->window, i) : 1;
    for (int64_t part = 0; part < t->in_parts; ++part) to[2 * i + part] = weight * get(t->x, (first + i * stride) * t->in_parts + part);
  }
  for (int64_t i = n / 2 + 1; t->conjugate && i < n; ++i) {
    to[2 * i] = to[2 * (n - i)];
    to[2 * i + 1] = -to[2 * (n - i) + 1];
  }
}

static void write_line(const transform *t, int64_t line, const double *from) {
  int64_t inner = t->steps ? 1 : t->inner, first = line / inner * t->out_length * inner + line % inner;
  for (int64_t i = 0; i < t->out_length; ++i)
    for (int64_t part = 0; part < t->out_parts; ++part) set(t->y, (first + i * inner) * t->out_parts + part, from[2 * i + part]);
}

static void transform_slot(void *context, int64_t begin, int64_t end) {
  const transform *t = context;
  for (int64_t slot = begin; slot < end; ++slot) {
    double *line_memory = t->slots + slot * t->slot_size, *work = line_memory + 2 * t->f.n;
    for (int64_t line = t->lines * slot / t->slot_count; line < t->lines * (slot + 1) / t->slot_count; ++line) {
      read_line(t, line, line_memory);
      fft_run(&t->f, line_memory, work);
      write_line(t, line, line_memory);
    }
  }
}

static status transform_run(kernel_ctx *k, transform *t, int64_t n, bool inverse) {
  void *memory, *slots;
  if (!t->lines || !t->out_length) return OK;
  if (n < 1 || n > LONGEST) return ERROR(INVALID_ARGUMENT, "a transform of length %lld is not possible", (long long)n);
  t->slot_count = t->lines < k->threads ? t->lines : k->threads;
  t->slot_size = 2 * n + fft_work(n);
  TRY(kernel_scratch(k, (size_t)fft_memory(n) * sizeof(double), &memory));
  TRY(kernel_scratch(k, (size_t)(t->slot_count * t->slot_size) * sizeof(double), &slots));
  fft_init(&t->f, n, inverse, memory);
  t->slots = slots;
  parallel_for(t->lines * n > 4096 ? k->threads : 1, t->slot_count, 1, transform_slot, t);
  return OK;
}

/* ---- DFT ------------------------------------------------------------------------------------------------------------------------------------- */

/* The axis: an attribute before version 20, then an input. */
static status dft_axis(const node *n, int rank, const tensor *input, int *out) {
  int64_t axis = attr_int_or(n, "axis", n->op->since < 20 ? 1 : -2);
  if (input) TRY(scalar_input(input, "axis", &axis));
  TRY(axis_normalise(axis, rank, "axis", out));
  return *out < rank - 1 ? OK : ERROR(INVALID_ARGUMENT, "axis %lld is the last one, which holds real and imaginary parts", (long long)axis);
}

static int64_t dft_out_length(int64_t n, bool onesided, bool inverse) { return onesided && !inverse ? n / 2 + 1 : n; }

static status dft_infer(infer_ctx *c) {
  const fact *x = c->in[0], *length = infer_in(c, 1), *axis_input = infer_in(c, 2);
  bool onesided = attr_int_or(c->node, "onesided", 0), inverse = attr_int_or(c->node, "inverse", 0);
  dim dims[MAX_RANK];
  int axis;
  if (x->rank < 2) return OK;
  for (int d = 0; d < x->rank; ++d) dims[d] = axis_input && !axis_input->value ? DIM_UNKNOWN : x->dims[d];
  dims[x->rank - 1] = onesided && inverse ? 1 : 2;
  if (!axis_input || axis_input->value) {
    int64_t n;
    TRY(dft_axis(c->node, x->rank, axis_input ? axis_input->value : NULL, &axis));
    n = dims[axis] < 0 ? DIM_UNKNOWN : onesided && inverse ? 2 * (dims[axis] - 1) : dims[axis];
    if (length && fact_integers(length, &n, 1) != 1) n = DIM_UNKNOWN;
    dims[axis] = n < 0 ? DIM_UNKNOWN : dft_out_length(n, onesided, inverse);
    if (!length && !onesided) dims[axis] = x->dims[axis];
  }
  fact_set_shape(c->out[0], x->rank, dims);
  return OK;
}

static status dft_run(kernel_ctx *k) {
  bool onesided = attr_int_or(k->node, "onesided", 0), inverse = attr_int_or(k->node, "inverse", 0);
  tensor copy, out_copy, *out;
  transform t = {.conjugate = onesided && inverse};
  int64_t dims[MAX_RANK];
  int axis;
  TRY(float_input(k, 0, &copy, &t.x));
  int rank = t.x->rank;
  if (rank < 2 || (t.x->dims[rank - 1] != 1 && t.x->dims[rank - 1] != 2))
    return ERROR(INVALID_ARGUMENT, "the last dim of 'input' must be 1 (real numbers) or 2 (complex numbers), behind at least one other");
  TRY(dft_axis(k->node, rank, kernel_in(k, 2), &axis));
  t.in_length = t.x->dims[axis];
  int64_t n = onesided && inverse ? 2 * (t.in_length - 1) : t.in_length;
  if (kernel_in(k, 1)) TRY(scalar_input(k->in[1], "dft_length", &n));
  if (n < 0 || n > LONGEST) return ERROR(INVALID_ARGUMENT, "'dft_length' is %lld, expected 0 to %d", (long long)n, LONGEST);
  t.out_length = dft_out_length(n, onesided, inverse);
  t.in_parts = t.x->dims[rank - 1];
  t.out_parts = onesided && inverse ? 1 : 2;
  memcpy(dims, t.x->dims, sizeof dims);
  dims[axis] = t.out_length;
  dims[rank - 1] = t.out_parts;
  TRY(kernel_output(k, 0, rank, dims, &out));
  TRY(float_output(k, out, &out_copy, &t.y));
  t.inner = dims_product(t.x->dims, axis + 1, rank - 1);
  t.lines = dims_product(t.x->dims, 0, axis) * t.inner;
  TRY(transform_run(k, &t, n, inverse));
  float_finish(out, t.y);
  return OK;
}

/* ---- STFT -------------------------------------------------------------------------------------------------------------------------------------- */

static status stft_infer(infer_ctx *c) {
  const fact *x = c->in[0], *window = infer_in(c, 2), *length = infer_in(c, 3);
  int64_t step, n = DIM_UNKNOWN;
  dim dims[4] = {x->rank == 3 ? x->dims[0] : DIM_UNKNOWN, DIM_UNKNOWN, DIM_UNKNOWN, 2};
  if (length && fact_integers(length, &n, 1) != 1) n = DIM_UNKNOWN;
  if (!length && window && window->rank == 1) n = window->dims[0];
  if (!length && !window && x->rank == 3) n = x->dims[1];
  if (n > 0) dims[2] = attr_int_or(c->node, "onesided", 1) ? n / 2 + 1 : n;
  if (n > 0 && x->rank == 3 && x->dims[1] >= n && fact_integers(c->in[1], &step, 1) == 1 && step > 0) dims[1] = (x->dims[1] - n) / step + 1;
  fact_set_shape(c->out[0], 4, dims);
  return OK;
}

static status stft_run(kernel_ctx *k) {
  bool onesided = attr_int_or(k->node, "onesided", 1);
  tensor copies[2], out_copy, *out;
  transform t = {.out_parts = 2};
  TRY(float_input(k, 0, &copies[0], &t.x));
  TRY(float_input(k, 2, &copies[1], &t.window));
  TRY(scalar_input(k->in[1], "frame_step", &t.step));
  if (t.x->rank != 3 || (t.x->dims[2] != 1 && t.x->dims[2] != 2))
    return ERROR(INVALID_ARGUMENT, "'signal' must have shape [batch, length, 1] (real) or [batch, length, 2] (complex)");
  int64_t n = t.window ? t.window->count : t.x->dims[1];
  if (kernel_in(k, 3)) TRY(scalar_input(k->in[3], "frame_length", &n));
  if (t.step < 1 || n < 1)
    return ERROR(INVALID_ARGUMENT, "'frame_step' is %lld and the frame length %lld; both must be positive", (long long)t.step, (long long)n);
  if (t.window && t.window->count != n)
    return ERROR(INVALID_ARGUMENT, "'window' has %lld elements, but frames have %lld", (long long)t.window->count, (long long)n);
  t.in_length = t.x->dims[1];
  t.in_parts = t.x->dims[2];
  if (onesided && t.in_parts == 2)
    return ERROR(INVALID_ARGUMENT, "attribute 'onesided' is 1, but a complex signal has no one-sided spectrum: set it to 0");
  t.steps = n <= t.in_length ? (t.in_length - n) / t.step + 1 : 0;
  t.out_length = onesided ? n / 2 + 1 : n;
  t.lines = t.x->dims[0] * t.steps;
  TRY(kernel_output(k, 0, 4, (int64_t[]){t.x->dims[0], t.steps, t.out_length, 2}, &out));
  TRY(float_output(k, out, &out_copy, &t.y));
  TRY(transform_run(k, &t, n, false));
  float_finish(out, t.y);
  return OK;
}

/* ---- Windows: a0 - a1 cos(w) + a2 cos(2w) -------------------------------------------------------------------------------------------------------- */

typedef struct window_def { double a[3]; } window_def;

static const window_def hann = {{0.5, 0.5, 0}}, hamming = {{25.0 / 46, 21.0 / 46, 0}}, blackman = {{0.42, 0.5, 0.08}};

static status window_infer(infer_ctx *c) {
  int64_t size;
  TRY(infer_type_attr(c, "output_datatype", ORTC_FLOAT, TS_NUMERIC));
  dim d = fact_integers(c->in[0], &size, 1) == 1 && size >= 0 ? size : DIM_UNKNOWN;
  fact_set_shape(c->out[0], 1, &d);
  return OK;
}

/* From double to whatever the output is. */
static status finish_doubles(kernel_ctx *k, const double *from, tensor *out) {
  if (out->type == ORTC_DOUBLE) memcpy(out->data, from, tensor_bytes(out));
  else convert_elements(k->threads, &(conversion){.from = ORTC_DOUBLE, .to = out->type}, from, out->data, out->count);
  return OK;
}

static status window_run(kernel_ctx *k) {
  const double *a = ((const window_def *)k->node->op->data)->a;
  int64_t size;
  tensor *out;
  void *memory;
  TRY(scalar_input(k->in[0], "size", &size));
  if (size < 0) return ERROR(INVALID_ARGUMENT, "'size' is %lld", (long long)size);
  TRY(kernel_output(k, 0, 1, &size, &out));
  if (!out || !size) return OK;
  TRY(kernel_scratch(k, (size_t)size * sizeof(double), &memory));
  double *values = memory, period = attr_int_or(k->node, "periodic", 1) ? (double)size : (double)(size - 1);
  for (int64_t i = 0; i < size; ++i) {
    double w = period > 0 ? 2 * M_PI * (double)i / period : M_PI;
    values[i] = a[0] - a[1] * cos(w) + a[2] * cos(2 * w);
  }
  return finish_doubles(k, values, out);
}

/* ---- MelWeightMatrix -------------------------------------------------------------------------------------------------------------------------------- */

static status mel_infer(infer_ctx *c) {
  int64_t bins, length;
  TRY(infer_type_attr(c, "output_datatype", ORTC_FLOAT, TS_NUMERIC));
  bool have_bins = fact_integers(c->in[0], &bins, 1) == 1 && bins >= 0, have_length = fact_integers(c->in[1], &length, 1) == 1 && length >= 0;
  fact_set_shape(c->out[0], 2, (dim[]){have_length ? length / 2 + 1 : DIM_UNKNOWN, have_bins ? bins : DIM_UNKNOWN});
  return OK;
}

/* The spectrum's bin at edge number i of the bands, which are equally wide on the mel scale. */
static int64_t mel_edge(double low, double high, int64_t bands, int64_t i, int64_t length, int64_t rate) {
  double mel = low + (double)i * (high - low) / (double)(bands + 2), hertz = 700 * (pow(10, mel / 2595) - 1);
  double bin = floor((double)(length + 1) * hertz / (double)rate);
  return bin > 0 ? (bin < 1e15 ? (int64_t)bin : (int64_t)1e15) : 0;
}

static status mel_run(kernel_ctx *k) {
  static const char *const names[] = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz"};
  int64_t sizes[3];
  double mel[2];
  tensor copies[2], *out;
  for (int i = 0; i < 3; ++i) TRY(scalar_input(k->in[i], names[i], &sizes[i]));
  for (int i = 0; i < 2; ++i) {
    const tensor *edge;
    TRY(float_input(k, 3 + i, &copies[i], &edge));
    if (edge->count != 1) return ERROR(INVALID_ARGUMENT, "input '%s' has %lld elements, expected 1", names[3 + i], (long long)edge->count);
    mel[i] = 2595 * log10(1 + get(edge, 0) / 700);
  }
  int64_t bands = sizes[0], length = sizes[1], rate = sizes[2], bins = length / 2 + 1, count;
  if (bands < 0 || length < 0 || rate < 1 || checked_mul(bands, bins, &count) || count > (int64_t)1 << 32)
    return ERROR(INVALID_ARGUMENT, "num_mel_bins %lld, dft_length %lld and sample_rate %lld make no matrix", (long long)bands, (long long)length, (long long)rate);
  TRY(kernel_output(k, 0, 2, (int64_t[]){bins, bands}, &out));
  if (!out || !count) return OK;
  void *memory;
  TRY(kernel_scratch(k, (size_t)count * sizeof(double), &memory));
  double *to = memset(memory, 0, (size_t)count * sizeof(double));
  for (int64_t band = 0; band < bands; ++band) {
    int64_t low = mel_edge(mel[0], mel[1], bands, band, length, rate), top = mel_edge(mel[0], mel[1], bands, band + 1, length, rate),
            high = mel_edge(mel[0], mel[1], bands, band + 2, length, rate);
    for (int64_t j = low; j <= top && j < bins; ++j) to[j * bands + band] = top == low ? 1 : (double)(j - low) / (double)(top - low);
    for (int64_t j = top; j < high && j < bins; ++j) to[j * bands + band] = (double)(high - j) / (double)(high - top);
  }
  return finish_doubles(k, to, out);
}

#define WINDOW(op_name, def) \
  {.name = op_name, .since = 17, .signature = "size:T1 -> output:T2", .T1 = TS_INDEX, .T2 = TS_NUMERIC, .infer = window_infer, .run = window_run, .data = &def}

OP_FAMILY(signal) = {
  {.name = "DFT", .since = 17, .signature = "input:T1 dft_length:T2? -> output:T1", .T1 = TS_FLOAT, .T2 = TS_INDEX, .infer = dft_infer, .run = dft_run},
  {.name = "DFT", .since = 20, .signature = "input:T1 dft_length:T2? axis:i64? -> output:T1", .T1 = TS_FLOAT, .T2 = TS_INDEX, .infer = dft_infer, .run = dft_run},
  {.name = "STFT", .since = 17, .signature = "signal:T1 frame_step:T2 window:T1? frame_length:T2? -> output:T1", .T1 = TS_FLOAT, .T2 = TS_INDEX, .infer = stft_infer, .run = stft_run},
  WINDOW("HannWindow", hann),
  WINDOW("HammingWindow", hamming),
  WINDOW("BlackmanWindow", blackman),
  {.name = "MelWeightMatrix", .since = 17, .signature = "num_mel_bins:T1 dft_length:T1 sample_rate:T1 lower_edge_hertz:T2 upper_edge_hertz:T2 -> output:T3", .T1 = TS_INDEX,
   .T2 = TS_FLOAT, .T3 = TS_NUMERIC, .infer = mel_infer, .run = mel_run},
  {0}};
