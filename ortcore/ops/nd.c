/* GatherND and ScatterND: an index names a place by several coordinates; what lies there, an element or a block, is fetched or replaced. */
#include <ortcore/ops/movement.h>

#include <inttypes.h>
#include <ortcore/base/threads.h>

typedef struct nd_params {
  int64_t batch_dims;
  const combine_fns *combine;                              /* NULL: replace */
} nd_params;

static status nd_prepare(prepare_ctx *c, void **out_params) {
  nd_params *p = ZONE_NEW(c->memory, nd_params);
  if (!p) return status_out_of_memory();
  p->batch_dims = attr_int_or(c->node, "batch_dims", 0);
  *out_params = p;
  return scatter_reduction(c->node, c->in[0]->type, &p->combine);
}

/* Where the tuples of `indices` point: data is [batch, dims of the coordinates, block]. */
typedef struct nd_map {
  const tensor *indices;
  int coordinates, first_axis;
  int64_t tuples, per_batch, batch_stride, block;          /* strides and block in elements */
  const int64_t *dims;                                     /* of data, from first_axis on */
  int64_t strides[MAX_RANK];
} nd_map;

static status nd_map_make(const tensor *data, const tensor *indices, int64_t batch_dims, nd_map *m) {
  char a[DIMS_TEXT], b[DIMS_TEXT];
  if (indices->rank < 1) return ERROR(INVALID_ARGUMENT, "'indices' must have at least rank 1: its last axis holds the coordinates");
  if (batch_dims < 0 || batch_dims >= indices->rank || batch_dims > data->rank)
    return ERROR(INVALID_ARGUMENT, "attribute 'batch_dims' is %" PRId64 ", but 'data' has rank %d and 'indices' has rank %d", batch_dims,
                 data->rank, indices->rank);
  int64_t coordinates = indices->dims[indices->rank - 1];
  if (coordinates > data->rank - batch_dims)
    return ERROR(INVALID_ARGUMENT,
                 "the last axis of 'indices' has %" PRId64 " coordinates, but 'data' of shape %s has %" PRId64 " axes to index",
                 coordinates, dims_format(a, sizeof a, data->rank, data->dims), data->rank - batch_dims);
  for (int d = 0; d < batch_dims; ++d)
    if (data->dims[d] != indices->dims[d])
      return ERROR(INVALID_ARGUMENT, "batch axis %d differs: 'data' has shape %s, 'indices' %s", d,
                   dims_format(a, sizeof a, data->rank, data->dims),
                   dims_format(b, sizeof b, indices->rank, indices->dims));
  m->indices = indices;
  m->coordinates = (int)coordinates;
  m->first_axis = (int)batch_dims;
  m->dims = data->dims + batch_dims;
  m->tuples = dims_product(indices->dims, 0, indices->rank - 1);
  m->per_batch = dims_product(indices->dims, m->first_axis, indices->rank - 1);
  m->batch_stride = dims_product(data->dims, m->first_axis, data->rank);
  m->block = dims_product(data->dims, m->first_axis + m->coordinates, data->rank);
  for (int c = 0; c < m->coordinates; ++c) m->strides[c] = dims_product(data->dims, m->first_axis + c + 1, data->rank);
  for (int64_t i = 0; i < m->tuples; ++i) {
    for (int c = 0; c < m->coordinates; ++c) {
      int64_t index = integer_at(indices, i * coordinates + c), n = m->dims[c];
      if (index < -n || index >= n)
        return ERROR(INVALID_ARGUMENT,
                     "coordinate %d of tuple %" PRId64 " of 'indices' is %" PRId64 ", which is out of range: axis %d of 'data' has %" PRId64
                     " elements, so indices go from %" PRId64 " to %" PRId64, c, i, index, m->first_axis + c, n, -n, n - 1);
    }
  }
  return OK;
}

/* Element offset of tuple i. */
static inline int64_t nd_offset(const nd_map *m, int64_t i) {
  int64_t offset = m->first_axis ? i / m->per_batch * m->batch_stride : 0;
  for (int c = 0; c < m->coordinates; ++c) offset += index_wrap(integer_at(m->indices, i * m->coordinates + c), m->dims[c]) * m->strides[c];
  return offset;
}

/* ---- GatherND ---- */

