/* Elementwise work on operands of different shapes. The kernels themselves (elementwise_fn) are loops over adjacent elements and nothing else;
 * this brings operands into that form: an operand that is repeated, strided, or of another type than the kernel computes in is copied,
 * block by block, to memory that stays in the first cache. */
#ifndef ORTCORE_KERNELS_CPU_BROADCAST_H
#define ORTCORE_KERNELS_CPU_BROADCAST_H

#include <ortcore/kernels/cpu/convert.h>
#include <ortcore/kernels/cpu/elementwise.h>
#include <ortcore/value/tensor.h>

typedef struct operand {
  const char *data;
  int width;                                               /* bytes of an element in memory */
  convert_fn load;                                         /* from memory to what the kernel computes in; NULL: the same */
  int64_t strides[MAX_RANK];                               /* in elements, of the result's dims; 0 where it is repeated */
} operand;

typedef struct broadcast {
  int rank;
  int64_t dims[MAX_RANK];                                  /* of the result */
  int count;                                               /* operands */
  operand *in;
  bool fold;                                               /* fn takes two: fn(fn(fn(in0, in1), in2), ...); else it takes them all, at most three */
  const elementwise *kernel;
  const void *params;
  elementwise_fn finish;                                   /* then applied to the result, in place; may be NULL (with finish_params) */
  const void *finish_params;
  int compute_width;                                       /* bytes of an element as the kernel computes, the widest of its operands and result */
  convert_fn store;                                        /* from that to the result in memory; NULL: the same */
  char *out;
  int out_width;
} broadcast;

/* The dims of the result, as numpy has them, or an error that shows all shapes. NULL tensors are left out. */
status broadcast_dims(int count, const tensor *const *in, int *out_rank, int64_t *dims) MUST_CHECK;
/* Sets rank and dims, and then operand i. The tensor's shape broadcasts to dims. */
void broadcast_shape(broadcast *b, int rank, const int64_t *dims);
void broadcast_operand(broadcast *b, int i, const tensor *t, convert_fn load);
void broadcast_run(int threads, broadcast *b);

#endif
