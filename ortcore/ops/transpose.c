/* Operators that permute axes: Transpose, and DepthToSpace and SpaceToDepth, which split two axes first. */
#include <ortcore/ops/movement.h>

#include <inttypes.h>
#include <ortcore/base/checked.h>
#include <string.h>

/* The view whose axis i is axis perm[i] of dense data with these dims. */
static void permute(const tensor *data, int rank, const int64_t *dims, const int64_t *perm, strided_copy *c) {
  int64_t strides[MAX_RANK];
  *c = (strided_copy){.bits = dtype_bits(data->type), .rank = rank};
  dense_strides(rank, dims, strides);
  for (int i = 0; i < rank; ++i) {
    c->dims[i] = dims[perm[i]];
    c->from_strides[i] = strides[perm[i]];
  }
  dense_strides(rank, c->dims, c->to_strides);
}

/* ---- Transpose ---- */

typedef struct transpose_params { bool given; integers perm; } transpose_params;

static status transpose_read(const node *n, transpose_params *p) {
  TRY(integers_from_attr(n, "perm", &p->perm, &p->given));
  uint32_t seen = 0;
  for (int i = 0; i < p->perm.count; ++i) {
    int64_t axis = p->perm.at[i];
    if (axis < 0 || axis >= p->perm.count || seen >> axis & 1)
      return ERROR(INVALID_GRAPH, "attribute 'perm' must name each axis from 0 to %d once, but entry %d is %" PRId64, p->perm.count - 1, i,
                   axis);
    seen |= 1u << axis;
  }
  return OK;
}

static status transpose_prepare(prepare_ctx *c, void **out_params) {
  transpose_params *p = ZONE_NEW(c->memory, transpose_params);
  if (!p) return status_out_of_memory();
  *out_params = p;
  return transpose_read(c->node, p);
}

/* The permutation for this rank: reversed axes if the attribute is absent. */
static status transpose_perm(const transpose_params *p, int rank, int64_t *perm) {
  if (p->given && p->perm.count != rank)
    return ERROR(INVALID_ARGUMENT, "attribute 'perm' has %d entries, but 'data' has rank %d", p->perm.count, rank);
  for (int i = 0; i < rank; ++i) perm[i] = p->given ? p->perm.at[i] : rank - 1 - i;
  return OK;
}

static status transpose_infer(infer_ctx *c) {
  transpose_params p;
  TRY(transpose_read(c->node, &p));
  const fact *data = c->in[0];
  if (data->rank == RANK_UNKNOWN) {
    if (p.given && p.perm.count <= MAX_RANK) fact_set_rank(c->out[0], p.perm.count);
    return OK;
  }
  int64_t perm[MAX_RANK];
  dim dims[MAX_RANK];
  TRY(transpose_perm(&p, data->rank, perm));
  for (int i = 0; i < data->rank; ++i) dims[i] = data->dims[perm[i]];
  fact_set_shape(c->out[0], data->rank, dims);
  return OK;
}

static status transpose_view(const kernel_ctx *k, strided_view *v) {
  const tensor *data = k->in[0];
  int64_t perm[MAX_RANK];
  TRY(transpose_perm(k->params, data->rank, perm));
  v->rank = data->rank;
  for (int i = 0; i < data->rank; ++i) v->dims[i] = data->dims[perm[i]];
  permute(data, data->rank, data->dims, perm, &v->copy);
  return OK;
}

/* One that the layout pass put in: runs count what it moves. */
static status relayout_specialise(specialise_ctx *c, void **out_spec) {
  c->reordered_bytes = tensor_bytes(c->in[0]);
  *out_spec = NULL;
  return OK;
}

/* ---- DepthToSpace, SpaceToDepth ---- */

typedef struct depth_params { int64_t block; bool crd; } depth_params;

static status depth_read(const node *n, depth_params *p) {
  text mode = attr_string_or(n, "mode", "DCR");
  p->block = attr_int_or(n, "blocksize", 0);
  p->crd = strcmp(mode.data, "CRD") == 0;
  if (p->block < 1 || p->block > INT32_MAX)
    return ERROR(INVALID_GRAPH, "attribute 'blocksize' is %" PRId64 ", but must be a positive number", p->block);
  if (!p->crd && strcmp(mode.data, "DCR") != 0)
    return ERROR(INVALID_GRAPH, "attribute 'mode' is '%s', but must be 'DCR' or 'CRD'", mode.data);
  return OK;
}

