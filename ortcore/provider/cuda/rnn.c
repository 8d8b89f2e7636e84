/* Recurrent layers: the inputs of all steps are projected by one product, in which the directions are a batch; then the steps follow.
 * DynamicQuantizeLSTM rounds its inputs to bytes first, and has a product for each direction, since each has its own scales. */
#include <ortcore/base/mem.h>
#include <ortcore/kernels/cuda/quantised.h>
#include <ortcore/kernels/cuda/quantize.h>
#include <ortcore/kernels/cuda/rnn.h>
#include <ortcore/ops/rnn_read.h>
#include <ortcore/provider/cuda/plugin.h>

typedef struct rnn_params { const rnn_def *def; rnn_layer layer; } rnn_params;

typedef struct rnn_spec {
  rnn_layer layer;                                          /* with its sizes */
  rnn_shape shape;
  cuda_product product;
  size_t projected_bytes, steps_bytes;                      /* of scratch, in this order, then the product's or the rounded inputs' */
} rnn_spec;

enum {
  MOST_INPUTS = 12,
  ROUNDED_AT = CUDA_RANGE_BYTES + 256                       /* of scratch for rounded inputs: ranges, scale and zero point, then the bytes */
};

static status rnn_prepare(prepare_ctx *c, void **out_params) {
  rnn_params *p = *out_params = ZONE_NEW(c->memory, rnn_params);
  if (!p) return status_out_of_memory();
  p->def = c->data;
  return rnn_read_attrs(c->node, p->def, &p->layer);
}

static size_t whole_lines(size_t bytes) { return (bytes + 255) / 256 * 256; }

/* [steps * batch, inputs] times W's transpose [inputs, gates * hidden], plus the first half of B, for each direction. */
static status plan_projection(rnn_spec *s, const tensor *x, bool bias) {
  int64_t rows = s->shape.steps * s->shape.batch, columns = s->layer.gates * s->layer.hidden, inputs = s->layer.inputs;
  if (rows > INT32_MAX || columns > INT32_MAX || inputs > INT32_MAX)
    return ERROR(NOT_IMPLEMENTED, "%lld steps of %lld sequences, %lld inputs and %lld gates are too large for a GPU: sides of a product are below 2^31",
                 (long long)s->shape.steps, (long long)s->shape.batch, (long long)inputs, (long long)columns);
  s->product = (cuda_product){.type = x->type, .m = rows, .n = columns, .k = inputs, .a_row = inputs, .a_inner = 1, .b_inner = 1, .b_column = inputs,
                              .c_row = columns, .c_column = 1, .end = {.alpha = 1, .beta = bias, .bias_column = 1}};
  if (s->layer.quantise) {                                  /* a direction; W is not transposed */
    s->product.b_inner = columns;
    s->product.b_column = 1;
    s->product.batch.count = 1;
    return OK;
  }
  if (!cuda_batch_add(&s->product.batch, s->layer.directions, 0, columns * inputs, rows * columns, 2 * columns))
    return ERROR(FAIL, "a product of %d directions has no room for them", s->layer.directions);
  cuda_product_plan(&s->product, cuda_processors());
  return OK;
}

static status read_spec(specialise_ctx *c, rnn_spec *s) {
  const rnn_params *p = c->params;
  const tensor *in[MOST_INPUTS] = {NULL};
  for (int32_t i = 0; i < c->in_count && i < MOST_INPUTS; ++i) in[i] = i == p->def->at.lengths ? NULL : c->in[i];   /* only a run knows the lengths */
  s->layer = p->layer;
  TRY(rnn_read_sizes(p->def, &s->layer, in, MOST_INPUTS));
  TRY(rnn_read_shape(p->def, &s->layer, in, MOST_INPUTS, &s->shape));
  TRY(plan_projection(s, in[0], rnn_input(in, MOST_INPUTS, p->def->at.b)));
  tensor projected;
  TRY(tensor_init(&projected, in[0]->type, 4, (int64_t[]){s->layer.directions, s->shape.steps, s->shape.batch, s->layer.gates * s->layer.hidden}));
  s->projected_bytes = whole_lines(tensor_bytes(&projected));
  bool bytes = s->layer.quantise;
  s->steps_bytes = bytes ? cuda_rnn_bytes_scratch_bytes(&s->layer, s->shape.batch) : cuda_rnn_scratch_bytes(&s->layer, s->shape.batch, in[0]->type);
  c->scratch_bytes = s->projected_bytes + s->steps_bytes + (bytes ? ROUNDED_AT + (size_t)in[0]->count : s->product.scratch_bytes);
  return OK;
}

