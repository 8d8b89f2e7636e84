#include <ortcore/ops/movement.h>

#include <inttypes.h>
#include <ortcore/base/cpu.h>

status integers_from_tensor(const tensor *t, const char *what, integers *out) {
  char dims[DIMS_TEXT];
  if (!t) return ERROR(INVALID_ARGUMENT, "input '%s' is missing", what);
  if (t->rank > 1)
    return ERROR(INVALID_ARGUMENT, "input '%s' must be a list of integers (rank 1), but has shape %s", what,
                 dims_format(dims, sizeof dims, t->rank, t->dims));
  int64_t capacity = sizeof out->at / sizeof *out->at;
  if (t->count > capacity)
    return ERROR(INVALID_ARGUMENT, "input '%s' has %" PRId64 " entries; at most %" PRId64 " are possible with ranks up to %d", what,
                 t->count, capacity, MAX_RANK);
  out->count = (int)t->count;
  for (int i = 0; i < out->count; ++i) out->at[i] = integer_at(t, i);
  return OK;
}

status integers_from_attr(const node *n, const char *name, integers *out, bool *out_present) {
  const attr *a = attr_find(n, name);
  out->count = 0;
  *out_present = a != NULL;
  if (!a) return OK;
  int64_t count, capacity = sizeof out->at / sizeof *out->at;
  const int64_t *values = attr_ints(n, name, &count);
  if (a->kind != ATTR_INTS) return ERROR(INVALID_GRAPH, "attribute '%s' must be a list of integers", name);
  if (count > capacity)
    return ERROR(INVALID_GRAPH, "attribute '%s' has %" PRId64 " entries; at most %" PRId64 " are possible with ranks up to %d", name, count,
                 capacity, MAX_RANK);
  out->count = (int)count;
  for (int i = 0; i < out->count; ++i) out->at[i] = values[i];
  return OK;
}

bool integers_from_fact(const fact *f, integers *out) {
  int64_t n = f ? fact_integers(f, out->at, sizeof out->at / sizeof *out->at) : -1;
  out->count = n < 0 ? 0 : (int)n;
  return n >= 0;
}

int64_t integers_count(const fact *f) {
  if (!f) return -1;
  if (f->rank == 0) return 1;
  return f->rank == 1 && dim_known(f->dims[0]) ? f->dims[0] : -1;
}

status axes_normalise(integers *axes, int rank, const char *what) {
  uint32_t seen = 0;
  for (int i = 0; i < axes->count; ++i) {
    int axis;
    TRY(axis_normalise(axes->at[i], rank, what, &axis));
    if (seen >> axis & 1) return ERROR(INVALID_ARGUMENT, "'%s' names axis %d twice", what, axis);
    seen |= 1u << axis;
    axes->at[i] = axis;
  }
  return OK;
}

status topk_check(int64_t k, dim n, int axis) {
  if (k < 0) return ERROR(INVALID_ARGUMENT, "K is %" PRId64 ", but must not be negative", k);
  if (dim_known(n) && k > n) return ERROR(INVALID_ARGUMENT, "K is %" PRId64 ", but axis %d has only %" PRId64 " elements", k, axis, n);
  return OK;
}

/* Whether any of the indices is outside [-n, n): a loop without branches, for the vector units. */
MULTIVERSION static bool any_outside(const void *data, bool wide, int64_t count, int64_t n) {
  bool outside = false;
  if (wide)
    for (int64_t i = 0; i < count; ++i) outside |= (((const int64_t *)data)[i] < -n) | (((const int64_t *)data)[i] >= n);
  else
    for (int64_t i = 0; i < count; ++i) outside |= (((const int32_t *)data)[i] < -n) | (((const int32_t *)data)[i] >= n);
  return outside;
}

/* Without branches but one for each block. */
MULTIVERSION static bool all_equal(const void *data, bool wide, int64_t first, int64_t count) {
  enum { BLOCK = 64 };
  int64_t value = index_at(data, wide, first);
  for (int64_t begin = first, stop = first + count; begin < stop; begin += BLOCK) {
    int64_t end = begin + BLOCK < stop ? begin + BLOCK : stop;
    bool differs = false;
    if (wide)
      for (int64_t i = begin; i < end; ++i) differs |= ((const int64_t *)data)[i] != value;
    else
      for (int64_t i = begin; i < end; ++i) differs |= ((const int32_t *)data)[i] != value;
    if (differs) return false;
  }
  return true;
}

bool indices_equal(const tensor *indices, int64_t first, int64_t count) {
  return all_equal(indices->data, indices->type == ORTC_INT64, first, count);
}

status indices_check(const tensor *indices, int64_t n, int axis) {
  if (!any_outside(indices->data, indices->type == ORTC_INT64, indices->count, n)) return OK;
  int64_t i = 0;
  while (integer_at(indices, i) >= -n && integer_at(indices, i) < n) ++i;
  return ERROR(INVALID_ARGUMENT, "index %" PRId64 " at position %" PRId64 " of 'indices' is out of range: axis %d has %" PRId64
               " elements, so indices go from %" PRId64 " to %" PRId64, integer_at(indices, i), i, axis, n, -n, n - 1);
}

status elements_check(const tensor *data, const tensor *indices, int axis) {
  if (indices->rank != data->rank)
    return ERROR(INVALID_ARGUMENT, "'indices' has rank %d, but 'data' has rank %d; they must agree", indices->rank, data->rank);
  for (int d = 0; d < data->rank; ++d)
    if (d != axis && indices->dims[d] > data->dims[d])
      return ERROR(INVALID_ARGUMENT,
                   "axis %d of 'indices' has %" PRId64 " elements, more than the %" PRId64 " of 'data'; only the indexed axis %d may be "
                   "longer", d, indices->dims[d], data->dims[d], axis);
  return OK;
}

void fact_set_rank(fact *f, int rank) {
  dim dims[MAX_RANK];
  for (int i = 0; i < rank && i < MAX_RANK; ++i) dims[i] = DIM_UNKNOWN;
  if (rank <= MAX_RANK) fact_set_shape(f, rank, dims);
}

status nd_map_make(const tensor *data, const tensor *indices, int64_t batch_dims, nd_map *m) {
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
  return OK;
}

status nd_updates_check(const tensor *data, const tensor *updates, const nd_map *m) {
  char a[DIMS_TEXT], b[DIMS_TEXT];
  int64_t want[2 * MAX_RANK];
  int n = 0;
  for (int d = 0; d < m->indices->rank - 1; ++d) want[n++] = m->indices->dims[d];
  for (int d = m->coordinates; d < data->rank; ++d) want[n++] = data->dims[d];
  if (dims_equal(updates->rank, updates->dims, n, want)) return OK;
  return ERROR(INVALID_ARGUMENT, "'updates' has shape %s, but the shapes of 'indices' and 'data' ask for %s",
               dims_format(a, sizeof a, updates->rank, updates->dims), dims_format(b, sizeof b, n, want));
}
