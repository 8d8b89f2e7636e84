/* Conv and ConvTranspose, and Conv with what follows it fused: y = activation(conv(x, w) + bias + z). */
#include "conv.h"

#include <ortcore/base/mapping.h>
#include <ortcore/base/mem.h>
#include <ortcore/kernels/cpu/epilogue.h>
#include <ortcore/base/checked.h>
#include <ortcore/kernels/cpu/onednn/onednn.h>
#include <ortcore/kernels/cpu/winograd.h>
#include <string.h>

typedef struct conv_kind { bool transposed, fused; } conv_kind;

typedef struct conv_params {
  const conv_kind *kind;
  bool channels_last;                                       /* dims of images are [N, spatial..., C] */
  bool winograd;                                            /* attribute that a pass sets: fewer products, a little more rounding */
  activation act;
  void *weights;                                            /* of a transposed convolution, constant: in the order of the product */
  dnn_weights *packed;                                      /* constant weights in oneDNN's layouts */
} conv_params;

typedef enum conv_route { CONV_GEMM, CONV_DEPTHWISE, CONV_ONEDNN, CONV_WINOGRAD } conv_route;

typedef struct conv_spec {
  conv_shape shape;
  conv_places places;
  conv_route route;
  dnn *primitive;
  int64_t chunk;                                            /* Winograd: tiles that `primitive` multiplies at a time */
  const void *weights;                                      /* packed for `primitive` */
  size_t weights_bytes;                                     /* scratch that run-time weights are re-ordered into, before anything else */
} conv_spec;

static status conv_infer(infer_ctx *c) {
  const conv_kind *kind = c->op->data;
  return conv_infer_shape(c->node, c->in[0], c->in[1], kind->transposed, c->out[0]);
}

static void rearrange_weights(const node *n, const tensor *w, void *out) {
  int64_t group = attr_int_or(n, "group", 1), taps = dims_product(w->dims, 2, w->rank);
  conv_transposed_weights(w->data, out, tensor_width(w), group, w->dims[0] / group, w->dims[1], taps);
}

static void conv_dispose(void *params) {
  conv_params *p = params;
  mem_free(p->weights);
  dnn_weights_release(p->packed);
}

static status conv_prepare(prepare_ctx *c, void **out_params) {
  conv_params *p = ZONE_NEW(c->memory, conv_params);
  if (!p) return status_out_of_memory();
  p->kind = c->op->data;
  conv_attrs a;
  p->channels_last = node_is_channels_last(c->node);
  p->winograd = attr_int_or(c->node, "winograd", 0) != 0;
  fact x = image_fact(c->in[0], p->channels_last);
  TRY(conv_attrs_read(c->node, &x, c->in[1], p->kind->transposed, &a));
  if (p->kind->fused) {
    int64_t count;
    const float *params = attr_floats(c->node, "activation_params", &count);
    TRY(activation_from_name(attr_string_or(c->node, "activation", "").data, count, params, &p->act));
  }
  const fact *w = c->in[1];
  if (w->value && w->value->count > 0) {
    if (dnn_supports(w->type)) TRY(dnn_weights_create(&p->packed));
    if (p->kind->transposed && w->rank >= 3 && w->dims[0] % a.group == 0) {
      p->weights = mem_alloc(tensor_bytes(w->value));
      if (!p->weights) {
        conv_dispose(p);
        return status_out_of_memory();
      }
      rearrange_weights(c->node, w->value, p->weights);
      mapping_let_go(w->value->data, tensor_bytes(w->value));
    }
  }
  *out_params = p;
  return OK;
}

static void conv_dispose_spec(void *spec) {
  conv_spec *s = spec;
  conv_shape_deinit(&s->shape);
  mem_free(s->places.offsets);
  dnn_release(s->primitive);
  mem_free(s);
}

static status choose_onednn(specialise_ctx *c, const conv_params *p, const tensor *x, conv_spec *s) {
  const tensor *w = c->in[1];
  dnn_conv d = {.type = x->type, .w_type = x->type, .y_type = x->type, .transposed = p->kind->transposed, .images = s->shape.images, .groups = s->shape.groups, .ins = s->shape.ins,
                .outs = s->shape.outs, .w = &s->shape.w, .x_order = x->order, .y_order = x->order, .bias = c->in_count > 2 && c->in[2],
                .residual = c->in_count > 3 && c->in[3], .act = p->act};
  TRY(dnn_conv_create(&d, c->threads, &s->primitive));
  if (!s->primitive) return OK;
  s->route = CONV_ONEDNN;
  c->computed_by = "oneDNN";
  c->scratch_bytes = dnn_scratch_bytes(s->primitive);
  c->reordered_bytes = dnn_reordered_bytes(s->primitive);
  if (p->packed) return dnn_weights_get(p->packed, s->primitive, w->data, &s->weights);
  s->weights_bytes = dnn_weights_bytes(s->primitive);
  c->scratch_bytes += s->weights_bytes;
  c->reordered_bytes += s->weights_bytes;
  return OK;
}

