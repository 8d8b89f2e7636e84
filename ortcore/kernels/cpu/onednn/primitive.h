/* Inside the seam: what a primitive is made of. */
#ifndef ORTCORE_KERNELS_CPU_ONEDNN_PRIMITIVE_H
#define ORTCORE_KERNELS_CPU_ONEDNN_PRIMITIVE_H

#include "onednn.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdatomic.h>

/* Operands of a primitive, in the order of dnn_run. */
enum { OPERAND_X, OPERAND_WEIGHTS, OPERAND_BIAS, OPERAND_RESIDUAL, OPERAND_Y, OPERANDS };

/* One operand: `given` is how it lies in the caller's memory, `wanted` what the primitive works on; NULL where there is none. Where they differ
 * the operand is re-ordered to or from the scratch. */
typedef struct operand {
  dnnl_memory_desc_t given, wanted;
  dnnl_primitive_t reorder;
  size_t offset;                                            /* of the re-ordered copy in the scratch */
} operand;

typedef struct arguments arguments;

struct dnn {
  dnnl_primitive_t primitive;
  int threads;                                              /* it was made for; it must run with as many */
  operand operands[OPERANDS];
  float *scales;                                            /* of the weights, one a channel; NULL: none */
  int64_t scale_count;
  int32_t x_zero_point;
  activation behind;                                        /* of y, by our own loop when the primitive has run */
  dtype y_type;
  int64_t y_count;
  int residual_post_op;                                     /* index among the post-ops */
  size_t scratchpad_bytes, scratch_bytes;
  _Atomic(arguments *) spare;                               /* one set of memory objects, ready for the next run */
};

dnnl_engine_t dnn_engine(void);
status dnn_failure(dnnl_status_t code, const char *doing) MUST_CHECK;
dnnl_data_type_t dnn_type(dtype type);
dnnl_memory_desc_t dnn_desc(const dnn_tensor *t);           /* NULL if it cannot be described */
/* User scratchpad, and the post-ops: scale by alpha, add the residual (NULL: none), activate unless dnn_create does it. NULL on failure. */
dnnl_primitive_attr_t dnn_attributes(float alpha, const activation *act, const_dnnl_memory_desc_t residual, int *out_residual_index);
/* Makes the primitive, whose y is dense and of that type, and finds what it wants of each operand. Where oneDNN refuses, *out is NULL and the
 * answer OK. Consumes pd and given. */
status dnn_create(dnnl_primitive_desc_t pd, dnnl_memory_desc_t given[OPERANDS], int residual_post_op, const activation *act, dtype y_type, int threads,
                  dnn **out) MUST_CHECK;

#define TRY_DNN(call, doing) do { dnnl_status_t code_ = (call); if (code_ != dnnl_success) return dnn_failure(code_, doing); } while (0)

#endif
