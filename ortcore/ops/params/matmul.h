/* Attributes of matrix products of one element type, as every device's kernels read them:
 *
 *   Y = activation(alpha * A' B' + beta * bias + residual)
 *
 * where A' and B' may be transposed. The row of an operator says by its kind which attributes and inputs it has. */
#ifndef ORTCORE_OPS_PARAMS_MATMUL_H
#define ORTCORE_OPS_PARAMS_MATMUL_H

#include <ortcore/ir/graph.h>
#include <ortcore/kernels/activation.h>

/* What tells the operators apart. */
typedef struct matmul_kind {
  bool gemm;                                                /* A and B are matrices, input 2 broadcasts to the output */
  bool transposes, scales, activates;                       /* which attributes it has */
  bool residual;                                            /* input 3 is added before the activation */
} matmul_kind;

extern const matmul_kind matmul_plain, matmul_gemm, matmul_fused_gemm, matmul_scaled, matmul_fused;

typedef struct matmul_attrs {
  bool trans_a, trans_b;
  float alpha, beta;
  activation act;
} matmul_attrs;

status matmul_attrs_read(const node *n, const matmul_kind *kind, matmul_attrs *out) MUST_CHECK;
/* Sums of integers can be scaled by whole numbers only. */
status matmul_attrs_check(const matmul_attrs *a, dtype type) MUST_CHECK;

#endif
