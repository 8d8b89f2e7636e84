/* MaxPool, AveragePool, LpPool, and their global forms. */
#include "window_read.h"

#include <ortcore/base/mem.h>
#include <ortcore/kernels/cpu/pool.h>
#include <string.h>

typedef struct pool_kind { pool_op op; bool global; } pool_kind;

typedef struct pool_spec {
  window w;
  int64_t out_dims[2 + SPATIAL];
  int32_t *tables[SPATIAL], *counts[SPATIAL];
} pool_spec;

static status pool_infer(infer_ctx *c) {
  bool last = node_is_channels_last(c->node);
  const fact image = image_fact(c->in[0], last), *x = &image;
  window_attrs a;
  int rank;
  dim dims[2 + SPATIAL];
  TRY(window_spatial_rank(x, "X", &rank));
  TRY(window_attrs_pool(c->node, rank, &a));
  if (rank == 0) return OK;
  TRY(window_slide(&a, x->dims + 2, dims + 2, NULL));
  dims[0] = x->dims[0], dims[1] = x->dims[1];
  image_dims(last, rank + 2, dims);
  for (int i = 0; i < 2 && i < c->out_count; ++i)
    if (c->out[i]) fact_set_shape(c->out[i], rank + 2, dims);
  return OK;
}

static status global_infer(infer_ctx *c) {
  const fact *x = c->in[0];
  if (!c->out[0] || x->rank == RANK_UNKNOWN) return OK;
  if (x->rank < 3) return ERROR(INVALID_ARGUMENT, "input 'X' has rank %d; it must be [N, C, spatial...]", x->rank);
  fact_copy_shape(c->out[0], x);
  int first = node_is_channels_last(c->node) ? 1 : 2;
  for (int i = 0; i < x->rank - 2; ++i) c->out[0]->dims[first + i] = 1;
  return OK;
}

static void pool_dispose_spec(void *spec) {
  pool_spec *s = spec;
  for (int i = 0; i < SPATIAL; ++i) {
    mem_free(s->tables[i]);
    mem_free(s->counts[i]);
  }
  mem_free(s);
}

/* Taps that an average counts at each output position of an axis: those inside the input, or inside the input and its pads. */
static void count_taps(const window *w, int axis, bool pads_count, int32_t *counts) {
  int64_t low = pads_count ? -w->begin[axis] : 0, high = w->in[axis] + (pads_count ? w->end[axis] : 0);
  for (int64_t o = 0; o < w->out[axis]; ++o)
    for (int64_t k = 0; k < w->kernel[axis]; ++k) {
      int64_t i = o * w->stride[axis] - w->begin[axis] + k * w->dilation[axis];
      counts[o] += i >= low && i < high;
    }
}

static status specialise(specialise_ctx *c, pool_spec *s) {
  const tensor image = image_tensor(c->in[0], node_is_channels_last(c->node)), *x = &image;
  window_attrs a;
  bool pads_count = attr_int_or(c->node, "count_include_pad", 0) != 0;
  TRY(window_attrs_pool(c->node, x->rank - 2, &a));
  TRY(window_slide(&a, x->dims + 2, s->out_dims + 2, &s->w));
  s->out_dims[0] = x->dims[0], s->out_dims[1] = x->dims[1];
  for (int i = 0; i < SPATIAL; ++i) {
    s->tables[i] = mem_calloc((size_t)s->w.kernel[i], (size_t)s->w.out[i] * sizeof(int32_t));
    s->counts[i] = mem_calloc((size_t)s->w.out[i], sizeof(int32_t));
    if (!s->tables[i] || !s->counts[i]) return status_out_of_memory();
    window_axis_table(&s->w, i, false, s->tables[i]);
    count_taps(&s->w, i, pads_count, s->counts[i]);
  }
  return OK;
}

static status pool_specialise(specialise_ctx *c, void **out_spec) {
  pool_spec *s = MEM_NEW(pool_spec);
  if (!s) return status_out_of_memory();
  status failure = specialise(c, s);
  if (failure) pool_dispose_spec(s);
  else *out_spec = s;
  return failure;
}

static pool pool_of(const kernel_ctx *k, const tensor *x) {
  const pool_kind *kind = k->node->op->data;
  const attr *p = attr_find(k->node, "p");
  pool q = {.op = kind->op, .type = x->type, .order = x->order, .images = x->dims[0], .channels = x->dims[1],
            .p = !p ? 2 : p->kind == ATTR_FLOAT ? p->f : (float)p->i};
  return q;
}

