/* GatherND and ScatterND: an index names a place by several coordinates; what lies there, an element or a block, is fetched or replaced. */
#include <ortcore/ops/movement.h>

#include <inttypes.h>
#include <ortcore/base/threads.h>

static status nd_prepare(prepare_ctx *c, void **out_params) {
  nd_params *p = ZONE_NEW(c->memory, nd_params);
  if (!p) return status_out_of_memory();
  p->batch_dims = attr_int_or(c->node, "batch_dims", 0);
  *out_params = p;
  return scatter_reduction(c->node, c->in[0]->type, &p->how, &p->combine);
}

/* Every coordinate lies within its axis. */
static status nd_indices_check(const nd_map *m) {
  for (int64_t i = 0; i < m->tuples; ++i) {
    for (int c = 0; c < m->coordinates; ++c) {
      int64_t index = integer_at(m->indices, i * m->coordinates + c), n = m->dims[c];
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
  TRY(nd_indices_check(&m));
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
  nd_map m;
  TRY(nd_map_make(data, indices, 0, &m));
  TRY(nd_updates_check(data, updates, &m));
  TRY(nd_indices_check(&m));
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
