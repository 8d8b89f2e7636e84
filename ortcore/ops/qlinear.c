/* com.microsoft's quantised elementwise operators and global pool: inputs become floats, the result is rounded back to 8 bits. */
#include "quantised.h"

#include <ortcore/base/threads.h>
#include <ortcore/kernels/cpu/quantize.h>
#include <math.h>

typedef enum qlinear_op { QL_ADD, QL_MUL, QL_SIGMOID, QL_LEAKY_RELU } qlinear_op;
typedef struct qlinear_kind { qlinear_op op; int inputs; } qlinear_kind;

static status qlinear_infer(infer_ctx *c) {
  const qlinear_kind *kind = c->op->data;
  if (!c->out[0]) return OK;
  if (kind->inputs == 2) return fact_broadcast(c->in[0], c->in[3], c->out[0]);
  fact_copy_shape(c->out[0], c->in[0]);
  return OK;
}

typedef struct quantised_tensor { const tensor *t; float scale; int32_t zero_point; } quantised_tensor;

static status read_quantised(const kernel_ctx *k, int first, int scale, const char *what, quantised_tensor *out) {
  *out = (quantised_tensor){.t = first >= 0 ? k->in[first] : NULL};
  TRY(quantised_scalar_scale(k->in[scale], what, &out->scale));
  return quantised_scalar_zero_point(scale + 1 < k->in_count ? k->in[scale + 1] : NULL, what, &out->zero_point);
}

static inline float value_at(const quantised_tensor *q, int64_t i) {
  int32_t code = q->t->type == ORTC_INT8 ? ((const int8_t *)q->t->data)[i] : ((const uint8_t *)q->t->data)[i];
  return (float)(code - q->zero_point) * q->scale;
}

static void put(tensor *y, int64_t i, float x, const quantised_tensor *scale) {
  float low = y->type == ORTC_INT8 ? -128 : 0, v = nearbyintf(x / scale->scale) + (float)scale->zero_point;
  v = v > low ? v : low;
  v = v < low + 255 ? v : low + 255;
  if (y->type == ORTC_INT8) ((int8_t *)y->data)[i] = (int8_t)v;
  else ((uint8_t *)y->data)[i] = (uint8_t)v;
}

typedef struct qlinear_work {
  qlinear_op op;
  quantised_tensor a, b, out;
  float alpha;
  tensor *y;
  int64_t a_strides[MAX_RANK], b_strides[MAX_RANK];
} qlinear_work;

static float combine(const qlinear_work *w, int64_t a, int64_t b) {
  float x = value_at(&w->a, a);
  switch (w->op) {
    case QL_ADD: return x + value_at(&w->b, b);
    case QL_MUL: return x * value_at(&w->b, b);
    case QL_SIGMOID: return 1 / (1 + expf(-x));
    case QL_LEAKY_RELU: return x < 0 ? x * w->alpha : x;
  }
  return x;
}

static void qlinear_range(void *context, int64_t begin, int64_t end) {
  const qlinear_work *w = context;
  for (int64_t i = begin; i < end; ++i) {
    int64_t rest = i, a = 0, b = 0;
    for (int d = w->y->rank - 1; d >= 0; --d) {
      int64_t at = rest % w->y->dims[d];
      rest /= w->y->dims[d];
      a += at * w->a_strides[d], b += at * w->b_strides[d];
    }
    put(w->y, i, combine(w, a, b), &w->out);
  }
}

static void broadcast_strides(const tensor *t, int rank, int64_t *strides) {
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    int own = d - (rank - t->rank);
    strides[d] = own < 0 || t->dims[own] == 1 ? 0 : stride;
    if (own >= 0) stride *= t->dims[own];
  }
}

/* Sums of equal shapes are one multiplication and addition an operand, on bytes side by side. */
static void sum_range(void *context, int64_t begin, int64_t end) { quantize_byte_sum(context, begin, end); }

static bool is_plain_sum(const qlinear_work *w) {
  return w->op == QL_ADD && w->a.scale > 0 && w->b.scale > 0 && w->out.scale > 0 && dims_equal(w->a.t->rank, w->a.t->dims, w->b.t->rank, w->b.t->dims);
}

static uint8_t flip_of(const tensor *t) { return t->type == ORTC_INT8 ? 0x80 : 0; }

static void run_sum(const kernel_ctx *k, const qlinear_work *w) {
  byte_sum s = {.a = w->a.t->data, .b = w->b.t->data, .y = w->y->data, .flip_a = flip_of(w->a.t), .flip_b = flip_of(w->b.t), .flip_y = flip_of(w->y),
                .a_scale = w->a.scale / w->out.scale, .b_scale = w->b.scale / w->out.scale};
  s.offset = (float)(w->out.zero_point + s.flip_y) - (float)(w->a.zero_point + s.flip_a) * s.a_scale - (float)(w->b.zero_point + s.flip_b) * s.b_scale;
  parallel_for(k->threads, w->y->count, 1 << 16, sum_range, &s);
}

