/* What rows for ai.onnx.ml share: tables that the device needs of a node's attributes, and features as kernels take them. */
#ifndef ORTCORE_PROVIDER_CUDA_ML_H
#define ORTCORE_PROVIDER_CUDA_ML_H

#include <ortcore/kernels/cuda/ml.h>
#include <ortcore/ops/ml.h>
#include <ortcore/provider/cuda/plugin.h>

/* Params of such a row: the operator's own, and one piece of memory that is copied to the device. What follows in a row's own struct says where
 * in it which table begins. */
typedef struct ml_params {
  const void *of_op;
  const op_def *op;
  char *tables;
  size_t bytes;
} ml_params;

/* Room for a table; returns its place. After all are known ml_allocate makes the memory. */
static inline size_t ml_table(ml_params *p, int64_t count, size_t width) {
  size_t at = p->bytes;
  p->bytes = (at + (size_t)count * width + 15) / 16 * 16;
  return at;
}
static inline status ml_allocate(prepare_ctx *c, ml_params *p) {
  p->tables = ZONE_ARRAY(c->memory, p->bytes, char);
  return p->tables ? OK : status_out_of_memory();
}
static inline void ml_fill(ml_params *p, size_t at, const void *data, int64_t count, size_t width) {
  if (count) memcpy(p->tables + at, data, (size_t)count * width);
}

/* kernel_row.tables of all of them. */
static inline const void *ml_tables(const void *params, size_t *out_bytes) {
  const ml_params *p = params;
  *out_bytes = p->bytes;
  return p->tables;
}
static inline const void *ml_at(const kernel_ctx *k, size_t place) { return (const char *)k->tables + place; }

/* Room for the params of a row, `bytes` large, with the operator's read into them. */
static inline status ml_read(prepare_ctx *c, size_t bytes, void **out) {
  ml_params *p = *out = zone_alloc(c->memory, bytes);
  void *of_op = NULL;
  if (!p) return status_out_of_memory();
  p->op = c->op;
  if (c->op->prepare) TRY(c->op->prepare(c, &of_op));
  p->of_op = of_op;
  return OK;
}

/* kernel_row.dispose where the operator has one. */
static inline void ml_dispose(void *params) {
  const ml_params *p = params;
  if (p->of_op) p->op->dispose((void *)p->of_op);
}

/* Rows and columns of X, which is one row where its rank is 1. */
static inline status ml_features(const tensor *x, cuda_features *out) {
  *out = (cuda_features){.data = x->data, .type = x->type};
  if (x->rank < 1 || x->rank > 2) return ERROR(INVALID_ARGUMENT, "X must have rank 1 or 2, but has rank %d", x->rank);
  out->rows = x->rank == 2 ? x->dims[0] : 1;
  out->columns = x->dims[x->rank - 1];
  return OK;
}

/* Labels that are strings are made on the host. */
static inline bool ml_has_texts(const node *n, const char *attribute) {
  int64_t count;
  attr_strings(n, attribute, &count);
  return count > 0;
}

/* Output i, or NULL if nobody wants it. */
static inline status ml_output(kernel_ctx *k, int32_t i, int rank, const int64_t *dims, tensor **out) {
  *out = NULL;
  return i < k->out_count && kernel_wants(k, i) ? kernel_output(k, i, rank, dims, out) : OK;
}

#endif
