/* SVMClassifier and SVMRegressor, after libsvm: one against one votes, and probabilities by pairwise coupling (Wu, Lin, Weng 2004). */
#include <math.h>
#include <ortcore/base/cpu.h>
#include <ortcore/kernels/cpu/mathf.h>
#include <ortcore/ops/ml_params.h>

enum { BLOCK = 32 };                                         /* support vectors side by side */

static status read_kernel(prepare_ctx *c, svm_params *p) {
  static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  text given = attr_string_or(c->node, "kernel_type", "LINEAR");
  int found = -1;
  for (int i = 0; i < 4; ++i)
    if (!strcmp(given.data, names[i])) found = i;
  if (found < 0) return ERROR(INVALID_ARGUMENT, "kernel_type is '%s', but must be LINEAR, POLY, RBF or SIGMOID", given.data);
  p->kernel = (svm_kernel)found;
  int64_t count;
  const float *params = attr_floats(c->node, "kernel_params", &count);
  if (count && count != 3) return ERROR(INVALID_ARGUMENT, "kernel_params holds gamma, coef0 and degree, but has %lld elements", (long long)count);
  if (count) p->gamma = params[0], p->coef0 = params[1], p->degree = params[2];
  p->rho = attr_floats(c->node, "rho", &p->rho_count);
  return post_transform_of(c->node, &p->post);
}

static float kernel_of(const svm_params *p, const float *a, const float *b, int64_t n) {
  double sum = 0;
  if (p->kernel == SVM_RBF) {
    for (int64_t i = 0; i < n; ++i) sum += (double)(a[i] - b[i]) * (double)(a[i] - b[i]);
    return (float)exp(-(double)p->gamma * sum);
  }
  for (int64_t i = 0; i < n; ++i) sum += (double)a[i] * (double)b[i];
  if (p->kernel == SVM_LINEAR) return (float)sum;
  double inner = (double)p->gamma * sum + (double)p->coef0;
  return (float)(p->kernel == SVM_POLY ? pow(inner, (double)p->degree) : tanh(inner));
}

/* So that loops over vectors run over neighbours. */
static status arrange_support(prepare_ctx *c, svm_params *p) {
  int64_t blocks = (p->vectors + BLOCK - 1) / BLOCK;
  float *to = ZONE_ARRAY(c->memory, blocks * p->features * BLOCK + 1, float);
  if (!to) return status_out_of_memory();
  for (int64_t v = 0; v < p->vectors; ++v)
    for (int64_t i = 0; i < p->features; ++i) to[(v / BLOCK * p->features + i) * BLOCK + v % BLOCK] = p->support[v * p->features + i];
  p->blocks = to;
  return OK;
}

/* kernel_of for the n support vectors of one block. */
MULTIVERSION static void kernels_of_block(const svm_params *p, const float *restrict x, const float *restrict block, int64_t n, float *restrict out) {
  double sums[BLOCK] = {0};
  for (int64_t i = 0; i < p->features; ++i, block += BLOCK) {
    if (p->kernel == SVM_RBF)
      for (int j = 0; j < BLOCK; ++j) sums[j] += (double)(x[i] - block[j]) * (double)(x[i] - block[j]);
    else
      for (int j = 0; j < BLOCK; ++j) sums[j] += (double)x[i] * (double)block[j];
  }
  double gamma = (double)p->gamma, coef0 = (double)p->coef0;
  switch (p->kernel) {
    case SVM_RBF: for (int j = 0; j < BLOCK; ++j) out[j] = mathf_exp((float)(-gamma * sums[j])); break;
    case SVM_LINEAR: for (int j = 0; j < BLOCK; ++j) out[j] = (float)sums[j]; break;
    case SVM_POLY: for (int64_t j = 0; j < n; ++j) out[j] = (float)pow(gamma * sums[j] + coef0, (double)p->degree); break;
    case SVM_SIGMOID: for (int64_t j = 0; j < n; ++j) out[j] = (float)tanh(gamma * sums[j] + coef0); break;
  }
}

/* `out` has room for whole blocks. */
static void kernels_of(const svm_params *p, const float *x, float *out) {
  for (int64_t v = 0; v < p->vectors; v += BLOCK) kernels_of_block(p, x, p->blocks + v * p->features, p->vectors - v < BLOCK ? p->vectors - v : BLOCK, out + v);
}

/* ---- Classifier ----------------------------------------------------------------------------------------------------------------------------- */

