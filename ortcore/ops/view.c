/* Operators that give their input other dims, or none: Identity, Reshape, Squeeze, Unsqueeze, Flatten. */
#include <ortcore/ops/movement.h>

#include <inttypes.h>
#include <ortcore/base/checked.h>
#include <string.h>

/* ---- Identity ---- */

static status identity_infer(infer_ctx *c) {
  *c->out[0] = *c->in[0];
  return OK;
}

static status identity_run(kernel_ctx *k) {
  if (k->in[0]) return kernel_view(k, 0, 0, k->in[0]->rank, k->in[0]->dims);
  ortc_value *v = kernel_take_value(k, 0);
  kernel_set_value(k, 0, v ? v : ort_value_none());
  return OK;
}

/* ---- Reshape ---- */

typedef struct reshape_params { bool allowzero; } reshape_params;

static status reshape_prepare(prepare_ctx *c, void **out_params) {
  reshape_params *p = ZONE_NEW(c->memory, reshape_params);
  if (!p) return status_out_of_memory();
  p->allowzero = attr_int_or(c->node, "allowzero", 0) != 0;
  *out_params = p;
  return OK;
}

/* The dim that -1 (at `hole`, or nowhere if that is negative) stands for. Dims that input and output have in common cancel, so that
 * [batch, 12, 64] to [-1, 768] is found to be [batch, 768]. False: the numbers of elements differ. */
static bool reshape_rest(int in_rank, const dim *in, int rank, const dim *out, int hole, dim *out_rest) {
  uint32_t used = 0;
  int64_t have = 1, want = 1;
  dim symbol = 1;
  *out_rest = DIM_UNKNOWN;
  for (int i = 0; i < rank; ++i) {
    if (i == hole) continue;
    if (dim_known(out[i])) {
      if (checked_mul(want, out[i], &want)) return false;
      continue;
    }
    int j = 0;
    while (j < in_rank && (in[j] != out[i] || used >> j & 1 || (in[j] == DIM_UNKNOWN && i != j))) ++j;
    if (j == in_rank) return true;
    used |= 1u << j;
  }
  for (int j = 0; j < in_rank; ++j) {
    if (used >> j & 1) continue;
    if (!dim_known(in[j]) && symbol != 1) return true;
    if (!dim_known(in[j])) symbol = in[j];
    else if (checked_mul(have, in[j], &have)) return false;
  }
  if (symbol != 1) {
    if (have == want) *out_rest = symbol;
    return true;
  }
  bool fits = hole < 0 ? have == want : want != 0 && have % want == 0;
  if (fits && hole >= 0) *out_rest = have / want;
  return fits || used;                                     /* a dim that cancelled may turn out to be 0, and then everything fits */
}

/* Dims of the output; `in` may hold symbols. */
static status reshape_dims(int in_rank, const dim *in, const integers *shape, bool allowzero, dim *out) {
  char from[DIMS_TEXT], to[DIMS_TEXT];
  int hole = -1;
  bool has_zero = false;
  for (int i = 0; i < shape->count; ++i) {
    int64_t v = shape->at[i];
    out[i] = v;
    if (v < -1) return ERROR(INVALID_ARGUMENT, "entry %d of 'shape' is %" PRId64 "; a dim is a size, 0 or -1", i, v);
    if (v == -1) {
      if (hole >= 0) return ERROR(INVALID_ARGUMENT, "'shape' holds -1 twice, at %d and %d; only one dim can be inferred", hole, i);
      hole = i;
    } else if (v == 0 && !allowzero) {
      if (i >= in_rank)
        return ERROR(INVALID_ARGUMENT, "entry %d of 'shape' is 0 (copy the dim of 'data'), but 'data' has rank %d", i, in_rank);
      out[i] = in[i];
    }
    has_zero |= v == 0;
  }
  if (allowzero && has_zero && hole >= 0)
    return ERROR(INVALID_ARGUMENT, "'shape' holds both 0 and -1 with allowzero = 1: the dim for -1 is not determined");
  dim rest;
  if (!reshape_rest(in_rank, in, shape->count, out, hole, &rest))
    return ERROR(INVALID_ARGUMENT, "data of shape %s cannot be reshaped to %s: the numbers of elements differ",
                 dims_format(from, sizeof from, in_rank, in),
                 dims_format(to, sizeof to, shape->count, shape->at));
  if (hole >= 0) out[hole] = rest;
  return OK;
}

