/* Operators about truth: comparisons, And, Or, Xor, IsNaN, IsInf; and Where and Clip, which choose. */
#include <ortcore/ops/elementwise.h>
#include <ortcore/value/string.h>
#include <float.h>
#include <string.h>

/* ---- Comparisons. Equal takes strings too ---- */

static void equal_text(void *y, const void *const *x, int64_t n, unsigned repeated, const void *params) {
  (void)params, (void)repeated;
  rcstr *const *a = x[0], *const *b = x[1];
  for (int64_t i = 0; i < n; ++i)
    ((uint8_t *)y)[i] = rcstr_bytes(a[i]) == rcstr_bytes(b[i]) && !memcmp(rcstr_text(a[i]), rcstr_text(b[i]), rcstr_bytes(a[i]));
}

static status compare_prepare(prepare_ctx *c, void **out_params) {
  static const elementwise texts = {"Equal", equal_text, GRAIN_FUNCTION, 0};
  if (c->in[0]->type != ORTC_STRING) return elementwise_prepare(c, out_params);
  elementwise_step *s = *out_params = ZONE_NEW(c->memory, elementwise_step);
  if (!s) return status_out_of_memory();
  *s = (elementwise_step){.kernel = &texts, .compute = ORTC_STRING, .truth = true};
  return OK;
}

static status isinf_prepare(prepare_ctx *c, void **out_params) {
  TRY(elementwise_prepare(c, out_params));
  elementwise_step *s = *out_params;
  s->attrs = (elementwise_params){(double)attr_int_or(c->node, "detect_negative", 1), (double)attr_int_or(c->node, "detect_positive", 1)};
  return OK;
}

/* ---- Where: elements are moved, whatever they are ---- */

static status where_run(kernel_ctx *k) {
  tensor *out;
  int rank;
  int64_t dims[MAX_RANK];
  TRY(broadcast_dims(3, k->in, &rank, dims));
  TRY(kernel_output(k, 0, rank, dims, &out));
  if (!out) return OK;
  int width = tensor_width(out);
  operand in[3];
  elementwise kernel = {"Where", elementwise_where(width), GRAIN_CHEAP, 0};
  broadcast b = {.count = 3, .in = in, .kernel = &kernel, .compute_width = width, .out = out->data, .out_width = width};
  broadcast_shape(&b, rank, dims);
  for (int i = 0; i < 3; ++i) broadcast_operand(&b, i, k->in[i], NULL);
  broadcast_run(k->threads, &b);
  if (out->type == ORTC_STRING) rcstr_retain_n(out->data, out->count);
  return OK;
}

/* ---- Clip: bounds are attributes up to opset 10, then optional inputs ---- */

static status clip_prepare(prepare_ctx *c, void **out_params) {
  clip_params *p = ZONE_NEW(c->memory, clip_params);
  if (!p) return status_out_of_memory();
  p->step.compute = elementwise_compute_type(c->in[0]->type);
  p->step.kernel = elementwise_find("Clip", p->step.compute);
  p->by_attributes = c->op->since < 11;
  p->low = attr_float_or(c->node, "min", -FLT_MAX);
  p->high = attr_float_or(c->node, "max", FLT_MAX);
  *out_params = p;
  return OK;
}

/* The least (end 0) or largest (end 1) finite value of a type, as its kernel computes: what a missing bound is. */
static void limit_of(dtype type, int end, void *out) {
#define LIMIT(id, ctype, least, most) \
  case ORTC_##id: { \
    ctype v = end ? (most) : (least); \
    memcpy(out, &v, sizeof v); \
    break; \
  }
  switch (type) {
    LIMIT(INT8, int8_t, INT8_MIN, INT8_MAX) LIMIT(INT16, int16_t, INT16_MIN, INT16_MAX) LIMIT(INT32, int32_t, INT32_MIN, INT32_MAX)
    LIMIT(INT64, int64_t, INT64_MIN, INT64_MAX) LIMIT(UINT8, uint8_t, 0, UINT8_MAX) LIMIT(UINT16, uint16_t, 0, UINT16_MAX)
    LIMIT(UINT32, uint32_t, 0, UINT32_MAX) LIMIT(UINT64, uint64_t, 0, UINT64_MAX)
    LIMIT(DOUBLE, double, -DBL_MAX, DBL_MAX) LIMIT(FLOAT16, float, -65504.0f, 65504.0f) LIMIT(BFLOAT16, float, -0x1.fep127f, 0x1.fep127f)
    default:
      LIMIT(FLOAT, float, -FLT_MAX, FLT_MAX)
  }
#undef LIMIT
}

