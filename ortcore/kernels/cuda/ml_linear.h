/* Linear models on a GPU, for C: what comes before and after their product. */
#ifndef ORTCORE_KERNELS_CUDA_ML_LINEAR_H
#define ORTCORE_KERNELS_CUDA_ML_LINEAR_H

#include "ml.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Features of any type as floats. Returns a cudaError_t, as the next one does. */
int cuda_features_to_floats(const cuda_features *x, float *to, void *stream);

typedef struct cuda_linear_end {
  const float *products;                                   /* [rows, outputs]; may be `scores` */
  float *scores;                                           /* [rows, outputs], or [rows, 2] with adds_class; NULL: not wanted */
  int64_t *labels;                                         /* [rows]; NULL: not wanted */
  const int64_t *label_values;                             /* label_count of them */
  int64_t rows, outputs, label_count;
  bool adds_class;                                         /* one output and two labels: the second score is made of the first */
  post_transform post;
} cuda_linear_end;
int cuda_linear_finish(const cuda_linear_end *e, void *stream);

#ifdef __cplusplus
}
#endif
#endif