/* Winograd's 36 matrix products are one primitive, over as many tiles at a time as the cache holds. */
static status choose_winograd(specialise_ctx *c, const conv_params *p, const tensor *x, conv_spec *s) {
  enum { CACHE_BYTES = 4 << 20 };
  const conv_shape *g = &s->shape;
  if (!p->winograd || !p->packed || p->kind->transposed || x->type != ORTC_FLOAT || x->order != LAYOUT_CHANNELS_LAST ||
      !winograd_fits(&g->w, g->groups, g->ins, g->outs))
    return OK;
  int64_t tiles = winograd_tiles(&g->w, g->images), most = CACHE_BYTES / (int64_t)(WINOGRAD_POINTS * (g->ins + g->outs) * sizeof(float));
  int64_t rounds = most > 64 ? (tiles + most - 1) / most : (tiles + 63) / 64;
  s->chunk = (tiles + rounds - 1) / rounds;
  dnn_matmul d = {.a = dnn_tensor_of(ORTC_FLOAT, 3, (int64_t[]){WINOGRAD_POINTS, s->chunk, g->ins}, (int64_t[]){s->chunk * g->ins, g->ins, 1}),
                  .b = dnn_tensor_of(ORTC_FLOAT, 3, (int64_t[]){WINOGRAD_POINTS, g->ins, g->outs}, (int64_t[]){g->ins * g->outs, g->outs, 1}),
                  .out = dnn_tensor_of(ORTC_FLOAT, 3, (int64_t[]){WINOGRAD_POINTS, s->chunk, g->outs},
                                       (int64_t[]){s->chunk * g->outs, g->outs, 1}), .alpha = 1, .pack = true};
  TRY(dnn_matmul_create(&d, c->threads, &s->primitive));
  if (!s->primitive) return OK;
  float *weights = mem_alloc((size_t)(WINOGRAD_POINTS * g->ins * g->outs) * sizeof *weights);
  if (!weights) return status_out_of_memory();
  winograd_weights(c->in[1]->data, g->ins, g->outs, weights);
  mapping_let_go(c->in[1]->data, tensor_bytes(c->in[1]));
  status failure = dnn_weights_keep(p->packed, s->primitive, weights, &s->weights);
  mem_free(weights);
  s->route = CONV_WINOGRAD;
  c->computed_by = "oneDNN";
  c->scratch_bytes = align_up(dnn_scratch_bytes(s->primitive), 64) + (size_t)(WINOGRAD_POINTS * s->chunk * (g->ins + g->outs)) * sizeof(float);
  return failure;
}

static status run_winograd(kernel_ctx *k, const conv_spec *s, const tensor *bias, const tensor *residual, float *y) {
  const conv_params *p = k->params;
  const conv_shape *c = &s->shape;
  winograd g = {.w = &c->w, .images = c->images, .ins = c->ins, .outs = c->outs, .tiles = winograd_tiles(&c->w, c->images),
                .bias = bias ? bias->data : NULL, .residual = residual ? residual->data : NULL, .act = p->act};
  char *scratch = k->scratch;
  float *fields = (float *)(scratch + align_up(dnn_scratch_bytes(s->primitive), 64)), *products = fields + WINOGRAD_POINTS * s->chunk * c->ins;
  for (int64_t first = 0; first < g.tiles; first += s->chunk) {
    int64_t count = g.tiles - first < s->chunk ? g.tiles - first : s->chunk;
    winograd_input(&g, k->in[0]->data, first, count, s->chunk, fields, k->threads);
    TRY(dnn_run(s->primitive, k->threads, scratch, fields, s->weights, NULL, NULL, products));
    winograd_output(&g, products, first, count, s->chunk, y, k->threads);
  }
  return OK;
}

static status specialise(specialise_ctx *c, conv_spec *s) {
  const conv_params *p = c->params;
  const tensor image = image_tensor(c->in[0], p->channels_last), *x = &image, *w = c->in[1];
  TRY(conv_shape_init(&s->shape, c->node, x, w, p->kind->transposed));
  const conv_shape *g = &s->shape;
  TRY(conv_places_init(&s->places, g, x->order));
  double products = (double)g->images * (double)(g->groups * g->outs) * (double)window_out(&g->w) * (double)(g->ins * window_taps(&g->w));
  if (dnn_supports(x->type) && products > 32768) {
    TRY(choose_winograd(c, p, x, s));
    if (s->route != CONV_WINOGRAD) TRY(choose_onednn(c, p, x, s));
  }
  if (s->route != CONV_GEMM) return OK;
  if (x->type == ORTC_FLOAT && g->ins == 1 && g->groups > 1 && !p->kind->transposed) {
    s->route = CONV_DEPTHWISE;
    return OK;
  }
  c->scratch_bytes = gemm_scratch_bytes(gemm_acc_of(x->type), c->threads, g->outs, window_out(&g->w), g->ins * window_taps(&g->w));
  if (p->kind->transposed && !p->weights) s->weights_bytes = (tensor_bytes(w) + 63) & ~(size_t)63;
  c->scratch_bytes += s->weights_bytes;
  c->reordered_bytes = s->weights_bytes;
  return OK;
}

