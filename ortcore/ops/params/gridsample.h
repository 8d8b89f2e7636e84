/* GridSample's attributes, for kernels of every device. */
#ifndef ORTCORE_OPS_PARAMS_GRIDSAMPLE_H
#define ORTCORE_OPS_PARAMS_GRIDSAMPLE_H

#include <stdbool.h>

typedef enum sample_mode { SAMPLE_NEAREST, SAMPLE_LINEAR, SAMPLE_CUBIC } sample_mode;
typedef enum sample_padding { PADDING_ZEROS, PADDING_BORDER, PADDING_REFLECTION } sample_padding;

typedef struct sample_params {
  sample_mode mode;
  sample_padding padding;
  bool align_corners;
} sample_params;

#endif
