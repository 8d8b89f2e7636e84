/* Matrix products of one element type: MatMul, Gemm, and their fused forms (params/matmul.h says what they compute). */
#include "matmul_shape.h"

#include <ortcore/base/mapping.h>
#include <ortcore/base/mem.h>
#include <ortcore/base/threads.h>
#include <ortcore/kernels/cpu/epilogue.h>
#include <ortcore/kernels/cpu/onednn/onednn.h>
#include <ortcore/ops/params/matmul.h>
#include <string.h>

typedef struct matmul_params {
  const matmul_kind *kind;
  matmul_attrs attrs;
  void *packed;                                             /* B, constant, for the portable product */
  dnn_weights *weights;                                     /* B, constant, in oneDNN's layouts */
} matmul_params;

typedef enum matmul_route { ROUTE_GEMM, ROUTE_GEMV, ROUTE_ONEDNN } matmul_route;

typedef struct matmul_spec {
  matmul_shape shape;
  matmul_route route;
  dnn *primitive;
  const void *weights;                                      /* packed for `primitive`; NULL: B as it lies */
} matmul_spec;

static status matmul_op_infer(infer_ctx *c) {
  const matmul_kind *kind = c->op->data;
  matmul_attrs attrs;
  TRY(matmul_attrs_read(c->node, kind, &attrs));
  for (int i = 0; kind->gemm && i < 2; ++i)
    if (c->in[i]->rank != RANK_UNKNOWN && c->in[i]->rank != 2)
      return ERROR(INVALID_ARGUMENT, "input '%s' has rank %d; it must be a matrix", i ? "B" : "A", c->in[i]->rank);
  return matmul_infer(c->in[0], c->in[1], attrs.trans_a, attrs.trans_b, c->out[0]);
}

/* The portable product multiplies a constant float B from panels that are made once, in f32 or f64. */
static status pack_b(const fact *b, matmul_params *p) {
  tensor row = {.rank = 2, .dims = {1, b->dims[p->attrs.trans_b ? 1 : 0]}};
  matmul_shape s;
  gemm_matrix sides[2];
  TRY(matmul_shape_init(&s, &row, b->value, false, p->attrs.trans_b));
  matmul_sides(&s, b->type, b->type, &sides[0], &sides[1]);
  sides[1].data = b->value->data;
  gemm_acc acc = gemm_acc_of(b->type);
  p->packed = mem_aligned(64, gemm_packed_bytes(acc, s.n, s.k));
  if (!p->packed) return status_out_of_memory();
  gemm_pack_side(acc, &sides[1].side, s.n, s.k, p->packed);
  mapping_let_go(b->value->data, tensor_bytes(b->value));
  return OK;
}

static void matmul_dispose(void *params) {
  matmul_params *p = params;
  mem_free(p->packed);
  dnn_weights_release(p->weights);
}

static status matmul_prepare(prepare_ctx *c, void **out_params) {
  matmul_params *p = ZONE_NEW(c->memory, matmul_params);
  if (!p) return status_out_of_memory();
  p->kind = c->op->data;
  TRY(matmul_attrs_read(c->node, p->kind, &p->attrs));
  const fact *b = c->in[1];
  bool integer = typeset_has(TS_INTEGER, b->type);
  TRY(matmul_attrs_check(&p->attrs, b->type));
  if (b->value && b->rank == 2 && b->value->count > 0) {
    if (dnn_supports(b->type)) TRY(dnn_weights_create(&p->weights));
    else if (!integer) TRY(pack_b(b, p));
  }
  *out_params = p;
  return OK;
}

/* oneDNN's view: [batch, m, k] x [batch, k, n]; dims of broadcast batches must be regular, which offsets tell. */
static bool regular_batches(const int64_t *offsets, int64_t batch, int64_t *out_stride) {
  *out_stride = offsets && batch > 1 ? offsets[1] : 0;
  for (int64_t i = 0; offsets && i < batch; ++i)
    if (offsets[i] != i * *out_stride) return false;
  return true;
}