static status conv_specialise(specialise_ctx *c, void **out_spec) {
  conv_spec *s = MEM_NEW(conv_spec);
  if (!s) return status_out_of_memory();
  status failure = specialise(c, s);
  if (failure) conv_dispose_spec(s);
  else *out_spec = s;
  return failure;
}

static status run_onednn(kernel_ctx *k, const conv_spec *s, const void *bias, const void *residual, void *y) {
  const void *weights = s->weights;
  char *scratch = k->scratch;
  if (!weights) {
    TRY(dnn_pack(s->primitive, k->threads, k->in[1]->data, scratch));
    weights = scratch;
    scratch += s->weights_bytes;
  }
  return dnn_run(s->primitive, k->threads, scratch, k->in[0]->data, weights, bias, residual, y);
}

static status run_portable(kernel_ctx *k, const conv_spec *s, const epilogue *end) {
  const conv_params *p = k->params;
  const tensor image = image_tensor(k->in[0], p->channels_last), *x = &image, *w = k->in[1];
  const void *weights = w->data;
  char *scratch = k->scratch;
  if (p->kind->transposed) {
    weights = p->weights ? p->weights : scratch;
    if (!p->weights) rearrange_weights(k->node, w, scratch);
    scratch += s->weights_bytes;
  }
  conv_sides sides;
  if (!conv_sides_init(&sides, &s->shape, x, 0, w->type, weights))
    return ERROR(NOT_IMPLEMENTED, "there is no convolution of type %s", dtype_name(x->type));
  sides.problem.sink = &end->sink;
  if (s->route == CONV_DEPTHWISE) conv_depthwise_f32(&sides.image, s->shape.images, s->shape.outs, weights, &end->sink, k->threads);
  else gemm_run(&sides.problem, k->threads, scratch);
  return OK;
}

static status conv_run(kernel_ctx *k) {
  const conv_params *p = k->params;
  const conv_spec *s = k->spec;
  const tensor *x = k->in[0], *bias = k->in_count > 2 ? k->in[2] : NULL, *residual = k->in_count > 3 ? k->in[3] : NULL;
  tensor *y;
  TRY(conv_check_bias(bias, &s->shape));
  int64_t dims[2 + SPATIAL];
  memcpy(dims, s->shape.out_dims, sizeof dims);
  image_dims(p->channels_last, x->rank, dims);
  TRY(kernel_output(k, 0, x->rank, dims, &y));
  if (!y || y->count == 0) return OK;
  TRY(conv_check_residual(residual, x->rank, dims));
  if (s->route == CONV_WINOGRAD) return run_winograd(k, s, bias, residual, y->data);
  if (s->route == CONV_ONEDNN) return run_onednn(k, s, bias ? bias->data : NULL, residual ? residual->data : NULL, y->data);
  epilogue end;
  if (!epilogue_init(&end, x->type)) return ERROR(NOT_IMPLEMENTED, "there is no convolution of type %s", dtype_name(x->type));
  /* A bias is one number a row; the rows of a group begin where the group's outputs do. */
  int64_t *bias_offsets = NULL;
  if (bias && s->shape.groups > 1) {
    int64_t batches = s->shape.images * s->shape.groups;
    void *memory;
    TRY(kernel_scratch(k, (size_t)batches * sizeof *bias_offsets, &memory));
    bias_offsets = memory;
    for (int64_t i = 0; i < batches; ++i) bias_offsets[i] = i % s->shape.groups * s->shape.outs;
  }
  end.out = y->data, end.offsets = s->places.offsets, end.row_stride = s->places.row, end.column_stride = s->places.column;
  end.bias = bias ? bias->data : NULL, end.bias_offsets = bias_offsets, end.bias_row_stride = 1;
  end.residual = residual ? residual->data : NULL;
  end.act = p->act;
  return run_portable(k, s, &end);
}

static const conv_kind sliding = {false, false}, fused = {false, true}, transposed = {true, false};

#define CONV_FUNCTIONS .infer = conv_infer, .prepare = conv_prepare, .dispose = conv_dispose, .specialise = conv_specialise, \
  .dispose_spec = conv_dispose_spec, .run = conv_run

OP_FAMILY(conv) = {
  {.name = "Conv", .since = 1, .signature = "X:T W:T B:T? -> Y:T", .T = TS_FLOAT, CONV_FUNCTIONS, .data = &sliding},
  {.name = "ConvTranspose", .since = 1, .signature = "X:T W:T B:T? -> Y:T", .T = TS_FLOAT, CONV_FUNCTIONS, .data = &transposed},
  {.name = "FusedConv", .domain = "com.microsoft", .since = 1, .signature = "X:T W:T B:T? Z:T? -> Y:T", .T = TS_FLOAT, CONV_FUNCTIONS,
   .data = &fused},
  {.name = "ConvTranspose", .domain = "ortcore", .since = 1, .signature = "X:T W:T B:T? -> Y:T", .T = TS_FLOAT, CONV_FUNCTIONS, .data = &transposed},
  {.name = "FusedConv", .domain = "ortcore", .since = 1, .signature = "X:T W:T B:T? Z:T? -> Y:T", .T = TS_FLOAT, CONV_FUNCTIONS, .data = &fused},
  {0}};
