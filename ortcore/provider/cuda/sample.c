/* GridSample and RoiAlign. */
#include <ortcore/kernels/cuda/sample.h>
#include <ortcore/provider/cuda/plugin.h>

static bool is_image(const node *n, const fact *const *in) {
  (void)n;
  return in[0]->rank == 4 || in[0]->rank == 5;
}

static status sample_launch(kernel_ctx *k, stream *s) {
  const tensor *x = k->in[0], *grid = k->in[1];
  char a[DIMS_TEXT], b[DIMS_TEXT];
  int axes = x->rank - 2;
  if (grid->rank != x->rank || grid->dims[0] != x->dims[0] || grid->dims[grid->rank - 1] != axes)
    return ERROR(INVALID_ARGUMENT, "'grid' of shape %s does not fit 'X' of shape %s: it must be the batch, the axes of the result, and %d "
                 "coordinates",
                 dims_format(a, sizeof a, grid->rank, grid->dims), dims_format(b, sizeof b, x->rank, x->dims), axes);
  cuda_grid_sample g = {.how = *(const sample_params *)k->params, .type = x->type, .grid_type = grid->type, .axes = axes, .batch = x->dims[0],
                        .channels = x->dims[1], .places = dims_product(grid->dims, 1, grid->rank - 1)};
  int64_t dims[MAX_RANK] = {x->dims[0], x->dims[1]};
  for (int d = 0; d < axes; ++d) dims[2 + d] = grid->dims[1 + d];
  tensor *y;
  TRY(kernel_output(k, 0, x->rank, dims, &y));
  if (!y || y->count == 0) return OK;
  for (int d = 0; d < axes; ++d) {
    g.dims[d] = x->dims[2 + d];
    if (g.dims[d] == 0) return ERROR(INVALID_ARGUMENT, "'X' of shape %s has an image without elements", dims_format(b, sizeof b, x->rank, x->dims));
    if (g.dims[d] > INT32_MAX)
      return ERROR(NOT_IMPLEMENTED, "axis %d of 'X' has %lld elements; at most %d are supported", 2 + d, (long long)g.dims[d], INT32_MAX);
  }
  return cuda_launched(cuda_grid_sample_run(&g, x->data, grid->data, y->data, cuda_raw(s)));
}

static bool has_rank_4(const node *n, const fact *const *in) {
  (void)n;
  return in[0]->rank == 4;
}

static status roi_launch(kernel_ctx *k, stream *s) {
  const roi_params *p = k->params;
  const tensor *x = k->in[0], *rois = k->in[1], *batch = k->in[2];
  tensor *y;
  if (rois->rank != 2 || rois->dims[1] != 4 || batch->count != rois->dims[0])
    return ERROR(INVALID_ARGUMENT, "input 'rois' must have shape [regions, 4], and 'batch_indices' an element for each region");
  TRY(kernel_output(k, 0, 4, (int64_t[]){rois->dims[0], x->dims[1], p->height, p->width}, &y));
  if (!y || y->count == 0) return OK;
  if (!x->count) return ERROR(INVALID_ARGUMENT, "input 'X' has no elements");
  cuda_roi_align r = {*p, x->type, x->dims[0], x->dims[1], x->dims[2], x->dims[3], rois->dims[0]};
  return cuda_launched(cuda_roi_align_run(&r, x->data, rois->data, batch->data, y->data, cuda_fault(s), cuda_raw(s)));
}

#define GRID_SAMPLE .op = "GridSample", .types = TS_FLOAT, .supports = is_image, .launch = sample_launch
#define ROI_ALIGN(first) {.op = "RoiAlign", .since = first, .types = TS_FLOAT, .supports = has_rank_4, .launch = roi_launch}

KERNEL_FAMILY(sample) = {
  {.since = 16, GRID_SAMPLE}, {.since = 20, GRID_SAMPLE}, {.since = 1, .domain = "com.microsoft", GRID_SAMPLE},
  ROI_ALIGN(10), ROI_ALIGN(16),
  {0}};
