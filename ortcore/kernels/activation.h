/* Activations that are applied to a product before it is written: the same list for matrix products and convolutions, on every device. */
#ifndef ORTCORE_KERNELS_ACTIVATION_H
#define ORTCORE_KERNELS_ACTIVATION_H

#include <ortcore/base/status.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum activation_kind {
  ACTIVATION_NONE, ACTIVATION_RELU, ACTIVATION_LEAKY_RELU, ACTIVATION_CLIP, ACTIVATION_SIGMOID, ACTIVATION_HARD_SWISH, ACTIVATION_HARD_SIGMOID,
  ACTIVATION_SILU, ACTIVATION_TANH, ACTIVATION_GELU, ACTIVATION_ELU
} activation_kind;

typedef struct activation {
  activation_kind kind;
  float a, b;                                               /* LeakyRelu, Elu: slope; Clip: least, most; HardSigmoid: slope, offset */
} activation;

/* By ONNX's operator name; "" is none. Parameters that are not given are the operator's defaults. */
status activation_from_name(const char *name, int64_t count, const float *params, activation *out) MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