static status read_classifier(prepare_ctx *c, svm_params *p) {
  int64_t coefficients, support, per_class, b;
  p->labels = labels_of(c->node, "classlabels_ints", "classlabels_strings");
  p->coefficients = attr_floats(c->node, "coefficients", &coefficients);
  p->support = attr_floats(c->node, "support_vectors", &support);
  p->per_class = attr_ints(c->node, "vectors_per_class", &per_class);
  p->prob_a = attr_floats(c->node, "prob_a", &p->prob_count);
  p->prob_b = attr_floats(c->node, "prob_b", &b);
  p->classes = per_class ? per_class : p->labels.count;
  for (int64_t i = 0; i < per_class; ++i) {
    if (p->per_class[i] < 0 || p->per_class[i] > support) return ERROR(INVALID_ARGUMENT, "vectors_per_class[%lld] is %lld", (long long)i, (long long)p->per_class[i]);
    p->vectors += p->per_class[i];
  }
  if (p->classes < 1 || !coefficients) return ERROR(INVALID_ARGUMENT, "the classifier has no classes or no coefficients");
  if (!p->vectors) {                                         /* a linear model in disguise: coefficients are [classes, features] */
    if (coefficients % p->classes || p->rho_count < 1) return ERROR(INVALID_ARGUMENT, "%lld coefficients do not divide among %lld classes", (long long)coefficients, (long long)p->classes);
    p->features = coefficients / p->classes;
    return OK;
  }
  if (support % p->vectors || coefficients != p->vectors * (p->classes - 1) || p->rho_count < svm_pairs(p->classes) || (p->prob_count && (p->prob_count < svm_pairs(p->classes) || b != p->prob_count)))
    return ERROR(INVALID_ARGUMENT, "support_vectors, coefficients, rho, prob_a and prob_b do not fit %lld vectors of %lld classes", (long long)p->vectors, (long long)p->classes);
  p->features = support / p->vectors;
  return arrange_support(c, p);
}

static status classifier_prepare(prepare_ctx *c, void **out_params) {
  svm_params *p = *out_params = ZONE_NEW(c->memory, svm_params);
  if (!p) return status_out_of_memory();
  TRY(read_kernel(c, p));
  return read_classifier(c, p);
}

static status classifier_shape(infer_ctx *c) {
  svm_params p = {0};
  int64_t per_class, proba, vectors = 0;
  labels l = labels_of(c->node, "classlabels_ints", "classlabels_strings");
  const int64_t *counts = attr_ints(c->node, "vectors_per_class", &per_class);
  attr_floats(c->node, "prob_a", &proba);
  for (int64_t i = 0; i < per_class; ++i) vectors += counts[i];
  p.classes = per_class ? per_class : l.count;
  p.prob_count = proba;
  p.vectors = vectors;
  return classifier_infer(c, &l, svm_score_count(&p));
}

/* Sigmoid of a decision, kept off 0 and 1 as libsvm does. */
static double pair_probability(double decision, double a, double b) {
  double f = decision * a + b, v = f >= 0 ? exp(-f) / (1 + exp(-f)) : 1 / (1 + exp(f));
  return v < 1e-7 ? 1e-7 : v > 1 - 1e-7 ? 1 - 1e-7 : v;
}

/* Minimises sum over pairs of (r_ji p_i - r_ij p_j)^2, by the iteration of the paper (algorithm 2). r and q are [n, n]. */
static void couple(int64_t n, const double *r, double *q, double *qp, double *p) {
  double tolerance = 0.005 / (double)n;
  for (int64_t i = 0; i < n; ++i) {
    p[i] = 1.0 / (double)n;
    q[i * n + i] = 0;
    for (int64_t j = 0; j < n; ++j) {
      if (j == i) continue;
      q[i * n + i] += r[j * n + i] * r[j * n + i];
      q[i * n + j] = -r[j * n + i] * r[i * n + j];
    }
  }
  int64_t rounds = n > 100 ? n : 100;
  for (int64_t round = 0; round < rounds; ++round) {
    double pqp = 0, worst = 0;
    for (int64_t i = 0; i < n; ++i) {
      qp[i] = 0;
      for (int64_t j = 0; j < n; ++j) qp[i] += q[i * n + j] * p[j];
      pqp += p[i] * qp[i];
    }
    for (int64_t i = 0; i < n; ++i) worst = fabs(qp[i] - pqp) > worst ? fabs(qp[i] - pqp) : worst;
    if (worst < tolerance) return;
    for (int64_t i = 0; i < n; ++i) {
      double step = (-qp[i] + pqp) / q[i * n + i];
      p[i] += step;
      pqp = (pqp + step * (step * q[i * n + i] + 2 * qp[i])) / (1 + step) / (1 + step);
      for (int64_t j = 0; j < n; ++j) {
        qp[j] = (qp[j] + step * q[i * n + j]) / (1 + step);
        p[j] /= 1 + step;
      }
    }
  }
}

