/* CumSum and CumProd. */
#include <ortcore/base/threads.h>
#include <ortcore/ops/float_io.h>
#include <ortcore/ops/movement.h>
#include <ortcore/ops/params/cumulative.h>

static status cumulative_prepare(prepare_ctx *c, void **out_params) {
  cumulative_params *p = *out_params = ZONE_NEW(c->memory, cumulative_params);
  if (!p) return status_out_of_memory();
  p->exclusive = attr_int_or(c->node, "exclusive", 0);
  p->reverse = attr_int_or(c->node, "reverse", 0);
  p->product = c->op->data != NULL;
  return OK;
}

/* Along one line of n elements, `step` apart. A is what is accumulated: integers wrap in an unsigned type. */
#define LINE(suffix, T, A) \
  static void line_##suffix(const cumulative_params *p, const void *data, void *result, int64_t n, int64_t step) { \
    const T *x = data; \
    T *y = result; \
    A total = p->product ? (A)1 : (A)0; \
    for (int64_t i = 0; i < n; ++i) { \
      int64_t at = (p->reverse ? n - 1 - i : i) * step; \
      A before = total; \
      total = p->product ? (A)(total * (A)x[at]) : (A)(total + (A)x[at]); \
      y[at] = (T)(p->exclusive ? before : total); \
    } \
  }
LINE(f32, float, float)
LINE(f64, double, double)
LINE(w8, uint8_t, uint32_t)
LINE(w16, uint16_t, uint32_t)
LINE(w32, uint32_t, uint32_t)
LINE(w64, uint64_t, uint64_t)

typedef void (*line_fn)(const cumulative_params *, const void *, void *, int64_t, int64_t);

/* Sums and products modulo 2^n do not depend on the sign, so that the width alone decides. */
static line_fn line_for(const tensor *t) {
  if (t->type == ORTC_FLOAT) return line_f32;
  if (t->type == ORTC_DOUBLE) return line_f64;
  switch (tensor_width(t)) {
    case 1: return line_w8;
    case 2: return line_w16;
    case 4: return line_w32;
    default: return line_w64;
  }
}

static status cumulative_run(kernel_ctx *k) {
  const cumulative_params *p = k->params;
  tensor in_copy, out_copy, *out, *work;
  const tensor *x, *axis_input = k->in[1];
  int axis;
  TRY(kernel_output_like(k, 0, k->in[0], &out));
  if (axis_input->count != 1) return ERROR(INVALID_ARGUMENT, "axis must be one integer, but has %lld elements", (long long)axis_input->count);
  TRY(axis_normalise(integer_at(axis_input, 0), k->in[0]->rank, "axis", &axis));
  TRY(float_input(k, 0, &in_copy, &x));
  TRY(float_output(k, out, &out_copy, &work));
  int64_t n = x->dims[axis], inner = dims_product(x->dims, axis + 1, x->rank), outer = dims_product(x->dims, 0, axis), width = tensor_width(x);
  line_fn line = line_for(x);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      int64_t at = (o * n * inner + i) * width;
      line(p, (const char *)x->data + at, (char *)work->data + at, n, inner);
    }
  float_finish(out, work);
  return OK;
}

#define CUMULATIVE(op_name, since_version, product) \
  {.name = op_name, .since = since_version, .signature = "x:T axis:T1 -> y:T", .T = TS_NUMERIC, .T1 = TS_INDEX, .prepare = cumulative_prepare, .run = cumulative_run, .data = product}

OP_FAMILY(cumulative) = {
  CUMULATIVE("CumSum", 11, NULL),
  CUMULATIVE("CumProd", 26, ""),
  {0}};