static status rnn_specialise(specialise_ctx *c, void **out_spec) {
  rnn_spec *s = MEM_NEW(rnn_spec);
  if (!s) return status_out_of_memory();
  status failure = read_spec(c, s);
  if (failure) {
    mem_free(s);
    return failure;
  }
  *out_spec = s;
  return OK;
}

static const void *data_of(const kernel_ctx *k, int i) {
  const tensor *t = rnn_input(k->in, k->in_count, i);
  return t ? t->data : NULL;
}

/* NULL if nobody wants the output. */
static status output(kernel_ctx *k, int32_t i, int rank, const int64_t *dims, void **out) {
  tensor *t = NULL;
  if (i < k->out_count && kernel_wants(k, i)) TRY(kernel_output(k, i, rank, dims, &t));
  *out = t ? t->data : NULL;
  return OK;
}

/* ---- Products of bytes ----------------------------------------------------------------------------------------------------------- */

/* 8-bit weights are [directions, k, columns]; scale and zero point are one for each direction or column. */
static status check_scales(const kernel_ctx *k, int w_at, int scale_at, int zero_at, const char *name) {
  const tensor *w = k->in[w_at], *scale = rnn_input(k->in, k->in_count, scale_at), *zero = rnn_input(k->in, k->in_count, zero_at);
  if (!scale || (scale->count != w->dims[0] && scale->count != w->dims[0] * w->dims[2]))
    return ERROR(INVALID_ARGUMENT, "input '%s_scale' has %lld elements; it must hold one for each of %lld direction(s), or for each of %lld columns in each",
                 name, scale ? (long long)scale->count : 0, (long long)w->dims[0], (long long)w->dims[2]);
  if (zero && zero->count != scale->count)
    return ERROR(INVALID_ARGUMENT, "input '%s_zero_point' has %lld elements, but its scale has %lld", name, (long long)zero->count,
                 (long long)scale->count);
  return OK;
}

/* Direction d's part of a scale, a zero point or a bias. */
static cuda_cycle part_of(const tensor *t, int64_t d, int64_t directions, int64_t period) {
  if (!t) return (cuda_cycle){NULL, ORTC_FLOAT, 1};
  const char *data = t->data;
  return (cuda_cycle){data + d * (t->count / directions) * dtype_width(t->type), t->type, (int32_t)period};
}

/* The inputs of all steps and directions are rounded by one scale. */
static status project_bytes(const kernel_ctx *k, char *projected, char *rounded, void *raw) {
  const rnn_params *p = k->params;
  const rnn_spec *s = k->spec;
  const tensor *x = k->in[0], *w = k->in[1], *scale = k->in[p->def->at.w_scale], *zero = rnn_input(k->in, k->in_count, p->def->at.w_zero);
  const tensor *bias = rnn_input(k->in, k->in_count, p->def->at.b);
  float *x_scale = (float *)(rounded + CUDA_RANGE_BYTES);
  uint8_t *x_zero = (uint8_t *)(x_scale + 1), *bytes = (uint8_t *)rounded + ROUNDED_AT;
  TRY(cuda_launched(cuda_dynamic_quantize(x->data, x->count, true, bytes, x_scale, x_zero, rounded, raw)));
  for (int64_t d = 0; d < s->layer.directions; ++d) {
    int64_t each = scale->count / s->layer.directions;
    cuda_quantised_end end = {.out = projected + d * s->product.m * s->product.n * (int64_t)sizeof(float), .type = ORTC_FLOAT,
                              .row_scale = {x_scale, ORTC_FLOAT, 1}, .column_scale = part_of(scale, d, s->layer.directions, each),
                              .y_scale = {NULL, ORTC_FLOAT, 1}, .y_zero_point = {NULL, ORTC_FLOAT, 1},
                              .column_bias = part_of(bias, d, s->layer.directions, s->product.n)};
    const char *weights = (const char *)w->data + d * s->product.k * s->product.n;
    TRY(cuda_launched(cuda_quantised_product(&s->product, bytes, ORTC_UINT8, (cuda_cycle){x_zero, ORTC_UINT8, 1}, weights, w->type,
                                             part_of(zero, d, s->layer.directions, each), &end, raw)));
  }
  return OK;
}

