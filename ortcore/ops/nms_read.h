/* What NonMaxSuppression is asked to do, read from its inputs and checked, for kernels of every device. */
#ifndef ORTCORE_OPS_NMS_READ_H
#define ORTCORE_OPS_NMS_READ_H

#include <ortcore/ops/op.h>

typedef struct nms_problem {
  const float *boxes, *scores;                              /* [batch, count, 4], [batch, classes, count], where the kernel runs */
  int64_t batch, classes, count, most;                      /* count: below 2^31; most: results of a class, not negative */
  float iou_threshold, score_threshold;
  bool has_score_threshold, centred;                        /* centred: boxes are x, y, width, height; else two corners */
} nms_problem;

/* The inputs from the third on are read here, and must lie in host memory. */
status nms_read(const kernel_ctx *k, nms_problem *out) MUST_CHECK;

#endif
