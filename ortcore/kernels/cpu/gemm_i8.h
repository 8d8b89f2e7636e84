/* Products of 8-bit integers by the processor's dot products of four bytes (AVX-512 VNNI), exact modulo 2^32.
 *
 * The instruction multiplies unsigned by signed bytes. So A is moved to unsigned and B to signed by flipping the top bit, which moves the zero
 * points by 128 as well, and what the zero points take off is put right at the end:
 *   sum (a - za)(b - zb) = sum ab - zb * sum a - za * sum b + k * za * zb */
#ifndef ORTCORE_KERNELS_CPU_GEMM_I8_H
#define ORTCORE_KERNELS_CPU_GEMM_I8_H

#include <stdbool.h>
#include <stdint.h>

enum { GEMM_I8_MR = 8, GEMM_I8_NR = 32, GEMM_I8_QUAD = 4 };

/* sum += the products of four unsigned and four signed bytes, lane by lane, in registers of AVX-512. As an intrinsic, gcc copies every sum back and
 * forth between registers. */
#define ADD_PRODUCTS(sum, bytes, signed_bytes) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(bytes), "v"(signed_bytes))

bool gemm_i8_available(void);
/* tile[i][j] (first: =, else +=) the product of panels: A [quads][MR][4], B [quads][NR][4]. */
void gemm_i8_block(const uint8_t *a, const uint8_t *b, int64_t m, int64_t n, int64_t quads, uint32_t *tile, int64_t ld, bool first);
/* Puts `count` inner bytes of one outer index into its place of a panel, each xor `flip`; returns their sum as the multiplier sees them. */
int32_t gemm_i8_place(const uint8_t *bytes, int64_t stride, int64_t count, uint8_t flip, bool is_signed, int width, uint8_t *out);

#endif