static status gather_nd_infer(infer_ctx *c) {
  const fact *data = c->in[0], *indices = c->in[1];
  if (data->rank == RANK_UNKNOWN || indices->rank == RANK_UNKNOWN || indices->rank < 1 || !dim_known(indices->dims[indices->rank - 1]))
    return OK;
  int64_t batch = attr_int_or(c->node, "batch_dims", 0), coordinates = indices->dims[indices->rank - 1];
  if (batch < 0 || batch > data->rank || coordinates > data->rank - batch)
    return ERROR(INVALID_ARGUMENT, "'indices' has %" PRId64 " coordinates and 'batch_dims' is %" PRId64 ", but 'data' has rank %d", coordinates,
                 batch, data->rank);
  int64_t skip = batch + coordinates, rank = indices->rank - 1 + data->rank - skip;
  if (rank > MAX_RANK)
    return ERROR(NOT_IMPLEMENTED, "the result would have rank %" PRId64 "; ortcore's tensors have at most %d", rank, MAX_RANK);
  dim dims[MAX_RANK];
  int n = 0;
  for (int d = 0; d < indices->rank - 1; ++d) dims[n++] = indices->dims[d];
  for (int d = (int)skip; d < data->rank; ++d) dims[n++] = data->dims[d];
  fact_set_shape(c->out[0], n, dims);
  return OK;
}

typedef struct gather_nd { const nd_map *map; char *to; const char *from; int64_t width; } gather_nd;

static void gather_nd_range(void *context, int64_t begin, int64_t end) {
  const gather_nd *g = context;
  int64_t block = g->map->block * g->width;
  for (int64_t i = begin; i < end; ++i) move_block(g->to + i * block, g->from + nd_offset(g->map, i) * g->width, block);
}

static status gather_nd_run(kernel_ctx *k) {
  const nd_params *p = k->params;
  const tensor *data = k->in[0], *indices = k->in[1];
  nd_map m;
  TRY(nd_map_make(data, indices, p->batch_dims, &m));
  int64_t dims[2 * MAX_RANK];
  int n = 0;
  for (int d = 0; d < indices->rank - 1; ++d) dims[n++] = indices->dims[d];
  for (int d = m.first_axis + m.coordinates; d < data->rank; ++d) dims[n++] = data->dims[d];
  if (n > MAX_RANK) return ERROR(NOT_IMPLEMENTED, "the result would have rank %d; ortcore's tensors have at most %d", n, MAX_RANK);
  tensor *out;
  TRY(kernel_output(k, 0, n, dims, &out));
  if (!out || out->count == 0) return OK;
  gather_nd g = {&m, out->data, data->data, tensor_width(data)};
  parallel_for(k->threads, m.tuples, move_grain(m.block * g.width), gather_nd_range, &g);
  tensor_moved(out);
  return OK;
}

/* ---- ScatterND: in order and on one thread, since tuples may repeat; later ones win ---- */

static status scatter_nd_run(kernel_ctx *k) {
  const nd_params *p = k->params;
  const tensor *data = k->in[0], *indices = k->in[1], *updates = k->in[2];
  char a[DIMS_TEXT], b[DIMS_TEXT];
  nd_map m;
  TRY(nd_map_make(data, indices, 0, &m));
  int64_t want[2 * MAX_RANK];
  int n = 0;
  for (int d = 0; d < indices->rank - 1; ++d) want[n++] = indices->dims[d];
  for (int d = m.coordinates; d < data->rank; ++d) want[n++] = data->dims[d];
  if (!dims_equal(updates->rank, updates->dims, n, want))
    return ERROR(INVALID_ARGUMENT, "'updates' has shape %s, but the shapes of 'indices' and 'data' ask for %s",
                 dims_format(a, sizeof a, updates->rank, updates->dims),
                 dims_format(b, sizeof b, n, want));
  tensor *out;
  TRY(kernel_output_like(k, 0, data, &out));
  if (!out || out->count == 0) return OK;
  int64_t width = tensor_width(data), block = m.block * width;
  char *to = out->data;
  const char *from = updates->data;
  if (to != (char *)data->data) copy_bytes(k->threads, to, data->data, tensor_bytes(data));
  for (int64_t i = 0; i < m.tuples; ++i) {
    char *place = to + nd_offset(&m, i) * width;
    if (p->combine) p->combine->adjacent(place, from + i * block, m.block);
    else move_block(place, from + i * block, block);
  }
  tensor_moved(out);
  return OK;
}

#define GATHER_ND .signature = "data:T indices:i64 -> output:T", .T = TS_WHOLE, .infer = gather_nd_infer, .prepare = nd_prepare, \
  .run = gather_nd_run
#define SCATTER_ND .signature = "data:T indices:i64 updates:T -> output:T", .T = TS_WHOLE, .inplace = 1, .prepare = nd_prepare, \
  .run = scatter_nd_run

OP_FAMILY(nd) = {
  {.name = "GatherND", .since = 11, GATHER_ND},
  {.name = "GatherND", .since = 12, GATHER_ND},
  {.name = "GatherND", .domain = "com.microsoft", .since = 1, .signature = "data:T indices:T1 -> output:T", .T = TS_WHOLE, .T1 = TS_INDEX,
   .infer = gather_nd_infer, .prepare = nd_prepare, .run = gather_nd_run},
  {.name = "ScatterND", .since = 11, SCATTER_ND},
  {.name = "ScatterND", .since = 16, SCATTER_ND},
  {.name = "ScatterND", .since = 18, SCATTER_ND},
  {0}};
