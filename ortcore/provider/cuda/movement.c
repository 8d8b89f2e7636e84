/* Operators that move elements: strided views (Transpose, Slice, Expand, Tile, DepthToSpace, SpaceToDepth), Concat, Split, Pad. What moves where
 * is found by the operators' own code in ops/, from the dims and from inputs that lie on the host. */
#include <ortcore/kernels/cuda/movement.h>
#include <ortcore/ops/movement.h>
#include <ortcore/provider/cuda/plugin.h>

#define MOVED (TS_ALL_FIXED & ~TS_SUBBYTE)

_Static_assert((int)CUDA_MOVE_RANK >= (int)COPY_MAX_RANK, "a launch has room for every strided copy");

/* ---- Strided views ---- */

static status strided_launch(kernel_ctx *k, stream *on) {
  const strided_op *op = k->node->op->data;
  strided_view v;
  tensor *out;
  TRY(op->view(k, &v));
  TRY(kernel_output(k, 0, v.rank, v.dims, &out));
  if (!out || out->count == 0) return OK;
  cuda_strided how = {.rank = v.copy.rank, .to_offset = v.copy.to_offset, .from_offset = v.copy.from_offset};
  for (int d = 0; d < v.copy.rank; ++d) {
    how.dims[d] = v.copy.dims[d];
    how.to_strides[d] = v.copy.to_strides[d];
    how.from_strides[d] = v.copy.from_strides[d];
  }
  return cuda_launched(cuda_copy_strided(out->data, k->in[0]->data, tensor_width(out), &how, cuda_raw(on)));
}

/* ---- Concat, Split: a wide matrix and its parts, one launch for many of them ---- */

typedef struct parts_job { cuda_parts launch; int axis; stream *on; } parts_job;

static status parts_begin(parts_job *j, const tensor *wide, int64_t axis, bool join, stream *on) {
  TRY(axis_normalise(axis, wide->rank, "axis", &j->axis));
  j->launch = (cuda_parts){.width = tensor_width(wide), .join = join, .rows = dims_product(wide->dims, 0, j->axis), .wide = wide->data,
                           .stride = dims_product(wide->dims, j->axis, wide->rank)};
  j->on = on;
  return OK;
}

static status parts_flush(parts_job *j) {
  cuda_parts *p = &j->launch;
  if (p->count == 0) return OK;
  TRY(cuda_launched(cuda_move_parts(p, cuda_raw(j->on))));
  for (int i = 0; i < p->count; ++i) p->first += p->columns[i];
  p->count = 0;
  return OK;
}

static status parts_add(parts_job *j, void *data, int64_t columns) {
  cuda_parts *p = &j->launch;
  if (p->count == CUDA_MOVE_PARTS) TRY(parts_flush(j));
  p->parts[p->count] = data;
  p->columns[p->count++] = columns;
  return OK;
}

static status concat_launch(kernel_ctx *k, stream *on) {
  const concat_params *p = k->params;
  tensor *out;
  parts_job j;
  TRY(kernel_output_inferred(k, 0, &out));
  if (!out || out->count == 0) return OK;
  TRY(parts_begin(&j, out, p->axis, true, on));
  for (int i = 0; i < k->in_count; ++i)
    if (k->in[i]->count) TRY(parts_add(&j, k->in[i]->data, dims_product(k->in[i]->dims, j.axis, k->in[i]->rank)));
  return parts_flush(&j);
}

/* A part that nobody wants is passed over. */
static status split_launch(kernel_ctx *k, stream *on) {
  const concat_params *p = k->params;
  const split_op *op = k->node->op->data;
  const tensor *in = k->in[0];
  parts_job j;
  TRY(parts_begin(&j, in, p->axis, false, on));
  int64_t block = dims_product(in->dims, j.axis + 1, in->rank), dims[MAX_RANK];
  memcpy(dims, in->dims, sizeof dims);
  for (int i = 0; i < k->out_count; ++i) {
    tensor *out;
    int64_t size;
    TRY(op->size(k, i, &size));
    dims[j.axis] = size;
    TRY(kernel_output(k, i, in->rank, dims, &out));
    if (out) {
      TRY(parts_add(&j, out->data, size * block));
    } else {
      TRY(parts_flush(&j));
      j.launch.first += size * block;
    }
  }
  return in->count ? parts_flush(&j) : OK;
}

/* ---- Pad, CenterCropPad ---- */

static status pad_launch(kernel_ctx *k, stream *on) {
  const pad_op *op = k->node->op->data;
  const tensor *in = k->in[0];
  pad_view v = {0};
  cuda_pad how = {.rank = in->rank};
  int64_t dims[MAX_RANK], strides[MAX_RANK], stride = 1;
  tensor *out;
  TRY(op->view(k, &v));
  for (int d = 0; d < in->rank; ++d) dims[d] = v.axes[d].out;
  TRY(kernel_output(k, 0, in->rank, dims, &out));
  if (!out || out->count == 0) return OK;
  for (int d = in->rank - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= in->dims[d];
  }
  how.mode = v.mode;
  for (int d = 0; d < in->rank; ++d) {
    how.before[d] = v.axes[d].before;
    how.first[d] = v.axes[d].first;
    how.n[d] = v.axes[d].n;
    how.out[d] = v.axes[d].out;
    how.strides[d] = strides[d];
  }
  cuda_move m = {.to = out->data, .from = in->data, .count = out->count, .width = tensor_width(out)};
  memcpy(m.value, v.value, sizeof m.value);
  return cuda_launched(cuda_move_padded(&m, &how, cuda_raw(on)));
}

#define INPUTS(first, last) (((2u << (last)) - 1) & ~((1u << (first)) - 1))
#define STRIDED(name, first, host) {.op = name, .since = first, .types = MOVED, .host_inputs = host, .launch = strided_launch}

KERNEL_FAMILY(movement) = {
  STRIDED("Transpose", 1, 0), STRIDED("Slice", 1, INPUTS(1, 4)), STRIDED("Expand", 8, INPUTS(1, 1)), STRIDED("Tile", 6, INPUTS(1, 1)),
  STRIDED("DepthToSpace", 1, 0), STRIDED("SpaceToDepth", 1, 0),
  {.op = "Transpose", .domain = "ortcore", .since = 1, .types = MOVED, .launch = strided_launch},
  {.op = "Concat", .since = 4, .types = MOVED, .specialise = cuda_specialise_nothing, .launch = concat_launch},
  {.op = "Split", .since = 2, .types = MOVED, .host_inputs = INPUTS(1, 1), .launch = split_launch},
  {.op = "Pad", .since = 2, .types = MOVED, .host_inputs = INPUTS(1, 3), .launch = pad_launch},
  {.op = "Pad", .domain = "com.microsoft", .since = 1, .types = MOVED, .host_inputs = INPUTS(1, 2), .launch = pad_launch},
  {.op = "CenterCropPad", .since = 18, .types = MOVED, .host_inputs = INPUTS(1, 1), .launch = pad_launch},
  {0}};
