#include <math.h>
#include <ortcore/ops/ml_common.h>
#include <string.h>

static const char *const transform_names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};

status post_transform_read(const node *n, post_transform *out) {
  text name = attr_string_or(n, "post_transform", "NONE");
  for (size_t i = 0; i < sizeof transform_names / sizeof *transform_names; ++i)
    if (!strcmp(name.data, transform_names[i])) {
      *out = (post_transform)i;
      return OK;
    }
  return ERROR(INVALID_ARGUMENT, "attribute 'post_transform' is '%s', expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT", name.data);
}

double logistic(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }

/* The quantile function of the normal distribution: sqrt(2) erfinv(2p - 1), by an approximation that two steps of Newton's method make exact. */
static double probit(double p) {
  if (!(p > 0 && p < 1)) return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
  double y = 2 * p - 1, log_part = log(4 * p * (1 - p)), a = 2 / (M_PI * 0.147) + log_part / 2;
  double x = copysign(sqrt(sqrt(a * a - log_part / 0.147) - a), y);
  for (int i = 0; i < 2; ++i) {
    double error = y < 0 ? erfc(-x) - 2 * p : 2 * (1 - p) - erfc(x);
    x -= error / (2 / sqrt(M_PI) * exp(-x * x));
  }
  return x * sqrt(2);
}

/* SOFTMAX_ZERO leaves scores of zero out: they stay (almost) zero. */
static void softmax(double *scores, int64_t n, bool keep_zero) {
  double most = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; ++i) most = scores[i] > most ? scores[i] : most;
  for (int64_t i = 0; i < n; ++i) {
    if (keep_zero && fabs(scores[i]) <= 1e-7) scores[i] *= exp(-most);
    else sum += scores[i] = exp(scores[i] - most);
  }
  for (int64_t i = 0; i < n && sum > 0; ++i) scores[i] /= sum;
}

void post_transform_apply(post_transform t, double *scores, int64_t n) {
  if (t == POST_SOFTMAX || t == POST_SOFTMAX_ZERO) softmax(scores, n, t == POST_SOFTMAX_ZERO);
  for (int64_t i = 0; i < n && (t == POST_LOGISTIC || t == POST_PROBIT); ++i) scores[i] = t == POST_LOGISTIC ? logistic(scores[i]) : probit(scores[i]);
}

status ml_matrix(const tensor *x, int64_t *out_rows, int64_t *out_columns) {
  if (x->rank < 1) return ERROR(INVALID_ARGUMENT, "input 'X' is a scalar, expected [N, C] or [C]");
  *out_rows = x->rank == 1 ? 1 : x->dims[0];
  *out_columns = x->rank == 1 ? x->dims[0] : dims_product(x->dims, 1, x->rank);
  return OK;
}

#define CONVERT(to, from) for (int64_t i = 0; i < t->count; ++i) ((to *)memory)[i] = (to)((const from *)t->data)[i]

status ml_input_f32(kernel_ctx *k, int32_t input, const float **out) {
  const tensor *t = k->in[input];
  void *memory = NULL;
  if (t->type != ORTC_FLOAT) TRY(kernel_scratch(k, (size_t)t->count * sizeof(float), &memory));
  if (t->type == ORTC_DOUBLE) CONVERT(float, double);
  if (t->type == ORTC_INT64) CONVERT(float, int64_t);
  if (t->type == ORTC_INT32) CONVERT(float, int32_t);
  *out = t->type == ORTC_FLOAT ? t->data : memory;
  return OK;
}

status ml_input_f64(kernel_ctx *k, int32_t input, const double **out) {
  const tensor *t = k->in[input];
  void *memory = NULL;
  if (t->type != ORTC_DOUBLE) TRY(kernel_scratch(k, (size_t)t->count * sizeof(double), &memory));
  if (t->type == ORTC_FLOAT) CONVERT(double, float);
  if (t->type == ORTC_INT64) CONVERT(double, int64_t);
  if (t->type == ORTC_INT32) CONVERT(double, int32_t);
  *out = t->type == ORTC_DOUBLE ? t->data : memory;
  return OK;
}

status class_labels_read(prepare_ctx *c, const char *ints_name, const char *strings_name, class_labels *l) {
  int64_t count;
  const text *strings = attr_strings(c->node, strings_name, &count);
  l->ints = attr_ints(c->node, ints_name, &l->count);
  if (count && l->count) return ERROR(INVALID_ARGUMENT, "attributes '%s' and '%s' exclude each other", ints_name, strings_name);
  if (!count) return OK;
  l->strings = ZONE_ARRAY(c->memory, count, rcstr *);
  if (!l->strings) return status_out_of_memory();
  l->count = count;
  for (int64_t i = 0; i < count; ++i)
    if (!(l->strings[i] = rcstr_create(strings[i].data, strings[i].bytes))) return status_out_of_memory();
  return OK;
}

void class_labels_dispose(class_labels *l) {
  if (l->strings) rcstr_release_n(l->strings, l->count);
}

dtype class_labels_type(const node *n, const char *strings_name) {
  int64_t count;
  attr_strings(n, strings_name, &count);
  return count ? ORTC_STRING : ORTC_INT64;
}

void class_labels_write(const class_labels *l, int64_t index, tensor *out, int64_t at) {
  if (l->strings) ((rcstr **)out->data)[at] = rcstr_retain(l->strings[index]);
  else ((int64_t *)out->data)[at] = index < l->count ? l->ints[index] : index;
}

dim ml_rows(const fact *x) { return x->rank < 0 ? DIM_UNKNOWN : x->rank == 1 ? 1 : x->rank == 0 ? 1 : x->dims[0]; }

status classifier_infer(infer_ctx *c, const char *strings_name, dim columns) {
  dim rows = ml_rows(c->in[0]);
  if (c->out_count > 0 && c->out[0]) {
    c->out[0]->type = class_labels_type(c->node, strings_name);
    fact_set_shape(c->out[0], 1, &rows);
  }
  if (c->out_count > 1 && c->out[1]) fact_set_shape(c->out[1], 2, (dim[]){rows, columns});
  return OK;
}
