/* The usual end of a product: y = activation(alpha * product + beta * bias + residual), rounded to the output's type, at its place. */
#ifndef ORTCORE_KERNELS_CPU_EPILOGUE_H
#define ORTCORE_KERNELS_CPU_EPILOGUE_H

#include "activation.h"
#include "gemm.h"

typedef struct epilogue {
  gemm_sink sink;
  void *out;
  const int64_t *offsets;                                   /* one a batch, in elements; NULL: batch * batch_stride */
  int64_t batch_stride, row_stride, column_stride;
  float alpha, beta;
  const void *bias;                                         /* of the output's type; NULL: none */
  const int64_t *bias_offsets;                              /* one a batch; NULL: the same for all */
  int64_t bias_row_stride, bias_column_stride;
  const void *residual;                                     /* lies as the output does; NULL: none */
  activation act;                                           /* floats only */
} epilogue;

/* alpha and beta 1, column_stride 1, the rest zero; false if there is no arithmetic for the type. */
bool epilogue_init(epilogue *e, dtype type);

#endif
