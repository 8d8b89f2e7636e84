/* NonMaxSuppression. How many boxes stay is found on the device and fetched before the output is made. */
#include <ortcore/kernels/cuda/nms.h>
#include <ortcore/ops/nms_read.h>
#include <ortcore/provider/cuda/plugin.h>

static status nms_launch(kernel_ctx *k, stream *s) {
  nms_problem p;
  int64_t dims[2] = {0, 3};
  void *scratch = NULL;
  tensor *out;
  TRY(nms_read(k, &p));
  cuda_nms n = {.boxes = p.boxes, .scores = p.scores, .batch = p.batch, .classes = p.classes, .count = p.count, .most = p.most,
                .iou_threshold = p.iou_threshold, .score_threshold = p.score_threshold, .centred = p.centred, .has_score_threshold = p.has_score_threshold};
  if (n.most > 0 && n.count > 0 && n.batch * n.classes > 0) {
    const int64_t *total;
    TRY(kernel_scratch(k, cuda_nms_scratch_bytes(&n), &scratch));
    TRY(cuda_launched(cuda_nms_find(&n, scratch, cuda_raw(s), &total)));
    TRY(cuda_fetch(s, total, &dims[0], sizeof *total));
  }
  TRY(kernel_output(k, 0, 2, dims, &out));
  if (!out || !out->count) return OK;
  return cuda_launched(cuda_nms_put(&n, scratch, out->data, cuda_raw(s)));
}

/* The limits are read on the host. */
KERNEL_FAMILY(nms) = {
  {.op = "NonMaxSuppression", .since = 10, .types = TS(FLOAT), .host_inputs = 1u << 2 | 1u << 3 | 1u << 4, .launch = nms_launch},
  {0}};
