/* Products of quantised matrices. All of them sum (a - zero point) * (b - zero point) exactly in 32 bits, modulo 2^32; what differs is which
 * inputs hold the scales, and the type of the result. */
#include "matmul_shape.h"
#include "quantised.h"

#include <ortcore/base/mapping.h>
#include <ortcore/base/mem.h>
#include <ortcore/kernels/cpu/epilogue.h>
#include <math.h>
#include <string.h>

/* Places of the inputs, NONE where the operator does not have one. */
enum { NONE = -1 };
typedef struct product_kind {
  int a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point, row_bias, column_bias;
  bool quantises_a;                                         /* A is float, quantised to u8 by its own range */
  bool gemm;                                                /* attributes transA, transB, alpha */
} product_kind;

static const product_kind integer = {0, NONE, 2, 1, NONE, 3, NONE, NONE, NONE, NONE, false, false};
static const product_kind integer16 = {0, NONE, NONE, 1, NONE, NONE, NONE, NONE, NONE, NONE, false, false};
static const product_kind linear = {0, 1, 2, 3, 4, 5, 6, 7, NONE, NONE, false, false};
static const product_kind to_float = {0, 2, 4, 1, 3, 5, NONE, NONE, NONE, 6, false, false};
static const product_kind dynamic = {0, NONE, NONE, 1, 2, 3, NONE, NONE, NONE, 4, true, false};
static const product_kind qgemm = {0, 1, 2, 3, 4, 5, 7, 8, 6, NONE, false, true};

static gemm_acc sums_of(const product_kind *kind, dtype a, dtype b) { return gemm_acc_of_pair(kind->quantises_a ? ORTC_UINT8 : a, b); }
static bool trans(const node *n, const product_kind *kind, const char *name) { return kind->gemm && attr_int_or(n, name, 0); }

static status product_infer(infer_ctx *c) {
  const product_kind *kind = c->op->data;
  if (kind == &qgemm && c->out[0]) c->out[0]->type = c->in_count > 8 && c->in[8] ? c->in[8]->type : ORTC_FLOAT;
  if (kind == &integer16 && c->out[0]) c->out[0]->type = c->in[0]->type == ORTC_UINT16 && c->in[1]->type == ORTC_UINT16 ? ORTC_UINT32 : ORTC_INT32;
  return matmul_infer(c->in[kind->a], c->in[kind->b], trans(c->node, kind, "transA"), trans(c->node, kind, "transB"), c->out[0]);
}

typedef struct product_params { void *packed; } product_params;   /* B, constant, for products of bytes */

static void product_dispose(void *params) { mem_free(((product_params *)params)->packed); }

static status product_prepare(prepare_ctx *c, void **out_params) {
  const product_kind *kind = c->op->data;
  const fact *b = c->in[kind->b];
  product_params *p = ZONE_NEW(c->memory, product_params);
  if (!p) return status_out_of_memory();
  *out_params = p;
  gemm_acc acc = sums_of(kind, c->in[kind->a]->type, b->type);
  if (acc != GEMM_I8 || !b->value || b->rank != 2 || b->value->count == 0) return OK;
  bool transposed = trans(c->node, kind, "transB");
  gemm_matrix side;
  int64_t n = b->dims[transposed ? 0 : 1], k = b->dims[transposed ? 1 : 0];
  gemm_matrix_init(&side, b->type);
  side.data = b->value->data, side.outer_stride = transposed ? k : 1, side.inner_stride = transposed ? 1 : n;
  p->packed = mem_aligned(64, gemm_packed_bytes(acc, n, k));
  if (!p->packed) return status_out_of_memory();
  gemm_pack_side(acc, &side.side, n, k, p->packed);
  mapping_let_go(b->value->data, tensor_bytes(b->value));
  return OK;
}

static void product_dispose_spec(void *spec) {
  matmul_shape_deinit(spec);
  mem_free(spec);
}