static status clip_run(kernel_ctx *k) {
  const clip_params *p = k->params;
  static const char *const names[] = {"min", "max"};
  uint64_t value[2];
  tensor bound[2], *out;
  const tensor *in[3] = {k->in[0], &bound[0], &bound[1]};
  for (int i = 0; i < 2; ++i) {
    limit_of(k->in[0]->type, i, &value[i]);
    if (p->by_attributes) {
      float given = i ? p->high : p->low;
      if (p->step.compute == ORTC_FLOAT) memcpy(&value[i], &given, sizeof given);
      else memcpy(&value[i], &(double){given}, sizeof(double));
    }
    TRY(tensor_init(&bound[i], p->step.compute, 0, NULL));
    bound[i].data = &value[i];
    if (i + 1 >= k->in_count || !k->in[i + 1]) continue;
    in[i + 1] = k->in[i + 1];
    if (in[i + 1]->count != 1) {
      char dims[DIMS_TEXT];
      return ERROR(INVALID_ARGUMENT, "'%s' must be one number, but has shape %s", names[i], dims_format(dims, sizeof dims, in[i + 1]->rank, in[i + 1]->dims));
    }
    bound[i].type = in[i + 1]->type;                       /* rank 0, so that a shape [1] does not add a dim to a scalar input */
    bound[i].data = in[i + 1]->data;
    in[i + 1] = &bound[i];
  }
  TRY(kernel_output_like(k, 0, k->in[0], &out));
  return out ? elementwise_apply(k, &p->step, 3, in, out) : OK;
}

#define COMPARE(op, version, types) \
  {.name = #op, .since = version, .signature = "A:T B:T -> C:bool", .T = types, .flags = OP_LAYOUT_ANY, .inplace = 3, .infer = infer_broadcast, \
   .prepare = compare_prepare, .run = elementwise_run}
#define ORDER(op) COMPARE(op, 7, TS_FLOAT_6), COMPARE(op, 9, TS_NUMERIC_12), COMPARE(op, 13, TS_NUMERIC)
#define ORDER_OR_EQUAL(op) COMPARE(op, 12, TS_NUMERIC_12), COMPARE(op, 16, TS_NUMERIC)
#define TRUTH(op) \
  {.name = #op, .since = 7, .signature = "A:bool B:bool -> C:bool", .flags = OP_LAYOUT_ANY, .inplace = 3, .infer = infer_broadcast, \
   .prepare = elementwise_prepare, .run = elementwise_run}
#define TEST(op, version, types, how) \
  {.name = #op, .since = version, .signature = "X:T1 -> Y:bool", .T1 = types, .flags = OP_LAYOUT_ANY, .prepare = how, .run = elementwise_run}
#define WHERE(version, types) \
  {.name = "Where", .since = version, .signature = "condition:bool X:T Y:T -> output:T", .T = types, .flags = OP_LAYOUT_ANY, .inplace = 6, \
   .infer = infer_broadcast, .run = where_run}
#define CLIP(version, types, inputs) \
  {.name = "Clip", .since = version, .signature = "input:T " inputs "-> output:T", .T = types, .flags = OP_LAYOUT_ANY, .inplace = 1, .prepare = clip_prepare, \
   .run = clip_run}

OP_FAMILY(logic) = {
  COMPARE(Equal, 7, TS(BOOL) | TS_INDEX), COMPARE(Equal, 11, TS_NUMERIC_12 | TS(BOOL)), COMPARE(Equal, 13, TS_NUMERIC | TS(BOOL)),
  COMPARE(Equal, 19, TS_NUMERIC | TS(BOOL) | TS(STRING)),
  ORDER(Less), ORDER(Greater), ORDER_OR_EQUAL(LessOrEqual), ORDER_OR_EQUAL(GreaterOrEqual),
  TRUTH(And), TRUTH(Or), TRUTH(Xor),
  TEST(IsNaN, 9, TS_FLOAT_6, elementwise_prepare), TEST(IsNaN, 13, TS_FLOAT, elementwise_prepare), TEST(IsNaN, 20, TS_FLOAT | TS_FLOAT8, elementwise_prepare),
  TEST(IsInf, 10, TS(FLOAT) | TS(DOUBLE), isinf_prepare), TEST(IsInf, 20, TS_FLOAT | TS_FLOAT8, isinf_prepare),
  WHERE(9, (TS_NUMERIC_12 | TS(BOOL) | TS_COMPLEX | TS(STRING))), WHERE(16, (TS_NUMERIC | TS(BOOL) | TS_COMPLEX | TS(STRING))),
  CLIP(6, TS_FLOAT_6, ""), CLIP(11, TS_FLOAT_6, "min:T? max:T? "), CLIP(12, TS_NUMERIC_12, "min:T? max:T? "), CLIP(13, TS_NUMERIC, "min:T? max:T? "),
  {0}};
