/* Arithmetic on two or more tensors, which broadcast. */
#include <ortcore/ops/elementwise.h>
#include <string.h>

static status mod_prepare(prepare_ctx *c, void **out_params) {
  int64_t fmod = attr_int_or(c->node, "fmod", 0);
  if (fmod != 0 && fmod != 1) return ERROR(INVALID_GRAPH, "attribute 'fmod' of Mod is %lld; it must be 0 or 1", (long long)fmod);
  elementwise_step *s;
  TRY(elementwise_step_make(c, fmod ? "ModTrunc" : "ModFloor", &s));
  *out_params = s;
  return OK;
}

static status shift_prepare(prepare_ctx *c, void **out_params) {
  text direction = attr_string_or(c->node, "direction", "");
  bool left = !strcmp(direction.data, "LEFT");
  if (!left && strcmp(direction.data, "RIGHT"))
    return ERROR(INVALID_GRAPH, "attribute 'direction' of BitShift is '%s'; it must be 'LEFT' or 'RIGHT'", direction.data);
  elementwise_step *s;
  TRY(elementwise_step_make(c, left ? "ShiftLeft" : "ShiftRight", &s));
  *out_params = s;
  return OK;
}

/* ---- Pow: base and exponent may differ in type; the result has the base's ---- */

static const char *kernel_of_power(double exponent) {
  return exponent == 2 ? "Square" : exponent == 3 ? "Cube" : exponent == 0.5 ? "SquareRoot" : exponent == -1 ? "Reciprocal" : NULL;
}

static status pow_prepare(prepare_ctx *c, void **out_params) {
  pow_params *p = ZONE_NEW(c->memory, pow_params);
  if (!p) return status_out_of_memory();
  dtype base = c->in[0]->type, exponent = c->in[1]->type;
  bool whole = typeset_has(TS_INTEGER, base), whole_exponent = typeset_has(TS_INTEGER, exponent);
  p->general.compute = whole ? whole_exponent ? ORTC_INT64 : ORTC_DOUBLE : elementwise_compute_type(base);
  p->general.kernel = elementwise_find("Pow", p->general.compute);
  double value;
  const fact *e = c->in[1];
  const char *kernel = !whole && e->rank >= 0 && c->in[0]->rank >= e->rank && fact_scalar_f64(e, &value) ? kernel_of_power(value) : NULL;
  p->constant.compute = p->general.compute;
  if (kernel) p->constant.kernel = elementwise_find(kernel, p->constant.compute);
  *out_params = p;
  return OK;
}

static status pow_run(kernel_ctx *k) {
  const pow_params *p = k->params;
  tensor *out;
  int rank;
  int64_t dims[MAX_RANK];
  TRY(broadcast_dims(2, k->in, &rank, dims));
  TRY(kernel_output(k, 0, rank, dims, &out));
  if (!out) return OK;
  return p->constant.kernel ? elementwise_apply(k, &p->constant, 1, k->in, out) : elementwise_apply(k, &p->general, 2, k->in, out);
}

/* ---- Max, Min, Sum, Mean: any number of inputs ---- */

static status variadic_prepare(prepare_ctx *c, void **out_params) {
  TRY(elementwise_prepare(c, out_params));
  ((elementwise_step *)*out_params)->fold = true;
  return OK;
}

static status mean_prepare(prepare_ctx *c, void **out_params) {
  TRY(variadic_prepare(c, out_params));
  elementwise_step *s = *out_params;
  s->finish = elementwise_find("Scale", s->compute);
  s->finish_attrs.p = 1.0 / c->in_count;
  return OK;
}

#define BINARY(op, version, types, how) \
  {.name = #op, .since = version, .signature = "A:T B:T -> C:T", .T = types, .flags = OP_LAYOUT_ANY, .inplace = 3, .infer = infer_broadcast, .prepare = how, \
   .run = elementwise_run}
#define ARITHMETIC(op) \
  BINARY(op, 7, TS_FLOAT_6 | TS_WIDE_INTEGER, elementwise_prepare), BINARY(op, 13, TS_FLOAT | TS_WIDE_INTEGER, elementwise_prepare), \
  BINARY(op, 14, TS_NUMERIC, elementwise_prepare)
#define BITWISE(op) BINARY(op, 18, TS_INTEGER, elementwise_prepare)
/* The first two inputs are read before the result is written, the others after. */
#define VARIADIC(op, version, types, kernel, how) \
  {.name = #op, .since = version, .signature = "data_0:T* -> result:T", .T = types, .flags = OP_LAYOUT_ANY, .inplace = 3, .infer = infer_broadcast, \
   .prepare = how, .run = elementwise_run, .data = kernel}
