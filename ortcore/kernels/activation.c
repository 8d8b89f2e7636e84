#include "activation.h"

#include <float.h>
#include <string.h>

static const struct { const char *name; activation_kind kind; float a, b; } names[] = {
  {"", ACTIVATION_NONE, 0, 0}, {"Relu", ACTIVATION_RELU, 0, 0}, {"LeakyRelu", ACTIVATION_LEAKY_RELU, 0.01f, 0},
  {"Clip", ACTIVATION_CLIP, -FLT_MAX, FLT_MAX}, {"Sigmoid", ACTIVATION_SIGMOID, 0, 0}, {"HardSwish", ACTIVATION_HARD_SWISH, 0, 0},
  {"HardSigmoid", ACTIVATION_HARD_SIGMOID, 0.2f, 0.5f}, {"Silu", ACTIVATION_SILU, 0, 0}, {"Tanh", ACTIVATION_TANH, 0, 0},
  {"Gelu", ACTIVATION_GELU, 0, 0}, {"Elu", ACTIVATION_ELU, 1, 0},
};

status activation_from_name(const char *name, int64_t count, const float *params, activation *out) {
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (strcmp(name, names[i].name)) continue;
    *out = (activation){names[i].kind, count > 0 ? params[0] : names[i].a, count > 1 ? params[1] : names[i].b};
    return OK;
  }
  return ERROR(NOT_IMPLEMENTED, "attribute 'activation' is \"%s\"; known are "
               "Relu, LeakyRelu, Clip, Sigmoid, HardSwish, HardSigmoid, Silu, Tanh, Gelu and Elu", name);
}
