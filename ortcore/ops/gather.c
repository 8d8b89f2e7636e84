/* Gather and GatherElements: elements fetched by an index along one axis. */
#include <ortcore/ops/movement.h>

#include <inttypes.h>
#include <ortcore/base/threads.h>

static status gather_prepare(prepare_ctx *c, void **out_params) {
  gather_params *p = ZONE_NEW(c->memory, gather_params);
  if (!p) return status_out_of_memory();
  p->axis = attr_int_or(c->node, "axis", 0);
  *out_params = p;
  return OK;
}

/* ---- Gather: whole blocks, everything behind the axis ---- */

/* data[:axis] + indices + data[axis + 1:] */
static status gather_dims(int axis, int rank, const dim *data, int index_rank, const dim *indices, int *out_rank, dim *out) {
  int n = 0;
  if (rank + index_rank - 1 > MAX_RANK)
    return ERROR(NOT_IMPLEMENTED, "the result would have rank %d; ortcore's tensors have at most %d", rank + index_rank - 1, MAX_RANK);
  for (int i = 0; i < axis; ++i) out[n++] = data[i];
  for (int i = 0; i < index_rank; ++i) out[n++] = indices[i];
  for (int i = axis + 1; i < rank; ++i) out[n++] = data[i];
  *out_rank = n;
  return OK;
}

static status gather_infer(infer_ctx *c) {
  const fact *data = c->in[0], *indices = c->in[1];
  int axis, rank;
  dim dims[MAX_RANK];
  if (data->rank == RANK_UNKNOWN || indices->rank == RANK_UNKNOWN) return OK;
  TRY(axis_normalise(attr_int_or(c->node, "axis", 0), data->rank, "axis", &axis));
  TRY(gather_dims(axis, data->rank, data->dims, indices->rank, indices->dims, &rank, dims));
  fact_set_shape(c->out[0], rank, dims);
  return OK;
}

typedef struct gather {
  char *to;
  const char *from;
  const tensor *indices;
  int64_t n, block;                                        /* elements of the axis; bytes behind it */
} gather;

ALWAYS_INLINE void gather_blocks(char *to, const char *from, const void *indices, int64_t i, int64_t end, int64_t n, const int64_t block,
                                 const bool wide) {
  enum { AHEAD = 8 };                                      /* rows of a large table are rarely in the cache */
  for (; i < end; ++i, to += block) {
    if (block > 16 && i + AHEAD < end) __builtin_prefetch(from + index_wrap(index_at(indices, wide, i + AHEAD), n) * block);
    move_block(to, from + index_wrap(index_at(indices, wide, i), n) * block, block);
  }
}

static void gather_range(void *context, int64_t begin, int64_t end) {
  const gather *g = context;
  int64_t count = g->indices->count, block = g->block;
  while (begin < end) {
    int64_t outer = begin / count, i = begin % count, stop = i + (end - begin) < count ? i + (end - begin) : count;
    char *to = g->to + begin * block;
    const char *from = g->from + outer * g->n * block;
    begin += stop - i;
    FOR_WIDTHS(gather_blocks, block, g->indices->type == ORTC_INT64, to, from, g->indices->data, i, stop, g->n);
  }
}

static status gather_run(kernel_ctx *k) {
  const gather_params *p = k->params;
  const tensor *data = k->in[0], *indices = k->in[1];
  int axis, rank;
  int64_t dims[MAX_RANK];
  tensor *out;
  TRY(axis_normalise(p->axis, data->rank, "axis", &axis));
  TRY(gather_dims(axis, data->rank, data->dims, indices->rank, indices->dims, &rank, dims));
  TRY(indices_check(indices, data->dims[axis], axis));
  TRY(kernel_output(k, 0, rank, dims, &out));
  if (!out || out->count == 0) return OK;
  gather g = {out->data, data->data, indices, data->dims[axis], dims_product(data->dims, axis + 1, data->rank) * tensor_width(data)};
  parallel_for(k->threads, dims_product(data->dims, 0, axis) * indices->count, move_grain(g.block), gather_range, &g);
  tensor_moved(out);
  return OK;
}

/* ---- GatherElements: one index an element ---- */

static status gather_elements_infer(infer_ctx *c) {
  fact_copy_shape(c->out[0], c->in[1]);
  return OK;
}

typedef struct gather_elements {
  char *to;
  const char *from;
  const tensor *indices;
  int axis;
  int64_t n, width, strides[MAX_RANK];                     /* of data, in bytes */
} gather_elements;

/* to[i] = from[i · step + index[i] · axis_stride] */
ALWAYS_INLINE void gather_row(char *to, const char *from, const void *indices, int64_t first, int64_t count, int64_t n, int64_t step,
                              int64_t axis_stride, const int64_t width, const bool wide) {
  for (int64_t i = 0; i < count; ++i)
    move_block(to + i * width, from + i * step + index_wrap(index_at(indices, wide, first + i), n) * axis_stride, width);
}

/* Rows [begin, end) along the last axis. */
static void gather_elements_range(void *context, int64_t begin, int64_t end) {
  const gather_elements *g = context;
  int last = g->indices->rank - 1;
  int64_t count = g->indices->dims[last], axis_stride = g->strides[g->axis], step = g->axis == last ? 0 : g->strides[last];
  bool wide = g->indices->type == ORTC_INT64;
  for (int64_t row = begin; row < end; ++row) {
    const char *from = g->from;
    int64_t rest = row;
    for (int d = last - 1; d >= 0; --d) {
      if (d != g->axis) from += rest % g->indices->dims[d] * g->strides[d];
      rest /= g->indices->dims[d];
    }
    char *to = g->to + row * count * g->width;
    if (step == g->width && count >= 16 && indices_equal(g->indices, row * count, count))
      memcpy(to, from + index_wrap(integer_at(g->indices, row * count), g->n) * axis_stride, (size_t)(count * g->width));
    else
      FOR_WIDTHS(gather_row, g->width, wide, to, from, g->indices->data, row * count, count, g->n, step, axis_stride);
  }
}

static status gather_elements_run(kernel_ctx *k) {
  const gather_params *p = k->params;
  const tensor *data = k->in[0], *indices = k->in[1];
  gather_elements g = {.from = data->data, .indices = indices, .width = tensor_width(data)};
  tensor *out;
  TRY(axis_normalise(p->axis, data->rank, "axis", &g.axis));
  TRY(elements_check(data, indices, g.axis));
  TRY(indices_check(indices, data->dims[g.axis], g.axis));
  TRY(kernel_output_like(k, 0, indices, &out));
  if (!out || out->count == 0) return OK;
  g.to = out->data;
  g.n = data->dims[g.axis];
  dense_strides(data->rank, data->dims, g.strides);
  for (int d = 0; d < data->rank; ++d) g.strides[d] *= g.width;
  int64_t row = indices->dims[indices->rank - 1];
  parallel_for(k->threads, indices->count / row, move_grain(row * g.width), gather_elements_range, &g);
  tensor_moved(out);
  return OK;
}

OP_FAMILY(gather) = {
  {.name = "Gather", .since = 1, .signature = "data:T indices:T1 -> output:T", .T = TS_WHOLE, .T1 = TS_INDEX, .infer = gather_infer,
   .prepare = gather_prepare, .run = gather_run},
  {.name = "GatherElements", .since = 11, .signature = "data:T indices:T1 -> output:T", .T = TS_WHOLE, .T1 = TS_INDEX,
   .infer = gather_elements_infer, .prepare = gather_prepare, .run = gather_elements_run},
  {0}};
