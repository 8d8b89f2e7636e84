/* Products and convolutions of 8-bit integers on a GPU. What tells the operators apart is where their inputs stand. */
#include <ortcore/base/mem.h>
#include <ortcore/kernels/cuda/quantised.h>
#include <ortcore/ops/conv.h>
#include <ortcore/provider/cuda/images.h>
#include <ortcore/provider/cuda/product.h>

/* Places of the inputs, NONE where the operator does not have one. For convolutions A is the image and B are the weights. */
enum { NONE = -1 };
typedef struct quantised_kind { int a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point, bias; } quantised_kind;

static const quantised_kind integer = {0, NONE, 2, 1, NONE, 3, NONE, NONE, NONE};
static const quantised_kind to_float = {0, 2, 4, 1, 3, 5, NONE, NONE, 6}, linear = {0, 1, 2, 3, 4, 5, 6, 7, NONE},
                            linear_conv = {0, 1, 2, 3, 4, 5, 6, 7, 8};

static const tensor *at(const tensor *const *in, int32_t count, int i) { return i >= 0 && i < count ? in[i] : NULL; }

/* Bytes throughout, and scales that are one number or one vector: those of single matrices of a batch run on the CPU. */
static bool quantised_supports(const node *n, const fact *const *in) {
  for (int32_t i = 0; i < n->input_count; ++i) {
    if (!in[i]) continue;
    if (typeset_has(TS_FLOAT8, in[i]->type)) return false;
    bool is_data = typeset_has(TS(INT8) | TS(UINT8), in[i]->type) && in[i]->rank >= 2;
    if (!is_data && (in[i]->rank == RANK_UNKNOWN || in[i]->rank > 1)) return false;
  }
  return !node_is_channels_last(n);
}

static status prepare_kind(prepare_ctx *c, void **out_params) {
  *out_params = (void *)c->data;                            /* static: nothing to dispose of */
  return OK;
}

static status check_vector(const tensor *t, const char *name, int64_t wanted, const char *of) {
  if (!t || t->count == 1 || t->count == wanted) return OK;
  return ERROR(INVALID_ARGUMENT, "input '%s' has %lld elements; it must hold one number or one for each of %lld %s", name,
               (long long)t->count, (long long)wanted, of);
}

/* The scale and zero point of each side and of the result, against rows and columns. */
static status check_vectors(const specialise_ctx *c, int64_t rows, const char *row_name, int64_t columns, const char *column_name) {
  const quantised_kind *k = c->params;
  TRY(check_vector(at(c->in, c->in_count, k->a_scale), "a_scale", rows, row_name));
  TRY(check_vector(at(c->in, c->in_count, k->a_zero_point), "a_zero_point", rows, row_name));
  TRY(check_vector(at(c->in, c->in_count, k->b_scale), "b_scale", columns, column_name));
  TRY(check_vector(at(c->in, c->in_count, k->b_zero_point), "b_zero_point", columns, column_name));
  TRY(check_vector(at(c->in, c->in_count, k->y_scale), "y_scale", 1, "results"));
  return check_vector(at(c->in, c->in_count, k->y_zero_point), "y_zero_point", 1, "results");
}

static cuda_cycle cycle_of(const kernel_ctx *k, int input) {
  const tensor *t = at(k->in, k->in_count, input);
  return t ? (cuda_cycle){t->data, t->type, (int32_t)t->count} : (cuda_cycle){NULL, ORTC_FLOAT, 1};
}

/* ---- Products ------------------------------------------------------------------------------------------------------------------- */

static status product_specialise(specialise_ctx *c, void **out_spec) {
  const quantised_kind *kind = c->params;
  const tensor *a = c->in[kind->a], *bias = at(c->in, c->in_count, kind->bias);
  matmul_shape shape;
  cuda_product product;
  TRY(matmul_shape_read(&shape, a, c->in[kind->b], false, false));
  TRY(product_from_shape(&shape, ORTC_INT32, &product));
  TRY(check_vectors(c, a->rank > 1 ? a->dims[a->rank - 2] : 1, "rows", shape.n, "columns"));
  if (bias && bias->count != shape.n)
    return ERROR(INVALID_ARGUMENT, "input 'bias' has %lld elements; the product has %lld columns", (long long)bias->count,
                 (long long)shape.n);
  cuda_product *spec = mem_alloc(sizeof *spec);
  if (!spec) return status_out_of_memory();
  *spec = product;
  if (spec->batch.rank == 0) spec->batch.count = shape.batch;
  *out_spec = spec;
  return OK;
}