/* Decision of each pair, and the votes. */
static void decide(const svm_params *p, const float *kernels, const int64_t *starts, float *decisions, int64_t *votes) {
  int64_t at = 0;
  for (int64_t i = 0; i < p->classes; ++i)
    for (int64_t j = i + 1; j < p->classes; ++j, ++at) {
      double sum = 0;
      const float *ci = p->coefficients + p->vectors * (j - 1), *cj = p->coefficients + p->vectors * i;
      for (int64_t v = 0; v < p->per_class[i]; ++v) sum += (double)ci[starts[i] + v] * (double)kernels[starts[i] + v];
      for (int64_t v = 0; v < p->per_class[j]; ++v) sum += (double)cj[starts[j] + v] * (double)kernels[starts[j] + v];
      decisions[at] = (float)(sum + (double)p->rho[at]);
      ++votes[decisions[at] > 0 ? i : j];
    }
}

static void probabilities(const svm_params *p, const float *decisions, double *work, float *out) {
  int64_t n = p->classes, at = 0;
  double *r = work, *q = r + n * n, *qp = q + n * n, *prob = qp + n;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j, ++at) {
      r[i * n + j] = pair_probability((double)decisions[at], (double)p->prob_a[at], (double)p->prob_b[at]);
      r[j * n + i] = 1 - r[i * n + j];
    }
  couple(n, r, q, qp, prob);
  for (int64_t i = 0; i < n; ++i) out[i] = (float)prob[i];
}

static int64_t largest_vote(const int64_t *votes, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i)
    if (votes[i] > votes[best]) best = i;
  return best;
}

static int64_t largest(const float *scores, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i)
    if (scores[i] > scores[best]) best = i;
  return best;
}

typedef struct svm_scratch { float *kernels, *decisions; int64_t *starts, *votes; double *work; } svm_scratch;

static status scratch_init(kernel_ctx *k, const svm_params *p, svm_scratch *s) {
  int64_t n = p->classes;
  void *memory;
  TRY(kernel_scratch(k, (size_t)(2 * n + 2 * n * n + 2 * n) * 8 + (size_t)(p->vectors + BLOCK + svm_pairs(n) + 2) * 4, &memory));
  s->work = memory;
  s->starts = (int64_t *)(s->work + 2 * n * n + 2 * n);
  s->votes = s->starts + n;
  s->kernels = (float *)(s->votes + n);
  s->decisions = s->kernels + p->vectors + BLOCK;
  for (int64_t i = 0, at = 0; i < n; ++i) {
    s->starts[i] = at;
    at += p->per_class ? p->per_class[i] : 0;
  }
  return OK;
}

/* Scores of one row; returns the label's index. */
static int64_t classify(const svm_params *p, const float *x, const svm_scratch *s, float *scores) {
  if (!p->vectors) {
    for (int64_t c = 0; c < p->classes; ++c) scores[c] = kernel_of(p, x, p->coefficients + c * p->features, p->features) + p->rho[0];
    int64_t best = largest(scores, p->classes);
    post_apply(p->post, scores, p->classes);
    return best;
  }
  kernels_of(p, x, s->kernels);
  memset(s->votes, 0, (size_t)p->classes * sizeof *s->votes);
  decide(p, s->kernels, s->starts, s->decisions, s->votes);
  int64_t best = largest_vote(s->votes, p->classes);        /* the votes decide even where there are probabilities */
  if (p->prob_count) {
    probabilities(p, s->decisions, s->work, scores);
    post_apply(p->post, scores, p->classes);
  } else if (p->classes == 2) {
    scores[0] = s->decisions[0];
    scores[1] = -s->decisions[0];
    if (p->post != POST_NONE) post_apply(p->post, scores, 2);
  } else {
    memcpy(scores, s->decisions, (size_t)svm_pairs(p->classes) * sizeof *scores);
    post_apply(p->post, scores, svm_pairs(p->classes));
  }
  return best;
}

