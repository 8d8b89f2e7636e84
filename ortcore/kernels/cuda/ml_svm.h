/* Support vector machines on a GPU, for C. */
#ifndef ORTCORE_KERNELS_CUDA_ML_SVM_H
#define ORTCORE_KERNELS_CUDA_ML_SVM_H

#include "ml.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_SVM_BLOCK = 32 };                              /* support vectors side by side */

/* Tables in device memory. Without support vectors of its own, a model has one `vector` for each class or target, and what the kernel function
 * says of it is the score. */
typedef struct cuda_svm {
  svm_kernel kernel;
  float gamma, coef0, degree;
  int64_t vectors, features;
  const float *blocks;                                     /* the vectors as [ceil(vectors / 32)][features][32] */
  const float *coefficients;                               /* [classes - 1, vectors], of a regressor [vectors]; NULL: a linear classifier */
  const float *rho;                                        /* of each pair of classes; else one */
  int64_t classes;                                         /* 0: a regressor */
  const int32_t *starts;                                   /* [classes + 1]: where the vectors of each class begin */
  const float *prob_a, *prob_b;                            /* of each pair; NULL: scores are decisions */
  const int64_t *labels;
  post_transform post;
  bool one_class;                                          /* a regressor that says 1 or -1 */
} cuda_svm;

size_t cuda_svm_scratch_bytes(const cuda_svm *m, int64_t rows);
/* scores: [rows, score_count], labels: [rows], of a classifier; of a regressor scores: [rows]. NULL: not wanted. Returns a cudaError_t. */
int cuda_svm_run(const cuda_svm *m, const cuda_features *x, float *scores, int64_t score_count, int64_t *labels, void *scratch, void *stream);

#ifdef __cplusplus
}
#endif
#endif
