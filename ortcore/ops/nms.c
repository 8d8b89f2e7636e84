/* NonMaxSuppression: of boxes that overlap, the one with the best score stays. */
#include <ortcore/base/threads.h>
#include <ortcore/ops/movement.h>
#include <stdlib.h>

typedef struct candidate { float score; int32_t index; } candidate;
typedef struct box { float y0, x0, y1, x1, area; } box;

typedef struct nms_work {
  const float *boxes, *scores;
  int64_t classes, count, most;                             /* count: boxes of a batch; most: results of a class */
  bool centred, has_score_threshold;
  float iou_threshold, score_threshold;
  candidate *candidates;                                    /* [batch * classes][count]; the survivors come first */
  int64_t *kept;                                            /* [batch * classes] */
} nms_work;

static int by_score(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  return x->score > y->score ? -1 : x->score < y->score ? 1 : x->index < y->index ? -1 : x->index > y->index;
}

static box read_box(const nms_work *w, const float *from) {
  box b;
  if (w->centred) {
    b = (box){.x0 = from[0] - from[2] / 2, .x1 = from[0] + from[2] / 2, .y0 = from[1] - from[3] / 2, .y1 = from[1] + from[3] / 2};
  } else {
    b = (box){.y0 = from[0] < from[2] ? from[0] : from[2], .y1 = from[0] < from[2] ? from[2] : from[0],
              .x0 = from[1] < from[3] ? from[1] : from[3], .x1 = from[1] < from[3] ? from[3] : from[1]};
  }
  b.area = (b.y1 - b.y0) * (b.x1 - b.x0);
  return b;
}

static bool overlaps(const box *a, const box *b, float threshold) {
  float y0 = a->y0 > b->y0 ? a->y0 : b->y0, y1 = a->y1 < b->y1 ? a->y1 : b->y1;
  float x0 = a->x0 > b->x0 ? a->x0 : b->x0, x1 = a->x1 < b->x1 ? a->x1 : b->x1;
  float height = y1 > y0 ? y1 - y0 : 0, width = x1 > x0 ? x1 - x0 : 0, common = height * width, both = a->area + b->area - common;
  return a->area > 0 && b->area > 0 && both > 0 && common / both > threshold;
}

/* Survivors of one class of one batch move to the front, best first. */
static void suppress(const nms_work *w, int64_t pair) {
  candidate *c = w->candidates + pair * w->count;
  const float *scores = w->scores + pair * w->count, *boxes = w->boxes + pair / w->classes * w->count * 4;
  int64_t count = 0, kept = 0;
  for (int64_t i = 0; i < w->count; ++i)
    if (!w->has_score_threshold || scores[i] > w->score_threshold) c[count++] = (candidate){scores[i], (int32_t)i};
  qsort(c, (size_t)count, sizeof *c, by_score);
  for (int64_t i = 0; i < count && kept < w->most; ++i) {
    box b = read_box(w, boxes + (int64_t)c[i].index * 4);
    bool suppressed = false;
    for (int64_t j = 0; j < kept && !suppressed; ++j) {
      box better = read_box(w, boxes + (int64_t)c[j].index * 4);
      suppressed = overlaps(&better, &b, w->iou_threshold);
    }
    if (!suppressed) c[kept++] = c[i];
  }
  w->kept[pair] = kept;
}

static void suppress_range(void *context, int64_t begin, int64_t end) {
  for (int64_t pair = begin; pair < end; ++pair) suppress(context, pair);
}

static status nms_infer(infer_ctx *c) {
  fact_set_shape(c->out[0], 2, (dim[]){DIM_UNKNOWN, 3});
  return OK;
}

static status scalar_check(const tensor *t, const char *name) {
  if (!t || t->count == 1) return OK;
  return ERROR(INVALID_ARGUMENT, "input '%s' has %lld elements, expected 1", name, (long long)t->count);
}

static status nms_run(kernel_ctx *k) {
  const tensor *boxes = k->in[0], *scores = k->in[1], *most = kernel_in(k, 2), *iou = kernel_in(k, 3), *score = kernel_in(k, 4);
  if (boxes->rank != 3 || boxes->dims[2] != 4 || scores->rank != 3 || scores->dims[0] != boxes->dims[0] || scores->dims[2] != boxes->dims[1]) {
    char a[DIMS_TEXT], b[DIMS_TEXT];
    return ERROR(INVALID_ARGUMENT, "'boxes' has shape %s and 'scores' %s, expected [batch, boxes, 4] and [batch, classes, boxes]",
                 dims_format(a, sizeof a, boxes->rank, boxes->dims), dims_format(b, sizeof b, scores->rank, scores->dims));
  }
  TRY(scalar_check(most, "max_output_boxes_per_class"));
  TRY(scalar_check(iou, "iou_threshold"));
  TRY(scalar_check(score, "score_threshold"));
  nms_work w = {.boxes = boxes->data, .scores = scores->data, .classes = scores->dims[1], .count = boxes->dims[1], .centred = attr_int_or(k->node, "center_point_box", 0),
                .most = most ? *(const int64_t *)most->data : 0, .iou_threshold = iou ? *(const float *)iou->data : 0, .has_score_threshold = score,
                .score_threshold = score ? *(const float *)score->data : 0};
  if (!(w.iou_threshold >= 0 && w.iou_threshold <= 1)) return ERROR(INVALID_ARGUMENT, "'iou_threshold' is %g, expected 0 to 1", (double)w.iou_threshold);
  if (w.count > INT32_MAX) return ERROR(NOT_IMPLEMENTED, "%lld boxes are too many", (long long)w.count);
  int64_t pairs = scores->dims[0] * w.classes, total = 0;
  void *candidates, *kept;
  tensor *out;
  if (w.most < 0) w.most = 0;
  TRY(kernel_scratch(k, (size_t)scores->count * sizeof(candidate), &candidates));
  TRY(kernel_scratch(k, (size_t)pairs * sizeof(int64_t), &kept));
  w.candidates = candidates;
  w.kept = kept;
  if (w.most) parallel_for(k->threads, pairs, 4096 / (w.count + 1) + 1, suppress_range, &w);
  for (int64_t p = 0; p < pairs && w.most; ++p) total += w.kept[p];
  TRY(kernel_output(k, 0, 2, (int64_t[]){total, 3}, &out));
  int64_t *to = out->data;
  for (int64_t p = 0; p < pairs && w.most; ++p)
    for (int64_t i = 0; i < w.kept[p]; ++i, to += 3) {
      to[0] = p / w.classes;
      to[1] = p % w.classes;
      to[2] = w.candidates[p * w.count + i].index;
    }
  return OK;
}

OP_FAMILY(nms) = {
  {.name = "NonMaxSuppression", .since = 10, .signature = "boxes:f32 scores:f32 max_output_boxes_per_class:i64? iou_threshold:f32? score_threshold:f32? -> selected_indices:i64",
   .infer = nms_infer, .run = nms_run},
  {0}};
