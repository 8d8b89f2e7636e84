/* Sizes of RotaryEmbedding, which every device finds alike. */
#include <ortcore/ops/params/rotary.h>

static status size_of_heads(const node *n, const tensor *x, const tensor *cache, rotary_sizes *w) {
  int64_t rotated = attr_int_or(n, "rotary_embedding_dim", 0), heads = attr_int_or(n, "num_heads", 0);
  if (x->rank != 3 && x->rank != 4)
    return ERROR(INVALID_ARGUMENT, "the input has rank %d, expected 3 (batch, steps, hidden) or 4 (batch, heads, steps, size)", x->rank);
  w->batch = x->dims[0];
  w->steps = x->dims[x->rank - 2];
  if (x->rank == 4) {
    w->heads = x->dims[1];
    w->size = x->dims[3];
    w->step_stride = w->size;
    w->head_stride = w->steps * w->size;
  } else {
    int64_t size = heads ? 0 : rotated ? rotated : 2 * (cache->rank ? cache->dims[cache->rank - 1] : 0);
    if (!heads && size > 0 && x->dims[2] % size == 0) heads = x->dims[2] / size;
    if (heads < 1 || x->dims[2] % heads)
      return ERROR(INVALID_ARGUMENT, "attribute 'num_heads' is %lld, which must divide the input's last dim %lld", (long long)heads,
                   (long long)x->dims[2]);
    w->heads = heads;
    w->size = x->dims[2] / heads;
    w->step_stride = x->dims[2];
    w->head_stride = w->size;
  }
  w->batch_stride = w->heads * w->steps * w->size;
  rotated = rotated ? rotated : w->size;
  w->half = rotated / 2;
  if (rotated % 2 || rotated > w->size)
    return ERROR(INVALID_ARGUMENT, "attribute 'rotary_embedding_dim' is %lld, expected an even number up to the heads' size %lld",
                 (long long)rotated, (long long)w->size);
  return OK;
}

status rotary_find_sizes(const node *n, const rotary_def *def, const tensor *x, const tensor *cos, const tensor *sin, const tensor *ids,
                         rotary_sizes *out) {
  TRY(size_of_heads(n, x, cos, out));
  int64_t places = out->batch * out->steps, half = out->half;
  out->rows = half ? cos->count / half : 0;
  out->ids_are_offset = ids && ids->count == 1 && def->ids == 1;
  if (cos->count != sin->count || (half && cos->count % half) || (cos->rank && cos->dims[cos->rank - 1] != half))
    return ERROR(INVALID_ARGUMENT, "the cosine and sine caches must both have %lld numbers in a row", (long long)half);
  if (!ids && out->rows < places)
    return ERROR(INVALID_ARGUMENT, "the caches have %lld rows, but there are %lld places and no 'position_ids'", (long long)out->rows,
                 (long long)places);
  if (ids && !out->ids_are_offset && ids->count != places)
    return ERROR(INVALID_ARGUMENT, "'position_ids' has %lld elements, expected %lld", (long long)ids->count, (long long)places);
  return OK;
}
