/* Softmax, LogSoftmax, Hardmax. */
#include <ortcore/base/threads.h>
#include <ortcore/kernels/cpu/softmax.h>
#include <ortcore/ops/float_io.h>
#include <ortcore/ops/params/softmax.h>

static status softmax_prepare(prepare_ctx *c, void **out_params) {
  softmax_params *p = *out_params = ZONE_NEW(c->memory, softmax_params);
  if (!p) return status_out_of_memory();
  p->kind = (softmax_kind)(intptr_t)c->op->data;
  p->flatten = c->op->since < 13;
  p->axis = attr_int_or(c->node, "axis", p->flatten ? 1 : -1);
  return OK;
}

typedef struct work { softmax_fn fn; softmax_kind kind; const void *x; void *y; int64_t n, inner; } work;

static void run_range(void *context, int64_t begin, int64_t end) {
  const work *w = context;
  w->fn(w->kind, w->x, w->y, begin, end, w->n, w->inner);
}

static status softmax_run(kernel_ctx *k) {
  const softmax_params *p = k->params;
  tensor in_copy, out_copy, *out, *result;
  const tensor *x;
  TRY(kernel_output_like(k, 0, k->in[0], &out));
  if (!out || !out->count) return OK;
  TRY(float_input(k, 0, &in_copy, &x));
  TRY(float_output(k, out, &out_copy, &result));
  int axis = 0;
  if (x->rank && !(p->flatten && p->axis == x->rank)) TRY(axis_normalise(p->axis, x->rank, "axis", &axis));
  else axis = x->rank;
  int after = p->flatten ? x->rank : axis + 1;
  work w = {.fn = softmax_for(x->type), .kind = p->kind, .x = x->data, .y = result->data, .n = dims_product(x->dims, axis, after < x->rank ? after : x->rank),
            .inner = after < x->rank ? dims_product(x->dims, after, x->rank) : 1};
  int64_t outer = dims_product(x->dims, 0, axis), each = w.n * w.inner;
  parallel_for(k->threads, outer, each < 8192 ? 8192 / each : 1, run_range, &w);
  float_finish(out, result);
  return OK;
}

#define SOFTMAX(op_name, kind) \
  {.name = op_name, .since = 1, .signature = "input:T -> output:T", .T = TS_FLOAT, .inplace = 1, .prepare = softmax_prepare, .run = softmax_run, \
   .data = (const void *)(intptr_t)kind}, \
  {.name = op_name, .since = 13, .signature = "input:T -> output:T", .T = TS_FLOAT, .inplace = 1, .prepare = softmax_prepare, .run = softmax_run, \
   .data = (const void *)(intptr_t)kind}

OP_FAMILY(softmax) = {
  SOFTMAX("Softmax", SOFTMAX_PLAIN),
  SOFTMAX("LogSoftmax", SOFTMAX_LOG),
  SOFTMAX("Hardmax", SOFTMAX_HARD),
  {0}};
