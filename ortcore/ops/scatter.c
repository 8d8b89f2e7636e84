/* Scatter, ScatterElements and TensorScatter: a copy of the data with some elements replaced, or combined with updates. */
#include <ortcore/ops/movement.h>

#include <inttypes.h>
#include <ortcore/base/threads.h>

/* ---- Scatter, ScatterElements ---- */

status scatter_reduction(const node *n, dtype type, combine *out_how, const combine_fns **out) {
  static const char *const names[] = {"none", "add", "mul", "max", "min"};
  text reduction = attr_string_or(n, "reduction", "none");
  combine how = COMBINE_NONE;
  while (how <= COMBINE_MIN && strcmp(names[how], reduction.data) != 0) ++how;
  if (how > COMBINE_MIN)
    return ERROR(INVALID_GRAPH, "attribute 'reduction' is '%s', but must be none, add, mul, max or min", reduction.data);
  *out_how = how;
  *out = combine_for(how, type);
  if (how != COMBINE_NONE && !*out)
    return ERROR(NOT_IMPLEMENTED, "reduction '%s' is not defined for elements of type %s", reduction.data, dtype_name(type));
  return OK;
}

static status scatter_prepare(prepare_ctx *c, void **out_params) {
  scatter_params *p = ZONE_NEW(c->memory, scatter_params);
  if (!p) return status_out_of_memory();
  p->axis = attr_int_or(c->node, "axis", 0);
  *out_params = p;
  return scatter_reduction(c->node, c->in[0]->type, &p->how, &p->combine);
}

typedef struct scatter {
  char *to;
  const char *updates;
  const tensor *indices;
  const combine_fns *combine;
  int axis;
  int64_t n, width, strides[MAX_RANK];                     /* of data, in bytes */
  int64_t rows;                                            /* of indices, behind the axes before `axis` */
} scatter;

ALWAYS_INLINE void scatter_row(char *to, const char *updates, int64_t count, combine_places p, const int64_t width, const bool wide) {
  p.wide = wide;
  for (int64_t i = 0; i < count; ++i) move_block(to + combine_place(&p, i), updates + i * width, width);
}

/* Parts [begin, end): a part is one index of the axes before `axis`, so that parts never touch the same element. */
static void scatter_range(void *context, int64_t begin, int64_t end) {
  const scatter *s = context;
  const tensor *indices = s->indices;
  int last = indices->rank - 1;
  int64_t count = indices->dims[last], axis_stride = s->strides[s->axis], step = s->axis == last ? 0 : s->strides[last];
  for (int64_t row = begin * s->rows; row < end * s->rows; ++row) {
    char *to = s->to;
    int64_t rest = row;
    for (int d = last - 1; d >= 0; --d) {
      if (d != s->axis) to += rest % indices->dims[d] * s->strides[d];
      rest /= indices->dims[d];
    }
    const char *updates = s->updates + row * count * s->width;
    combine_places places = {indices->data, indices->type == ORTC_INT64, row * count, s->n, step, axis_stride};
    if (step == s->width && count >= 16 && indices_equal(indices, row * count, count)) {   /* one place for the whole row */
      to += combine_place(&places, 0);
      if (s->combine) s->combine->adjacent(to, updates, count);
      else memcpy(to, updates, (size_t)(count * s->width));
    } else if (s->combine) {
      s->combine->at(to, updates, count, &places);
    } else {
      FOR_WIDTHS(scatter_row, s->width, places.wide, to, updates, count, places);
    }
  }
}

static status scatter_run(kernel_ctx *k) {
  const scatter_params *p = k->params;
  const tensor *data = k->in[0], *indices = k->in[1], *updates = k->in[2];
  scatter s = {.updates = updates->data, .indices = indices, .combine = p->combine, .width = tensor_width(data)};
  char a[DIMS_TEXT], b[DIMS_TEXT];
  tensor *out;
  TRY(axis_normalise(p->axis, data->rank, "axis", &s.axis));
  TRY(elements_check(data, indices, s.axis));
  TRY(indices_check(indices, data->dims[s.axis], s.axis));
  if (!dims_equal(indices->rank, indices->dims, updates->rank, updates->dims))
    return ERROR(INVALID_ARGUMENT, "'indices' has shape %s, but 'updates' has shape %s; they must agree",
                 dims_format(a, sizeof a, indices->rank, indices->dims),
                 dims_format(b, sizeof b, updates->rank, updates->dims));
  TRY(kernel_output_like(k, 0, data, &out));
  if (!out || out->count == 0) return OK;
  if (out->data != data->data) copy_bytes(k->threads, out->data, data->data, tensor_bytes(data));
  if (indices->count) {
    s.to = out->data;
    s.n = data->dims[s.axis];
    dense_strides(data->rank, data->dims, s.strides);
    for (int d = 0; d < data->rank; ++d) s.strides[d] *= s.width;
    int64_t parts = dims_product(indices->dims, 0, s.axis);
    s.rows = indices->count / indices->dims[data->rank - 1] / parts;
    parallel_for(k->threads, parts, move_grain(indices->count / parts * 16), scatter_range, &s);
  }
  tensor_moved(out);
  return OK;
}

