/* Elementwise programs on a GPU, for C: one launch runs all steps of a program over broadcast inputs. */
#ifndef ORTCORE_KERNELS_CUDA_ELEMENTWISE_H
#define ORTCORE_KERNELS_CUDA_ELEMENTWISE_H

#include <ortcore/kernels/cuda/fault.h>
#include <ortcore/base/dtype.h>
#include <ortcore/kernels/program.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_ELEMENTWISE_RANK = 16 };                       /* MAX_RANK of value/tensor.h */

/* An input: element (i0, i1, ...) of the result meets the one at i0 * steps[0] + i1 * steps[1] + ...; a step of 0 repeats. The last step is
 * 0 or 1. Inputs and the result may have any numeric type or bool; steps compute in the type of the launcher. */
typedef struct cuda_operand {
  const void *data;
  dtype type;
  bool dense;                                              /* elements lie as those of the result do */
  int64_t steps[CUDA_ELEMENTWISE_RANK];
} cuda_operand;

typedef struct cuda_elementwise {
  program what;
  int32_t rank;                                            /* at least 1; axes of equal behaviour are best merged */
  dtype out_type;
  cuda_fault_place fault;                                  /* for integers: told of divisions by zero */
  void *out;                                               /* dense; may be a dense input of the same type */
  int64_t dims[CUDA_ELEMENTWISE_RANK];
  cuda_operand in[PROGRAM_INPUTS];
} cuda_elementwise;

/* By the type that is computed in. Each returns a cudaError_t. Memory may have any alignment that its type allows. Integers up to 32 bits are
 * computed in int64: what the narrower type keeps of the result is the same. */
int cuda_elementwise_f32(const cuda_elementwise *e, void *stream);
int cuda_elementwise_f64(const cuda_elementwise *e, void *stream);
int cuda_elementwise_i64(const cuda_elementwise *e, void *stream);
int cuda_elementwise_u64(const cuda_elementwise *e, void *stream);

#ifdef __cplusplus
}
#endif
#endif