static status choose_onednn(specialise_ctx *c, const matmul_params *p, matmul_spec *s) {
  const matmul_shape *m = &s->shape;
  int64_t a_stride, b_stride, bias_row = 0, bias_column = 0;
  const tensor *bias = c->in_count > 2 ? c->in[2] : NULL;
  if (!regular_batches(m->a_offsets, m->batch, &a_stride) || !regular_batches(m->b_offsets, m->batch, &b_stride)) return OK;
  if (bias) TRY(matmul_bias_strides(bias, m, &bias_row, &bias_column));
  if (bias && (p->attrs.beta != 1 || p->attrs.alpha != 1 || bias_row || (bias_column == 0 && m->n != 1))) return OK;
  dtype type = c->in[0]->type;
  dnn_matmul d = {
    .a = dnn_tensor_of(type, 3, (int64_t[]){m->batch, m->m, m->k}, (int64_t[]){a_stride, m->a_row, m->a_inner}),
    .b = dnn_tensor_of(type, 3, (int64_t[]){m->batch, m->k, m->n}, (int64_t[]){b_stride, m->b_inner, m->b_column}),
    .out = dnn_tensor_of(type, 3, (int64_t[]){m->batch, m->m, m->n}, (int64_t[]){m->m * m->n, m->n, 1}),
    .bias = bias != NULL, .residual = c->in_count > 3 && c->in[3] && p->kind->residual, .alpha = p->attrs.alpha, .act = p->attrs.act, .pack = p->weights &&
        m->batch == 1};
  TRY(dnn_matmul_create(&d, c->threads, &s->primitive));
  if (!s->primitive) return OK;
  if (d.pack) TRY(dnn_weights_get(p->weights, s->primitive, c->in[1]->data, &s->weights));
  s->route = ROUTE_ONEDNN;
  c->computed_by = "oneDNN";
  c->scratch_bytes = dnn_scratch_bytes(s->primitive);
  c->reordered_bytes = dnn_reordered_bytes(s->primitive);
  return OK;
}

static void matmul_dispose_spec(void *spec) {
  matmul_spec *s = spec;
  matmul_shape_deinit(&s->shape);
  dnn_release(s->primitive);
  mem_free(s);
}

/* A single row or column of f32 whose numbers lie one after the other. */
static bool is_vector_product(const matmul_shape *s, dtype type) {
  if (type != ORTC_FLOAT || s->k == 0) return false;
  if (s->m == 1) return s->a_inner == 1 || s->k == 1;
  return s->n == 1 && s->b_inner == 1 && (s->a_inner == 1 || s->a_row == 1);
}

static status matmul_specialise(specialise_ctx *c, void **out_spec) {
  const matmul_params *p = c->params;
  matmul_spec *s = MEM_NEW(matmul_spec);
  if (!s) return status_out_of_memory();
  status failure = matmul_shape_init(&s->shape, c->in[0], c->in[1], p->attrs.trans_a, p->attrs.trans_b);
  const matmul_shape *m = &s->shape;
  dtype type = c->in[0]->type;
  if (!failure && is_vector_product(m, type)) s->route = ROUTE_GEMV;
  /* Small products cost less than oneDNN's call does. */
  else if (!failure && dnn_supports(type) && (double)m->batch * (double)m->m * (double)m->n * (double)m->k > 32768) failure = choose_onednn(c, p, s);
  if (failure) {
    matmul_dispose_spec(s);
    return failure;
  }
  if (s->route == ROUTE_GEMM) c->scratch_bytes = gemm_scratch_bytes(gemm_acc_of(type), c->threads, m->m, m->n, m->k);
  if (s->route == ROUTE_GEMV && m->m != 1) c->scratch_bytes = (size_t)(m->batch * m->m) * sizeof(float);
  *out_spec = s;
  return OK;
}

typedef struct vector_work {
  const matmul_shape *s;
  const float *a, *b;
  float *out;
  int threads;
  const epilogue *end;
} vector_work;

static void vector_batches(void *context, int64_t begin, int64_t end) {
  const vector_work *w = context;
  const matmul_shape *s = w->s;
  for (int64_t i = begin; i < end; ++i) {
    const float *a = w->a + (s->a_offsets ? s->a_offsets[i] : 0), *b = w->b + (s->b_offsets ? s->b_offsets[i] : 0);
    int64_t count = s->m == 1 ? s->n : s->m;
    float *y = w->out + i * count;
    if (s->m == 1) gemv_f32(w->threads, s->n, s->k, a, b, s->b_inner, s->b_column, y);
    else gemv_f32(w->threads, s->m, s->k, b, a, s->a_inner, s->a_row, y);
    if (s->m == 1) w->end->sink.store(&w->end->sink, i, 0, 0, s->n, y);
    else for (int64_t row = 0; row < s->m; ++row) w->end->sink.store(&w->end->sink, i, row, 0, 1, y + row);
  }
}

