/* Activation functions: what they compute is in kernels/arithmetic.h, what their attributes are called is here. */
#include <ortcore/ops/elementwise.h>
#include <string.h>

/* The attributes that a kernel knows as p and q, and what they are when absent. */
typedef struct activation_row {
  const char *kernel, *p, *q;
  float p_default, q_default;
} activation_row;

static status activation_prepare(prepare_ctx *c, void **out_params) {
  const activation_row *row = c->op->data;
  elementwise_step *s;
  TRY(elementwise_step_make(c, row->kernel, &s));
  if (row->p) s->attrs.p = attr_float_or(c->node, row->p, row->p_default);
  if (row->q) s->attrs.q = attr_float_or(c->node, row->q, row->q_default);
  *out_params = s;
  return OK;
}

static status celu_prepare(prepare_ctx *c, void **out_params) {
  if (attr_float_or(c->node, "alpha", 1) == 0) return ERROR(INVALID_GRAPH, "attribute 'alpha' of Celu is 0, but x is divided by it");
  return activation_prepare(c, out_params);
}

static status gelu_prepare(prepare_ctx *c, void **out_params) {
  text how = attr_string_or(c->node, "approximate", "none");
  bool tanh = !strcmp(how.data, "tanh");
  if (!tanh && strcmp(how.data, "none")) return ERROR(INVALID_GRAPH, "attribute 'approximate' of Gelu is '%s'; it must be 'none' or 'tanh'", how.data);
  elementwise_step *s;
  TRY(elementwise_step_make(c, tanh ? "GeluTanh" : "Gelu", &s));
  *out_params = s;
  return OK;
}

static const activation_row relu = {"Relu", NULL, NULL, 0, 0}, hard_sigmoid = {"HardSigmoid", "alpha", "beta", 0.2f, 0.5f},
  hard_swish = {"HardSwish", NULL, NULL, 0, 0}, leaky_relu = {"LeakyRelu", "alpha", NULL, 0.01f, 0}, elu = {"Elu", "alpha", NULL, 1, 0},
  selu = {"Selu", "alpha", "gamma", 1.67326319217681884765625f, 1.05070102214813232421875f}, celu = {"Celu", "alpha", NULL, 1, 0},
  softplus = {"Softplus", NULL, NULL, 0, 0}, softsign = {"Softsign", NULL, NULL, 0, 0}, thresholded_relu = {"ThresholdedRelu", "alpha", NULL, 1, 0},
  mish = {"Mish", NULL, NULL, 0, 0}, shrink = {"Shrink", "lambd", "bias", 0.5f, 0}, swish = {"Swish", "alpha", NULL, 1, 0},
  quick_gelu = {"Swish", "alpha", NULL, 1.702f, 0}, silu = {"Silu", NULL, NULL, 0, 0}, gelu = {"Gelu", NULL, NULL, 0, 0},
  fast_gelu = {"GeluTanh", NULL, NULL, 0, 0};

/* Gelu(x + bias), the sum being kept in the arithmetic type. */
static status bias_gelu_prepare(prepare_ctx *c, void **out_params) {
  const activation_row *row = c->op->data;
  elementwise_step *s;
  TRY(elementwise_step_make(c, "Add", &s));
  s->finish = elementwise_find(row->kernel, s->compute);
  *out_params = s;
  return OK;
}

static status bias_gelu_run(kernel_ctx *k) {
  const tensor *bias = k->in_count > 1 ? k->in[1] : NULL, *x = k->in[0];
  const elementwise_step *s = k->params;
  tensor *out;
  if (bias && (bias->rank != 1 || x->rank < 1 || bias->dims[0] != x->dims[x->rank - 1])) {
    char a[DIMS_TEXT], b[DIMS_TEXT];
    return ERROR(INVALID_ARGUMENT, "the bias has shape %s, but must be one row of the input of shape %s", dims_format(b, sizeof b, bias->rank, bias->dims),
                 dims_format(a, sizeof a, x->rank, x->dims));
  }
  TRY(kernel_output_like(k, 0, x, &out));
  if (!out) return OK;
  if (bias) return elementwise_apply(k, s, 2, k->in, out);
  elementwise_step without = {.kernel = s->finish, .compute = s->compute};
  return elementwise_apply(k, &without, 1, k->in, out);
}

#define ACTIVATION(op, version, types, row, how) \
  {.name = op, .since = version, .signature = "X:T -> Y:T", .T = types, .flags = OP_LAYOUT_ANY, .inplace = 1, .prepare = how, \
   .run = elementwise_run, .data = &row}
#define FLOATS_22(op, first, row) ACTIVATION(op, first, TS_FLOAT_6, row, activation_prepare), ACTIVATION(op, 22, TS_FLOAT, row, activation_prepare)
#define MICROSOFT(op, row, how) \
  {.name = op, .domain = "com.microsoft", .since = 1, .signature = "X:T -> Y:T", .T = TS_FLOAT, .flags = OP_LAYOUT_ANY, .inplace = 1, .prepare = how, \
   .run = elementwise_run, .data = &row}

OP_FAMILY(activation) = {
  ACTIVATION("Relu", 6, TS_FLOAT_6, relu, activation_prepare), ACTIVATION("Relu", 13, TS_FLOAT, relu, activation_prepare),
  ACTIVATION("Relu", 14, TS_FLOAT | TS_SIGNED, relu, activation_prepare),
  ACTIVATION("LeakyRelu", 6, TS_FLOAT_6, leaky_relu, activation_prepare), ACTIVATION("LeakyRelu", 16, TS_FLOAT, leaky_relu, activation_prepare),
  FLOATS_22("HardSigmoid", 6, hard_sigmoid), FLOATS_22("HardSwish", 14, hard_swish), FLOATS_22("Elu", 6, elu), FLOATS_22("Selu", 6, selu),
  FLOATS_22("Softplus", 1, softplus), FLOATS_22("Softsign", 1, softsign), FLOATS_22("ThresholdedRelu", 10, thresholded_relu), FLOATS_22("Mish", 18, mish),
  ACTIVATION("Celu", 12, TS(FLOAT), celu, celu_prepare), ACTIVATION("Celu", 28, TS_FLOAT, celu, celu_prepare),
  ACTIVATION("Shrink", 9, TS_NUMERIC_12, shrink, activation_prepare),
  ACTIVATION("Gelu", 20, TS_FLOAT, gelu, gelu_prepare),
  ACTIVATION("Swish", 24, TS_FLOAT, swish, activation_prepare),
  MICROSOFT("Gelu", gelu, activation_prepare), MICROSOFT("QuickGelu", quick_gelu, activation_prepare),
  {.name = "BiasGelu", .domain = "com.microsoft", .since = 1, .signature = "A:T B:T -> C:T", .T = TS_FLOAT, .inplace = 1, .prepare = bias_gelu_prepare,
   .run = bias_gelu_run, .data = &gelu},
  {.name = "FastGelu", .domain = "com.microsoft", .since = 1, .signature = "X:T bias:T? -> Y:T", .T = TS_FLOAT, .inplace = 1, .prepare = bias_gelu_prepare,
   .run = bias_gelu_run, .data = &fast_gelu},
  {.name = "Silu", .domain = "ortcore", .since = 1, .signature = "X:T -> Y:T", .T = TS_FLOAT, .flags = OP_LAYOUT_ANY, .inplace = 1,
   .prepare = activation_prepare, .run = elementwise_run, .data = &silu},
  {0}};
