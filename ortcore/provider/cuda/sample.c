/* AffineGrid, GridSample, RoiAlign and MaxUnpool. */
#include <ortcore/kernels/cuda/sample.h>
#include <ortcore/ops/movement.h>
#include <ortcore/ops/window_read.h>
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
  cuda_fault_place fault = cuda_fault(k, s);
  return cuda_launched(cuda_roi_align_run(&r, x->data, rois->data, batch->data, y->data, &fault, cuda_raw(s)));
}

static status affine_launch(kernel_ctx *k, stream *s) {
  const tensor *theta = k->in[0];
  integers size;
  char text[DIMS_TEXT];
  TRY(integers_from_tensor(k->in[1], "size", &size));
  int axes = size.count - 2;
  if (axes != 2 && axes != 3) return ERROR(INVALID_ARGUMENT, "'size' must be [N,C,H,W] or [N,C,D,H,W], but has %d entries", size.count);
  if (theta->rank != 3 || theta->dims[0] != size.at[0] || theta->dims[1] != axes || theta->dims[2] != axes + 1)
    return ERROR(INVALID_ARGUMENT, "'theta' of shape %s does not fit 'size': it must be [%lld,%d,%d]",
                 dims_format(text, sizeof text, theta->rank, theta->dims), (long long)size.at[0], axes, axes + 1);
  cuda_affine_grid g = {.type = theta->type, .axes = axes, .align_corners = *(const bool *)k->params, .batch = size.at[0]};
  int64_t dims[5] = {size.at[0]};
  for (int d = 0; d < axes; ++d) dims[1 + d] = g.dims[d] = size.at[2 + d];
  dims[1 + axes] = axes;
  tensor *grid;
  TRY(kernel_output(k, 0, size.count, dims, &grid));
  return grid ? cuda_launched(cuda_affine_grid_run(&g, theta->data, grid->data, cuda_raw(s))) : OK;
}

static bool unpool_supports(const node *n, const fact *const *in) {
  (void)n;
  return in[0]->rank >= 3 && in[0]->rank <= CUDA_UNPOOL_RANK;
}

static status unpool_launch(kernel_ctx *k, stream *s) {
  const tensor *x = k->in[0], *index = k->in[1], *wanted = k->in_count > 2 ? k->in[2] : NULL;
  cuda_unpool u = {.width = tensor_width(x), .rank = x->rank, .count = x->count};
  TRY(window_unpool(k->node, x->rank, x->dims, u.dims));
  if (!dims_equal(x->rank, x->dims, index->rank, index->dims)) return ERROR(INVALID_ARGUMENT, "inputs 'X' and 'I' must have equal shapes");
  if (wanted && wanted->count != x->rank)
    return ERROR(INVALID_ARGUMENT, "input 'output_shape' has %lld elements; 'X' has rank %d", (long long)wanted->count, x->rank);
  for (int d = 0; d < x->rank; ++d) u.out_dims[d] = wanted ? integer_at(wanted, d) : u.dims[d];
  tensor *y;
  TRY(kernel_output(k, 0, x->rank, u.out_dims, &y));
  cuda_fault_place fault = cuda_fault(k, s);
  return y ? cuda_launched(cuda_unpool_run(&u, x->data, index->data, y->data, &fault, cuda_raw(s))) : OK;
}

#define GRID_SAMPLE .op = "GridSample", .types = TS_FLOAT, .supports = is_image, .launch = sample_launch
#define ROI_ALIGN(first) {.op = "RoiAlign", .since = first, .types = TS_FLOAT, .supports = has_rank_4, .launch = roi_launch}

KERNEL_FAMILY(sample) = {
  {.since = 16, GRID_SAMPLE}, {.since = 20, GRID_SAMPLE}, {.since = 1, .domain = "com.microsoft", GRID_SAMPLE},
  ROI_ALIGN(10), ROI_ALIGN(16),
  {.op = "AffineGrid", .since = 20, .types = TS_FLOAT, .host_inputs = 1u << 1, .launch = affine_launch},
  {.op = "MaxUnpool", .since = 9, .types = TS_FLOAT, .host_inputs = 1u << 2, .supports = unpool_supports, .launch = unpool_launch},
  {0}};