/* Weights whose sums fit 32 bits. */
static bool bytes_support(const node *n, const fact *const *in) {
  (void)n;
  for (int i = 1; i <= 2; ++i)
    if (in[i]->rank != 3 || !dim_known(in[i]->dims[1]) || in[i]->dims[1] > CUDA_RNN_LONGEST) return false;
  return true;
}

static status run_bytes(const kernel_ctx *k, const cuda_rnn *run, char *steps, char *projected, void *raw) {
  const rnn_inputs *at = &((const rnn_params *)k->params)->def->at;
  const rnn_spec *s = k->spec;
  TRY(check_scales(k, 1, at->w_scale, at->w_zero, "W"));
  TRY(check_scales(k, 2, at->r_scale, at->r_zero, "R"));
  if (s->product.m) TRY(project_bytes(k, projected, steps + s->steps_bytes, raw));
  cuda_rnn_weights r = {.data = k->in[2]->data, .is_signed = k->in[2]->type == ORTC_INT8, .scale = data_of(k, at->r_scale), .zero = data_of(k, at->r_zero),
                        .by_column = k->in[at->r_scale]->count != s->layer.directions};
  return cuda_launched(cuda_rnn_bytes_run(run, &r, steps, raw));
}

/* ---- Rows ------------------------------------------------------------------------------------------------------------------------ */

static status rnn_launch(kernel_ctx *k, stream *on) {
  const rnn_params *p = k->params;
  const rnn_spec *s = k->spec;
  const rnn_inputs *at = &p->def->at;
  const tensor *lengths = rnn_input(k->in, k->in_count, at->lengths);
  if (lengths) TRY(rnn_check_lengths(lengths, &s->shape));
  char *projected = k->scratch, *steps = projected + s->projected_bytes;
  cuda_rnn run = {.layer = &s->layer, .shape = &s->shape, .type = k->in[0]->type, .projected = projected, .r = data_of(k, 2), .b = data_of(k, at->b),
                  .peepholes = data_of(k, at->peepholes), .initial_h = data_of(k, at->h), .initial_c = data_of(k, at->c),
                  .lengths = lengths ? lengths->data : NULL};
  TRY(output(k, 0, 4, s->shape.y_dims, &run.y));
  TRY(output(k, 1, 3, s->shape.state_dims, &run.last_h));
  TRY(output(k, 2, 3, s->shape.state_dims, &run.last_c));
  if (s->layer.quantise) return run_bytes(k, &run, steps, projected, cuda_raw(on));
  cuda_operands operands = {.a = k->in[0]->data, .b = k->in[1]->data, .bias = run.b, .c = projected, .scratch = steps + s->steps_bytes};
  TRY(cuda_launched(cuda_product_run(&s->product, &operands, cuda_raw(on))));
  return cuda_launched(cuda_rnn_run(&run, steps, cuda_raw(on)));
}

/* sequence_lens is read on the host, where a length beyond the steps is found before anything is computed. */
#define RECURRENT(name, first, def) \
  {.op = name, .since = first, .types = TS_FLOAT, .host_inputs = 1u << 4, .prepare = rnn_prepare, .specialise = rnn_specialise, \
   .dispose_spec = mem_free, .launch = rnn_launch, .data = &def}

KERNEL_FAMILY(rnn) = {
  RECURRENT("RNN", 1, rnn_simple_def),
  RECURRENT("GRU", 1, rnn_gru_def),
  RECURRENT("LSTM", 1, rnn_lstm_def),
  {.op = "DynamicQuantizeLSTM", .domain = "com.microsoft", .since = 1, .types = TS(FLOAT), .host_inputs = 1u << 4, .supports = bytes_support,
   .prepare = rnn_prepare, .specialise = rnn_specialise, .dispose_spec = mem_free, .launch = rnn_launch, .data = &rnn_quantised_def},
  {0}};
