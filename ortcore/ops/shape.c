/* Shape and Size: the dims of a tensor as data. */
#include <ortcore/ops/movement.h>

typedef struct shape_params { int64_t start, end; } shape_params;

static void shape_range(const node *n, shape_params *p) {
  p->start = attr_int_or(n, "start", 0);
  p->end = attr_int_or(n, "end", INT64_MAX);
}

static status shape_prepare(prepare_ctx *c, void **out_params) {
  shape_params *p = ZONE_NEW(c->memory, shape_params);
  if (!p) return status_out_of_memory();
  shape_range(c->node, p);
  *out_params = p;
  return OK;
}

/* Start and end count from the back if negative and are clamped, as a Python slice does. */
static void shape_clamp(const shape_params *p, int rank, int *out_begin, int64_t *out_count) {
  int64_t begin = p->start < 0 ? p->start + rank : p->start, end = p->end < 0 ? p->end + rank : p->end;
  begin = begin < 0 ? 0 : begin > rank ? rank : begin;
  end = end < 0 ? 0 : end > rank ? rank : end;
  *out_begin = (int)begin;
  *out_count = end > begin ? end - begin : 0;
}

static status shape_infer(infer_ctx *c) {
  dim count = DIM_UNKNOWN;
  shape_params p;
  shape_range(c->node, &p);
  if (c->in[0]->rank != RANK_UNKNOWN) shape_clamp(&p, c->in[0]->rank, &(int){0}, &count);
  fact_set_shape(c->out[0], 1, &count);
  return OK;
}

static status shape_run(kernel_ctx *k) {
  int begin;
  int64_t count;
  tensor *out;
  shape_clamp(k->params, k->in[0]->rank, &begin, &count);
  TRY(kernel_output(k, 0, 1, &count, &out));
  if (out) for (int64_t i = 0; i < count; ++i) ((int64_t *)out->data)[i] = k->in[0]->dims[begin + i];
  return OK;
}

static status size_infer(infer_ctx *c) {
  fact_set_shape(c->out[0], 0, NULL);
  return OK;
}

static status size_run(kernel_ctx *k) {
  tensor *out;
  TRY(kernel_output(k, 0, 0, NULL, &out));
  if (out) *(int64_t *)out->data = k->in[0]->count;
  return OK;
}

OP_FAMILY(shape) = {
  {.name = "Shape", .since = 1, .signature = "data:T -> shape:i64", .T = TS_ALL, .flags = OP_SHAPE_ONLY, .infer = shape_infer,
   .prepare = shape_prepare, .run = shape_run},
  {.name = "Shape", .since = 15, .signature = "data:T -> shape:i64", .T = TS_ALL, .flags = OP_SHAPE_ONLY, .infer = shape_infer,
   .prepare = shape_prepare, .run = shape_run},
  {.name = "Size", .since = 1, .signature = "data:T -> size:i64", .T = TS_ALL, .flags = OP_SHAPE_ONLY, .infer = size_infer,
   .run = size_run},
  {0}};
