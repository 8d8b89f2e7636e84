/* What a RotaryEmbedding node says of the tensors of a run, for kernels of every device. */
#ifndef ORTCORE_OPS_PARAMS_ROTARY_H
#define ORTCORE_OPS_PARAMS_ROTARY_H

#include <ortcore/ops/op.h>

/* Positions of the inputs (op_def.data): ai.onnx has the caches first, com.microsoft the position ids. */
typedef struct rotary_def { int8_t ids, cos, sin; } rotary_def;

/* Of x; half: pairs that turn, and numbers in a row of the caches. Strides are in elements. */
typedef struct rotary_sizes {
  int64_t batch, heads, steps, size, half, rows;
  int64_t batch_stride, head_stride, step_stride;
  bool ids_are_offset;                                      /* one id, for the first step of all batches */
} rotary_sizes;

/* Sizes of x, of the caches and of the ids (NULL: none), which fit each other. Contents are not read. */
status rotary_find_sizes(const node *n, const rotary_def *def, const tensor *x, const tensor *cos, const tensor *sin, const tensor *ids,
                         rotary_sizes *out) MUST_CHECK;

#endif