static status depth_prepare(prepare_ctx *c, void **out_params) {
  depth_params *p = ZONE_NEW(c->memory, depth_params);
  if (!p) return status_out_of_memory();
  *out_params = p;
  return depth_read(c->node, p);
}

static bool is_space_to_depth(const node *n) { return n->op_type[0] == 'S'; }

static status depth_dims(const node *n, const depth_params *p, int rank, const dim *in, dim *out) {
  int64_t b = p->block;
  bool shrink = is_space_to_depth(n);
  if (rank != 4) return ERROR(INVALID_ARGUMENT, "input 'input' must have rank 4 (batch, channels, height, width), but has rank %d", rank);
  for (int i = 0; i < 4; ++i) out[i] = i == 0 ? in[0] : DIM_UNKNOWN;
  for (int i = 1; i < 4; ++i) {
    if (!dim_known(in[i])) continue;
    bool divide = shrink ? i > 1 : i == 1;
    int64_t by = i == 1 ? b * b : b;
    if (divide && in[i] % by)
      return ERROR(INVALID_ARGUMENT,
                   "axis %d of 'input' has %" PRId64 " elements, which is not a multiple of %" PRId64 " (blocksize %" PRId64 ")", i, in[i],
                   by, b);
    if (divide) out[i] = in[i] / by;
    else if (checked_mul(in[i], by, &out[i]))
      return ERROR(INVALID_ARGUMENT, "axis %d would have %" PRId64 " times %" PRId64 " elements, which is too large", i, by, in[i]);
  }
  return OK;
}

static status depth_infer(infer_ctx *c) {
  depth_params p;
  dim dims[4] = {DIM_UNKNOWN, DIM_UNKNOWN, DIM_UNKNOWN, DIM_UNKNOWN};
  TRY(depth_read(c->node, &p));
  if (c->in[0]->rank != RANK_UNKNOWN) TRY(depth_dims(c->node, &p, c->in[0]->rank, c->in[0]->dims, dims));
  fact_set_shape(c->out[0], 4, dims);
  return OK;
}

static status depth_view(const kernel_ctx *k, strided_view *v) {
  /* How the input is seen: n b b c h w (DCR) or n c b b h w (CRD) one way, n c h b w b the other. */
  static const int64_t to_space_dcr[] = {0, 3, 4, 1, 5, 2}, to_space_crd[] = {0, 1, 4, 2, 5, 3}, to_depth_dcr[] = {0, 3, 5, 1, 2, 4},
    to_depth_crd[] = {0, 1, 3, 5, 2, 4};
  const depth_params *p = k->params;
  const tensor *data = k->in[0];
  const int64_t *in = data->dims, b = p->block, *out = v->dims;
  TRY(depth_dims(k->node, p, data->rank, in, v->dims));
  v->rank = 4;
  if (is_space_to_depth(k->node))
    permute(data, 6, (int64_t[]){in[0], in[1], out[2], b, out[3], b}, p->crd ? to_depth_crd : to_depth_dcr, &v->copy);
  else if (p->crd) permute(data, 6, (int64_t[]){in[0], out[1], b, b, in[2], in[3]}, to_space_crd, &v->copy);
  else permute(data, 6, (int64_t[]){in[0], b, b, out[1], in[2], in[3]}, to_space_dcr, &v->copy);
  return OK;
}

static const strided_op transpose_op = {transpose_view}, depth_op = {depth_view};

#define DEPTH .signature = "input:T -> output:T", .T = TS_ALL, .infer = depth_infer, .prepare = depth_prepare, .run = strided_run, \
  .data = &depth_op

OP_FAMILY(transpose) = {
  {.name = "Transpose", .since = 1, .signature = "data:T -> transposed:T", .T = TS_ALL, .infer = transpose_infer,
   .prepare = transpose_prepare, .run = strided_run, .data = &transpose_op},
  {.name = "Transpose", .domain = "ortcore", .since = 1, .signature = "data:T -> transposed:T", .T = TS_ALL, .infer = transpose_infer,
   .prepare = transpose_prepare, .specialise = relayout_specialise, .run = strided_run, .data = &transpose_op},
  {.name = "DepthToSpace", .since = 1, DEPTH},
  {.name = "DepthToSpace", .since = 11, DEPTH},
  {.name = "SpaceToDepth", .since = 1, DEPTH},
  {.name = "SpaceToDepth", .since = 28, DEPTH},
  {0}};
