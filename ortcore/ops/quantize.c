/* QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. Scales and zero points are per tensor, per slice along an axis, or per block along
 * an axis; all three are a broadcast of scales over x, once x's axis is seen as [blocks, elements of a block]. */
#include <ortcore/kernels/cpu/broadcast.h>
#include <ortcore/kernels/cpu/convert.h>
#include <ortcore/kernels/cpu/quantize.h>
#include <ortcore/ops/infer_common.h>
#include <ortcore/ops/params/quantize.h>
#include <math.h>
#include <string.h>

/* ---- Types --------------------------------------------------------------------------------------------------------------------- */

static bool is_small_float(dtype type) { return convert_native(type) == ORTC_FLOAT && type != ORTC_FLOAT; }

/* The range of a quantised integer type. */
static quantize_params bounds_of(dtype type) {
  int bits = dtype_bits(type);
  bool has_sign = typeset_has(TS_SIGNED | TS(INT4) | TS(INT2), type);
  float size = (float)(1 << (has_sign ? bits - 1 : bits));
  return (quantize_params){has_sign ? -size : 0, size - 1};
}

static status quantize_infer(infer_ctx *c) {
  const fact *zero = c->in_count > 2 ? c->in[2] : NULL;
  fact_copy_shape(c->out[0], c->in[0]);
  int64_t given = attr_int_or(c->node, "output_dtype", 0);
  typeset results = c->op->T3 ? c->op->T3 : c->op->T2;
  if (!zero) return infer_type_attr(c, given ? "output_dtype" : "", ORTC_UINT8, results);
  if (given && zero->type && given != (int64_t)zero->type)
    return ERROR(INVALID_GRAPH, "attribute 'output_dtype' is %lld, but 'y_zero_point' is %s; they must agree", (long long)given, dtype_name(zero->type));
  return OK;
}

static status dequantize_infer(infer_ctx *c) {
  dtype scale = c->in[1]->type, type = scale == ORTC_FLOAT8E8M0 ? ORTC_FLOAT : scale;
  fact_copy_shape(c->out[0], c->in[0]);
  if (!c->op->T3) return OK;                               /* the signature has said it */
  bool given = attr_int_or(c->node, "output_dtype", 0) != 0;
  return type || given ? infer_type_attr(c, given ? "output_dtype" : "", type, c->op->T3) : OK;
}

static status prepare(prepare_ctx *c, bool quantizes, void **out_params) {
  quantize_op *p = *out_params = ZONE_NEW(c->memory, quantize_op);
  if (!p) return status_out_of_memory();
  p->quantizes = quantizes;
  p->axis = attr_int_or(c->node, "axis", 1);
  p->block = attr_int_or(c->node, "block_size", 0);
  if (p->block < 0) return ERROR(INVALID_GRAPH, "attribute 'block_size' is %lld; it must be positive, or 0 for no blocks", (long long)p->block);
  p->kernel = &dequantize_kernel;
  if (!quantizes || !c->out[0]) return OK;
  dtype type = c->out[0]->type, precision = (dtype)attr_int_or(c->node, "precision", 0);
  if (!precision) precision = c->in[1]->type;
  p->to = (conversion){.from = convert_native(type), .to = type, .saturate = attr_int_or(c->node, "saturate", 1) != 0};
  p->precision = precision;
  p->kernel = is_small_float(type) ? quantize_to_float(precision) : quantize_to_integer(precision);
  if (!is_small_float(type)) p->bounds = bounds_of(type);
  return OK;
}
static status quantize_prepare(prepare_ctx *c, void **out_params) { return prepare(c, true, out_params); }
static status dequantize_prepare(prepare_ctx *c, void **out_params) { return prepare(c, false, out_params); }

/* ---- Operands ------------------------------------------------------------------------------------------------------------------ */

/* A tensor's elements in a type that rows convert from; packed types are unpacked into scratch. */
static status unpacked(kernel_ctx *k, const tensor *t, const void **out_data, dtype *out_type) {
  *out_data = t->data;
  *out_type = t->type;
  if (dtype_bits(t->type) >= 8) return OK;
  void *data;
  *out_type = convert_native(t->type);
  TRY(kernel_scratch(k, (size_t)t->count * (size_t)dtype_width(*out_type) + 1, &data));
  convert_load(t->type, t->data, 0, t->count, data);
  *out_data = data;
  return OK;
}

/* Scales of shorter last blocks, repeated to x's shape. */
static status expanded(kernel_ctx *k, const granularity *g, const void **data, dtype *type) {
  int64_t outer = g->dims[0], blocks = g->dims[1], block = g->dims[2], inner = g->dims[3], width = dtype_width(*type);
  void *scratch;
  TRY(kernel_scratch(k, (size_t)(outer * g->axis_dim * inner * width) + 1, &scratch));
  char *to = scratch;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < g->axis_dim; ++i, to += inner * width)
      memcpy(to, (const char *)*data + (o * blocks + i / block) * inner * width, (size_t)(inner * width));
  *data = scratch;
  return OK;
}

