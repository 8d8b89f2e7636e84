/* Matrix products through cuBLASLt, where it is there and knows the product. */
#ifndef ORTCORE_PROVIDER_CUDA_BLAS_H
#define ORTCORE_PROVIDER_CUDA_BLAS_H

#include <ortcore/kernels/cuda/product.h>
#include <ortcore/provider/cuda/plugin.h>
#include <ortcore/provider/cuda_options.h>

typedef struct blas_plan blas_plan;

/* How the library would compute the product on the current device, asked once a shape. *out is NULL where our own kernels are to do it: no
 * library, one that does not know such a product, or few rows, which our kernel for them serves better. */
status blas_plan_create(const cuda_product *p, bool bias, bool residual, const cuda_options *options, blas_plan **out) MUST_CHECK;
void blas_plan_release(blas_plan *plan);                    /* NULL is fine */
size_t blas_scratch_bytes(const blas_plan *plan);
/* The library wants pointers that are aligned to 16 bytes. */
bool blas_takes(const cuda_operands *o);
status blas_run(blas_plan *plan, const cuda_product *p, const cuda_operands *o, void *stream) MUST_CHECK;

#endif
