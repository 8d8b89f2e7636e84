/* Halves through float: a kernel that computes in float reads float16 and bfloat16 inputs converted, and its results are rounded once. */
#ifndef ORTCORE_OPS_FLOAT_IO_H
#define ORTCORE_OPS_FLOAT_IO_H

#include <ortcore/ops/op.h>

static inline bool is_half(dtype type) { return type == ORTC_FLOAT16 || type == ORTC_BFLOAT16; }

/* Input i as it is, or converted to float into scratch memory if it is a half; *copy is room for its view. NULL if absent. */
status float_input(kernel_ctx *k, int32_t i, tensor *copy, const tensor **out) MUST_CHECK;
/* Where to compute `out`: itself, or a float tensor of its shape in scratch memory. NULL stays NULL. */
status float_output(kernel_ctx *k, tensor *out, tensor *copy, tensor **work) MUST_CHECK;
/* Rounds the work back into `out`, if they differ. */
void float_finish(tensor *out, const tensor *work);

#endif
