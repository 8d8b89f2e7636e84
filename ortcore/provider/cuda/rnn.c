/* Recurrent layers: the inputs of all steps are projected by one product, in which the directions are a batch; then the steps follow. */
#include <ortcore/base/mem.h>
#include <ortcore/kernels/cuda/product.h>
#include <ortcore/kernels/cuda/rnn.h>
#include <ortcore/ops/rnn_read.h>
#include <ortcore/provider/cuda/plugin.h>

typedef struct rnn_params { const rnn_def *def; rnn_layer layer; } rnn_params;

typedef struct rnn_spec {
  rnn_layer layer;                                          /* with its sizes */
  rnn_shape shape;
  cuda_product product;
  size_t projected_bytes, steps_bytes;                      /* of scratch, in this order, then the product's */
} rnn_spec;

static status rnn_prepare(prepare_ctx *c, void **out_params) {
  rnn_params *p = *out_params = ZONE_NEW(c->memory, rnn_params);
  if (!p) return status_out_of_memory();
  p->def = c->data;
  return rnn_read_attrs(c->node, p->def, &p->layer);
}

/* [steps * batch, inputs] times W's transpose [inputs, gates * hidden], plus the first half of B, for each direction. */
static status plan_projection(rnn_spec *s, const tensor *x, bool bias) {
  int64_t rows = s->shape.steps * s->shape.batch, columns = s->layer.gates * s->layer.hidden, inputs = s->layer.inputs;
  if (rows > INT32_MAX || columns > INT32_MAX || inputs > INT32_MAX)
    return ERROR(NOT_IMPLEMENTED, "%lld steps of %lld sequences, %lld inputs and %lld gates are too large for a GPU: sides of a product are below 2^31",
                 (long long)s->shape.steps, (long long)s->shape.batch, (long long)inputs, (long long)columns);
  s->product = (cuda_product){.type = x->type, .m = rows, .n = columns, .k = inputs, .a_row = inputs, .a_inner = 1, .b_inner = 1, .b_column = inputs,
                              .c_row = columns, .c_column = 1, .end = {.alpha = 1, .beta = bias, .bias_column = 1}};
  if (!cuda_batch_add(&s->product.batch, s->layer.directions, 0, columns * inputs, rows * columns, 2 * columns))
    return ERROR(FAIL, "a product of %d directions has no room for them", s->layer.directions);
  cuda_product_plan(&s->product, cuda_processors());
  return OK;
}

static status read_spec(specialise_ctx *c, rnn_spec *s) {
  enum { MOST_INPUTS = 8 };
  const rnn_params *p = c->params;
  const tensor *in[MOST_INPUTS] = {NULL};
  for (int32_t i = 0; i < c->in_count && i < MOST_INPUTS; ++i) in[i] = i == p->def->at.lengths ? NULL : c->in[i];   /* only a run knows the lengths */
  s->layer = p->layer;
  TRY(rnn_read_sizes(p->def, &s->layer, in, MOST_INPUTS));
  TRY(rnn_read_shape(p->def, &s->layer, in, MOST_INPUTS, &s->shape));
  TRY(plan_projection(s, in[0], rnn_input(in, MOST_INPUTS, p->def->at.b)));
  tensor projected;
  TRY(tensor_init(&projected, in[0]->type, 4, (int64_t[]){s->layer.directions, s->shape.steps, s->shape.batch, s->layer.gates * s->layer.hidden}));
  s->projected_bytes = (tensor_bytes(&projected) + 255) / 256 * 256;
  s->steps_bytes = cuda_rnn_scratch_bytes(&s->layer, s->shape.batch, in[0]->type);
  c->scratch_bytes = s->projected_bytes + s->steps_bytes + s->product.scratch_bytes;
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
  {0}};
