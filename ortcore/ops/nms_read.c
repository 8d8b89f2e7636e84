#include <ortcore/ops/nms_read.h>

static const tensor *input(const kernel_ctx *k, int32_t i) { return i < k->in_count ? k->in[i] : NULL; }

static status scalar_check(const tensor *t, const char *name) {
  if (!t || t->count == 1) return OK;
  return ERROR(INVALID_ARGUMENT, "input '%s' has %lld elements, expected 1", name, (long long)t->count);
}

status nms_read(const kernel_ctx *k, nms_problem *out) {
  const tensor *boxes = k->in[0], *scores = k->in[1], *most = input(k, 2), *iou = input(k, 3), *score = input(k, 4);
  if (boxes->rank != 3 || boxes->dims[2] != 4 || scores->rank != 3 || scores->dims[0] != boxes->dims[0] || scores->dims[2] != boxes->dims[1]) {
    char a[DIMS_TEXT], b[DIMS_TEXT];
    return ERROR(INVALID_ARGUMENT, "'boxes' has shape %s and 'scores' %s, expected [batch, boxes, 4] and [batch, classes, boxes]",
                 dims_format(a, sizeof a, boxes->rank, boxes->dims), dims_format(b, sizeof b, scores->rank, scores->dims));
  }
  TRY(scalar_check(most, "max_output_boxes_per_class"));
  TRY(scalar_check(iou, "iou_threshold"));
  TRY(scalar_check(score, "score_threshold"));
  *out = (nms_problem){.boxes = boxes->data, .scores = scores->data, .batch = scores->dims[0], .classes = scores->dims[1], .count = boxes->dims[1],
                       .most = most ? *(const int64_t *)most->data : 0, .iou_threshold = iou ? *(const float *)iou->data : 0,
                       .score_threshold = score ? *(const float *)score->data : 0, .has_score_threshold = score != NULL,
                       .centred = attr_int_or(k->node, "center_point_box", 0) != 0};
  if (out->most < 0) out->most = 0;
  if (!(out->iou_threshold >= 0 && out->iou_threshold <= 1))
    return ERROR(INVALID_ARGUMENT, "'iou_threshold' is %g, expected 0 to 1", (double)out->iou_threshold);
  if (out->count > INT32_MAX) return ERROR(NOT_IMPLEMENTED, "%lld boxes are too many", (long long)out->count);
  return OK;
}
