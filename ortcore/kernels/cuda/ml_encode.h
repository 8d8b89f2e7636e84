/* LabelEncoder, OneHotEncoder and ArrayFeatureExtractor on a GPU, for C. Each call returns a cudaError_t. */
#ifndef ORTCORE_KERNELS_CUDA_ML_ENCODE_H
#define ORTCORE_KERNELS_CUDA_ML_ENCODE_H

#include "fault.h"
#include "ml.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `count` keys in ascending order, NaN last; of equal ones the first counts. `values` are elements of `width` bytes (2, 4, 8): that of each key, and
 * behind them what stands for all else. */
typedef struct cuda_dictionary { const double *keys; int64_t count; const void *values; int32_t width; } cuda_dictionary;
/* x: `count` elements of f32, f64, i16, i32 or i64. */
int cuda_look_up(const void *x, dtype type, int64_t count, const cuda_dictionary *d, void *y, void *stream);

/* categories: NaN at those that repeat an earlier one. An element is in the category that its integer part is. */
typedef struct cuda_categories { const double *at; int64_t count; bool must_match; cuda_fault_place fault; } cuda_categories;
/* y: floats [count, categories] */
int cuda_one_hot(const void *x, dtype type, int64_t count, const cuda_categories *c, float *y, void *stream);

/* y[row, i] = x[row, index[i]]; elements of `width` bytes (4, 8). */
typedef struct cuda_columns { const int64_t *index; int64_t count; cuda_fault_place fault; } cuda_columns;
int cuda_extract_columns(const void *x, int width, int64_t rows, int64_t columns, const cuda_columns *c, void *y, void *stream);

#ifdef __cplusplus
}
#endif
#endif
