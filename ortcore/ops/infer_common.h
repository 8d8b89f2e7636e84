/* What families share to infer shapes. */
#ifndef ORTCORE_OPS_INFER_COMMON_H
#define ORTCORE_OPS_INFER_COMMON_H

#include <ortcore/ops/op.h>

/* Output 0 has the broadcast shape of all inputs, and their layout if all have that shape. */
status infer_broadcast(infer_ctx *c) MUST_CHECK;
/* Output 0 is of the type that attribute `name` gives (ONNX's number), or of `fallback` if the node has no such attribute; it must lie in `allowed`. */
status infer_type_attr(infer_ctx *c, const char *name, dtype fallback, typeset allowed) MUST_CHECK;
/* The shape of output 0 is in an integer input or attribute; unknown if its contents are not. `what` names it in errors. */
status infer_shape_from_input(infer_ctx *c, int input, const char *what) MUST_CHECK;
status infer_shape_from_attr(infer_ctx *c, const char *name) MUST_CHECK;

#endif