static status scale_operand(kernel_ctx *k, const granularity *g, const tensor *t, operand *out) {
  const void *data;
  dtype type;
  TRY(unpacked(k, t, &data, &type));
  if (g->cut) TRY(expanded(k, g, &data, &type));
  *out = (operand){.data = data, .width = dtype_width(type), .load = type == ORTC_FLOAT ? NULL : convert_find(type, ORTC_FLOAT)};
  memcpy(out->strides, g->scale_strides, sizeof g->scale_strides);
  return OK;
}

/* ---- Run ----------------------------------------------------------------------------------------------------------------------- */

static status quantize_run(kernel_ctx *k) {
  const quantize_op *p = k->params;
  const tensor *x = k->in[0], *scale = k->in[1], *zero = k->in_count > 2 ? k->in[2] : NULL;
  static const float none = 0;
  tensor *out;
  granularity g;
  operand in[3];
  const void *x_data;
  dtype x_type;
  TRY(zero_point_check(scale, zero));
  TRY(granularity_of(p, x, scale, &g));
  TRY(kernel_output_like(k, 0, x, &out));
  if (!out || out->count == 0) return OK;
  TRY(unpacked(k, x, &x_data, &x_type));
  TRY(scale_operand(k, &g, scale, &in[1]));
  in[2] = (operand){.data = (const char *)&none, .width = sizeof none};
  if (zero) TRY(scale_operand(k, &g, zero, &in[2]));
  in[0] = (operand){.data = x_data, .width = dtype_width(x_type), .load = x_type == ORTC_FLOAT ? NULL : convert_find(x_type, ORTC_FLOAT)};
  broadcast b = {.count = 3, .in = in, .kernel = p->kernel, .params = &p->bounds, .compute_width = sizeof(float), .out = out->data};
  if (g.cut) {                                             /* everything has x's shape by now */
    broadcast_shape(&b, 1, &x->count);
    for (int i = 0; i < (zero ? 3 : 2); ++i) in[i].strides[0] = 1;
  } else {
    broadcast_shape(&b, 4, g.dims);
    for (int64_t d = 3, stride = 1; d >= 0; stride *= g.dims[d--]) in[0].strides[d] = stride;
  }
  /* Small results that rows do not convert to are stored in a second pass. */
  bool direct = !p->quantizes || (dtype_bits(out->type) >= 8 && !is_small_float(out->type));
  dtype native = direct ? out->type : convert_native(out->type);
  void *staged = NULL;
  if (!direct) {
    TRY(kernel_scratch(k, (size_t)out->count * (size_t)dtype_width(native), &staged));
    b.out = staged;
  }
  b.out_width = dtype_width(native);
  if (native != ORTC_FLOAT) b.store = p->quantizes ? quantize_store(native) : convert_find(ORTC_FLOAT, native);
  broadcast_run(k->threads, &b);
  if (direct) return OK;
  if (dtype_bits(out->type) < 8) memset(out->data, 0, tensor_bytes(out));
  convert_store(&p->to, staged, out->data, 0, out->count);
  return OK;
}

/* ---- DynamicQuantizeLinear: scale and zero point from the range of x ---- */

static status dynamic_infer(infer_ctx *c) {
  if (c->out[0]) fact_copy_shape(c->out[0], c->in[0]);
  for (int i = 1; i < c->out_count; ++i)
    if (c->out[i]) fact_set_shape(c->out[i], 0, NULL);
  return OK;
}

static status dynamic_run(kernel_ctx *k) {
  const tensor *x = k->in[0];
  tensor *y, *scale_out, *zero_out;
  TRY(kernel_output_like(k, 0, x, &y));
  TRY(kernel_output(k, 1, 0, NULL, &scale_out));
  TRY(kernel_output(k, 2, 0, NULL, &zero_out));
  float low, high;
  quantize_range(x->data, x->count, &low, &high);
  float scale = (high - low) / 255.0f;
  if (scale == 0) scale = 1;                               /* all elements are zero */
  float zero = rintf(-low / scale);
  zero = zero > 0 ? zero < 255 ? zero : 255 : 0;
  if (scale_out) *(float *)scale_out->data = scale;
  if (zero_out) *(uint8_t *)zero_out->data = (uint8_t)zero;
  if (!y || y->count == 0) return OK;
  static const quantize_params bounds = {0, 255};
  operand in[3] = {{.data = x->data, .width = 4, .strides = {1}}, {.data = (const char *)&scale, .width = 4}, {.data = (const char *)&zero, .width = 4}};
  broadcast b = {.count = 3, .in = in, .kernel = quantize_to_integer(ORTC_FLOAT), .params = &bounds, .compute_width = 4, .store = quantize_store(ORTC_UINT8),
                 .out = y->data, .out_width = 1};
  broadcast_shape(&b, 1, &x->count);
  broadcast_run(k->threads, &b);
  return OK;
}

