/* What Softmax, LogSoftmax and Hardmax say, for kernels of every device. */
#ifndef ORTCORE_OPS_PARAMS_SOFTMAX_H
#define ORTCORE_OPS_PARAMS_SOFTMAX_H

#include <stdbool.h>
#include <stdint.h>

typedef enum softmax_kind { SOFTMAX_PLAIN, SOFTMAX_LOG, SOFTMAX_HARD } softmax_kind;

/* flatten (before opset 13): the input is seen as a matrix of the dims before the axis, and those from it on. */
typedef struct softmax_params { softmax_kind kind; int64_t axis; bool flatten; } softmax_params;

#endif
