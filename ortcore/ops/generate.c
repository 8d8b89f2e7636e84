/* Operators that make tensors out of little: ConstantOfShape, Range, EyeLike. */
#include <ortcore/kernels/cpu/convert.h>
#include <ortcore/ops/infer_common.h>
#include <ortcore/ops/params/movement.h>
#include <math.h>
#include <string.h>

/* ---- ConstantOfShape ---- */

static status constant_infer(infer_ctx *c) {
  const tensor *value = attr_tensor(c->node, "value");
  dtype type = value ? value->type : ORTC_FLOAT;
  if (value && value->count != 1) return ERROR(INVALID_GRAPH, "attribute 'value' must be a tensor of one element, but has %lld", (long long)value->count);
  if (!typeset_has(c->op->T2, type))
    return ERROR(INVALID_GRAPH, "attribute 'value' is of type %s, which ConstantOfShape (opset %lld) does not give", dtype_name(type),
                 (long long)c->node->opset);
  c->out[0]->type = type;
  return infer_shape_from_input(c, 0, "input");
}

static status constant_dims(const tensor *shape, int *out_rank, int64_t *dims) {
  if (shape->rank > 1 || shape->count > MAX_RANK)
    return ERROR(INVALID_ARGUMENT, "the shape must be a list of at most %d dims, but is a tensor of rank %d with %lld elements", MAX_RANK, shape->rank,
                 (long long)shape->count);
  memcpy(dims, shape->data, (size_t)shape->count * sizeof *dims);
  for (int64_t i = 0; i < shape->count; ++i)
    if (dims[i] < 0) return ERROR(INVALID_ARGUMENT, "entry %lld of the shape is %lld; dims are not negative", (long long)i, (long long)dims[i]);
  *out_rank = (int)shape->count;
  return OK;
}

static const constant_op constant_row = {constant_dims};

static status constant_run(kernel_ctx *k) {
  const tensor *value = attr_tensor(k->node, "value");
  static const float zero = 0;
  int rank;
  int64_t dims[MAX_RANK];
  tensor *out;
  TRY(constant_dims(k->in[0], &rank, dims));
  TRY(kernel_output(k, 0, rank, dims, &out));
  if (!out || out->count == 0) return OK;
  if (dtype_bits(out->type) < 8) memset(out->data, 0, tensor_bytes(out));
  strided_copy c = {.bits = dtype_bits(out->type), .rank = 1, .to = out->data, .from = value ? value->data : &zero, .dims = {out->count}, .to_strides = {1}};
  copy_strided(k->threads, &c);
  return OK;
}

/* ---- Range: start + i * delta, up to limit ---- */

static void read_number(const tensor *t, int64_t *whole, double *real) {
  convert_find(t->type, ORTC_INT64)(t->data, whole, 1);
  convert_find(t->type, ORTC_DOUBLE)(t->data, real, 1);
}

static status range_of(const tensor *const *in, range_view *out) {
  static const char *const names[] = {"start", "limit", "delta"};
  int64_t whole[3];
  double real[3], steps;
  for (int i = 0; i < 3; ++i) {
    if (in[i]->count != 1) return ERROR(INVALID_ARGUMENT, "'%s' must be one number, but has %lld elements", names[i], (long long)in[i]->count);
    read_number(in[i], &whole[i], &real[i]);
  }
  *out = (range_view){0, whole[0], whole[2], real[0], real[2]};
  if (real[2] == 0) return ERROR(INVALID_ARGUMENT, "'delta' is 0: the range would never reach its limit");
  if (typeset_has(TS_INTEGER, in[0]->type)) {
    /* Distances may need 65 bits: counted without sign. */
    uint64_t distance = whole[2] > 0 ? (uint64_t)whole[1] - (uint64_t)whole[0] : (uint64_t)whole[0] - (uint64_t)whole[1];
    uint64_t step = whole[2] > 0 ? (uint64_t)whole[2] : -(uint64_t)whole[2];
    bool empty = whole[2] > 0 ? whole[1] <= whole[0] : whole[1] >= whole[0];
    steps = empty ? 0 : (double)(distance / step + (distance % step != 0));
  } else {
    steps = ceil((real[1] - real[0]) / real[2]);
  }
  if (!(steps < 0x1p62))
    return ERROR(INVALID_ARGUMENT, "the range from %g to %g by %g has no number of elements that could be stored", real[0], real[1], real[2]);
  out->count = steps > 0 ? (int64_t)steps : 0;
  return OK;
}

