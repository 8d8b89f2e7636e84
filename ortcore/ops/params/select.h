/* What operators that pick elements read once, for kernels of every device. */
#ifndef ORTCORE_OPS_PARAMS_SELECT_H
#define ORTCORE_OPS_PARAMS_SELECT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct compress_params { bool has_axis; int64_t axis; } compress_params;

#endif