#define Q_10 (TS(INT8) | TS(UINT8))
#define Q_19 (Q_10 | TS_FLOAT8)
#define Q_21 (Q_19 | TS(INT16) | TS(UINT16) | TS(INT4) | TS(UINT4))
#define Q_23 (Q_21 | TS(FLOAT4E2M1))
#define Q_25 (Q_23 | TS(INT2) | TS(UINT2))
#define Q_28 (Q_25 | TS(FLOAT6E2M3) | TS(FLOAT6E3M2))
#define X_19 (TS(FLOAT) | TS_HALF | TS(INT32))
#define SCALE (TS(FLOAT) | TS_HALF)

#define QUANTIZE .name = "QuantizeLinear", .infer = quantize_infer, .prepare = quantize_prepare, .run = quantize_run
#define DEQUANTIZE .name = "DequantizeLinear", .infer = dequantize_infer, .prepare = dequantize_prepare, .run = quantize_run
#define Q_BY_TYPES(version, scales, results) \
  {QUANTIZE, .since = version, .signature = "x:T1 y_scale:T2 y_zero_point:T3? -> y:T3", .T1 = X_19, .T2 = scales, .T3 = results}
#define D_BY_TYPES(version, inputs, scales) \
  {DEQUANTIZE, .since = version, .signature = "x:T1 x_scale:T2 x_zero_point:T1? -> y:T3", .T1 = (inputs) | TS(INT32), .T2 = scales, .T3 = SCALE}

OP_FAMILY(quantize) = {
  {QUANTIZE, .since = 10, .signature = "x:T1 y_scale:f32 y_zero_point:T2? -> y:T2", .T1 = TS(FLOAT) | TS(INT32), .T2 = Q_10},
  {QUANTIZE, .since = 13, .signature = "x:T1 y_scale:f32 y_zero_point:T2? -> y:T2", .T1 = TS(FLOAT) | TS(INT32), .T2 = Q_10},
  {QUANTIZE, .since = 19, .signature = "x:T1 y_scale:T1 y_zero_point:T2? -> y:T2", .T1 = X_19, .T2 = Q_19},
  {QUANTIZE, .since = 21, .signature = "x:T1 y_scale:T1 y_zero_point:T2? -> y:T2", .T1 = X_19, .T2 = Q_21},
  Q_BY_TYPES(23, X_19, Q_23), Q_BY_TYPES(24, X_19 | TS(FLOAT8E8M0), Q_23),
  Q_BY_TYPES(25, X_19 | TS(FLOAT8E8M0), Q_25), Q_BY_TYPES(28, X_19 | TS(FLOAT8E8M0), Q_28),
  {QUANTIZE, .domain = "com.microsoft", .since = 1, .signature = "x:T1 y_scale:T1 y_zero_point:T2? -> y:T2", .T1 = SCALE, .T2 = Q_21},
  {DEQUANTIZE, .since = 10, .signature = "x:T x_scale:f32 x_zero_point:T? -> y:f32", .T = Q_10 | TS(INT32)},
  {DEQUANTIZE, .since = 13, .signature = "x:T x_scale:f32 x_zero_point:T? -> y:f32", .T = Q_10 | TS(INT32)},
  {DEQUANTIZE, .since = 19, .signature = "x:T1 x_scale:T2 x_zero_point:T1? -> y:T2", .T1 = Q_19 | TS(INT32), .T2 = SCALE},
  {DEQUANTIZE, .since = 21, .signature = "x:T1 x_scale:T2 x_zero_point:T1? -> y:T2", .T1 = Q_21 | TS(INT32), .T2 = SCALE},
  D_BY_TYPES(23, Q_23, SCALE), D_BY_TYPES(24, Q_23, SCALE | TS(FLOAT8E8M0)),
  D_BY_TYPES(25, Q_25, SCALE | TS(FLOAT8E8M0)), D_BY_TYPES(28, Q_28, SCALE | TS(FLOAT8E8M0)),
  {DEQUANTIZE, .domain = "com.microsoft", .since = 1, .signature = "x:T1 x_scale:T2 x_zero_point:T1? -> y:T2", .T1 = Q_21 | TS(INT32), .T2 = SCALE},
  {.name = "DynamicQuantizeLinear", .since = 11, .signature = "x:f32 -> y:u8 y_scale:f32 y_zero_point:u8", .infer = dynamic_infer, .run = dynamic_run},
  {0}};