/* ---- TensorScatter: a run of rows written into a cache ---- */

typedef struct cache_params { int64_t axis; bool circular; } cache_params;

static status cache_prepare(prepare_ctx *c, void **out_params) {
  cache_params *p = ZONE_NEW(c->memory, cache_params);
  if (!p) return status_out_of_memory();
  text mode = attr_string_or(c->node, "mode", "linear");
  p->axis = attr_int_or(c->node, "axis", -2);
  p->circular = strcmp(mode.data, "circular") == 0;
  *out_params = p;
  if (!p->circular && strcmp(mode.data, "linear") != 0)
    return ERROR(INVALID_GRAPH, "attribute 'mode' is '%s', but must be linear or circular", mode.data);
  return OK;
}

static status cache_check(const cache_params *p, const tensor *cache, const tensor *update, const tensor *at, int *out_axis) {
  char a[DIMS_TEXT], b[DIMS_TEXT];
  TRY(axis_normalise(p->axis, cache->rank, "axis", out_axis));
  int axis = *out_axis;
  if (axis == 0) return ERROR(INVALID_ARGUMENT, "attribute 'axis' is the batch axis 0; it must name the sequence axis");
  bool fits = update->rank == cache->rank;
  for (int d = 0; fits && d < cache->rank; ++d) fits = d == axis ? update->dims[d] <= cache->dims[d] : update->dims[d] == cache->dims[d];
  if (!fits)
    return ERROR(INVALID_ARGUMENT, "'update' of shape %s does not fit 'past_cache' of shape %s: they may differ only on axis %d, where "
                                   "'update' is no longer",
                          dims_format(a, sizeof a, update->rank, update->dims), dims_format(b, sizeof b, cache->rank, cache->dims), axis);
  if (!at) return OK;
  if (at->rank != 1 || at->count != cache->dims[0])
    return ERROR(INVALID_ARGUMENT, "'write_indices' has shape %s, but must hold one index for each of the %" PRId64 " samples",
                 dims_format(a, sizeof a, at->rank, at->dims), cache->dims[0]);
  for (int64_t i = 0; i < at->count; ++i) {
    int64_t first = integer_at(at, i), room = cache->dims[axis] - (p->circular ? 1 : update->dims[axis]);
    if (first < 0 || (!p->circular && first > room))
      return ERROR(INVALID_ARGUMENT,
                   "write index %" PRId64 " of sample %" PRId64 " is out of range: %" PRId64 " rows into a cache of %" PRId64
                   " may start at 0 to %" PRId64, first, i, update->dims[axis], cache->dims[axis], room);
  }
  return OK;
}

static status cache_run(kernel_ctx *k) {
  const cache_params *p = k->params;
  const tensor *cache = k->in[0], *update = k->in[1], *at = kernel_in(k, 2);
  int axis;
  tensor *out;
  TRY(cache_check(p, cache, update, at, &axis));
  TRY(kernel_output_like(k, 0, cache, &out));
  if (!out || out->count == 0) return OK;
  if (out->data != cache->data) copy_bytes(k->threads, out->data, cache->data, tensor_bytes(cache));
  int64_t length = cache->dims[axis], rows = update->dims[axis], inner = dims_product(cache->dims, axis + 1, cache->rank),
    middle = dims_product(cache->dims, 1, axis);
  strided_copy c = {.bits = dtype_bits(cache->type), .rank = 2, .to = out->data, .from = update->data, .to_strides = {length * inner, 1},
                    .from_strides = {rows * inner, 1}, .dims[0] = middle};
  for (int64_t sample = 0; sample < cache->dims[0]; ++sample) {
    int64_t first = (at ? integer_at(at, sample) : 0) % length, before_end = rows < length - first ? rows : length - first;
    c.to_offset = (sample * middle * length + first) * inner;
    c.from_offset = sample * middle * rows * inner;
    c.dims[1] = before_end * inner;
    copy_strided(k->threads, &c);
    c.to_offset = sample * middle * length * inner;        /* what wraps around */
    c.from_offset += before_end * inner;
    c.dims[1] = (rows - before_end) * inner;
    copy_strided(k->threads, &c);
  }
  tensor_moved(out);
  return OK;
}

#define SCATTER .signature = "data:T indices:T1 updates:T -> output:T", .T = TS_WHOLE, .T1 = TS_INDEX, .inplace = 1, \
  .prepare = scatter_prepare, .run = scatter_run

OP_FAMILY(scatter) = {
  {.name = "Scatter", .since = 9, SCATTER},
  {.name = "Scatter", .since = 11, SCATTER},
  {.name = "ScatterElements", .since = 11, SCATTER},
  {.name = "ScatterElements", .since = 16, SCATTER},
  {.name = "ScatterElements", .since = 18, SCATTER},
  {.name = "TensorScatter", .since = 24, .signature = "past_cache:T update:T write_indices:i64? -> present_cache:T", .T = TS_ALL,
   .inplace = 1, .prepare = cache_prepare, .run = cache_run},
  {0}};
