/* Convolutions through cuDNN, where it is there and knows the convolution. */
#ifndef ORTCORE_PROVIDER_CUDA_DNN_H
#define ORTCORE_PROVIDER_CUDA_DNN_H

#include <ortcore/kernels/cuda/conv.h>
#include <ortcore/provider/cuda/plugin.h>
#include <ortcore/provider/cuda_options.h>

typedef struct dnn_plan dnn_plan;

/* The convolution in the library's words, made once a shape. *out is NULL where our own kernels are to do it: no library, pads that differ
 * before and behind, transposed windows, groups of few channels, no algorithm. */
status dnn_plan_create(const cuda_conv *c, bool bias, bool residual, const cuda_options *options, dnn_plan **out) MUST_CHECK;
void dnn_plan_release(dnn_plan *plan);                      /* NULL is fine */
size_t dnn_scratch_bytes(const dnn_plan *plan);
/* With o->scratch of that size. The first run tries the algorithms out if the options ask for it. */
status dnn_run(dnn_plan *plan, const cuda_conv *c, const cuda_operands *o, stream *s) MUST_CHECK;

#endif
