/* ConvInteger and QLinearConv: sums of (x - zero point) * (w - zero point) in 32 bits; pads are exactly zero. */
#include "conv.h"
#include "quantised.h"

#include <ortcore/base/mem.h>
#include <ortcore/kernels/cpu/epilogue.h>
#include <ortcore/kernels/cpu/onednn/onednn.h>
#include <string.h>

typedef struct quantised_conv { bool linear; int x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias; } quantised_conv;
static const quantised_conv integer = {false, 0, -1, 2, 1, -1, 3, -1, -1, -1}, linear = {true, 0, 1, 2, 3, 4, 5, 6, 7, 8};

typedef struct quantised_params { dnn_weights *packed; } quantised_params;   /* constant weights in oneDNN's layouts */

typedef struct conv_spec {
  conv_shape shape;
  conv_places places;
  dnn *primitive;                                           /* NULL: our own product */
  const void *weights;                                      /* packed for it */
  float *bias;                                              /* in units of the result */
} conv_spec;

static status quantised_infer(infer_ctx *c) {
  const quantised_conv *kind = c->op->data;
  return conv_infer_shape(c->node, c->in[kind->x], c->in[kind->w], false, c->out[0]);
}

static void quantised_dispose(void *params) { dnn_weights_release(((quantised_params *)params)->packed); }

static status quantised_prepare(prepare_ctx *c, void **out_params) {
  const quantised_conv *kind = c->op->data;
  quantised_params *p = *out_params = ZONE_NEW(c->memory, quantised_params);
  if (!p) return status_out_of_memory();
  const fact *w = c->in[kind->w];
  return kind->linear && dnn_supports_bytes() && w->value && w->type == ORTC_INT8 ? dnn_weights_create(&p->packed) : OK;
}

static void quantised_dispose_spec(void *spec) {
  conv_spec *s = spec;
  dnn_release(s->primitive);
  mem_free(s->bias);
  conv_shape_deinit(&s->shape);
  mem_free(s->places.offsets);
  mem_free(s);
}

static const tensor *constant(const specialise_ctx *c, int i) { return i < c->in_count && c->in[i] && c->in[i]->data ? c->in[i] : NULL; }
static bool is_constant_or_absent(const specialise_ctx *c, int i) { return i >= c->in_count || !c->in[i] || c->in[i]->data; }

static bool is_zero(const tensor *t) {
  for (int64_t i = 0; t && i < t->count; ++i)
    if (((const int8_t *)t->data)[i]) return false;
  return true;
}

/* oneDNN takes numbers that are known now, and weights around zero. */
static bool suits_onednn(const specialise_ctx *c, const quantised_conv *kind, const conv_shape *g) {
  const tensor *x_scale = constant(c, kind->x_scale), *w_scale = constant(c, kind->w_scale), *y_scale = constant(c, kind->y_scale);
  double products = (double)g->images * (double)(g->groups * g->outs) * (double)window_out(&g->w) * (double)(g->ins * window_taps(&g->w));
  if (products <= 32768 || !x_scale || !w_scale || !y_scale || x_scale->count != 1 || y_scale->count != 1) return false;
  if (w_scale->count != 1 && w_scale->count != g->groups * g->outs) return false;
  return is_constant_or_absent(c, kind->x_zero_point) && is_constant_or_absent(c, kind->y_zero_point) && is_constant_or_absent(c, kind->bias) &&
         is_constant_or_absent(c, kind->w_zero_point) && is_zero(constant(c, kind->w_zero_point));
}

