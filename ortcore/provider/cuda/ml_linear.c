/* LinearClassifier and LinearRegressor: a product, and where scores are more than that a kernel that finishes the rows. */
#include <ortcore/base/mem.h>
#include <ortcore/kernels/cuda/ml_linear.h>
#include <ortcore/kernels/cuda/product.h>
#include <ortcore/ops/ml_params.h>
#include <ortcore/provider/cuda/ml.h>

typedef struct linear_tables {
  ml_params ml;                                            /* first */
  size_t coefficients, intercepts, labels;
} linear_tables;

/* Scratch: X as floats unless it is, the products unless they are the scores, then what the product needs. */
typedef struct linear_spec { cuda_product product; size_t floats, products; } linear_spec;

static status linear_prepare(prepare_ctx *c, void **out_params) {
  TRY(ml_read(c, sizeof(linear_tables), out_params));
  linear_tables *p = *out_params;
  const linear_params *op = p->ml.of_op;
  int64_t count = op->outputs * op->features;
  p->coefficients = ml_table(&p->ml, count, sizeof(float));
  p->intercepts = ml_table(&p->ml, op->intercepts ? op->outputs : 0, sizeof(float));
  p->labels = ml_table(&p->ml, op->classes.count, sizeof(int64_t));
  TRY(ml_allocate(c, &p->ml));
  ml_fill(&p->ml, p->coefficients, op->coefficients, count, sizeof(float));
  ml_fill(&p->ml, p->intercepts, op->intercepts, op->intercepts ? op->outputs : 0, sizeof(float));
  ml_fill(&p->ml, p->labels, op->classes.ints, op->classes.count, sizeof(int64_t));
  return OK;
}

static status plan_product(specialise_ctx *c, linear_spec *s) {
  const linear_tables *p = c->params;
  const linear_params *op = p->ml.of_op;
  cuda_features x;
  TRY(ml_features(c->in[0], &x));
  if (x.columns > op->features)
    return ERROR(INVALID_ARGUMENT, "X has %lld features, but the coefficients are for %lld", (long long)x.columns, (long long)op->features);
  if (x.rows > INT32_MAX || op->outputs > INT32_MAX || x.columns > INT32_MAX)
    return ERROR(NOT_IMPLEMENTED, "%lld rows of %lld features for %lld outputs are too large for a GPU: sides of a product are below 2^31",
                 (long long)x.rows, (long long)x.columns, (long long)op->outputs);
  s->product = (cuda_product){.type = ORTC_FLOAT, .m = x.rows, .n = op->outputs, .k = x.columns, .a_row = x.columns, .a_inner = 1, .b_inner = 1,
                              .b_column = x.columns, .c_row = op->outputs, .c_column = 1, .batch.count = 1,
                              .end = {.alpha = 1, .beta = op->intercepts != NULL, .bias_column = 1}};
  cuda_product_plan(&s->product, cuda_processors());
  s->floats = x.type == ORTC_FLOAT ? 0 : ((size_t)(x.rows * x.columns) * sizeof(float) + 255) / 256 * 256;
  s->products = ((size_t)(x.rows * op->outputs) * sizeof(float) + 255) / 256 * 256;
  c->scratch_bytes = s->floats + s->products + s->product.scratch_bytes;
  return OK;
}

static status linear_specialise(specialise_ctx *c, void **out_spec) {
  linear_spec *s = MEM_NEW(linear_spec);
  if (!s) return status_out_of_memory();
  status failure = plan_product(c, s);
  if (failure) mem_free(s);
  else *out_spec = s;
  return failure;
}

static status linear_launch(kernel_ctx *k, stream *on) {
  const linear_tables *p = k->params;
  const linear_params *op = p->ml.of_op;
  const linear_spec *s = k->spec;
  bool classifies = k->data != NULL, adds_class = linear_adds_class(op);
  void *raw = cuda_raw(on);
  char *scratch = k->scratch;
  cuda_features x;
  tensor *scores, *labels = NULL;
  TRY(ml_features(k->in[0], &x));
  if (classifies) TRY(ml_output(k, 0, 1, &x.rows, &labels));
  TRY(ml_output(k, classifies, 2, (int64_t[]){x.rows, adds_class ? 2 : op->outputs}, &scores));
  if (!x.rows) return OK;
  cuda_operands operands = {.a = x.data, .b = ml_at(k, p->coefficients), .bias = op->intercepts ? ml_at(k, p->intercepts) : NULL,
                            .c = scores && !adds_class ? scores->data : scratch + s->floats, .scratch = scratch + s->floats + s->products};
  if (s->floats) {
    TRY(cuda_launched(cuda_features_to_floats(&x, (float *)scratch, raw)));
    operands.a = scratch;
  }
  TRY(cuda_launched(cuda_product_run(&s->product, &operands, raw)));
  if (!classifies && op->post == POST_NONE) return OK;
  cuda_linear_end end = {.products = operands.c, .scores = scores ? scores->data : NULL, .labels = labels ? labels->data : NULL,
                         .label_values = ml_at(k, p->labels), .rows = x.rows, .outputs = op->outputs, .label_count = op->classes.count,
                         .adds_class = adds_class, .post = op->post};
  return cuda_launched(cuda_linear_finish(&end, raw));
}

/* Where there are fewer labels than classes, the CPU finds out whether that matters. */
static bool classifier_supports(const node *n, const fact *const *in) {
  int64_t labels, intercepts;
  (void)in;
  attr_ints(n, "classlabels_ints", &labels);
  attr_floats(n, "intercepts", &intercepts);
  return !ml_has_texts(n, "classlabels_strings") && labels > 0 && labels >= intercepts;
}

static const char classifies[] = "labels";

#define LINEAR(name) \
  .op = name, .domain = "ai.onnx.ml", .since = 1, .types = TS_FEATURES, .prepare = linear_prepare, .tables = ml_tables, \
  .specialise = linear_specialise, .dispose_spec = mem_free, .launch = linear_launch

KERNEL_FAMILY(ml_linear) = {
  {LINEAR("LinearClassifier"), .supports = classifier_supports, .data = classifies},
  {LINEAR("LinearRegressor")},
  {0}};
