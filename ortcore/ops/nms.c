/* NonMaxSuppression: of boxes that overlap, the one with the best score stays. */
#include <math.h>
#include <ortcore/base/threads.h>
#include <ortcore/ops/nms_read.h>

typedef struct candidate { float score; int32_t index; } candidate;
typedef struct box { float y0, x0, y1, x1, area; } box;

typedef struct nms_work {
  const box *boxes;                                         /* [batch][count] */
  const float *scores;
  int64_t classes, count, most;                             /* count: boxes of a batch; most: results of a class */
  bool has_score_threshold;
  float iou_threshold, score_threshold;
  candidate *candidates;                                    /* [batch * classes][count]; the survivors come to lie at the end, the best one last */
  int64_t *kept;                                            /* [batch * classes] */
} nms_work;

/* Corners from corners in any order, or from the centre (x, y, width, height). */
static box read_box(const float *from, bool centred) {
  box b;
  if (centred) {
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

/* ---- A heap of candidates, the best one first: only those that are looked at get sorted --------------------------------------------------- */

static bool better(candidate a, candidate b) { return a.score > b.score || (a.score == b.score && a.index < b.index); }

static void sift(candidate *heap, int64_t size, int64_t at) {
  candidate moving = heap[at];
  for (int64_t child; (child = 2 * at + 1) < size; at = child) {
    child += child + 1 < size && better(heap[child + 1], heap[child]);
    if (!better(heap[child], moving)) break;
    heap[at] = heap[child];
  }
  heap[at] = moving;
}

/* Those of one class of one batch that score enough; NaN is the worst score. */
static int64_t make_heap(const nms_work *w, const float *scores, candidate *heap) {
  int64_t size = 0;
  for (int64_t i = 0; i < w->count; ++i)
    if (!w->has_score_threshold || scores[i] > w->score_threshold) heap[size++] = (candidate){isnan(scores[i]) ? -INFINITY : scores[i], (int32_t)i};
  for (int64_t at = size / 2 - 1; at >= 0; --at) sift(heap, size, at);
  return size;
}

static void suppress(const nms_work *w, int64_t pair) {
  candidate *heap = w->candidates + pair * w->count, *end = heap + w->count;
  const box *boxes = w->boxes + pair / w->classes * w->count;
  int64_t kept = 0;
  for (int64_t size = make_heap(w, w->scores + pair * w->count, heap); size > 0 && kept < w->most;) {
    candidate best = heap[0];
    heap[0] = heap[--size];
    sift(heap, size, 0);
    bool suppressed = false;
    for (int64_t j = 1; j <= kept && !suppressed; ++j) suppressed = overlaps(&boxes[end[-j].index], &boxes[best.index], w->iou_threshold);
    if (!suppressed) end[-++kept] = best;
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

static status nms_run(kernel_ctx *k) {
  nms_problem p;
  TRY(nms_read(k, &p));
  nms_work w = {.scores = p.scores, .classes = p.classes, .count = p.count, .most = p.most, .iou_threshold = p.iou_threshold,
                .has_score_threshold = p.has_score_threshold, .score_threshold = p.score_threshold};
  int64_t pairs = p.batch * p.classes, boxes = p.batch * p.count, total = 0;
  void *candidates, *kept, *corners;
  tensor *out;
  TRY(kernel_scratch(k, (size_t)(pairs * p.count) * sizeof(candidate), &candidates));
  TRY(kernel_scratch(k, (size_t)pairs * sizeof(int64_t), &kept));
  TRY(kernel_scratch(k, (size_t)boxes * sizeof(box), &corners));
  for (int64_t i = 0; i < boxes; ++i) ((box *)corners)[i] = read_box(p.boxes + i * 4, p.centred);
  w.boxes = corners;
  w.candidates = candidates;
  w.kept = kept;
  if (w.most) parallel_for(k->threads, pairs, 4096 / (w.count + 1) + 1, suppress_range, &w);
  for (int64_t pair = 0; pair < pairs && w.most; ++pair) total += w.kept[pair];
  TRY(kernel_output(k, 0, 2, (int64_t[]){total, 3}, &out));
  if (!out) return OK;
  int64_t *to = out->data;
  for (int64_t pair = 0; pair < pairs && w.most; ++pair)
    for (int64_t i = 0; i < w.kept[pair]; ++i, to += 3) {
      to[0] = pair / w.classes;
      to[1] = pair % w.classes;
      to[2] = w.candidates[(pair + 1) * w.count - 1 - i].index;
    }
  return OK;
}

OP_FAMILY(nms) = {
  {.name = "NonMaxSuppression", .since = 10, .signature = "boxes:f32 scores:f32 max_output_boxes_per_class:i64? iou_threshold:f32? score_threshold:f32? -> selected_indices:i64",
   .infer = nms_infer, .run = nms_run},
  {0}};