static status reshape_infer(infer_ctx *c) {
  integers shape;
  const fact *data = c->in[0];
  if (!integers_from_fact(c->in[1], &shape)) {
    if (integers_count(c->in[1]) >= 0) fact_set_rank(c->out[0], (int)integers_count(c->in[1]));
    return OK;
  }
  if (shape.count > MAX_RANK)
    return ERROR(NOT_IMPLEMENTED, "'shape' has %d dims; ortcore's tensors have at most %d", shape.count, MAX_RANK);
  dim dims[MAX_RANK];
  bool allowzero = attr_int_or(c->node, "allowzero", 0) != 0;
  if (data->rank != RANK_UNKNOWN) TRY(reshape_dims(data->rank, data->dims, &shape, allowzero, dims));
  else for (int i = 0; i < shape.count; ++i) dims[i] = shape.at[i] > 0 || (shape.at[i] == 0 && allowzero) ? shape.at[i] : DIM_UNKNOWN;
  fact_set_shape(c->out[0], shape.count, dims);
  return OK;
}

static status reshape_run(kernel_ctx *k) {
  const reshape_params *p = k->params;
  integers shape;
  int64_t dims[MAX_RANK];
  TRY(integers_from_tensor(k->in[1], "shape", &shape));
  if (shape.count > MAX_RANK)
    return ERROR(NOT_IMPLEMENTED, "'shape' has %d dims; ortcore's tensors have at most %d", shape.count, MAX_RANK);
  TRY(reshape_dims(k->in[0]->rank, k->in[0]->dims, &shape, p->allowzero, dims));
  return kernel_view(k, 0, 0, shape.count, dims);
}

/* ---- Squeeze, Unsqueeze: axes are an attribute before opset 13, an input since ---- */

typedef struct axes_params { bool given; integers axes; } axes_params;

static status axes_prepare(prepare_ctx *c, void **out_params) {
  axes_params *p = ZONE_NEW(c->memory, axes_params);
  if (!p) return status_out_of_memory();
  TRY(integers_from_attr(c->node, "axes", &p->axes, &p->given));
  *out_params = p;
  return OK;
}

/* Axes for infer. False: given, but not known. */
static status axes_infer(infer_ctx *c, integers *axes, bool *out_given, bool *out_known) {
  *out_known = true;
  if (c->op->since < 13) return integers_from_attr(c->node, "axes", axes, out_given);
  *out_given = infer_in(c, 1) != NULL;
  axes->count = 0;
  if (*out_given) *out_known = integers_from_fact(c->in[1], axes);
  return OK;
}

static status axes_of_run(const kernel_ctx *k, integers *axes, bool *out_given) {
  const axes_params *p = k->params;
  *axes = p->axes;
  *out_given = p->given;
  if (!kernel_in(k, 1)) return OK;
  *out_given = true;
  return integers_from_tensor(k->in[1], "axes", axes);
}