static status pool_op_run(kernel_ctx *k) {
  const pool_spec *s = k->spec;
  bool last = node_is_channels_last(k->node);
  const tensor image = image_tensor(k->in[0], last), *x = &image;
  pool q = pool_of(k, x);
  q.w = &s->w;
  for (int i = 0; i < SPATIAL; ++i) q.tables[i] = s->tables[i], q.counts[i] = s->counts[i];
  q.column_major = attr_int_or(k->node, "storage_order", 0) != 0;
  tensor *y, *indices = NULL;
  int64_t dims[2 + SPATIAL];
  memcpy(dims, s->out_dims, sizeof dims);
  image_dims(last, x->rank, dims);
  TRY(kernel_output(k, 0, x->rank, dims, &y));
  if (k->out_count > 1 && kernel_wants(k, 1)) TRY(kernel_output(k, 1, x->rank, dims, &indices));
  if (!y || y->count == 0) return OK;
  pool_run(&q, x->data, y->data, indices ? indices->data : NULL, k->threads);
  return OK;
}

static status global_run(kernel_ctx *k) {
  bool last = node_is_channels_last(k->node);
  const tensor image = image_tensor(k->in[0], last), *x = &image;
  pool q = pool_of(k, x);
  int64_t dims[MAX_RANK];
  for (int i = 0; i < x->rank; ++i) dims[i] = i < 2 ? x->dims[i] : 1;
  image_dims(last, x->rank, dims);
  tensor *y;
  TRY(kernel_output(k, 0, x->rank, dims, &y));
  if (!y || y->count == 0) return OK;
  pool_global(&q, dims_product(x->dims, 2, x->rank), x->data, y->data, k->threads);
  return OK;
}

/* p = 0 and below have no meaning as a norm. */
static status lp_prepare(prepare_ctx *c, void **out_params) {
  const attr *p = attr_find(c->node, "p");
  *out_params = NULL;
  if (p && (p->kind == ATTR_FLOAT ? p->f > 0 : p->i > 0)) return OK;
  return p ? ERROR(INVALID_ARGUMENT, "attribute 'p' must be positive") : OK;
}

static const pool_kind max_pool = {POOL_MAX, false}, average_pool = {POOL_AVERAGE, false}, lp_pool = {POOL_LP, false};
static const pool_kind global_max = {POOL_MAX, true}, global_average = {POOL_AVERAGE, true}, global_lp = {POOL_LP, true};

#define POOL_FUNCTIONS .infer = pool_infer, .specialise = pool_specialise, .dispose_spec = pool_dispose_spec, .run = pool_op_run
#define GLOBAL_FUNCTIONS .infer = global_infer, .run = global_run
#define TS_MAX_POOL (TS_FLOAT | TS(INT8) | TS(UINT8))

OP_FAMILY(pool) = {
  {.name = "MaxPool", .since = 1, .signature = "X:T -> Y:T", .T = TS_MAX_POOL, POOL_FUNCTIONS, .data = &max_pool},
  {.name = "MaxPool", .since = 8, .signature = "X:T -> Y:T Indices:i64?", .T = TS_MAX_POOL, POOL_FUNCTIONS, .data = &max_pool},
  {.name = "AveragePool", .since = 1, .signature = "X:T -> Y:T", .T = TS_FLOAT, POOL_FUNCTIONS, .data = &average_pool},
  {.name = "LpPool", .since = 1, .signature = "X:T -> Y:T", .T = TS_FLOAT, POOL_FUNCTIONS, .prepare = lp_prepare, .data = &lp_pool},
  {.name = "GlobalMaxPool", .since = 1, .signature = "X:T -> Y:T", .T = TS_FLOAT, GLOBAL_FUNCTIONS, .data = &global_max},
  {.name = "GlobalAveragePool", .since = 1, .signature = "X:T -> Y:T", .T = TS_FLOAT, GLOBAL_FUNCTIONS, .data = &global_average},
  {.name = "GlobalLpPool", .since = 1, .signature = "X:T -> Y:T", .T = TS_FLOAT, GLOBAL_FUNCTIONS, .prepare = lp_prepare, .data = &global_lp},
  /* What the layout pass makes: images [N, spatial..., C], no indices. */
  {.name = "MaxPool", .domain = "ortcore", .since = 1, .signature = "X:T -> Y:T", .T = TS_MAX_POOL, POOL_FUNCTIONS, .data = &max_pool},
  {.name = "AveragePool", .domain = "ortcore", .since = 1, .signature = "X:T -> Y:T", .T = TS_FLOAT, POOL_FUNCTIONS, .data = &average_pool},
  {.name = "LpPool", .domain = "ortcore", .since = 1, .signature = "X:T -> Y:T", .T = TS_FLOAT, POOL_FUNCTIONS, .prepare = lp_prepare,
   .data = &lp_pool},
  {.name = "GlobalMaxPool", .domain = "ortcore", .since = 1, .signature = "X:T -> Y:T", .T = TS_FLOAT, GLOBAL_FUNCTIONS, .data = &global_max},
  {.name = "GlobalAveragePool", .domain = "ortcore", .since = 1, .signature = "X:T -> Y:T", .T = TS_FLOAT, GLOBAL_FUNCTIONS, .data = &global_average},
  {.name = "GlobalLpPool", .domain = "ortcore", .since = 1, .signature = "X:T -> Y:T", .T = TS_FLOAT, GLOBAL_FUNCTIONS, .prepare = lp_prepare,
   .data = &global_lp},
  {0}};
