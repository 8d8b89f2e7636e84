/* Attributes of CumSum and CumProd, for kernels of every device. */
#ifndef ORTCORE_OPS_PARAMS_CUMULATIVE_H
#define ORTCORE_OPS_PARAMS_CUMULATIVE_H

#include <stdbool.h>

typedef struct cumulative_params { bool exclusive, reverse, product; } cumulative_params;

#endif
