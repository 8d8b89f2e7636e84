/* What the operators of ai.onnx.ml share: rows of numbers, class labels, transforms of scores. */
#ifndef ORTCORE_OPS_ML_COMMON_H
#define ORTCORE_OPS_ML_COMMON_H

#include <ortcore/ops/op.h>

#define ML "ai.onnx.ml"
#define TS_ML (TS(FLOAT) | TS(DOUBLE) | TS(INT64) | TS(INT32))

typedef enum post_transform { POST_NONE, POST_SOFTMAX, POST_LOGISTIC, POST_SOFTMAX_ZERO, POST_PROBIT } post_transform;   /* numbers of TreeEnsemble */

status post_transform_read(const node *n, post_transform *out) MUST_CHECK;
/* Over one row of scores. */
void post_transform_apply(post_transform t, double *scores, int64_t n);
double logistic(double x);

/* The input as [rows, columns]: a vector is one row, further dims are flattened. */
status ml_matrix(const tensor *x, int64_t *out_rows, int64_t *out_columns) MUST_CHECK;
/* Input i as float (or double), converted into scratch where it is of another type. */
status ml_input_f32(kernel_ctx *k, int32_t i, const float **out) MUST_CHECK;
status ml_input_f64(kernel_ctx *k, int32_t i, const double **out) MUST_CHECK;

/* Labels of a classifier: int64 or strings. */
typedef struct class_labels { int64_t count; const int64_t *ints; rcstr **strings; } class_labels;

status class_labels_read(prepare_ctx *c, const char *ints_name, const char *strings_name, class_labels *out) MUST_CHECK;
void class_labels_dispose(class_labels *l);
/* Type of the labels' output, from the attributes that the node has. */
dtype class_labels_type(const node *n, const char *strings_name);
/* Writes label number `index` at position `at`. */
void class_labels_write(const class_labels *l, int64_t index, tensor *out, int64_t at);

/* Outputs of a classifier: labels [rows] and scores [rows, columns]. */
status classifier_infer(infer_ctx *c, const char *strings_name, dim columns) MUST_CHECK;
dim ml_rows(const fact *x);

#endif