/* *out_rank is RANK_UNKNOWN if it depends on dims that are not known. */
static status squeeze_dims(int rank, const dim *in, integers *axes, bool given, int *out_rank, dim *out) {
  uint32_t drop = 0;
  if (given) {
    TRY(axes_normalise(axes, rank, "axes"));
    for (int i = 0; i < axes->count; ++i) {
      int64_t axis = axes->at[i];
      if (dim_known(in[axis]) && in[axis] != 1)
        return ERROR(INVALID_ARGUMENT, "axis %" PRId64 " of 'data' has %" PRId64 " elements; only an axis of 1 can be squeezed", axis,
                     in[axis]);
      drop |= 1u << axis;
    }
  } else {
    for (int i = 0; i < rank; ++i) {
      if (!dim_known(in[i])) {
        *out_rank = RANK_UNKNOWN;
        return OK;
      }
      if (in[i] == 1) drop |= 1u << i;
    }
  }
  *out_rank = 0;
  for (int i = 0; i < rank; ++i)
    if (!(drop >> i & 1)) out[(*out_rank)++] = in[i];
  return OK;
}

static status squeeze_infer(infer_ctx *c) {
  integers axes;
  bool given, known;
  TRY(axes_infer(c, &axes, &given, &known));
  const fact *data = c->in[0];
  if (data->rank == RANK_UNKNOWN) return OK;
  if (!known) {
    int64_t n = integers_count(c->in[1]);
    if (n >= 0 && n <= data->rank) fact_set_rank(c->out[0], data->rank - (int)n);
    return OK;
  }
  int rank;
  dim dims[MAX_RANK];
  TRY(squeeze_dims(data->rank, data->dims, &axes, given, &rank, dims));
  if (rank != RANK_UNKNOWN) fact_set_shape(c->out[0], rank, dims);
  return OK;
}

static status squeeze_run(kernel_ctx *k) {
  integers axes;
  bool given;
  int rank;
  int64_t dims[MAX_RANK];
  TRY(axes_of_run(k, &axes, &given));
  TRY(squeeze_dims(k->in[0]->rank, k->in[0]->dims, &axes, given, &rank, dims));
  return kernel_view(k, 0, 0, rank, dims);
}

static status unsqueeze_dims(int rank, const dim *in, integers *axes, dim *out) {
  int out_rank = rank + axes->count;
  if (out_rank > MAX_RANK)
    return ERROR(NOT_IMPLEMENTED, "the result would have rank %d; ortcore's tensors have at most %d", out_rank, MAX_RANK);
  TRY(axes_normalise(axes, out_rank, "axes"));
  uint32_t added = 0;
  for (int i = 0; i < axes->count; ++i) added |= 1u << axes->at[i];
  for (int i = 0, j = 0; i < out_rank; ++i) out[i] = added >> i & 1 ? 1 : in[j++];
  return OK;
}

static status unsqueeze_infer(infer_ctx *c) {
  integers axes;
  bool given, known;
  TRY(axes_infer(c, &axes, &given, &known));
  const fact *data = c->in[0];
  if (data->rank == RANK_UNKNOWN) return OK;
  if (!known) {
    int64_t n = integers_count(c->in[1]);
    if (n >= 0 && n <= MAX_RANK - data->rank) fact_set_rank(c->out[0], data->rank + (int)n);
    return OK;
  }
  dim dims[MAX_RANK];
  TRY(unsqueeze_dims(data->rank, data->dims, &axes, dims));
  fact_set_shape(c->out[0], data->rank + axes.count, dims);
  return OK;
}

static status unsqueeze_run(kernel_ctx *k) {
  integers axes;
  bool given;
  int64_t dims[MAX_RANK];
  TRY(axes_of_run(k, &axes, &given));
  if (!given) return ERROR(INVALID_GRAPH, "attribute 'axes' is missing");
  TRY(unsqueeze_dims(k->in[0]->rank, k->in[0]->dims, &axes, dims));
  return kernel_view(k, 0, 0, k->in[0]->rank + axes.count, dims);
}

/* com.microsoft ExpandDims: one axis, as a scalar or a list of one. */
static status expand_dims_infer(infer_ctx *c) {
  integers axes;
  const fact *data = c->in[0];
  if (data->rank == RANK_UNKNOWN || data->rank == MAX_RANK) return OK;
  if (!integers_from_fact(c->in[1], &axes)) {
    fact_set_rank(c->out[0], data->rank + 1);
    return OK;
  }
  dim dims[MAX_RANK];
  TRY(unsqueeze_dims(data->rank, data->dims, &axes, dims));
  fact_set_shape(c->out[0], data->rank + axes.count, dims);
  return OK;
}

