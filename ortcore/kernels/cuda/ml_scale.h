/* Scaler, Normalizer, Imputer, Binarizer and FeatureVectorizer on a GPU, for C. Each call returns a cudaError_t. */
#ifndef ORTCORE_KERNELS_CUDA_ML_SCALE_H
#define ORTCORE_KERNELS_CUDA_ML_SCALE_H

#include "ml.h"

#ifdef __cplusplus
extern "C" {
#endif

/* (x - offset) * scale. Tables have an element for each column, or one for all. */
typedef struct cuda_scaler { const float *offsets, *scales; bool one_offset, one_scale; } cuda_scaler;
int cuda_scale(const cuda_features *x, const cuda_scaler *how, float *y, void *stream);

typedef enum cuda_norm { CUDA_NORM_MAX, CUDA_NORM_L1, CUDA_NORM_L2 } cuda_norm;
/* Rows divided by their norm; those whose norm is 0 as they are. */
int cuda_normalise_rows(const cuda_features *x, cuda_norm norm, float *y, void *stream);

/* What is missing is replaced. `missing` is compared with floats, and NaN is equal to NaN; `missing_integer` with integers. */
typedef struct cuda_imputer {
  const void *values;                                      /* of X's type, for each column, or one for all */
  bool one_value;
  float missing;
  int64_t missing_integer;
} cuda_imputer;
int cuda_impute(const cuda_features *x, const cuda_imputer *how, void *y, void *stream);

/* 1 above the threshold, else 0, in X's type. */
int cuda_binarise(const cuda_features *x, float threshold, void *y, void *stream);

/* The columns of X, cut or filled up with zeros to `width`, in rows that are `stride` apart. */
int cuda_place_features(const cuda_features *x, float *y, int64_t width, int64_t stride, void *stream);

#ifdef __cplusplus
}
#endif
#endif
