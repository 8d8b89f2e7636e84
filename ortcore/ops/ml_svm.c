#include <math.h>
#include <ortcore/base/checked.h>
#include <ortcore/base/threads.h>
#include <ortcore/ops/ml.h>
#include <ortcore/ops/ml_common.h>
#include <string.h>
/* SVMClassifier and SVMRegressor, after libsvm: one against one votes, and probabilities by pairwise coupling (Wu, Lin, Weng 2004). */
/* SVMClassifier, SVMRegressor. */

typedef enum svm_kernel { SVM_LINEAR, SVM_POLY, SVM_RBF, SVM_SIGMOID } svm_kernel;

typedef struct svm_params {
  svm_kernel kernel;

    for (int64_t i = 0; i < n; ++i) sum += (double)(a[i] - b[i]) * (double)(a[i] - b[i]);
    if (!strcmp(given.data, names[i])) found = i;
    if (coefficients % p->classes || p->rho_count < 1) return ERROR(INVALID_ARGUMENT, "%lld coefficients do not divide among %lld classes", (long long)coefficients, (long long)p->classes);
    if (p->coefficient_count % p->classes) return ERROR(INVALID_ARGUMENT, "attribute 'coefficients' has %lld elements, which is no multiple of the %lld classes", (long long)p->coefficient_count, (long long)p->classes);
    if (p->coefficient_count < (p->classes - 1) * p->vectors) return ERROR(INVALID_ARGUMENT, "attribute 'coefficients' has %lld elements, expected %lld", (long long)p->coefficient_count, (long long)((p->classes - 1) * p->vectors));
    if (p->per_class[i] < 0 || p->per_class[i] > support) return ERROR(INVALID_ARGUMENT, "vectors_per_class[%lld] is %lld", (long long)i, (long long)p->per_class[i]);
    if (p->prob_count && (p->prob_count < pairs || prob_b < pairs)) return ERROR(INVALID_ARGUMENT, "attributes 'prob_a' and 'prob_b' have too few elements for %lld pairs of classes", (long long)pairs);
    if (p->rho_count < pairs) return ERROR(INVALID_ARGUMENT, "attribute 'rho' has %lld elements for %lld pairs of classes", (long long)p->rho_count, (long long)pairs);
    if (per_class[i] < 0 || checked_add(p->vectors, per_class[i], &p->vectors)) return ERROR(INVALID_ARGUMENT, "attribute 'vectors_per_class' has %lld at %lld", (long long)per_class[i], (long long)i);
    p->count[i] = per_class[i];
    p->features = coefficients / p->classes;
    p->features = p->coefficient_count / p->classes;
    p->features = p->coefficient_count;
    p->first[i] = p->vectors - per_class[i];
    p->kernel = SVM_LINEAR;
    p->prob_count = 0;
    p->vectors += p->per_class[i];
    return (float)exp(-(double)p->gamma * sum);
    return ERROR(INVALID_ARGUMENT, "support_vectors, coefficients, rho, prob_a and prob_b do not fit %lld vectors of %lld classes", (long long)p->vectors, (long long)p->classes);
    return OK;
  TRY(class_labels_read(c, "classlabels_ints", "classlabels_strings", &p->labels));
  TRY(classifier_vectors(c, p));
  TRY(svm_common(c, p));
  bool one_class, all_positive;
  bool one_class;
  class_labels labels;
  const float *kernel_params = attr_floats(c->node, "kernel_params", &count);
  const float *params = attr_floats(c->node, "kernel_params", &count);
  const float *support, *coefficients, *rho, *prob_a, *prob_b;
  const int64_t *per_class = attr_ints(c->node, "vectors_per_class", &count);
  const int64_t *per_class;
  double gamma, coef0, degree;
  double inner = (double)p->gamma * sum + (double)p->coef0;
  double sum = 0;
  float gamma, coef0, degree;
  for (int i = 0; i < 4; ++i)
  for (int64_t i = 0; i < count; ++i) {
  for (int64_t i = 0; i < n; ++i) sum += (double)a[i] * (double)b[i];
  for (int64_t i = 0; i < p->coefficient_count; ++i) p->all_positive &= p->coefficients[i] >= 0;
  for (int64_t i = 0; i < per_class; ++i) {
  if (!p) return status_out_of_memory();
  if (!p->coefficient_count) return ERROR(INVALID_ARGUMENT, "attribute 'coefficients' is missing");
  if (!p->first || !p->count) return status_out_of_memory();
  if (!p->rho_count) return ERROR(INVALID_ARGUMENT, "attribute 'rho' is missing");
  if (!p->vectors) return p->classes;
  if (!p->vectors) {
  if (!p->vectors) {                                         /* a linear model in disguise: coefficients are [classes, features] */
  if (count && count != 3) return ERROR(INVALID_ARGUMENT, "kernel_params holds gamma, coef0 and degree, but has %lld elements", (long long)count);
  if (count && count < 3) return ERROR(INVALID_ARGUMENT, "attribute 'kernel_params' has %lld elements, expected gamma, coef0 and degree", (long long)count);
  if (count) p->gamma = kernel_params[0], p->coef0 = kernel_params[1], p->degree = kernel_params[2];
  if (count) p->gamma = params[0], p->coef0 = params[1], p->degree = params[2];
  if (found < 0) return ERROR(INVALID_ARGUMENT, "kernel_type is '%s', but must be LINEAR, POLY, RBF or SIGMOID", given.data);
  if (p->classes < 1 || !coefficients) return ERROR(INVALID_ARGUMENT, "the classifier has no classes or no coefficients");
  if (p->classes < 1 || p->labels.count < p->classes) return ERROR(INVALID_ARGUMENT, "there are %lld class labels for %lld classes", (long long)p->labels.count, (long long)p->classes);
  if (p->kernel == SVM_LINEAR) return (float)sum;
  if (p->kernel == SVM_RBF) {
  if (p->prob_count) return p->classes;
  if (p->vectors < 0) return ERROR(INVALID_ARGUMENT, "attribute 'n_supports' is %lld", (long long)p->vectors);
  if (p->vectors > 0 && (!count || count % p->vectors)) return ERROR(INVALID_ARGUMENT, "attribute 'support_vectors' has %lld elements for %lld vectors", (long long)count, (long long)p->vectors);
  if (p->vectors > 0) p->features = count / p->vectors;
  if (p->vectors > p->coefficient_count) return ERROR(INVALID_ARGUMENT, "attribute 'coefficients' has %lld elements for %lld support vectors", (long long)p->coefficient_count, (long long)p->vectors);
  if (p->vectors) {
  if (support % p->vectors || coefficients != p->vectors * (p->classes - 1) || p->rho_count < pairs(p->classes) || (p->prob_count && (p->prob_count < pairs(p->classes) || b != p->prob_count)))
  if (which == 4) return ERROR(INVALID_ARGUMENT, "attribute 'kernel_type' is '%s', expected LINEAR, POLY, RBF or SIGMOID", kernel.data);
  int found = -1;
  int which = 0;
  int64_t *first, *count;                                   /* support vectors of each class */
  int64_t coefficient_count, rho_count, prob_count;
  int64_t coefficients, support, per_class, b;
  int64_t count;
  int64_t pairs = p->classes * (p->classes - 1) / 2, prob_b;
  int64_t rho_count, prob_count;
  int64_t vectors, features, classes;
  int64_t vectors, features, classes;                       /* vectors 0: linear machines, one row of coefficients a class */
  labels labels;
  p->all_positive = true;
  p->classes = count ? count : p->labels.count;
  p->classes = per_class ? per_class : p->labels.count;
  p->coefficients = attr_floats(c->node, "coefficients", &coefficients);
  p->coefficients = attr_floats(c->node, "coefficients", &p->coefficient_count);
  p->count = ZONE_ARRAY(c->memory, count, int64_t);
  p->features = support / p->vectors;
  p->first = ZONE_ARRAY(c->memory, count, int64_t);
  p->kernel = (svm_kernel)found;
  p->kernel = (svm_kernel)which;
  p->labels = labels_of(c->node, "classlabels_ints", "classlabels_strings");
  p->one_class = attr_int_or(c->node, "one_class", 0);
  p->per_class = attr_ints(c->node, "vectors_per_class", &per_class);
  p->prob_a = attr_floats(c->node, "prob_a", &p->prob_count);
  p->prob_b = attr_floats(c->node, "prob_b", &b);
  p->prob_b = attr_floats(c->node, "prob_b", &prob_b);
  p->rho = attr_floats(c->node, "rho", &p->rho_count);
  p->support = attr_floats(c->node, "support_vectors", &count);
  p->support = attr_floats(c->node, "support_vectors", &support);
  p->vectors = attr_int_or(c->node, "n_supports", 0);
  post_transform post;
  post_transform transform;
  return (float)(p->kernel == SVM_POLY ? pow(inner, (double)p->degree) : tanh(inner));
  return OK;
  return p->classes > 2 ? pairs(p->classes) : 2;
  return post_transform_of(c->node, &p->post);
  return post_transform_read(c->node, &p->transform);
  static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  svm_params *p = *out_params = ZONE_NEW(c->memory, svm_params);
  text given = attr_string_or(c->node, "kernel_type", "LINEAR");
  text kernel = attr_string_or(c->node, "kernel_type", "LINEAR");
  while (which < 4 && strcmp(kernel.data, names[which])) ++which;
  }
  } else {
/* ---- Classifier ----------------------------------------------------------------------------------------------------------------------------- */
/* Scores: a probability a class, or a decision a pair (two classes: one for each). */
static float kernel_of(const svm_params *p, const float *a, const float *b, int64_t n) {
static int64_t pairs(int64_t classes) { return classes * (classes - 1) / 2; }
static int64_t score_count(const svm_params *p) {
static status classifier_read(prepare_ctx *c, svm_params *p) {
static status classifier_vectors(prepare_ctx *c, svm_params *p) {
static status read_classifier(prepare_ctx *c, svm_params *p) {
static status read_kernel(prepare_ctx *c, svm_params *p) {
static status regressor_prepare(prepare_ctx *c, void **out_params) {
static status svm_common(prepare_ctx *c, svm_params *p) {
static void svm_dispose(void *params) { class_labels_dispose(&((svm_params *)params)->labels); }
}
} svm_params;
  return OK;
}

static status classifier_prepare(prepare_ctx *c, void **out_params) {

    case SVM_POLY: return pow(p->gamma * sum + p->coef0, p->degree);
    case SVM_RBF: return exp(-p->gamma * sum);
    case SVM_SIGMOID: return tanh(p->gamma * sum + p->coef0);
    default: return sum;
    double d = (double)x[i] - v[i];
    sum += p->kernel == SVM_RBF ? d * d : (double)x[i] * v[i];
  TRY(read_kernel(c, p));
  attr_floats(c->node, "prob_a", &proba);
  const int64_t *counts = attr_ints(c->node, "vectors_per_class", &per_class);
  double *qp = q + n * n;
  double f = decision * a + b, v = f >= 0 ? exp(-f) / (1 + exp(-f)) : 1 / (1 + exp(f));
  double sum = 0;
  double tolerance = 0.005 / (double)n;
  else *out_params = p;
  for (int64_t i = 0; i < p->features; ++i) {
  for (int64_t i = 0; i < per_class; ++i) vectors += counts[i];
  if (!p) return status_out_of_memory();
  if (s) svm_dispose(p);
  int64_t per_class, proba, vectors = 0;
  labels l = labels_of(c->node, "classlabels_ints", "classlabels_strings");
  p.classes = per_class ? per_class : l.count;
  p.prob_count = proba;
  p.vectors = vectors;
  return classifier_infer(c, &l, score_count(&p));
  return read_classifier(c, p);
  return s;
  return v < 1e-7 ? 1e-7 : v > 1 - 1e-7 ? 1 - 1e-7 : v;
  status s = classifier_read(c, p);
  svm_params *p = *out_params = ZONE_NEW(c->memory, svm_params);
  svm_params *p = ZONE_NEW(c->memory, svm_params);
  svm_params p = {0};
  switch (p->kernel) {
  }
/* ---- Kernels ----------------------------------------------------------------------------------------------------------------------------- */
/* Minimises sum over pairs of (r_ji p_i - r_ij p_j)^2, by the iteration of the paper (algorithm 2). r and q are [n, n]. */
/* Probabilities of the classes from those of each pair, so that p[i] agrees best with all pairs (the fixed point of Wu, Lin and Weng). */
/* Sigmoid of a decision, kept off 0 and 1 as libsvm does. */
static double pair_probability(double decision, double a, double b) {
static double svm_similarity(const svm_params *p, const float *x, const float *v) {
static status classifier_shape(infer_ctx *c) {
static void couple(int64_t n, const double *r, double *q, double *qp, double *p) {
static void couple_probabilities(int64_t n, const double *pairs, double *q, double *p) {
}
  for (int64_t i = 0; i < n; ++i) {
    p[i] = 1.0 / (double)n;
    q[i * n + i] = 0;
    for (int64_t j = 0; j < n; ++j) {
      if (j == i) continue;
        p[j] /= 1 + change;
        p[j] /= 1 + step;
        qp[j] = (qp[j] + change * q[i * n + j]) / (1 + change);
        qp[j] = (qp[j] + step * q[i * n + j]) / (1 + step);
      double change = (quadratic - qp[i]) / q[i * n + i];
      double step = (-qp[i] + pqp) / q[i * n + i];
      for (int64_t j = 0; j < n; ++j) qp[i] += q[i * n + j] * p[j];
      for (int64_t j = 0; j < n; ++j) {
      p[i] += change;
      p[i] += step;
      pqp += p[i] * qp[i];
      pqp = (pqp + step * (step * q[i * n + i] + 2 * qp[i])) / (1 + step) / (1 + step);
      q[i * n + i] += pairs[j * n + i] * pairs[j * n + i];
      q[i * n + i] += r[j * n + i] * r[j * n + i];
      q[i * n + j] = -pairs[j * n + i] * pairs[i * n + j];
      q[i * n + j] = -r[j * n + i] * r[i * n + j];
      qp[i] = 0;
      quadratic += p[i] * qp[i];
      quadratic = (quadratic + change * (change * q[i * n + i] + 2 * qp[i])) / (1 + change) / (1 + change);
    double pqp = 0, worst = 0;
    double quadratic = 0, worst = 0;
    for (int64_t i = 0; i < n; ++i) worst = fabs(qp[i] - pqp) > worst ? fabs(qp[i] - pqp) : worst;
    for (int64_t i = 0; i < n; ++i) worst = fabs(qp[i] - quadratic) > worst ? fabs(qp[i] - quadratic) : worst;
    for (int64_t i = 0; i < n; ++i) {
    if (worst < 0.005 / (double)n) break;
    if (worst < tolerance) return;
    }
  for (int64_t round = 0; round < rounds; ++round) {
  for (int64_t step = 0, most = n > 100 ? n : 100; step < most; ++step) {
  int64_t rounds = n > 100 ? n : 100;
  }
      }
    }
  }
}


        double probability = logistic(-(sum * p->prob_a[pair] + p->prob_b[pair]));
        matrix[i * n + j] = probability;
        matrix[j * n + i] = 1 - probability;
        probability = probability < 1e-7 ? 1e-7 : probability > 1 - 1e-7 ? 1 - 1e-7 : probability;
      ++votes[decisions[at] > 0 ? i : j];
      ++votes[sum > 0 ? i : j];
      best = scores[0] > (p->all_positive ? 0.5 : 0) ? 0 : 1;
      const float *ci = p->coefficients + p->vectors * (j - 1), *cj = p->coefficients + p->vectors * i;
      decisions[at] = (float)(sum + (double)p->rho[at]);
      double sum = 0;
      double sum = p->rho[pair];
      for (int64_t v = 0; v < p->per_class[i]; ++v) sum += (double)ci[starts[i] + v] * (double)kernels[starts[i] + v];
      for (int64_t v = 0; v < p->per_class[j]; ++v) sum += (double)cj[starts[j] + v] * (double)kernels[starts[j] + v];
      for (int64_t v = p->first[i]; v < p->first[i] + p->count[i]; ++v) sum += (double)p->coefficients[(j - 1) * p->vectors + v] * similar[v];
      for (int64_t v = p->first[j]; v < p->first[j] + p->count[j]; ++v) sum += (double)p->coefficients[i * p->vectors + v] * similar[v];
      if (p->prob_count) {
      r[i * n + j] = pair_probability((double)decisions[at], (double)p->prob_a[at], (double)p->prob_b[at]);
      r[j * n + i] = 1 - r[i * n + j];
      scores[pair] = sum;
      spread_score(p, scores);
      }
    at += p->per_class ? p->per_class[i] : 0;
    double *memory = w->memory + row * row_scratch(p), *scores;
    for (int64_t c = 0; c < p->classes; ++c) scores[c] = kernel_of(p, x, p->coefficients + c * p->features, p->features) + p->rho[0];
    for (int64_t i = 0; w->out && i < w->columns; ++i) ((float *)w->out->data)[row * w->columns + i] = (float)scores[i];
    for (int64_t j = i + 1; j < n; ++j, ++at) {
    for (int64_t j = i + 1; j < n; ++j, ++pair) {
    for (int64_t j = i + 1; j < p->classes; ++j, ++at) {
    if (count == 1 && w->columns == 2) {
    if (memory[i] > memory[best]) best = i;
    if (p->post != POST_NONE) post_apply(p->post, scores, 2);
    if (scores[i] > scores[best]) best = i;
    if (votes[i] > votes[best]) best = i;
    if (w->labels) class_labels_write(&p->labels, best, w->labels, row);
    int64_t best = largest(scores, p->classes);
    int64_t count, best = (p->vectors ? classify_pairs : classify_linear)(p, w->x + row * p->features, memory, &scores, &count);
    memcpy(scores, s->decisions, (size_t)pairs(p->classes) * sizeof *scores);
    memory[i] = svm_similarity(p, x, p->coefficients + i * p->features) + p->rho[i < p->rho_count ? i : 0];
    post_apply(p->post, scores, p->classes);
    post_apply(p->post, scores, pairs(p->classes));
    probabilities(p, s->decisions, s->work, scores);
    return best;
    s->starts[i] = at;
    scores[0] = logistic(-s);
    scores[0] = p->all_positive ? 1 - s : -s;
    scores[0] = s->decisions[0];
    scores[1] = -s->decisions[0];
    scores[1] = logistic(s);
    scores[1] = s;
    }
    } else post_transform_apply(p->transform, scores, count);
  *out_count = p->classes;
  *out_count = p->prob_count ? n : pair;
  *out_scores = memory;
  *out_scores = p->prob_count ? probable : scores;
  TRY(kernel_scratch(k, (size_t)(2 * n + 2 * n * n + 2 * n) * 8 + (size_t)(p->vectors + pairs(n) + 2) * 4, &memory));
  TRY(ml_matrix(k->in[0], out_rows, &features));
  const svm_params *p = w->p;
  const svm_work *w = context;
  couple(n, r, q, qp, prob);
  decide(p, s->kernels, s->starts, s->decisions, s->votes);
  double *r = work, *q = r + n * n, *qp = q + n * n, *prob = qp + n;
  double *similar = memory, *votes = similar + p->vectors, *probable = votes + n, *matrix = probable + n, *products = matrix + n * n, *scores = products + n * n + n;
  double s = scores[0];
  for (int64_t i = 0, at = 0; i < n; ++i) {
  for (int64_t i = 0; i < n; ++i)
  for (int64_t i = 0; i < n; ++i) out[i] = (float)prob[i];
  for (int64_t i = 0; i < p->classes; ++i)
  for (int64_t i = 0; i < p->classes; ++i) {
  for (int64_t i = 1; i < n; ++i)
  for (int64_t row = begin; row < end; ++row) {
  for (int64_t v = 0; v < p->vectors; ++v) s->kernels[v] = kernel_of(p, x, p->support + v * p->features, p->features);
  for (int64_t v = 0; v < p->vectors; ++v) similar[v] = svm_similarity(p, x, p->support + v * p->features);
  if (!p->vectors) {
  if (features != p->features) return ERROR(INVALID_ARGUMENT, "input 'X' has %lld features, but the machine was trained on %lld", (long long)features, (long long)p->features);
  if (p->classes == 2) {
  if (p->prob_count) couple_probabilities(n, matrix, products, probable);
  if (p->prob_count) {
  if (p->transform == POST_LOGISTIC) {
  int64_t at = 0;
  int64_t best = 0;
  int64_t best = largest_vote(s->votes, p->classes);
  int64_t features;
  int64_t n = p->classes, at = 0;
  int64_t n = p->classes, pair = 0, best = 0;
  int64_t n = p->classes;
  memset(s->votes, 0, (size_t)p->classes * sizeof *s->votes);
  memset(votes, 0, (size_t)n * sizeof *votes);
  return OK;
  return best;
  return ml_input_f32(k, 0, out);
  s->decisions = s->kernels + p->vectors;
  s->kernels = (float *)(s->votes + n);
  s->starts = (int64_t *)(s->work + 2 * n * n + 2 * n);
  s->votes = s->starts + n;
  s->work = memory;
  void *memory;
  }
  } else {
/* ---- Classifier ---------------------------------------------------------------------------------------------------------------------------- */
/* Decision of each pair, and the votes. */
/* Memory for one row: similarities, votes, pairs and their products, scores. */
/* One machine for each pair of classes; the class with most votes wins, whatever the probabilities. */
/* Scores of one row; returns the label's index. */
/* Two classes without probabilities: the one score gives both columns. */
static int64_t classify(const svm_params *p, const float *x, const svm_scratch *s, float *scores) {
static int64_t classify_linear(const svm_params *p, const float *x, double *memory, double **out_scores, int64_t *out_count) {
static int64_t classify_pairs(const svm_params *p, const float *x, double *memory, double **out_scores, int64_t *out_count) {
static int64_t largest(const float *scores, int64_t n) {
static int64_t largest_vote(const int64_t *votes, int64_t n) {
static int64_t row_scratch(const svm_params *p) { return p->vectors + p->classes * (2 * p->classes + 3) + p->classes * p->classes + 2; }
static int64_t score_columns(const svm_params *p) { return p->prob_count || !p->vectors || p->classes <= 2 ? p->classes : p->classes * (p->classes - 1) / 2; }
static status scratch_init(kernel_ctx *k, const svm_params *p, svm_scratch *s) {
static status svm_input(kernel_ctx *k, const svm_params *p, int64_t *out_rows, const float **out) {
static void classifier_range(void *context, int64_t begin, int64_t end) {
static void decide(const svm_params *p, const float *kernels, const int64_t *starts, float *decisions, int64_t *votes) {
static void probabilities(const svm_params *p, const float *decisions, double *work, float *out) {
static void spread_score(const svm_params *p, double *scores) {
typedef struct svm_scratch { float *kernels, *decisions; int64_t *starts, *votes; double *work; } svm_scratch;
typedef struct svm_work { const svm_params *p; const float *x; int64_t columns; double *memory; tensor *labels, *out; } svm_work;
}
}

static status classifier_run(kernel_ctx *k) {
  const svm_params *p = k->params;

    ((float *)w->out->data)[row] = (float)sum;
    const float *x = w->x + row * p->features;
    double sum = p->rho[0];
    else post_transform_apply(p->transform, &sum, 1);
    for (int64_t v = 0; v < p->vectors; ++v) sum += svm_similarity(p, x, p->support + v * p->features) * p->coefficients[v];
    if (!p->vectors) sum += svm_similarity(p, x, p->coefficients);
    if (kernel_cancelled(k)) return ERROR(FAIL, "the run was ended because its terminate flag is set");
    if (label) TRY(labels_put(&p->labels, label, r, best));
    if (p->one_class) sum = sum > 0 ? 1 : -1;
    int64_t best = classify(p, x + r * columns, &s, out ? (float *)out->data + r * width : spare);
    return ERROR(INVALID_ARGUMENT, "support_vectors, coefficients and rho do not fit %lld support vectors", (long long)p->vectors);
  TRY(features_as_float(k, k->in[0], &x));
  TRY(features_shape(k->in[0], &rows, &columns));
  TRY(kernel_output(k, 0, 1, &rows, &w.labels));
  TRY(kernel_output(k, 1, 2, (int64_t[]){rows, w.columns}, &w.out));
  TRY(kernel_output(k, 1, 2, (int64_t[]){rows, width}, &out));
  TRY(kernel_scratch(k, bytes, &memory));
  TRY(labels_output(k, 0, rows, &label));
  TRY(read_kernel(c, p));
  TRY(scratch_init(k, p, &s));
  TRY(svm_input(k, p, &rows, &w.x));
  const fact *x = c->in[0];
  const float *x;
  const svm_params *p = w->p;
  const svm_work *w = context;
  fact_set_shape(c->out[0], 2, (dim[]){x->rank == 2 ? x->dims[0] : x->rank == 1 ? 1 : DIM_UNKNOWN, 1});
  for (int64_t r = 0; r < rows; ++r) {
  for (int64_t row = begin; row < end; ++row) {
  if (!out) TRY(kernel_scratch(k, (size_t)width * sizeof(float), &spare));
  if (!p) return status_out_of_memory();
  if (checked_mul(rows, row_scratch(p), &count) || !dtype_bytes(ORTC_DOUBLE, count, &bytes)) return ERROR(INVALID_ARGUMENT, "%lld rows are too many", (long long)rows);
  if (columns != p->features) return ERROR(INVALID_ARGUMENT, "X has %lld features, but the support vectors have %lld", (long long)columns, (long long)p->features);
  if (p->rho_count < 1 || !coefficients || p->vectors < 0 || (p->vectors && (support % p->vectors || coefficients != p->vectors)))
  int64_t coefficients, support;
  int64_t rows, columns, width = score_count(p);
  int64_t rows, count;
  p->coefficients = attr_floats(c->node, "coefficients", &coefficients);
  p->features = p->vectors ? support / p->vectors : coefficients;
  p->one_class = attr_int_or(c->node, "one_class", 0);
  p->support = attr_floats(c->node, "support_vectors", &support);
  p->vectors = attr_int_or(c->node, "n_supports", 0);
  parallel_for(k->threads, rows, 8192 / ((p->vectors + p->classes) * p->features + 1) + 1, classifier_range, &w);
  return OK;
  return classifier_infer(c, "classlabels_strings", DIM_UNKNOWN);
  size_t bytes;
  svm_params *p = *out_params = ZONE_NEW(c->memory, svm_params);
  svm_scratch s;
  svm_work w = {.p = p, .columns = score_columns(p)};
  tensor *label, *out;
  void *memory;
  void *spare = NULL;
  w.memory = memory;
  }
/* ---- Regressor ------------------------------------------------------------------------------------------------------------------------------ */
/* ---- Regressor -------------------------------------------------------------------------------------------------------------------------------- */
static status regressor_prepare(prepare_ctx *c, void **out_params) {
static status regressor_shape(infer_ctx *c) {
static status svm_classifier_infer(infer_ctx *c) {
static void regressor_range(void *context, int64_t begin, int64_t end) {
}
}

static status regressor_run(kernel_ctx *k) {
  const svm_params *p = k->params;

    ((float *)out->data)[r] = p->one_class ? (y > 0 ? 1 : -1) : y;
    double sum = 0;
    float y = (float)(sum + (double)p->rho[0]);
    for (int64_t v = 0; v < p->vectors; ++v) sum += (double)p->coefficients[v] * (double)kernel_of(p, x + r * columns, p->support + v * columns, columns);
    if (!p->one_class) post_apply(p->post, (float *)out->data + r, 1);
    if (!p->vectors) sum = (double)kernel_of(p, x + r * columns, p->coefficients, columns);
  TRY(features_as_float(k, k->in[0], &x));
  TRY(features_shape(k->in[0], &rows, &columns));
  TRY(kernel_output(k, 0, 2, (int64_t[]){rows, 1}, &out));
  TRY(kernel_output(k, 0, 2, (int64_t[]){rows, 1}, &w.out));
  TRY(svm_input(k, p, &rows, &w.x));
  const float *x;
  fact_set_shape(c->out[0], 2, (dim[]){ml_rows(c->in[0]), 1});
  for (int64_t r = 0; r < rows; ++r) {
  if (columns != p->features) return ERROR(INVALID_ARGUMENT, "X has %lld features, but the support vectors have %lld", (long long)columns, (long long)p->features);
  if (w.out) parallel_for(k->threads, rows, 8192 / ((p->vectors + 1) * p->features + 1) + 1, regressor_range, &w);
  int64_t rows, columns;
  int64_t rows;
  return OK;
  svm_work w = {.p = p};
  tensor *out;
  }
static status regressor_infer(infer_ctx *c) {
}
  return OK;
}

OP_FAMILY(ml_svm) = {
   .prepare = classifier_prepare, .dispose = svm_dispose, .run = classifier_run},
   .prepare = classifier_prepare, .run = classifier_run},
   .run = regressor_run},
  {.name = "SVMClassifier", .domain = "ai.onnx.ml", .since = 1, .signature = "X:T1 -> Y:T2 Z:f32?", .T1 = TS_FEATURES, .T2 = TS(STRING) | TS(INT64), .infer = classifier_shape,
  {.name = "SVMClassifier", .domain = ML, .since = 1, .signature = "X:T -> Y:T1 Z:f32", .T = TS_ML, .T1 = TS(INT64) | TS(STRING), .infer = svm_classifier_infer,
  {.name = "SVMRegressor", .domain = "ai.onnx.ml", .since = 1, .signature = "X:T -> Y:f32", .T = TS_FEATURES, .infer = regressor_shape, .prepare = regressor_prepare,
  {.name = "SVMRegressor", .domain = ML, .since = 1, .signature = "X:T -> Y:f32", .T = TS_ML, .infer = regressor_infer, .prepare = regressor_prepare, .run = regressor_run},
  {0}};
