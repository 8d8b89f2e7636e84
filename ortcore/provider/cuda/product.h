/* What the rows share whose operators are matrix products. */
#ifndef ORTCORE_PROVIDER_CUDA_PRODUCT_H
#define ORTCORE_PROVIDER_CUDA_PRODUCT_H

#include <ortcore/kernels/cuda/product.h>
#include <ortcore/ops/matmul_shape.h>
#include <ortcore/provider/cuda/plugin.h>

/* The product of that shape with a dense result and nothing added; refused where the GPU's kernels cannot count so far. */
status product_from_shape(const matmul_shape *s, dtype type, cuda_product *out) MUST_CHECK;

#endif