static status qlinear_run(kernel_ctx *k) {
  const qlinear_kind *kind = k->node->op->data;
  qlinear_work w = {.op = kind->op, .alpha = attr_float_or(k->node, "alpha", 0.01f)};
  int64_t dims[MAX_RANK];
  const tensor *a = k->in[0], *b = kind->inputs == 2 ? k->in[3] : NULL;
  TRY(read_quantised(k, 0, 1, "A_scale", &w.a));
  if (b) TRY(read_quantised(k, 3, 4, "B_scale", &w.b));
  TRY(read_quantised(k, -1, b ? 6 : 3, "C_scale", &w.out));
  int rank = b && b->rank > a->rank ? b->rank : a->rank;
  for (int d = 0; d < rank; ++d) {
    int64_t da = d < rank - a->rank ? 1 : a->dims[d - (rank - a->rank)], db = !b || d < rank - b->rank ? 1 : b->dims[d - (rank - b->rank)];
    if (da != db && da != 1 && db != 1)
      return ERROR(INVALID_ARGUMENT, "dims %lld and %lld of inputs 'A' and 'B' do not broadcast", (long long)da, (long long)db);
    dims[d] = da == 1 ? db : da;
  }
  TRY(kernel_output(k, 0, rank, dims, &w.y));
  if (!w.y) return OK;
  if (is_plain_sum(&w)) {
    run_sum(k, &w);
    return OK;
  }
  broadcast_strides(a, rank, w.a_strides);
  if (b) broadcast_strides(b, rank, w.b_strides);
  parallel_for(k->threads, w.y->count, 8192, qlinear_range, &w);
  return OK;
}

/* ---- QLinearGlobalAveragePool -------------------------------------------------------------------------------------- */

static status global_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  if (!c->out[0] || x->rank == RANK_UNKNOWN) return OK;
  if (x->rank < 3) return ERROR(INVALID_ARGUMENT, "input 'X' has rank %d; it must be [N, C, spatial...]", x->rank);
  int first = attr_int_or(c->node, "channels_last", 0) ? 1 : 2, last = first == 1 ? x->rank - 1 : x->rank;
  fact_copy_shape(c->out[0], x);
  for (int i = first; i < last; ++i) c->out[0]->dims[i] = 1;
  return OK;
}

static status global_run(kernel_ctx *k) {
  const tensor *x = k->in[0];
  quantised_tensor in, out;
  int64_t dims[MAX_RANK];
  bool last = attr_int_or(k->node, "channels_last", 0) != 0;
  int first_spatial = last ? 1 : 2, end_spatial = last ? x->rank - 1 : x->rank;
  for (int i = 0; i < x->rank; ++i) dims[i] = i >= first_spatial && i < end_spatial ? 1 : x->dims[i];
  TRY(read_quantised(k, 0, 1, "x_scale", &in));
  TRY(read_quantised(k, -1, 3, "y_scale", &out));
  tensor *y;
  TRY(kernel_output(k, 0, x->rank, dims, &y));
  if (!y) return OK;
  int64_t positions = dims_product(x->dims, first_spatial, end_spatial), channels = last ? x->dims[x->rank - 1] : x->dims[1];
  for (int64_t i = 0; i < y->count; ++i) {
    int64_t start = last ? i / channels * positions * channels + i % channels : i * positions, step = last ? channels : 1;
    double sum = 0;
    for (int64_t p = 0; p < positions; ++p) sum += value_at(&in, start + p * step);
    put(y, i, positions ? (float)(sum / (double)positions) : 0, &out);
  }
  return OK;
}

static const qlinear_kind add = {QL_ADD, 2}, mul = {QL_MUL, 2}, sigmoid = {QL_SIGMOID, 1}, leaky_relu = {QL_LEAKY_RELU, 1};
#define TS_8BIT (TS(INT8) | TS(UINT8))
#define BINARY .domain = "com.microsoft", .since = 1, .T = TS_8BIT, .infer = qlinear_infer, .run = qlinear_run, \
  .signature = "A:T A_scale:f32 A_zero_point:T? B:T B_scale:f32 B_zero_point:T? C_scale:f32 C_zero_point:T? -> C:T"
#define UNARY .domain = "com.microsoft", .since = 1, .T = TS_8BIT, .infer = qlinear_infer, .run = qlinear_run, \
  .signature = "X:T X_scale:f32 X_zero_point:T? Y_scale:f32 Y_zero_point:T? -> Y:T"

OP_FAMILY(qlinear) = {
  {.name = "QLinearAdd", BINARY, .data = &add},
  /* What passes make of a sum between DequantizeLinear and QuantizeLinear: each operand has a type of its own. */
  {.name = "QLinearAdd", .domain = "ortcore", .since = 1, .T1 = TS_8BIT, .T2 = TS_8BIT, .T3 = TS_8BIT, .flags = OP_LAYOUT_ANY, .infer = qlinear_infer,
   .run = qlinear_run, .data = &add,
   .signature = "A:T1 A_scale:f32 A_zero_point:T1 B:T2 B_scale:f32 B_zero_point:T2 C_scale:f32 C_zero_point:T3 -> C:T3"},
  {.name = "QLinearMul", BINARY, .data = &mul},
  {.name = "QLinearSigmoid", UNARY, .data = &sigmoid},
  {.name = "QLinearLeakyRelu", UNARY, .data = &leaky_relu},
  {.name = "QLinearGlobalAveragePool", .domain = "com.microsoft", .since = 1,
   .signature = "X:T x_scale:f32 x_zero_point:T y_scale:f32 y_zero_point:T -> Y:T",
   .T = TS_8BIT, .infer = global_infer, .run = global_run},
  {0}};
