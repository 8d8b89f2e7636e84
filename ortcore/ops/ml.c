#include <math.h>
#include <ortcore/ops/ml.h>

status features_of_attr(const node *n, const char *name, const tensor **out) {
  const tensor *t = *out = attr_tensor(n, name);
  if (!t || typeset_has(TS_FEATURES, t->type)) return OK;
  return ERROR(INVALID_ARGUMENT, "attribute '%s' is a tensor of %s, but must be one of float, double, int64 or int32", name, dtype_name(t->type));
}

status features_as_float(kernel_ctx *k, const tensor *t, const float **out) {
  *out = t->data;
  if (t->type == ORTC_FLOAT) return OK;
  void *copy;
  TRY(kernel_scratch(k, (size_t)t->count * sizeof(float), &copy));
  for (int64_t i = 0; i < t->count; ++i) ((float *)copy)[i] = (float)feature_at(t, i);
  *out = copy;
  return OK;
}

status features_shape(const tensor *t, int64_t *rows, int64_t *columns) {
  if (t->rank < 1 || t->rank > 2) return ERROR(INVALID_ARGUMENT, "X must have rank 1 or 2, but has rank %d", t->rank);
  *rows = t->rank == 2 ? t->dims[0] : 1;
  *columns = t->dims[t->rank - 1];
  return OK;
}

/* ---- Labels ---------------------------------------------------------------------------------------------------------------------------- */

labels labels_of(const node *n, const char *ints, const char *strings) {
  labels l = {0};
  l.strings = attr_strings(n, strings, &l.count);
  if (!l.count) l.ints = attr_ints(n, ints, &l.count);
  return l;
}

status labels_output(kernel_ctx *k, int32_t i, int64_t rows, tensor **out) { return kernel_output(k, i, 1, &rows, out); }

status labels_put(const labels *l, tensor *out, int64_t row, int64_t label) {
  if (label < 0 || label >= l->count) return ERROR(INVALID_ARGUMENT, "class %lld has no label: the node has %lld", (long long)label, (long long)l->count);
  if (l->ints) {
    ((int64_t *)out->data)[row] = l->ints[label];
    return OK;
  }
  rcstr *text = rcstr_create(l->strings[label].data, l->strings[label].bytes);
  if (!text) return status_out_of_memory();
  ((rcstr **)out->data)[row] = text;
  return OK;
}

status classifier_infer(infer_ctx *c, const labels *l, int64_t classes) {
  const fact *x = c->in[0];
  dim rows = x->rank == 2 ? x->dims[0] : x->rank == 1 ? 1 : DIM_UNKNOWN;
  if (c->out[0]) {
    c->out[0]->type = l->strings ? ORTC_STRING : ORTC_INT64;
    fact_set_shape(c->out[0], 1, &rows);
  }
  if (c->out_count > 1 && c->out[1]) fact_set_shape(c->out[1], 2, (dim[]){rows, classes});
  return OK;
}

/* ---- Post-transforms ------------------------------------------------------------------------------------------------------------------- */

status post_transform_of(const node *n, post_transform *out) {
  static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  text given = attr_string_or(n, "post_transform", "NONE");
  for (int i = 0; i < 5; ++i)
    if (!strcmp(given.data, names[i])) {
      *out = (post_transform)i;
      return OK;
    }
  return ERROR(INVALID_ARGUMENT, "post_transform is '%s', but must be NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT", given.data);
}

float post_logistic(float x) {
  float v = 1 / (1 + expf(-fabsf(x)));
  return x < 0 ? 1 - v : v;
}

/* sqrt(2) * erfinv(2x - 1), erfinv by Winitzki's approximation with a = 0.147, as the operator's reference has it. */
float post_probit(float x) {
  float y = 2 * x - 1, sign = y < 0 ? -1 : 1, l = logf((1 - y) * (1 + y));
  float a = 2 / (3.14159f * 0.147f) + 0.5f * l, b = l / 0.147f;
  return 1.41421356f * sign * sqrtf(-a + sqrtf(a * a - b));
}

void post_softmax(float *scores, int64_t n, bool keep_zeros) {
  float m = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; ++i) m = scores[i] > m ? scores[i] : m;
  for (int64_t i = 0; i < n; ++i) {
    if (keep_zeros && fabsf(scores[i]) <= 1e-7f) {
      scores[i] *= expf(-m);
    } else {
      scores[i] = expf(scores[i] - m);
      sum += scores[i];
    }
  }
  for (int64_t i = 0; i < n && sum != 0; ++i) scores[i] /= sum;
}

void post_apply(post_transform p, float *scores, int64_t n) {
  switch (p) {
    case POST_NONE: break;
    case POST_SOFTMAX: post_softmax(scores, n, false); break;
    case POST_SOFTMAX_ZERO: post_softmax(scores, n, true); break;
    case POST_LOGISTIC:
      for (int64_t i = 0; i < n; ++i) scores[i] = post_logistic(scores[i]);
      break;
    case POST_PROBIT:
      for (int64_t i = 0; i < n; ++i) scores[i] = post_probit(scores[i]);
      break;
  }
}
