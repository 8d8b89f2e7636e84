/* Operators that fetch or place elements by index: Gather, GatherElements, GatherND, ScatterElements, ScatterND. */
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <ortcore/kernels/cuda/movement.h>
#include <ortcore/ops/movement.h>
#include <ortcore/provider/cuda/plugin.h>

#define MOVED (TS_ALL_FIXED & ~TS_SUBBYTE)

static cuda_indices indices_of(const kernel_ctx *k, const tensor *t, const stream *on) {
  return (cuda_indices){t->data, t->type == ORTC_INT64, cuda_fault(k, on)};
}

static cuda_move move_of(tensor *to, const tensor *from, int64_t count) {
  return (cuda_move){.to = to->data, .from = from->data, .count = count, .width = tensor_width(from)};
}

/* Any index of an axis without elements is out of range. */
static status axis_has_elements(const tensor *data, int axis) {
  if (data->dims[axis]) return OK;
  return ERROR(INVALID_ARGUMENT, "axis %d of 'data' has no elements, so no index of 'indices' is in its range", axis);
}

static status gather_launch(kernel_ctx *k, stream *on) {
  const gather_params *p = k->params;
  const tensor *data = k->in[0], *indices = k->in[1];
  int axis;
  tensor *out;
  TRY(axis_normalise(p->axis, data->rank, "axis", &axis));
  TRY(kernel_output_inferred(k, 0, &out));
  if (!out || out->count == 0) return OK;
  TRY(axis_has_elements(data, axis));
  cuda_gather g = {indices_of(k, indices, on), data->dims[axis], indices->count, dims_product(data->dims, axis + 1, data->rank)};
  cuda_move m = move_of(out, data, out->count);
  return cuda_launched(cuda_gather_blocks(&m, &g, cuda_raw(on)));
}

/* GatherElements, ScatterElements */
static status by_index_of(const kernel_ctx *k, int64_t axis, const stream *on, cuda_by_index *out) {
  const tensor *data = k->in[0], *indices = k->in[1];
  int at;
  int64_t stride = 1;
  TRY(axis_normalise(axis, data->rank, "axis", &at));
  TRY(elements_check(data, indices, at));
  *out = (cuda_by_index){.indices = indices_of(k, indices, on), .rank = data->rank, .axis = at, .n = data->dims[at]};
  for (int d = data->rank - 1; d >= 0; --d) {
    out->dims[d] = indices->dims[d];
    out->strides[d] = stride;
    stride *= data->dims[d];
  }
  return indices->count ? axis_has_elements(data, at) : OK;
}

static status gather_elements_launch(kernel_ctx *k, stream *on) {
  const gather_params *p = k->params;
  cuda_by_index g;
  tensor *out;
  TRY(by_index_of(k, p->axis, on, &g));
  TRY(kernel_output_like(k, 0, k->in[1], &out));
  if (!out || out->count == 0) return OK;
  cuda_move m = move_of(out, k->in[0], out->count);
  return cuda_launched(cuda_gather_elements(&m, &g, cuda_raw(on)));
}

static status nd_of(const kernel_ctx *k, const nd_map *map, const stream *on, cuda_nd *out) {
  *out = (cuda_nd){.indices = indices_of(k, map->indices, on), .coordinates = map->coordinates, .per_batch = map->per_batch, .batch_stride = map->batch_stride,
                   .block = map->block};
  for (int c = 0; c < map->coordinates; ++c) {
    out->dims[c] = map->dims[c];
    out->strides[c] = map->strides[c];
    if (map->dims[c] == 0 && map->tuples)
      return ERROR(INVALID_ARGUMENT, "axis %d of 'data' has no elements, so no coordinate of 'indices' is in its range", map->first_axis + c);
  }
  return OK;
}

static status gather_nd_launch(kernel_ctx *k, stream *on) {
  const nd_params *p = k->params;
  nd_map map;
  cuda_nd g;
  tensor *out;
  TRY(nd_map_make(k->in[0], k->in[1], p->batch_dims, &map));
  TRY(nd_of(k, &map, on, &g));
  TRY(kernel_output_inferred(k, 0, &out));
  if (!out || out->count == 0) return OK;
  cuda_move m = move_of(out, k->in[0], out->count);
  return cuda_launched(cuda_gather_nd(&m, &g, cuda_raw(on)));
}

/* ---- Scatters: a copy of the data, unless it is written in place, and then the updates ---- */

static status copy_data(tensor *out, const tensor *data, stream *on) {
  if (out->data == data->data) return OK;
  return cuda_status(cudaMemcpyAsync(out->data, data->data, tensor_bytes(data), cudaMemcpyDeviceToDevice, cuda_raw(on)), "copying 'data' on the device");
}

static status scatter_elements_launch(kernel_ctx *k, stream *on) {
  const scatter_params *p = k->params;
  const tensor *data = k->in[0], *indices = k->in[1], *updates = k->in[2];
  char a[DIMS_TEXT], b[DIMS_TEXT];
  cuda_by_index s;
  tensor *out;
  TRY(by_index_of(k, p->axis, on, &s));
  if (!dims_equal(indices->rank, indices->dims, updates->rank, updates->dims))
    return ERROR(INVALID_ARGUMENT, "'indices' has shape %s, but 'updates' has shape %s; they must agree",
                 dims_format(a, sizeof a, indices->rank, indices->dims), dims_format(b, sizeof b, updates->rank, updates->dims));
  TRY(kernel_output_like(k, 0, data, &out));
  if (!out || out->count == 0) return OK;
  TRY(copy_data(out, data, on));
  cuda_move m = move_of(out, updates, updates->count);
  return cuda_launched(cuda_scatter_elements(&m, &s, p->how, data->type, cuda_raw(on)));
}

static status scatter_nd_launch(kernel_ctx *k, stream *on) {
  const nd_params *p = k->params;
  const tensor *data = k->in[0], *updates = k->in[2];
  nd_map map;
  cuda_nd s;
  tensor *out;
  TRY(nd_map_make(data, k->in[1], 0, &map));
  TRY(nd_updates_check(data, updates, &map));
  TRY(nd_of(k, &map, on, &s));
  TRY(kernel_output_like(k, 0, data, &out));
  if (!out || out->count == 0) return OK;
  TRY(copy_data(out, data, on));
  cuda_move m = move_of(out, updates, updates->count);
  return cuda_launched(cuda_scatter_nd(&m, &s, p->how, data->type, cuda_raw(on)));
}

/* Reductions are atomic operations on 2, 4 or 8 bytes. */
static bool scatter_supports(const node *n, const fact *const *in) {
  text reduction = attr_string_or(n, "reduction", "none");
  return !strcmp(reduction.data, "none") || typeset_has(TS_FLOAT | TS_INDEX, in[0]->type);
}

#define GATHER(name, first, how) {.op = name, .since = first, .types = MOVED, .specialise = cuda_specialise_nothing, .launch = how}
#define SCATTER(name, first, how) {.op = name, .since = first, .types = MOVED, .inplace = 1, .supports = scatter_supports, .launch = how}

KERNEL_FAMILY(indexing) = {
  GATHER("Gather", 1, gather_launch), GATHER("GatherElements", 11, gather_elements_launch), GATHER("GatherND", 11, gather_nd_launch),
  {.op = "GatherND", .domain = "com.microsoft", .since = 1, .types = MOVED, .specialise = cuda_specialise_nothing,
   .launch = gather_nd_launch},
  SCATTER("Scatter", 9, scatter_elements_launch), SCATTER("ScatterElements", 11, scatter_elements_launch), SCATTER("ScatterND", 11, scatter_nd_launch),
  {0}};
