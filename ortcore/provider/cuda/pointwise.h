/* From tensors to the launch of an elementwise program: for rows whose kernel is such a program. */
#ifndef ORTCORE_PROVIDER_CUDA_POINTWISE_H
#define ORTCORE_PROVIDER_CUDA_POINTWISE_H

#include <ortcore/kernels/cuda/elementwise.h>
#include <ortcore/provider/cuda/plugin.h>

/* What is kept for one set of dims: the launch but for its addresses. */
typedef struct pointwise {
  cuda_elementwise launch;
  dtype compute;                                           /* FLOAT, DOUBLE, INT64 or UINT64 */
  int32_t sources[PROGRAM_INPUTS];                         /* of each operand, which of the node's inputs it is */
  bool shaped;                                             /* the recipe has set the launch's dims and the operands' steps */
} pointwise;

/* A row's data: says what is computed. It sets compute, adds operands and steps; shapes follow by themselves, unless it sets them too: the
 * result's rank and dims, which may view it in another way, and each operand's steps. */
typedef status (*pointwise_recipe)(const specialise_ctx *c, pointwise *p);
typedef struct pointwise_row { pointwise_recipe recipe; } pointwise_row;

/* The type that elements of type `type` are computed in. */
dtype pointwise_compute(dtype type);
/* Input i of the node as an operand; returns what steps call it. */
int pointwise_operand(const specialise_ctx *c, pointwise *p, int i);
bool pointwise_supports(const node *n, const fact *const *in);
status pointwise_specialise(specialise_ctx *c, void **out_spec) MUST_CHECK;
void pointwise_dispose(void *spec);
status pointwise_launch(kernel_ctx *k, stream *on) MUST_CHECK;
/* The launch of a spec alone, with these inputs and this result. */
status pointwise_enqueue(const kernel_ctx *k, const pointwise *p, const tensor *const *in, tensor *out, stream *on) MUST_CHECK;

#define POINTWISE .supports = pointwise_supports, POINTWISE_FUNCTIONS
#define POINTWISE_FUNCTIONS .specialise = pointwise_specialise, .dispose_spec = pointwise_dispose, .launch = pointwise_launch

#endif
