/* What the elements that Pad adds are made of. */
#ifndef ORTCORE_KERNELS_PAD_H
#define ORTCORE_KERNELS_PAD_H

typedef enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP } pad_mode;

#endif
