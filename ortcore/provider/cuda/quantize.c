/* QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear. The first two are elementwise programs over x, scale and zero point. */
#include <ortcore/kernels/cuda/quantize.h>
#include <ortcore/ops/params/quantize.h>
#include <ortcore/provider/cuda/pointwise.h>
#include <string.h>

#define QUANTISED (TS(INT8) | TS(UINT8) | TS(INT16) | TS(UINT16))

/* Scales and zero points lie over x as [outer, blocks, elements of a block, inner]. */
static status set_granularity(const specialise_ctx *c, pointwise *p, const granularity *g) {
  cuda_elementwise *e = &p->launch;
  if (g->cut)
    return ERROR(NOT_IMPLEMENTED, "the axis of %lld elements is no multiple of block_size %lld: the GPU's kernels take whole blocks only", (long long)g->axis_dim,
                 (long long)g->dims[2]);
  p->shaped = true;
  e->rank = 4;
  memcpy(e->dims, g->dims, sizeof g->dims);
  for (int i = 0; i < e->what.inputs; ++i) {
    if (p->sources[i]) {
      memcpy(e->in[i].steps, g->scale_strides, sizeof g->scale_strides);
    } else {
      for (int64_t d = 3, step = 1; d >= 0; step *= g->dims[d--]) e->in[i].steps[d] = step;
    }
  }
  (void)c;
  return OK;
}

static status quantize_recipe(const specialise_ctx *c, pointwise *p) {
  const quantize_op *op = c->params;
  const tensor *zero = c->in_count > 2 ? c->in[2] : NULL;
  granularity g;
  TRY(zero_point_check(c->in[1], zero));
  TRY(granularity_of(op, c->in[0], c->in[1], &g));
  p->compute = ORTC_FLOAT;
  int x = pointwise_operand(c, p, 0), scale = pointwise_operand(c, p, 1), point = zero ? pointwise_operand(c, p, 2) : FROM_NOWHERE;
  if (op->quantizes) {
    program_append(&p->launch.what, PROGRAM_Div, x, scale, FROM_NOWHERE);
    if (op->precision == ORTC_FLOAT16) program_append(&p->launch.what, PROGRAM_RoundToFloat16, FROM_LAST, FROM_NOWHERE, FROM_NOWHERE);
    if (op->precision == ORTC_BFLOAT16) program_append(&p->launch.what, PROGRAM_RoundToBfloat16, FROM_LAST, FROM_NOWHERE, FROM_NOWHERE);
    program_append(&p->launch.what, PROGRAM_Round, FROM_LAST, FROM_NOWHERE, FROM_NOWHERE);
    if (zero) program_append(&p->launch.what, PROGRAM_Add, FROM_LAST, point, FROM_NOWHERE);
    program_step *bound = program_append(&p->launch.what, PROGRAM_Bound, FROM_LAST, FROM_NOWHERE, FROM_NOWHERE);
    bound->p = op->bounds.low;
    bound->q = op->bounds.high;
  } else {
    if (zero) program_append(&p->launch.what, PROGRAM_Sub, x, point, FROM_NOWHERE);
    program_append(&p->launch.what, PROGRAM_Mul, zero ? FROM_LAST : x, scale, FROM_NOWHERE);
  }
  return set_granularity(c, p, &g);
}

static const pointwise_row quantize = {quantize_recipe};

/* Blocks that are known to fit, if there are blocks. */
static bool blocks_fit(const node *n, const fact *x) {
  int64_t block = attr_int_or(n, "block_size", 0), axis = attr_int_or(n, "axis", 1);
  if (block == 0) return true;
  if (x->rank < 1 || axis < -x->rank || axis >= x->rank) return false;
  dim length = x->dims[axis < 0 ? axis + x->rank : axis];
  return dim_known(length) && length % block == 0;
}

static bool is_number(const fact *f) { return f && typeset_has(TS(FLOAT) | TS_HALF, f->type); }

static bool quantize_supports(const node *n, const fact *const *in) {
  const fact *zero = n->input_count > 2 ? in[2] : NULL;
  dtype result = zero ? zero->type : (dtype)attr_int_or(n, "output_dtype", ORTC_UINT8);
  return is_number(in[1]) && typeset_has(QUANTISED, result) && blocks_fit(n, in[0]) && pointwise_supports(n, in);
}

static bool dequantize_supports(const node *n, const fact *const *in) { return is_number(in[1]) && blocks_fit(n, in[0]) && pointwise_supports(n, in); }

/* ---- DynamicQuantizeLinear ---- */

static status dynamic_specialise(specialise_ctx *c, void **out_spec) {
  *out_spec = NULL;
  c->scratch_bytes = CUDA_RANGE_BYTES;
  return OK;
}

static status dynamic_launch(kernel_ctx *k, stream *on) {
  const tensor *x = k->in[0];
  tensor *y, *scale, *zero;
  TRY(kernel_output_like(k, 0, x, &y));
  TRY(kernel_output(k, 1, 0, NULL, &scale));
  TRY(kernel_output(k, 2, 0, NULL, &zero));
  return cuda_launched(cuda_dynamic_quantize(x->data, x->count, false, y ? y->data : NULL, scale ? scale->data : NULL, zero ? zero->data : NULL, k->scratch,
                                             cuda_raw(on)));
}

#define QUANTIZE(where, first) \
  {.op = "QuantizeLinear", .domain = where, .since = first, .types = TS(FLOAT) | TS_HALF | TS(INT32), .supports = quantize_supports, POINTWISE_FUNCTIONS, \
   .data = &quantize}
#define DEQUANTIZE(where, first) \
  {.op = "DequantizeLinear", .domain = where, .since = first, .types = QUANTISED | TS(INT32), .supports = dequantize_supports, POINTWISE_FUNCTIONS, \
   .data = &quantize}

KERNEL_FAMILY(quantize) = {
  QUANTIZE(NULL, 10), QUANTIZE("com.microsoft", 1), DEQUANTIZE(NULL, 10), DEQUANTIZE("com.microsoft", 1),
  {.op = "DynamicQuantizeLinear", .since = 11, .types = TS(FLOAT), .specialise = dynamic_specialise, .launch = dynamic_launch},
  {0}};
