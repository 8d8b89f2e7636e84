/* Weights of 2, 4 or 8 bits in blocks along K, each block with a scale and a zero point: MatMulNBits. */
#ifndef ORTCORE_KERNELS_CPU_NBITS_H
#define ORTCORE_KERNELS_CPU_NBITS_H

#include "gemm.h"

typedef struct nbits {
  gemm_side side;                                           /* columns of B as f32 */
  int bits;
  int64_t n, k, block, blocks;                              /* blocks: of one column */
  const uint8_t *codes;                                     /* [n, blocks, block * bits / 8], first code in the low bits */
  const float *scales;                                      /* [n, blocks] */
  const uint8_t *zero_codes;                                /* packed like the codes, each column beginning on a byte; NULL: see zeros */
  const float *zeros;                                       /* [n, blocks]; NULL: half of the codes' range, unless zero_codes */
  const int32_t *groups;                                    /* which block's scale and zero point k has; NULL: k / block */
} nbits;

void nbits_init(nbits *w);                                  /* sets side.pack */
/* y[m, n] = x[m, k] * B, few rows: each column is unpacked once and multiplied with all of them; sink as in a product. */
void nbits_product(const nbits *w, int64_t m, const float *x, const gemm_sink *sink, int threads, void *scratch);
size_t nbits_scratch_bytes(const nbits *w, int64_t m, int threads);

#endif
