/* SVMClassifier and SVMRegressor. */
#include <ortcore/kernels/cuda/ml_svm.h>
#include <ortcore/ops/ml_params.h>
#include <ortcore/provider/cuda/ml.h>

typedef struct svm_tables {
  ml_params ml;                                            /* first */
  int64_t vectors;                                         /* without support vectors: the rows of the coefficients */
  size_t blocks, coefficients, rho, starts, prob_a, prob_b, labels;
} svm_tables;

/* So that threads with neighbouring vectors read neighbours. */
static void arrange(const svm_params *op, const float *support, int64_t vectors, float *to) {
  for (int64_t v = 0; v < vectors; ++v)
    for (int64_t f = 0; f < op->features; ++f)
      to[(v / CUDA_SVM_BLOCK * op->features + f) * CUDA_SVM_BLOCK + v % CUDA_SVM_BLOCK] = support[v * op->features + f];
}

static status svm_prepare(prepare_ctx *c, void **out_params) {
  TRY(ml_read(c, sizeof(svm_tables), out_params));
  svm_tables *p = *out_params;
  const svm_params *op = p->ml.of_op;
  bool classifies = c->data != NULL, linear = !op->vectors;
  int64_t sets = classifies ? op->classes - 1 : 1;          /* of coefficients, one for each vector */
  int64_t probabilities = linear ? 0 : op->prob_count;      /* a linear model has no pairs, whatever its attributes say */
  p->vectors = !linear ? op->vectors : classifies ? op->classes : 1;
  p->blocks = ml_table(&p->ml, (p->vectors + CUDA_SVM_BLOCK - 1) / CUDA_SVM_BLOCK * CUDA_SVM_BLOCK * op->features, sizeof(float));
  p->coefficients = ml_table(&p->ml, p->vectors * sets, sizeof(float));
  p->rho = ml_table(&p->ml, op->rho_count, sizeof(float));
  p->starts = ml_table(&p->ml, op->classes + 1, sizeof(int32_t));
  p->prob_a = ml_table(&p->ml, probabilities, sizeof(float));
  p->prob_b = ml_table(&p->ml, probabilities, sizeof(float));
  p->labels = ml_table(&p->ml, op->labels.count, sizeof(int64_t));
  TRY(ml_allocate(c, &p->ml));
  arrange(op, linear ? op->coefficients : op->support, p->vectors, (float *)(p->ml.tables + p->blocks));
  if (!linear) ml_fill(&p->ml, p->coefficients, op->coefficients, p->vectors * sets, sizeof(float));
  else if (!classifies) *(float *)(p->ml.tables + p->coefficients) = 1;
  ml_fill(&p->ml, p->rho, op->rho, op->rho_count, sizeof(float));
  for (int64_t i = 0; i < op->classes && !linear; ++i) {
    int32_t *starts = (int32_t *)(p->ml.tables + p->starts);
    starts[i + 1] = starts[i] + (int32_t)op->per_class[i];
  }
  ml_fill(&p->ml, p->prob_a, op->prob_a, probabilities, sizeof(float));
  ml_fill(&p->ml, p->prob_b, op->prob_b, probabilities, sizeof(float));
  ml_fill(&p->ml, p->labels, op->labels.ints, op->labels.count, sizeof(int64_t));
  return OK;
}

static cuda_svm model_of(const kernel_ctx *k) {
  const svm_tables *p = k->params;
  const svm_params *op = p->ml.of_op;
  bool has_coefficients = op->vectors || !k->data;
  return (cuda_svm){.kernel = op->kernel, .gamma = op->gamma, .coef0 = op->coef0, .degree = op->degree, .vectors = p->vectors, .features = op->features,
                    .blocks = ml_at(k, p->blocks), .coefficients = has_coefficients ? ml_at(k, p->coefficients) : NULL,
                    .rho = ml_at(k, p->rho), .classes = op->classes, .starts = ml_at(k, p->starts), .prob_a = op->vectors && op->prob_count ? ml_at(k, p->prob_a) : NULL,
                    .prob_b = ml_at(k, p->prob_b), .labels = ml_at(k, p->labels), .post = op->post, .one_class = op->one_class};
}

static status svm_launch(kernel_ctx *k, stream *s) {
  const svm_params *op = ((const svm_tables *)k->params)->ml.of_op;
  bool classifies = k->data != NULL;
  int64_t width = classifies ? svm_score_count(op) : 1;
  cuda_svm m = model_of(k);
  cuda_features x;
  tensor *scores, *labels = NULL;
  void *scratch;
  TRY(ml_features(k->in[0], &x));
  if (x.columns != op->features)
    return ERROR(INVALID_ARGUMENT, "X has %lld features, but the support vectors have %lld", (long long)x.columns, (long long)op->features);
  if (classifies) TRY(ml_output(k, 0, 1, &x.rows, &labels));
  TRY(ml_output(k, classifies, 2, (int64_t[]){x.rows, width}, &scores));
  TRY(kernel_scratch(k, cuda_svm_scratch_bytes(&m, x.rows), &scratch));
  return cuda_launched(cuda_svm_run(&m, &x, scores ? scores->data : NULL, width, labels ? labels->data : NULL, scratch, cuda_raw(s)));
}

/* Where there are fewer labels than classes, the CPU finds out whether that matters. */
static bool classifier_supports(const node *n, const fact *const *in) {
  int64_t labels, classes;
  (void)in;
  attr_ints(n, "classlabels_ints", &labels);
  attr_ints(n, "vectors_per_class", &classes);
  return !ml_has_texts(n, "classlabels_strings") && labels > 0 && labels >= classes;
}

static const char classifies[] = "labels";

#define SVM(name) \
  .op = name, .domain = "ai.onnx.ml", .since = 1, .types = TS_FEATURES, .prepare = svm_prepare, .tables = ml_tables, .launch = svm_launch

KERNEL_FAMILY(ml_svm) = {
  {SVM("SVMClassifier"), .supports = classifier_supports, .data = classifies},
  {SVM("SVMRegressor")},
  {0}};