static status choose_onednn(specialise_ctx *c, const quantised_conv *kind, const tensor *x, conv_spec *s) {
  const quantised_params *p = c->params;
  const conv_shape *g = &s->shape;
  if (!p->packed || !suits_onednn(c, kind, g)) return OK;
  const tensor *w_scale = constant(c, kind->w_scale), *bias = constant(c, kind->bias);
  int64_t channels = g->groups * g->outs;
  dnn_conv d = {.type = x->type, .w_type = ORTC_INT8, .y_type = c->out[0]->type, .images = g->images, .groups = g->groups, .ins = g->ins, .outs = g->outs,
                .w = &g->w, .x_order = x->order, .y_order = x->order, .bias = bias != NULL};
  float x_scale;
  TRY(conv_check_bias(bias, g));
  TRY(quantised_scalar_scale(constant(c, kind->x_scale), "x_scale", &x_scale));
  TRY(quantised_scalar_scale(constant(c, kind->y_scale), "y_scale", &d.y_scale));
  TRY(quantised_scalar_zero_point(constant(c, kind->x_zero_point), "x_zero_point", &d.x_zero_point));
  TRY(quantised_scalar_zero_point(constant(c, kind->y_zero_point), "y_zero_point", &d.y_zero_point));
  float *scales = mem_alloc((size_t)channels * sizeof *scales);
  if (bias) s->bias = mem_alloc((size_t)channels * sizeof *s->bias);
  if (!scales || (bias && !s->bias)) {
    mem_free(scales);
    return status_out_of_memory();
  }
  for (int64_t i = 0; i < channels; ++i) {
    scales[i] = x_scale * ((const float *)w_scale->data)[w_scale->count == 1 ? 0 : i];
    if (bias) s->bias[i] = (float)((const int32_t *)bias->data)[i] * scales[i];
  }
  d.scales = scales;
  status failure = dnn_conv_create(&d, c->threads, &s->primitive);
  mem_free(scales);
  if (failure || !s->primitive) return failure;
  c->computed_by = "oneDNN";
  c->scratch_bytes = dnn_scratch_bytes(s->primitive);
  c->reordered_bytes = dnn_reordered_bytes(s->primitive);
  return dnn_weights_get(p->packed, s->primitive, c->in[kind->w]->data, &s->weights);
}

static status quantised_specialise(specialise_ctx *c, void **out_spec) {
  const quantised_conv *kind = c->node->op->data;
  conv_spec *s = MEM_NEW(conv_spec);
  if (!s) return status_out_of_memory();
  const tensor image = image_tensor(c->in[kind->x], node_is_channels_last(c->node)), *x = &image;
  status failure = conv_shape_init(&s->shape, c->node, x, c->in[kind->w], false);
  if (!failure) failure = conv_places_init(&s->places, &s->shape, x->order);
  if (!failure) failure = choose_onednn(c, kind, x, s);
  if (failure) {
    quantised_dispose_spec(s);
    return failure;
  }
  const conv_shape *g = &s->shape;
  if (!s->primitive)
    c->scratch_bytes = gemm_scratch_bytes(gemm_acc_of_pair(c->in[kind->w]->type, x->type), c->threads, g->outs, window_out(&g->w),
                                          g->ins * window_taps(&g->w));
  *out_spec = s;
  return OK;
}

static const tensor *input(const kernel_ctx *k, int i) { return i >= 0 && i < k->in_count ? k->in[i] : NULL; }

static status bind_weights(kernel_ctx *k, const quantised_conv *kind, const conv_shape *s, conv_sides *sides) {
  const tensor *zero_point = input(k, kind->w_zero_point);
  if (!zero_point) return OK;
  gemm_matrix *w = &sides->weights;
  w->zero_points = zero_point->data;
  if (zero_point->count == 1) return OK;
  if (zero_point->count != s->out_dims[1])
    return ERROR(INVALID_ARGUMENT, "input 'w_zero_point' has %lld elements; it must hold one, or one for each of %lld output channels",
                 (long long)zero_point->count, (long long)s->out_dims[1]);
  w->zero_point_period = s->outs, w->zero_point_batches = s->groups, w->zero_point_batch_stride = s->outs;
  return OK;
}

