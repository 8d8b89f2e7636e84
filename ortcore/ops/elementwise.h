/* What the elementwise families share: a kernel chosen at load, and its run over broadcast inputs. */
#ifndef ORTCORE_OPS_ELEMENTWISE_H
#define ORTCORE_OPS_ELEMENTWISE_H

#include <ortcore/kernels/cpu/broadcast.h>
#include <ortcore/ops/infer_common.h>
#include <ortcore/ops/params/elementwise.h>

#define TS_FLOAT_6 (TS(FLOAT) | TS(DOUBLE) | TS(FLOAT16))   /* the floats that operators took before bfloat16 came */
#define TS_NUMERIC_12 (TS_FLOAT_6 | TS_INTEGER)
#define TS_WIDE_INTEGER (TS(INT32) | TS(INT64) | TS(UINT32) | TS(UINT64))

/* Halves, and 8-bit floats where an operator takes them, are computed in float. */
static inline dtype elementwise_compute_type(dtype type) { return typeset_has(TS_HALF | TS_FLOAT8, type) ? ORTC_FLOAT : type; }
/* A step for that kernel and the type of input 0; refuses if there is no such kernel. */
status elementwise_step_make(prepare_ctx *c, const char *kernel, elementwise_step **out) MUST_CHECK;
/* prepare for rows whose `data` names the kernel; NULL: the operator's own name. */
status elementwise_prepare(prepare_ctx *c, void **out_params) MUST_CHECK;
/* run: output 0 = kernel(inputs...), inputs broadcast. */
status elementwise_run(kernel_ctx *k) MUST_CHECK;
/* The same with given inputs and output, dims being the output's. */
status elementwise_apply(kernel_ctx *k, const elementwise_step *s, int count, const tensor *const *in, tensor *out) MUST_CHECK;

#endif
