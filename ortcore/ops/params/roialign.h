/* RoiAlign's attributes, for kernels of every device. */
#ifndef ORTCORE_OPS_PARAMS_ROIALIGN_H
#define ORTCORE_OPS_PARAMS_ROIALIGN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct roi_params { bool max, half_pixel; int64_t height, width, ratio; double scale; } roi_params;

enum { ROI_MOST_SAMPLES = 1 << 12 };                        /* of a cell along one axis */

#endif