/* ---- Flatten ---- */

typedef struct flatten_params { int64_t axis; } flatten_params;

static status flatten_prepare(prepare_ctx *c, void **out_params) {
  flatten_params *p = ZONE_NEW(c->memory, flatten_params);
  if (!p) return status_out_of_memory();
  p->axis = attr_int_or(c->node, "axis", 1);
  *out_params = p;
  return OK;
}

static status flatten_dims(int64_t axis, int rank, const dim *in, dim *out) {
  if (axis < -rank || axis > rank)
    return ERROR(INVALID_ARGUMENT, "attribute 'axis' is %" PRId64 ", but must lie from %d to %d for an input of rank %d", axis, -rank, rank,
                 rank);
  if (axis < 0) axis += rank;
  out[0] = out[1] = 1;
  for (int i = 0; i < rank; ++i) out[i >= axis] = dim_mul(out[i >= axis], in[i]);
  return OK;
}

static status flatten_infer(infer_ctx *c) {
  dim dims[2] = {DIM_UNKNOWN, DIM_UNKNOWN};
  if (c->in[0]->rank != RANK_UNKNOWN) TRY(flatten_dims(attr_int_or(c->node, "axis", 1), c->in[0]->rank, c->in[0]->dims, dims));
  fact_set_shape(c->out[0], 2, dims);
  return OK;
}

static status flatten_run(kernel_ctx *k) {
  const flatten_params *p = k->params;
  int64_t dims[2];
  TRY(flatten_dims(p->axis, k->in[0]->rank, k->in[0]->dims, dims));
  return kernel_view(k, 0, 0, 2, dims);
}

#define RESHAPE .T = TS_ALL, .flags = OP_VIEW, .infer = reshape_infer, .prepare = reshape_prepare, .run = reshape_run
#define SQUEEZE .T = TS_ALL, .flags = OP_VIEW, .infer = squeeze_infer, .prepare = axes_prepare, .run = squeeze_run
#define UNSQUEEZE .T = TS_ALL, .flags = OP_VIEW, .infer = unsqueeze_infer, .prepare = axes_prepare, .run = unsqueeze_run

OP_FAMILY(view) = {
  {.name = "Identity", .since = 1, .signature = "input:any -> output:any", .flags = OP_VIEW, .infer = identity_infer, .run = identity_run},
  {.name = "Reshape", .since = 5, .signature = "data:T shape:i64 -> reshaped:T", RESHAPE},
  {.name = "Reshape", .since = 14, .signature = "data:T shape:i64 -> reshaped:T", RESHAPE},
  {.name = "Squeeze", .since = 1, .signature = "data:T -> squeezed:T", SQUEEZE},
  {.name = "Squeeze", .since = 13, .signature = "data:T axes:i64? -> squeezed:T", SQUEEZE},
  {.name = "Unsqueeze", .since = 1, .signature = "data:T -> expanded:T", UNSQUEEZE},
  {.name = "Unsqueeze", .since = 13, .signature = "data:T axes:i64 -> expanded:T", UNSQUEEZE},
  {.name = "ExpandDims", .domain = "com.microsoft", .since = 1, .signature = "X:T axis:i32 -> Y:T", .T = TS_ALL, .flags = OP_VIEW,
   .infer = expand_dims_infer, .prepare = axes_prepare, .run = unsqueeze_run},
  {.name = "Flatten", .since = 1, .signature = "input:T -> output:T", .T = TS_ALL, .flags = OP_VIEW, .infer = flatten_infer,
   .prepare = flatten_prepare, .run = flatten_run},
  {0}};
