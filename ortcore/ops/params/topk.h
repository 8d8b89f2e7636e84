/* TopK's attributes, for kernels of every device. */
#ifndef ORTCORE_OPS_PARAMS_TOPK_H
#define ORTCORE_OPS_PARAMS_TOPK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct topk_params { int64_t axis, k; bool largest, sorted; } topk_params;   /* k: of versions that have no input for it */

#endif
