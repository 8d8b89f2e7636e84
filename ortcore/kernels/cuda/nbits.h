/* Products with weights of 2, 4 or 8 bits in blocks along the summed dimension, on a GPU, for C. The weights are unpacked on their way to the
 * multiplication; nothing of them is ever written to memory in full. */
#ifndef ORTCORE_KERNELS_CUDA_NBITS_H
#define ORTCORE_KERNELS_CUDA_NBITS_H

#include "product.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuda_nbits {
  int32_t bits, block, blocks;                              /* of a block: elements, a power of two from 16 on; blocks of a column */
  const uint8_t *codes;                                     /* [n, blocks, block * bits / 8], the first code in the low bits */
  const void *scales;                                       /* [n, blocks], of the product's type */
  const uint8_t *zero_codes;                                /* packed like the codes, each column beginning on a byte; NULL: see zeros */
  const void *zeros;                                        /* [n, blocks], of the product's type; NULL: half of the codes' range, unless zero_codes */
  const int32_t *groups;                                    /* which block's scale and zero point an inner index has; NULL: its own */
} cuda_nbits;

/* p: a product A [m, k] by B [k, n] of type f32, f16 or bf16, planned with b_inner 1; o->b is not looked at. */
int cuda_nbits_product(const cuda_product *p, const cuda_nbits *weights, const cuda_operands *o, void *stream);

#ifdef __cplusplus
}
#endif
#endif
