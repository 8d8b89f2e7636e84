/* Non-maximum suppression on a GPU, for C: the boxes that stay are found, the caller fetches their number, makes room, and has them written. */
#ifndef ORTCORE_KERNELS_CUDA_NMS_H
#define ORTCORE_KERNELS_CUDA_NMS_H

#include <ortcore/base/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/* boxes [batch, count, 4] and scores [batch, classes, count] of floats. */
typedef struct cuda_nms {
  const float *boxes, *scores;
  int64_t batch, classes, count, most;                     /* most: boxes of a class that stay; count and most are positive, count below 2^31 */
  float iou_threshold, score_threshold;
  int32_t centred, has_score_threshold;                    /* truths. centred: boxes are x, y, width, height; else two corners */
} cuda_nms;

size_t cuda_nms_scratch_bytes(const cuda_nms *n);
/* Functions return a cudaError_t. *out_total: where in device memory the number of results will be. */
int cuda_nms_find(const cuda_nms *n, void *scratch, void *stream, const int64_t **out_total);
/* After that: rows of batch, class and box, those of a class by their scores. */
int cuda_nms_put(const cuda_nms *n, void *scratch, int64_t *to, void *stream);

#ifdef __cplusplus
}
#endif
#endif