static status classifier_run(kernel_ctx *k) {
  const svm_params *p = k->params;
  int64_t rows, columns, width = svm_score_count(p);
  tensor *label, *out;
  const float *x;
  svm_scratch s;
  TRY(features_shape(k->in[0], &rows, &columns));
  if (columns != p->features) return ERROR(INVALID_ARGUMENT, "X has %lld features, but the support vectors have %lld", (long long)columns, (long long)p->features);
  TRY(features_as_float(k, k->in[0], &x));
  TRY(scratch_init(k, p, &s));
  TRY(labels_output(k, 0, rows, &label));
  TRY(kernel_output(k, 1, 2, (int64_t[]){rows, width}, &out));
  void *spare = NULL;
  if (!out) TRY(kernel_scratch(k, (size_t)width * sizeof(float), &spare));
  for (int64_t r = 0; r < rows; ++r) {
    if (kernel_cancelled(k)) return ERROR(FAIL, "the run was ended because its terminate flag is set");
    int64_t best = classify(p, x + r * columns, &s, out ? (float *)out->data + r * width : spare);
    if (label) TRY(labels_put(&p->labels, label, r, best));
  }
  return OK;
}

/* ---- Regressor -------------------------------------------------------------------------------------------------------------------------------- */

static status regressor_prepare(prepare_ctx *c, void **out_params) {
  svm_params *p = *out_params = ZONE_NEW(c->memory, svm_params);
  if (!p) return status_out_of_memory();
  TRY(read_kernel(c, p));
  int64_t coefficients, support;
  p->coefficients = attr_floats(c->node, "coefficients", &coefficients);
  p->support = attr_floats(c->node, "support_vectors", &support);
  p->vectors = attr_int_or(c->node, "n_supports", 0);
  p->one_class = attr_int_or(c->node, "one_class", 0);
  if (p->rho_count < 1 || !coefficients || p->vectors < 0 || (p->vectors && (support % p->vectors || coefficients != p->vectors)))
    return ERROR(INVALID_ARGUMENT, "support_vectors, coefficients and rho do not fit %lld support vectors", (long long)p->vectors);
  p->features = p->vectors ? support / p->vectors : coefficients;
  return arrange_support(c, p);
}

static status regressor_shape(infer_ctx *c) {
  const fact *x = c->in[0];
  fact_set_shape(c->out[0], 2, (dim[]){x->rank == 2 ? x->dims[0] : x->rank == 1 ? 1 : DIM_UNKNOWN, 1});
  return OK;
}

static status regressor_run(kernel_ctx *k) {
  const svm_params *p = k->params;
  int64_t rows, columns;
  tensor *out;
  const float *x;
  TRY(features_shape(k->in[0], &rows, &columns));
  if (columns != p->features) return ERROR(INVALID_ARGUMENT, "X has %lld features, but the support vectors have %lld", (long long)columns, (long long)p->features);
  TRY(features_as_float(k, k->in[0], &x));
  TRY(kernel_output(k, 0, 2, (int64_t[]){rows, 1}, &out));
  void *kernels;
  TRY(kernel_scratch(k, (size_t)(p->vectors + BLOCK) * sizeof(float), &kernels));
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    kernels_of(p, x + r * columns, kernels);
    for (int64_t v = 0; v < p->vectors; ++v) sum += (double)p->coefficients[v] * (double)((const float *)kernels)[v];
    if (!p->vectors) sum = (double)kernel_of(p, x + r * columns, p->coefficients, columns);
    float y = (float)(sum + (double)p->rho[0]);
    ((float *)out->data)[r] = p->one_class ? (y > 0 ? 1 : -1) : y;
    if (!p->one_class) post_apply(p->post, (float *)out->data + r, 1);
  }
  return OK;
}

OP_FAMILY(ml_svm) = {
  {.name = "SVMClassifier", .domain = "ai.onnx.ml", .since = 1, .signature = "X:T1 -> Y:T2 Z:f32?", .T1 = TS_FEATURES, .T2 = TS(STRING) | TS(INT64), .infer = classifier_shape,
   .prepare = classifier_prepare, .run = classifier_run},
  {.name = "SVMRegressor", .domain = "ai.onnx.ml", .since = 1, .signature = "X:T -> Y:f32", .T = TS_FEATURES, .infer = regressor_shape, .prepare = regressor_prepare,
   .run = regressor_run},
  {0}};