#define EXTREME(op) \
  VARIADIC(op, 6, TS_FLOAT_6, #op, variadic_prepare), VARIADIC(op, 8, TS_FLOAT_6, #op, variadic_prepare), \
  VARIADIC(op, 12, TS_NUMERIC_12, #op, variadic_prepare), VARIADIC(op, 13, TS_NUMERIC, #op, variadic_prepare)
#define TOTAL(op, how) VARIADIC(op, 6, TS_FLOAT_6, "Add", how), VARIADIC(op, 8, TS_FLOAT_6, "Add", how), VARIADIC(op, 13, TS_FLOAT, "Add", how)
#define POW(version, bases, exponents) \
  {.name = "Pow", .since = version, .signature = "X:T Y:T1 -> Z:T", .T = bases, .T1 = exponents, .flags = OP_LAYOUT_ANY, .inplace = 3, \
   .infer = infer_broadcast, .prepare = pow_prepare, .run = pow_run}
#define PRELU(version, types) \
  {.name = "PRelu", .since = version, .signature = "X:T slope:T -> Y:T", .T = types, .flags = OP_LAYOUT_ANY, .inplace = 1, .prepare = elementwise_prepare, \
   .run = prelu_run}

/* The slope broadcasts to x, not x to the slope. */
static status prelu_run(kernel_ctx *k) {
  const tensor *x = k->in[0], *slope = k->in[1];
  char a[DIMS_TEXT], b[DIMS_TEXT];
  int rank;
  int64_t dims[MAX_RANK];
  tensor *out;
  TRY(broadcast_dims(2, k->in, &rank, dims));
  if (!dims_equal(rank, dims, x->rank, x->dims))
    return ERROR(INVALID_ARGUMENT, "'slope' has shape %s, which does not broadcast to the shape %s of 'X'", dims_format(b, sizeof b, slope->rank, slope->dims),
                 dims_format(a, sizeof a, x->rank, x->dims));
  TRY(kernel_output_like(k, 0, x, &out));
  return out ? elementwise_apply(k, k->params, 2, k->in, out) : OK;
}

/* ---- SwiGLU: swish(A) * B, of equal shapes ---- */

static status swiglu_prepare(prepare_ctx *c, void **out_params) {
  TRY(elementwise_prepare(c, out_params));
  ((elementwise_step *)*out_params)->attrs.p = attr_float_or(c->node, "alpha", 1);
  return OK;
}

static status swiglu_run(kernel_ctx *k) {
  const tensor *a = k->in[0], *b = k->in[1];
  char text_a[DIMS_TEXT], text_b[DIMS_TEXT];
  tensor *out;
  if (!dims_equal(a->rank, a->dims, b->rank, b->dims))
    return ERROR(INVALID_ARGUMENT, "'A' has shape %s and 'B' has %s; they must be equal", dims_format(text_a, sizeof text_a, a->rank, a->dims),
                 dims_format(text_b, sizeof text_b, b->rank, b->dims));
  TRY(kernel_output_like(k, 0, a, &out));
  return out ? elementwise_apply(k, k->params, 2, k->in, out) : OK;
}

OP_FAMILY(binary) = {
  ARITHMETIC(Add), ARITHMETIC(Sub), ARITHMETIC(Mul), ARITHMETIC(Div),
  BINARY(Mod, 10, TS_NUMERIC_12, mod_prepare), BINARY(Mod, 13, TS_NUMERIC, mod_prepare), BINARY(Mod, 28, TS_NUMERIC, mod_prepare),
  POW(7, TS_FLOAT_6, TS_FLOAT_6), POW(12, TS_FLOAT_6 | TS_INDEX, TS_NUMERIC_12), POW(13, TS_FLOAT | TS_INDEX, TS_NUMERIC_12),
  POW(15, TS_FLOAT | TS_INDEX, TS_NUMERIC),
  BITWISE(BitwiseAnd), BITWISE(BitwiseOr), BITWISE(BitwiseXor), BINARY(BitShift, 11, TS_UNSIGNED, shift_prepare),
  BINARY(BitShift, 28, TS_INTEGER, shift_prepare),
  EXTREME(Max), EXTREME(Min), TOTAL(Sum, variadic_prepare), TOTAL(Mean, mean_prepare),
  {.name = "SwiGLU", .since = 28, .signature = "A:T B:T -> Y:T", .T = TS_FLOAT, .flags = OP_LAYOUT_ANY, .inplace = 3, .prepare = swiglu_prepare,
   .run = swiglu_run},
  PRELU(7, TS_FLOAT_6), PRELU(9, TS_FLOAT_6 | TS_WIDE_INTEGER), PRELU(16, TS_FLOAT | TS_WIDE_INTEGER),
  {0}};
