#include <ortcore/ops/infer_common.h>
#include <string.h>

static bool facts_alike(const fact *a, const fact *b) {
  return a->rank >= 0 && a->rank == b->rank && a->order == b->order && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

status infer_broadcast(infer_ctx *c) {
  fact shape = {0};
  bool same = true;
  for (int i = 0; i < c->in_count; ++i) {
    const fact *in = c->in[i];
    if (!in) continue;
    TRY(fact_broadcast(&shape, in, &shape));
    same = same && c->in[0] && facts_alike(in, c->in[0]);
  }
  if (shape.rank > MAX_RANK) return ERROR(NOT_IMPLEMENTED, "the result would have rank %d; ortcore's tensors have at most %d", shape.rank, MAX_RANK);
  fact_copy_shape(c->out[0], &shape);
  if (same && c->in[0]) c->out[0]->order = c->in[0]->order;
  return OK;
}

status infer_type_attr(infer_ctx *c, const char *name, dtype fallback, typeset allowed) {
  int64_t type = attr_int_or(c->node, name, fallback);
  if (type < 0 || type >= ORTC_ELEMENT_TYPE_COUNT || !typeset_has(allowed, (dtype)type))
    return ERROR(INVALID_GRAPH, "attribute '%s' is %lld (%s), which is not a type that %s (opset %lld) gives", name, (long long)type,
                 type >= 0 && type < ORTC_ELEMENT_TYPE_COUNT ? dtype_name((dtype)type) : "no type", c->node->op_type, (long long)c->node->opset);
  c->out[0]->kind = KIND_TENSOR;
  c->out[0]->type = (dtype)type;
  return OK;
}

static status set_shape(infer_ctx *c, const char *what, int64_t count, const int64_t *dims) {
  if (count > MAX_RANK) return ERROR(NOT_IMPLEMENTED, "'%s' has %lld dims; ortcore's tensors have at most %d", what, (long long)count, MAX_RANK);
  for (int64_t i = 0; i < count; ++i)
    if (dims[i] < 0) return ERROR(INVALID_ARGUMENT, "entry %lld of '%s' is %lld; dims are not negative", (long long)i, what, (long long)dims[i]);
  fact_set_shape(c->out[0], (int)count, dims);
  return OK;
}

status infer_shape_from_input(infer_ctx *c, int input, const char *what) {
  const fact *in = c->in[input];
  int64_t dims[MAX_RANK + 1], count = fact_integers(in, dims, MAX_RANK + 1);
  if (count >= 0) return set_shape(c, what, count, dims);
  if (in->rank != 1 || !dim_known(in->dims[0]) || in->dims[0] > MAX_RANK) return OK;
  for (int64_t i = 0; i < in->dims[0]; ++i) dims[i] = DIM_UNKNOWN;
  fact_set_shape(c->out[0], (int)in->dims[0], dims);
  return OK;
}

status infer_shape_from_attr(infer_ctx *c, const char *name) {
  int64_t count;
  const int64_t *dims = attr_ints(c->node, name, &count);
  if (!dims && !attr_find(c->node, name)) return ERROR(INVALID_GRAPH, "attribute '%s' is required", name);
  return set_shape(c, name, count, dims);
}
