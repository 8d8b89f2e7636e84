#include <ortcore/base/half.h>
#include <ortcore/ir/fact.h>
#include <string.h>

bool fact_is_static(const fact *f) {
  if (f->rank < 0) return false;
  for (int d = 0; d < f->rank; ++d)
    if (!dim_known(f->dims[d])) return false;
  return true;
}

void fact_set_shape(fact *f, int rank, const dim *dims) {
  f->rank = rank;
  if (rank > 0) memmove(f->dims, dims, (size_t)rank * sizeof *dims);
}

void fact_copy_shape(fact *to, const fact *from) { fact_set_shape(to, from->rank, from->dims); }

int64_t fact_count(const fact *f) {
  if (f->kind != KIND_TENSOR || !fact_is_static(f)) return -1;
  int64_t n = 1;
  for (int d = 0; d < f->rank; ++d)
    if (__builtin_mul_overflow(n, f->dims[d], &n)) return -1;
  return n;
}

int64_t fact_integers(const fact *f, int64_t *out, int64_t capacity) {
  const tensor *t = f ? f->value : NULL;
  if (!t || t->count > capacity || (t->type != ORTC_INT64 && t->type != ORTC_INT32)) return -1;
  for (int64_t i = 0; i < t->count; ++i) {
    int32_t narrow;
    if (t->type == ORTC_INT64) {
      memcpy(&out[i], (const char *)t->data + i * 8, 8);
    } else {
      memcpy(&narrow, (const char *)t->data + i * 4, 4);
      out[i] = narrow;
    }
  }
  return t->count;
}

bool fact_scalar_f64(const fact *f, double *out) {
  const tensor *t = f ? f->value : NULL;
  if (!t || t->count != 1) return false;
  switch (t->type) {
#define READ(type, ctype) case ORTC_##type: { ctype v; memcpy(&v, t->data, sizeof v); *out = (double)v; return true; }
    READ(FLOAT, float) READ(DOUBLE, double) READ(INT8, int8_t) READ(INT16, int16_t) READ(INT32, int32_t) READ(INT64, int64_t)
    READ(UINT8, uint8_t) READ(UINT16, uint16_t) READ(UINT32, uint32_t) READ(UINT64, uint64_t)
#undef READ
#define READ(type, ctype, convert) case ORTC_##type: { ctype v; memcpy(&v, t->data, sizeof v); *out = (double)convert(v); return true; }
    READ(FLOAT16, f16, f16_to_f32) READ(BFLOAT16, bf16, bf16_to_f32)
#undef READ
    default: return false;
  }
}

status axis_normalise(int64_t axis, int rank, const char *what, int *out) {
  *out = 0;
  if (axis < -(int64_t)rank || axis >= rank)
    return ERROR(INVALID_ARGUMENT, "%s is %lld, but must lie in [%d, %d] for a tensor of rank %d", what, (long long)axis, -rank, rank - 1, rank);
  *out = (int)(axis < 0 ? axis + rank : axis);
  return OK;
}

static status broadcast_dim(dim x, dim y, dim *out) {
  if (x == y || y == 1) *out = x;
  else if (x == 1) *out = y;
  else if (dim_known(x) && dim_known(y)) return ERROR(INVALID_ARGUMENT, "dims %lld and %lld do not broadcast: they must be equal, or one of them 1", (long long)x, (long long)y);
  else if (dim_known(x)) *out = x;                          /* not 1, so the other is the same or 1 */
  else if (dim_known(y)) *out = y;
  else *out = DIM_UNKNOWN;
  return OK;
}

status fact_broadcast(const fact *a, const fact *b, fact *out) {
  if (a->rank < 0 || b->rank < 0) {
    out->rank = RANK_UNKNOWN;
    return OK;
  }
  int rank = a->rank > b->rank ? a->rank : b->rank;
  dim dims[MAX_RANK];
  for (int d = 0; d < rank; ++d) {
    int i = d - (rank - a->rank), j = d - (rank - b->rank);
    TRY(broadcast_dim(i < 0 ? 1 : a->dims[i], j < 0 ? 1 : b->dims[j], &dims[d]));
  }
  fact_set_shape(out, rank, dims);
  return OK;
}
