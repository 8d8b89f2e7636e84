/* What operators that move data read from their nodes, and what they make of their inputs' shapes, for the kernels of every device. */
#ifndef ORTCORE_OPS_PARAMS_MOVEMENT_H
#define ORTCORE_OPS_PARAMS_MOVEMENT_H

#include <ortcore/kernels/cpu/combine.h>
#include <ortcore/kernels/cpu/copy.h>
#include <ortcore/kernels/pad.h>
#include <ortcore/ops/op.h>

/* Transpose, Slice, Expand, Tile, DepthToSpace and SpaceToDepth are one strided copy each: output 0 has these dims, and the copy, whose
 * memories are not set, fills it from input 0. */
typedef struct strided_view { int rank; int64_t dims[MAX_RANK]; strided_copy copy; } strided_view;
/* `data` of their rows. Reads dims and, from the host, the inputs that are lists of integers. */
typedef struct strided_op { status (*view)(const kernel_ctx *k, strided_view *out); } strided_op;

/* Pad and CenterCropPad. */
/* One axis: element i of the result is element first + map(i - before) of the input, where map serves indices outside [0, n). */
typedef struct pad_axis { int64_t before, first, n, out; } pad_axis;
typedef struct pad_view { pad_mode mode; pad_axis axes[MAX_RANK]; uint8_t value[16]; } pad_view;
/* `data` of their rows. Reads all inputs but the first from the host. */
typedef struct pad_op { status (*view)(const kernel_ctx *k, pad_view *out); } pad_op;

/* Concat and Split. */
typedef struct concat_params {
  int64_t axis;
  int64_t split_count;                                     /* Split: entries of the attribute 'split' */
  const int64_t *split;
} concat_params;

/* `data` of Split's rows: how long part i is along the axis, once all sizes are known to fit. */
typedef struct split_op { status (*size)(const kernel_ctx *k, int32_t i, int64_t *out); } split_op;

/* Gather, GatherElements. */
typedef struct gather_params { int64_t axis; } gather_params;

/* Scatter, ScatterElements. */
typedef struct scatter_params {
  int64_t axis;
  combine how;
  const combine_fns *combine;                              /* its loops on the CPU; NULL: replace */
} scatter_params;

/* GatherND, ScatterND. */
typedef struct nd_params {
  int64_t batch_dims;
  combine how;
  const combine_fns *combine;
} nd_params;

/* Range: integers by start and delta, floats by float_start and float_delta. */
typedef struct range_view { int64_t count, start, delta; double float_start, float_delta; } range_view;
/* `data` of its rows. Reads all inputs from the host. */
typedef struct range_op { status (*view)(const tensor *const *in, range_view *out); } range_op;

/* `data` of ConstantOfShape's rows: the dims that the input, on the host, asks for. */
typedef struct constant_op { status (*dims)(const tensor *shape, int *out_rank, int64_t *out_dims); } constant_op;

typedef struct onehot_params { int64_t axis; } onehot_params;
/* `data` of OneHot's rows: the dims of the result, one more than the indices have, and the axis of length `depth`, which lies on the host. */
typedef struct onehot_op {
  status (*dims)(const onehot_params *p, const tensor *indices, const tensor *depth, int *out_axis, int64_t *out_dims);
} onehot_op;
typedef struct trilu_params { bool upper; } trilu_params;
typedef struct reverse_params { int64_t time, batch; } reverse_params;

#endif