static status product_specialise(specialise_ctx *c, void **out_spec) {
  const product_kind *kind = c->node->op->data;
  matmul_shape *s = MEM_NEW(matmul_shape);
  if (!s) return status_out_of_memory();
  status failure = matmul_shape_init(s, c->in[kind->a], c->in[kind->b], trans(c->node, kind, "transA"), trans(c->node, kind, "transB"));
  if (failure) {
    mem_free(s);
    return failure;
  }
  c->scratch_bytes = gemm_scratch_bytes(sums_of(kind, c->in[kind->a]->type, c->in[kind->b]->type), c->threads, s->m, s->n, s->k);
  *out_spec = s;
  return OK;
}

/* Quantises A to u8 over the range that its elements and zero span. */
static status quantise(kernel_ctx *k, const tensor *a, tensor *out, float *scale, uint8_t *zero_point) {
  const float *x = a->data;
  float low = 0, high = 0;
  for (int64_t i = 0; i < a->count; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  *scale = high == low ? 1 : (high - low) / 255;
  *zero_point = (uint8_t)nearbyintf(fminf(fmaxf(-low / *scale, 0), 255));
  void *memory;
  TRY(kernel_scratch(k, (size_t)a->count, &memory));
  for (int64_t i = 0; i < a->count; ++i) {
    float v = nearbyintf(x[i] / *scale) + (float)*zero_point;
    ((uint8_t *)memory)[i] = (uint8_t)(v > 0 ? (v < 255 ? v : 255) : 0);
  }
  *out = *a;
  out->type = ORTC_UINT8;
  out->data = memory;
  return OK;
}

static const tensor *input(const kernel_ctx *k, int i) { return i >= 0 && i < k->in_count ? k->in[i] : NULL; }

/* Bias of QGemm: i32, broadcast to the product; taken row by row. */
static status qgemm_bias(kernel_ctx *k, const matmul_shape *s, const tensor *bias, int32_t **out) {
  void *memory;
  char shape[DIMS_TEXT];
  int64_t rows = bias->rank == 2 ? bias->dims[0] : 1, columns = bias->rank ? bias->dims[bias->rank - 1] : 1;
  if (bias->rank > 2 || (rows != 1 && rows != s->m) || (columns != 1 && columns != s->n))
    return ERROR(INVALID_ARGUMENT, "input 'C' has shape %s, which does not broadcast to the product [%lld,%lld]",
                 dims_format(shape, sizeof shape, bias->rank, bias->dims),
                 (long long)s->m, (long long)s->n);
  TRY(kernel_scratch(k, (size_t)(s->m * s->n) * sizeof(int32_t), &memory));
  *out = memory;
  for (int64_t i = 0; i < s->m; ++i)
    for (int64_t j = 0; j < s->n; ++j) (*out)[i * s->n + j] = ((const int32_t *)bias->data)[(rows == 1 ? 0 : i) * columns + (columns == 1 ? 0 : j)];
  return OK;
}

typedef struct product_run {
  const product_kind *kind;
  const matmul_shape *s;
  quantised_side a_side, b_side;
  gemm_matrix a, b;
  requantise end;
  epilogue sums;                                            /* where the result is the sums themselves */
} product_run;

static status bind_sides(kernel_ctx *k, product_run *r, const tensor *a, const tensor *b) {
  const product_kind *kind = r->kind;
  const matmul_shape *s = r->s;
  bool folded = s->batch == 1;
  int64_t a_rows = a->rank > 1 ? a->dims[trans(k->node, kind, "transA") ? a->rank - 1 : a->rank - 2] : 1;
  r->a_side = (quantised_side){"a_zero_point", a_rows, folded && a_rows ? s->m / a_rows : s->batch, folded};
  r->b_side = (quantised_side){"b_zero_point", s->n, s->batch, false};
  if (!matmul_sides(s, a->type, b->type, &r->a, &r->b))
    return ERROR(NOT_IMPLEMENTED, "there is no product of %s and %s", dtype_name(a->type), dtype_name(b->type));
  r->a.data = a->data, r->b.data = b->data;
  if (s->batch == 1) r->b.side.packed = ((const product_params *)k->params)->packed;
  TRY(quantised_zero_points(input(k, kind->a_zero_point), &r->a_side, &r->a));
  return quantised_zero_points(input(k, kind->b_zero_point), &r->b_side, &r->b);
}

static status bind_end(kernel_ctx *k, product_run *r, tensor *y) {
  const product_kind *kind = r->kind;
  const matmul_shape *s = r->s;
  requantise_init(&r->end, y->type);
  r->end.out = y->data, r->end.batch_stride = s->m * s->n, r->end.row_stride = s->n;
  r->a_side.what = "a_scale", r->b_side.what = "b_scale";
  TRY(quantised_scale(k, input(k, kind->a_scale), &r->a_side, &r->end.row_scale));
  TRY(quantised_scale(k, input(k, kind->b_scale), &r->b_side, &r->end.column_scale));
  TRY(quantised_scalar_scale(input(k, kind->y_scale), "y_scale", &r->end.y_scale));
  TRY(quantised_scalar_zero_point(input(k, kind->y_zero_point), "y_zero_point", &r->end.y_zero_point));
  const tensor *bias = input(k, kind->column_bias);
  if (bias && bias->count != s->n)
    return ERROR(INVALID_ARGUMENT, "input 'bias' has %lld elements; the product has %lld columns", (long long)bias->count, (long long)s->n);
  if (!bias) return OK;
  cycle as_float;
  TRY(quantised_scale(k, bias, &(quantised_side){"bias", s->n, 1, false}, &as_float));
  if (bias->count != 1) r->end.column_bias = as_float.data;
  else if (s->n == 1) r->end.column_bias = as_float.data;
  return OK;
}

/* QGemm's rows of bias are added by storing sums first; its products are small enough that a second pass costs little. */
typedef struct biased_sink { gemm_sink sink; const gemm_sink *next; const int32_t *bias; int64_t columns; } biased_sink;
static void biased_store(const gemm_sink *s, int64_t batch, int64_t row, int64_t column, int64_t count, void *acc) {
  const biased_sink *b = (const biased_sink *)s;
  uint32_t *x = acc;
  for (int64_t i = 0; i < count; ++i) x[i] += (uint32_t)b->bias[row * b->columns + column + i];
  b->next->store(b->next, batch, row, column, count, acc);
}

static status product_op_run(kernel_ctx *k) {
  product_run r = {.kind = k->node->op->data, .s = k->spec};
  const matmul_shape *s = r.s;
  const tensor *a = k->in[r.kind->a], *b = k->in[r.kind->b];
  tensor quantised, *y;
  float dynamic_scale = 1;
  uint8_t dynamic_zero_point = 0;
  TRY(kernel_output(k, 0, s->out_rank, s->out_dims, &y));
  if (!y || y->count == 0) return OK;
  if (r.kind->quantises_a) {
    TRY(quantise(k, a, &quantised, &dynamic_scale, &dynamic_zero_point));
    a = &quantised;
  }
  TRY(bind_sides(k, &r, a, b));
  if (r.kind->quantises_a) r.a.zero_points = &dynamic_zero_point;
  gemm_problem problem = {sums_of(r.kind, a->type, b->type), s->batch, s->m, s->n, s->k, &r.a.side, &r.b.side, &r.sums.sink};
  if (r.kind == &integer || r.kind == &integer16) {
    epilogue_init(&r.sums, ORTC_INT32);
    r.sums.out = y->data, r.sums.batch_stride = s->m * s->n, r.sums.row_stride = s->n;
    gemm_run(&problem, k->threads, k->scratch);
    return OK;
  }
  TRY(bind_end(k, &r, y));
  r.end.float_sums = problem.acc == GEMM_F32;
  if (r.kind->quantises_a) r.end.row_scale.data = &dynamic_scale;
  float alpha = r.kind->gemm ? attr_float_or(k->node, "alpha", 1) : 1;
  r.end.y_scale /= alpha;
  problem.sink = &r.end.sink;
  biased_sink biased = {.sink.store = biased_store, .next = &r.end.sink, .columns = s->n};
  const tensor *bias = input(k, r.kind->row_bias);
  if (bias) {
    int32_t *rows;
    TRY(qgemm_bias(k, s, bias, &rows));
    biased.bias = rows;
    problem.sink = &biased.sink;
  }
  gemm_run(&problem, k->threads, k->scratch);
  return OK;
}

#define TS_8BIT (TS(INT8) | TS(UINT8))
#define PRODUCT_FUNCTIONS .infer = product_infer, .prepare = product_prepare, .dispose = product_dispose, .specialise = product_specialise, \
  .dispose_spec = product_dispose_spec, .run = product_op_run

OP_FAMILY(matmul_quantised) = {
  {.name = "MatMulInteger", .since = 10, .signature = "A:T1 B:T2 a_zero_point:T1? b_zero_point:T2? -> Y:i32", .T1 = TS_8BIT, .T2 = TS_8BIT,
   PRODUCT_FUNCTIONS, .data = &integer},
  {.name = "QLinearMatMul", .since = 10,
   .signature = "a:T1 a_scale:T4 a_zero_point:T1 b:T2 b_scale:T4 b_zero_point:T2 y_scale:T4 y_zero_point:T3 -> y:T3", .T1 = TS_8BIT, .T2 = TS_8BIT,
   .T3 = TS_8BIT, .T4 = TS(FLOAT), PRODUCT_FUNCTIONS, .data = &linear},
  {.name = "QLinearMatMul", .since = 21,
   .signature = "a:T1 a_scale:T4 a_zero_point:T1 b:T2 b_scale:T4 b_zero_point:T2 y_scale:T4 y_zero_point:T3 -> y:T3", .T1 = TS_8BIT | TS_FLOAT8,
   .T2 = TS_8BIT | TS_FLOAT8, .T3 = TS_8BIT | TS_FLOAT8, .T4 = TS(FLOAT) | TS_HALF, PRODUCT_FUNCTIONS, .data = &linear},
  {.name = "MatMulIntegerToFloat", .domain = "com.microsoft", .since = 1,
   .signature = "A:T1 B:T2 a_scale:T3 b_scale:T3 a_zero_point:T1? b_zero_point:T2? bias:T3? -> Y:T3", .T1 = TS_8BIT, .T2 = TS_8BIT,
   .T3 = TS(FLOAT) | TS(FLOAT16), PRODUCT_FUNCTIONS, .data = &to_float},
  {.name = "DynamicQuantizeMatMul", .domain = "com.microsoft", .since = 1,
   .signature = "A:f32 B:T2 b_scale:f32 b_zero_point:T2? bias:f32? -> Y:f32", .T2 = TS_8BIT, PRODUCT_FUNCTIONS, .data = &dynamic},
  {.name = "MatMulInteger16", .domain = "com.microsoft", .since = 1, .signature = "A:T1 B:T2 -> Y:T3", .T1 = TS(INT16) | TS(UINT16),
   .T2 = TS(INT16) | TS(UINT16), .T3 = TS(INT32) | TS(UINT32), PRODUCT_FUNCTIONS, .data = &integer16},
  {.name = "QGemm", .domain = "com.microsoft", .since = 1,
   .signature = "A:T1 a_scale:f32 a_zero_point:T1 B:T2 b_scale:f32 b_zero_point:T2 C:i32? y_scale:f32? y_zero_point:T3? -> Y:T4", .T1 = TS_8BIT,
   .T2 = TS_8BIT, .T3 = TS_8BIT, .T4 = TS(FLOAT) | TS_8BIT, PRODUCT_FUNCTIONS, .data = &qgemm},
  {0}};