static status range_infer(infer_ctx *c) {
  dim count = DIM_UNKNOWN;
  if (c->in[0]->value && c->in[1]->value && c->in[2]->value) {
    range_view r;
    TRY(range_of((const tensor *const[]){c->in[0]->value, c->in[1]->value, c->in[2]->value}, &r));
    count = r.count;
  }
  fact_set_shape(c->out[0], 1, &count);
  return OK;
}

static status range_run(kernel_ctx *k) {
  enum { BLOCK = 512 };
  range_view r;
  tensor *out;
  TRY(range_of(k->in, &r));
  TRY(kernel_output(k, 0, 1, &r.count, &out));
  if (!out) return OK;
  bool whole = typeset_has(TS_INTEGER, out->type);
  double real[BLOCK];
  int64_t integers[BLOCK];
  convert_fn convert = convert_find(whole ? ORTC_INT64 : ORTC_DOUBLE, out->type);
  for (int64_t i = 0; i < out->count; i += BLOCK) {
    int64_t n = out->count - i < BLOCK ? out->count - i : BLOCK;
    for (int64_t j = 0; j < n; ++j) {
      if (whole) integers[j] = (int64_t)((uint64_t)r.start + (uint64_t)(i + j) * (uint64_t)r.delta);
      else real[j] = r.float_start + (double)(i + j) * r.float_delta;
    }
    convert(whole ? (const void *)integers : real, (char *)out->data + i * tensor_width(out), n);
  }
  return OK;
}

static const range_op range_row = {range_of};

/* ---- EyeLike: ones on a diagonal ---- */

static status eye_infer(infer_ctx *c) {
  if (c->in[0]->rank >= 0 && c->in[0]->rank != 2) return ERROR(INVALID_ARGUMENT, "the input must have rank 2, but has rank %d", c->in[0]->rank);
  fact_copy_shape(c->out[0], c->in[0]);
  return attr_find(c->node, "dtype") || c->in[0]->type ? infer_type_attr(c, "dtype", c->in[0]->type, c->op->T2) : OK;
}

static status eye_run(kernel_ctx *k) {
  const tensor *in = k->in[0];
  int64_t shift = attr_int_or(k->node, "k", 0), one = 1;
  tensor *out;
  if (in->rank != 2) return ERROR(INVALID_ARGUMENT, "the input must have rank 2, but has rank %d", in->rank);
  TRY(kernel_output_like(k, 0, in, &out));
  if (!out || out->count == 0) return OK;
  char *data = out->data;
  int width = tensor_width(out);
  convert_fn convert = convert_find(ORTC_INT64, out->type);
  memset(data, 0, tensor_bytes(out));
  if (shift >= in->dims[1] || shift <= -in->dims[0]) return OK;   /* the diagonal passes by */
  for (int64_t row = shift < 0 ? -shift : 0; row < in->dims[0] && row + shift < in->dims[1]; ++row)
    convert(&one, data + (row * in->dims[1] + row + shift) * width, 1);
  return OK;
}

#define C_9 (TS_INTEGER | TS(FLOAT) | TS(DOUBLE) | TS(FLOAT16) | TS(BOOL))
#define C_20 (C_9 | TS(BFLOAT16) | TS_FLOAT8)
#define C_21 (C_20 | TS(INT4) | TS(UINT4))
#define C_23 (C_21 | TS(FLOAT4E2M1))
#define C_24 (C_23 | TS(FLOAT8E8M0))
#define C_25 (C_24 | TS(INT2) | TS(UINT2))
#define CONSTANT(version, types) \
  {.name = "ConstantOfShape", .since = version, .signature = "input:i64 -> output:T2", .T2 = types, .infer = constant_infer, .run = constant_run, \
   .data = &constant_row}
#define RANGE(version, types) \
  {.name = "Range", .since = version, .signature = "start:T limit:T delta:T -> output:T", .T = types, .infer = range_infer, .run = range_run, \
   .data = &range_row}
#define EYE(version, types) \
  {.name = "EyeLike", .since = version, .signature = "input:T1 -> output:T2", .T1 = types, .T2 = types, .flags = OP_SHAPE_ONLY, .infer = eye_infer, \
   .run = eye_run}

OP_FAMILY(generate) = {
  CONSTANT(9, C_9), CONSTANT(20, C_20), CONSTANT(21, C_21), CONSTANT(23, C_23), CONSTANT(24, C_24), CONSTANT(25, C_25),
  RANGE(11, (TS(FLOAT) | TS(DOUBLE) | TS(INT16) | TS_INDEX)), RANGE(27, (TS_FLOAT | TS(INT16) | TS_INDEX)),
  EYE(9, C_9), EYE(22, C_9 | TS(BFLOAT16)),
  {0}};
