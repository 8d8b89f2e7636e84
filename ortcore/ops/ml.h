/* What the operators of ai.onnx.ml share: features as floats, class labels, post-transforms. */
#ifndef ORTCORE_OPS_ML_H
#define ORTCORE_OPS_ML_H

#include <ortcore/ops/op.h>
#include <ortcore/ops/params/ml.h>
#include <string.h>

#define TS_FEATURES (TS(FLOAT) | TS(DOUBLE) | TS(INT64) | TS(INT32))

/* Element i of a feature tensor. */
static inline double feature_at(const tensor *t, int64_t i) {
  switch (t->type) {
    case ORTC_FLOAT: { float v; memcpy(&v, (const char *)t->data + i * 4, 4); return v; }
    case ORTC_DOUBLE: { double v; memcpy(&v, (const char *)t->data + i * 8, 8); return v; }
    case ORTC_INT32: { int32_t v; memcpy(&v, (const char *)t->data + i * 4, 4); return v; }
    default: { int64_t v; memcpy(&v, (const char *)t->data + i * 8, 8); return (double)v; }
  }
}
/* An attribute whose elements feature_at reads. NULL if it is absent. */
status features_of_attr(const node *n, const char *name, const tensor **out) MUST_CHECK;
/* The input as floats: in place, or converted into scratch memory. */
status features_as_float(kernel_ctx *k, const tensor *t, const float **out) MUST_CHECK;
/* [N, C] of an input of rank 1 ([C], one row) or 2. */
status features_shape(const tensor *t, int64_t *rows, int64_t *columns) MUST_CHECK;

/* Class labels are strings or integers. */
typedef struct labels { int64_t count; const int64_t *ints; const text *strings; } labels;
labels labels_of(const node *n, const char *ints, const char *strings);
/* Output `i` of shape [rows] for labels; fill with labels_put. */
status labels_output(kernel_ctx *k, int32_t i, int64_t rows, tensor **out) MUST_CHECK;
status labels_put(const labels *l, tensor *out, int64_t row, int64_t label) MUST_CHECK;
/* The label output: dtype and [N]; scores: [N, classes]. */
status classifier_infer(infer_ctx *c, const labels *l, int64_t classes) MUST_CHECK;

status post_transform_of(const node *n, post_transform *out) MUST_CHECK;
float post_logistic(float x);
float post_probit(float x);
void post_softmax(float *scores, int64_t n, bool keep_zeros);
/* All scores of a row, in place. */
void post_apply(post_transform p, float *scores, int64_t n);

#endif