static status bind_end(kernel_ctx *k, const quantised_conv *kind, const conv_spec *spec, tensor *y, requantise *end) {
  const conv_shape *s = &spec->shape;
  float x_scale;
  requantise_init(end, y->type);
  end->out = y->data, end->offsets = spec->places.offsets, end->row_stride = spec->places.row, end->column_stride = spec->places.column;
  TRY(quantised_scalar_scale(input(k, kind->x_scale), "x_scale", &x_scale));
  TRY(quantised_scalar_scale(input(k, kind->y_scale), "y_scale", &end->y_scale));
  TRY(quantised_scalar_zero_point(input(k, kind->y_zero_point), "y_zero_point", &end->y_zero_point));
  cycle weights;
  void *memory;
  TRY(quantised_scale(k, input(k, kind->w_scale), &(quantised_side){"w_scale", s->out_dims[1], 1, false}, &weights));
  TRY(kernel_scratch(k, (size_t)s->out_dims[1] * sizeof(float), &memory));
  for (int64_t i = 0; i < s->out_dims[1]; ++i) ((float *)memory)[i] = x_scale * weights.data[i % weights.period];
  end->row_scale = (cycle){memory, s->outs, s->groups, s->outs};
  const tensor *bias = input(k, kind->bias);
  TRY(conv_check_bias(bias, s));
  if (bias) end->bias = bias->data, end->bias_batches = s->groups, end->rows = s->outs;
  return OK;
}

static status quantised_run(kernel_ctx *k) {
  const quantised_conv *kind = k->node->op->data;
  const conv_spec *spec = k->spec;
  bool last = node_is_channels_last(k->node);
  const tensor image = image_tensor(k->in[kind->x], last), *x = &image, *w = k->in[kind->w];
  int64_t dims[2 + SPATIAL];
  int32_t x_zero_point;
  conv_sides sides;
  tensor *y;
  TRY(quantised_scalar_zero_point(input(k, kind->x_zero_point), "x_zero_point", &x_zero_point));
  memcpy(dims, spec->shape.out_dims, sizeof dims);
  image_dims(last, x->rank, dims);
  TRY(kernel_output(k, 0, x->rank, dims, &y));
  if (!y || y->count == 0) return OK;
  if (spec->primitive) return dnn_run(spec->primitive, k->threads, k->scratch, x->data, spec->weights, spec->bias, NULL, y->data);
  if (!conv_sides_init(&sides, &spec->shape, x, x_zero_point, w->type, w->data))
    return ERROR(NOT_IMPLEMENTED, "there is no convolution of type %s", dtype_name(x->type));
  TRY(bind_weights(k, kind, &spec->shape, &sides));
  epilogue sums;
  requantise end;
  if (kind->linear) {
    TRY(bind_end(k, kind, spec, y, &end));
    sides.problem.sink = &end.sink;
  } else {
    epilogue_init(&sums, ORTC_INT32);
    sums.out = y->data, sums.offsets = spec->places.offsets, sums.row_stride = spec->places.row, sums.column_stride = spec->places.column;
    sides.problem.sink = &sums.sink;
  }
  gemm_run(&sides.problem, k->threads, k->scratch);
  return OK;
}

#define TS_8BIT (TS(INT8) | TS(UINT8))
#define QUANTISED_FUNCTIONS .infer = quantised_infer, .prepare = quantised_prepare, .dispose = quantised_dispose, .specialise = quantised_specialise, .dispose_spec = quantised_dispose_spec, .run = quantised_run
#define QLINEAR_CONV "x:T1 x_scale:f32 x_zero_point:T1 w:T2 w_scale:f32 w_zero_point:T2 y_scale:f32 y_zero_point:T3 B:i32? -> y:T3"

OP_FAMILY(conv_quantised) = {
  {.name = "ConvInteger", .since = 10, .signature = "x:T1 w:T2 x_zero_point:T1? w_zero_point:T2? -> y:i32", .T1 = TS_8BIT, .T2 = TS_8BIT,
   QUANTISED_FUNCTIONS, .data = &integer},
  {.name = "QLinearConv", .since = 10, .signature = QLINEAR_CONV, .T1 = TS_8BIT, .T2 = TS_8BIT, .T3 = TS_8BIT, QUANTISED_FUNCTIONS, .data = &linear},
  {.name = "QLinearConv", .domain = "com.microsoft", .since = 1, .signature = QLINEAR_CONV, .T1 = TS_8BIT, .T2 = TS_8BIT, .T3 = TS_8BIT,
   QUANTISED_FUNCTIONS, .data = &linear},
  {.name = "QLinearConv", .domain = "ortcore", .since = 1, .signature = QLINEAR_CONV, .T1 = TS_8BIT, .T2 = TS_8BIT, .T3 = TS_8BIT, QUANTISED_FUNCTIONS,
   .data = &linear},                                        /* what the layout pass makes */
  {0}};