static status product_launch(kernel_ctx *k, stream *s) {
  const quantised_kind *kind = k->params;
  const tensor *a = k->in[kind->a], *b = k->in[kind->b];
  tensor *y;
  TRY(kernel_output_inferred(k, 0, &y));
  if (!y) return OK;
  cuda_quantised_end end = {.out = y->data,
                            .type = y->type,
                            .row_scale = cycle_of(k, kind->a_scale),
                            .column_scale = cycle_of(k, kind->b_scale),
                            .y_scale = cycle_of(k, kind->y_scale),
                            .y_zero_point = cycle_of(k, kind->y_zero_point),
                            .column_bias = cycle_of(k, kind->bias)};
  return cuda_launched(cuda_quantised_product(k->spec, a->data, a->type, cycle_of(k, kind->a_zero_point), b->data, b->type,
                                              cycle_of(k, kind->b_zero_point), &end, cuda_raw(s)));
}

/* ---- Convolutions --------------------------------------------------------------------------------------------------------------- */

static status conv_specialise(specialise_ctx *c, void **out_spec) {
  const quantised_kind *kind = c->params;
  const tensor *x = c->in[kind->a], *w = c->in[kind->b];
  conv_shape s;
  TRY(conv_shape_read(&s, c->node, x, w, false));
  TRY(conv_check_bias(at(c->in, c->in_count, kind->bias), &s));
  TRY(check_vectors(c, 1, "images", s.out_dims[1], "output channels"));
  cuda_conv *spec = MEM_NEW(cuda_conv);
  if (!spec) return status_out_of_memory();
  *spec = (cuda_conv){.type = ORTC_INT32,
                      .images = s.images,
                      .groups = s.groups,
                      .ins = s.ins,
                      .outs = s.outs,
                      .x = images_steps(LAYOUT_PLAIN, x->dims[1], s.w.in),
                      .y = images_steps(LAYOUT_PLAIN, s.out_dims[1], s.w.out)};
  status failure = images_window(&s.w, &spec->window);
  if (failure) mem_free(spec);
  else *out_spec = spec;
  return failure;
}

static status conv_launch(kernel_ctx *k, stream *s) {
  const quantised_kind *kind = k->params;
  const tensor *x = k->in[kind->a], *w = k->in[kind->b], *bias = at(k->in, k->in_count, kind->bias);
  tensor *y;
  TRY(kernel_output_inferred(k, 0, &y));
  if (!y) return OK;
  cuda_quantised_end end = {.out = y->data,
                            .type = y->type,
                            .row_scale = cycle_of(k, kind->b_scale),
                            .column_scale = cycle_of(k, kind->a_scale),
                            .y_scale = cycle_of(k, kind->y_scale),
                            .y_zero_point = cycle_of(k, kind->y_zero_point),
                            .row_bias = bias ? bias->data : NULL};
  return cuda_launched(cuda_quantised_conv(k->spec, w->data, w->type, cycle_of(k, kind->b_zero_point), x->data, x->type,
                                           cycle_of(k, kind->a_zero_point), &end, cuda_raw(s)));
}

#define ROW .types = TS(INT8) | TS(UINT8), .supports = quantised_supports, .prepare = prepare_kind, .dispose_spec = mem_free
#define PRODUCT ROW, .specialise = product_specialise, .launch = product_launch
#define CONV ROW, .specialise = conv_specialise, .launch = conv_launch

KERNEL_FAMILY(quantised) = {
  {.op = "MatMulInteger", .since = 10, PRODUCT, .data = &integer},
  {.op = "QLinearMatMul", .since = 10, PRODUCT, .data = &linear},
  {.op = "MatMulIntegerToFloat", .domain = "com.microsoft", .since = 1, PRODUCT, .data = &to_float},
  {.op = "ConvInteger", .since = 10, CONV, .data = &integer},
  {.op = "QLinearConv", .since = 10, CONV, .data = &linear_conv},
  {0}};
