/* What operators of ai.onnx.ml make of their attributes when they are prepared, for kernels of every device. Trees: ml_trees.h. */
#ifndef ORTCORE_OPS_ML_PARAMS_H
#define ORTCORE_OPS_ML_PARAMS_H

#include <ortcore/base/strmap.h>
#include <ortcore/ops/ml.h>

/* LinearClassifier, LinearRegressor. X may have fewer features than there are coefficients an output: then rows of them are as long as those of X. */
typedef struct linear_params {
  int64_t outputs, features;
  const float *coefficients, *intercepts;
  labels classes;
  post_transform post;
} linear_params;

/* One set of coefficients with two labels: the second score is made of the first. */
static inline bool linear_adds_class(const linear_params *p) { return p->outputs == 1 && p->classes.count == 2; }

typedef struct scaler_params { const float *offset, *scale; int64_t offsets, scales; } scaler_params;

typedef struct normalizer_params { char norm; } normalizer_params;       /* 'M', '1', '2' */

typedef struct imputer_params { const float *floats; const int64_t *ints; int64_t count; float missing_float; int64_t missing_int; } imputer_params;

/* SVMClassifier, SVMRegressor. */
typedef struct svm_params {
  svm_kernel kernel;
  float gamma, coef0, degree;
  int64_t vectors, features, classes;
  const float *blocks;                                       /* the support vectors as [ceil(vectors / 32)][features][32], filled up with zeros */
  const float *support, *coefficients, *rho, *prob_a, *prob_b;
  const int64_t *per_class;
  int64_t rho_count, prob_count;
  labels labels;
  post_transform post;
  bool one_class;
} svm_params;

/* One against one. */
static inline int64_t svm_pairs(int64_t classes) { return classes * (classes - 1) / 2; }
/* Scores: a probability a class, or a decision a pair (two classes: one for each). */
static inline int64_t svm_score_count(const svm_params *p) {
  if (!p->vectors || p->prob_count) return p->classes;
  return p->classes > 2 ? svm_pairs(p->classes) : 2;
}

/* Lists of keys or values, whichever way the attributes give them. */
typedef struct entries { dtype type; int64_t count; const text *strings; const int64_t *ints; const float *floats; const tensor *wide; } entries;

/* Where a key stands. Texts go by a hash map; numbers, NaN included, by a sorted list. */
typedef struct number_key { double key; int64_t index; } number_key;
typedef struct encoder {
  dtype key_type, value_type;
  strmap by_text;
  int64_t key_count;
  number_key *by_number;
  entries values;
  const tensor *default_value;
  text default_text;
  int64_t default_int;
  float default_float;
} encoder;
/* Element i of a list that holds no strings. */
double encoder_key(const entries *e, int64_t i);
/* The value of key `index`, or with -1 the default, as a number of that type. */
void encoder_put_number(const encoder *e, dtype type, int64_t index, void *to);

#endif