static void run_vector(const kernel_ctx *k, const matmul_shape *s, const epilogue *end) {
  vector_work w = {s, k->in[0]->data, k->in[1]->data, s->m == 1 ? end->out : k->scratch, 1, end};
  bool many = s->batch >= k->threads && s->batch > 1;
  if (!many) w.threads = k->threads;
  int64_t grain = 1 + 40000 / (1 + s->k * s->n * s->m);
  if (many) parallel_for(k->threads, s->batch, grain, vector_batches, &w);
  else vector_batches(&w, 0, s->batch);
}

static status run_onednn(kernel_ctx *k, const matmul_spec *s, const epilogue *end) {
  const void *weights = s->weights ? s->weights : k->in[1]->data;
  return dnn_run(s->primitive, k->threads, k->scratch, k->in[0]->data, weights, end->bias, end->residual, end->out);
}

static status matmul_run(kernel_ctx *k) {
  const matmul_params *p = k->params;
  const matmul_spec *s = k->spec;
  const matmul_shape *m = &s->shape;
  const tensor *a = k->in[0], *bias = k->in_count > 2 ? k->in[2] : NULL, *residual = k->in_count > 3 ? k->in[3] : NULL;
  tensor *y;
  TRY(kernel_output(k, 0, m->out_rank, m->out_dims, &y));
  if (!y || y->count == 0) return OK;
  epilogue end;
  if (!epilogue_init(&end, a->type)) return ERROR(NOT_IMPLEMENTED, "there is no product of type %s", dtype_name(a->type));
  end.out = y->data, end.batch_stride = m->m * m->n, end.row_stride = m->n;
  end.alpha = p->attrs.alpha, end.beta = p->attrs.beta, end.act = p->attrs.act;
  if (bias && p->attrs.beta != 0) {
    TRY(matmul_bias_strides(bias, m, &end.bias_row_stride, &end.bias_column_stride));
    end.bias = bias->data;
  }
  TRY(matmul_check_residual(residual, m));
  if (residual) end.residual = residual->data;
  if (s->route == ROUTE_ONEDNN) return run_onednn(k, s, &end);
  if (s->route == ROUTE_GEMV) {
    run_vector(k, m, &end);
    return OK;
  }
  gemm_matrix sides[2];
  matmul_sides(m, a->type, a->type, &sides[0], &sides[1]);
  sides[0].data = a->data, sides[1].data = k->in[1]->data;
  if (m->batch == 1) sides[1].side.packed = p->packed;
  gemm_problem problem = {gemm_acc_of(a->type), m->batch, m->m, m->n, m->k, &sides[0].side, &sides[1].side, &end.sink};
  gemm_run(&problem, k->threads, k->scratch);
  return OK;
}

#define TS_MATMUL (TS_FLOAT | TS(INT32) | TS(INT64) | TS(UINT32) | TS(UINT64))
#define MATMUL_FUNCTIONS .infer = matmul_op_infer, .prepare = matmul_prepare, .dispose = matmul_dispose, .specialise = matmul_specialise, \
  .dispose_spec = matmul_dispose_spec, .run = matmul_run

OP_FAMILY(matmul) = {
  {.name = "MatMul", .since = 1, .signature = "A:T B:T -> Y:T", .T = TS_MATMUL, MATMUL_FUNCTIONS, .data = &matmul_plain},
  /* The attribute `broadcast` of before 7 allows what every later version does. */
  {.name = "Gemm", .since = 1, .signature = "A:T B:T C:T -> Y:T", .T = TS_FLOAT, MATMUL_FUNCTIONS, .data = &matmul_gemm},
  {.name = "Gemm", .since = 7, .signature = "A:T B:T C:T? -> Y:T", .T = TS_MATMUL, MATMUL_FUNCTIONS, .data = &matmul_gemm},
  {.name = "FusedMatMul", .domain = "com.microsoft", .since = 1, .signature = "A:T B:T -> Y:T", .T = TS_FLOAT, MATMUL_FUNCTIONS, .data = &matmul_scaled},
  {.name = "TransposeMatMul", .domain = "com.microsoft", .since = 1, .signature = "A:T B:T -> Y:T", .T = TS_FLOAT, MATMUL_FUNCTIONS, .data = &matmul_scaled},
  {.name = "FusedGemm", .domain = "com.microsoft", .since = 1, .signature = "A:T B:T C:T? -> Y:T", .T = TS_MATMUL, MATMUL_FUNCTIONS,
   .data = &matmul_fused_gemm},
  {.name = "FusedMatMul", .domain = "ortcore", .since = 1, .signature = "A:T B:T bias:T? Z:T? -> Y:T", .T = TS_FLOAT, MATMUL_FUNCTIONS,
   .data = &matmul_fused},
  {0}};
