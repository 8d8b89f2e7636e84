/* The kernels that product.cu chooses among, one translation unit each. All return a cudaError_t. */
#ifndef ORTCORE_KERNELS_CUDA_PRODUCT_ROUTES_CUH
#define ORTCORE_KERNELS_CUDA_PRODUCT_ROUTES_CUH

#include "product.h"

namespace ortcore {

int product_tiles_f32(const cuda_product &p, const cuda_operands &o, void *stream);
int product_tiles_f16(const cuda_product &p, const cuda_operands &o, void *stream);
int product_tiles_bf16(const cuda_product &p, const cuda_operands &o, void *stream);
int product_tiles_other(const cuda_product &p, const cuda_operands &o, void *stream);   /* doubles and integers */
int product_vector(const cuda_product &p, const cuda_operands &o, void *stream);        /* f32 f16 bf16, m at most 8 */

}  // namespace ortcore

#endif
