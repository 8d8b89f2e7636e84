/* Pools. All work on "lanes": positions of an output row when the image is plain, channels when it is channels last; either way neighbours. */
#ifndef ORTCORE_KERNELS_CPU_POOL_H
#define ORTCORE_KERNELS_CPU_POOL_H

#include "window.h"

typedef enum pool_op { POOL_MAX, POOL_AVERAGE, POOL_LP } pool_op;

typedef struct pool {
  pool_op op;
  dtype type;
  layout order;                                             /* of input and output */
  int64_t images, channels;
  const window *w;
  const int32_t *tables[SPATIAL];                           /* window_axis_table of each axis */
  const int32_t *counts[SPATIAL];                           /* average: taps that count at each output position of the axis; their product divides */
  float p;                                                  /* LP */
  bool column_major;                                        /* of the indices */
} pool;

/* f32 f64 f16 bf16, and i8 u8 for maxima. indices may be NULL; they are places in the plain input, the first one on a tie. */
bool pool_supports(pool_op op, dtype type);
void pool_run(const pool *p, const void *x, void *y, int64_t *indices, int threads);
/* Over all `positions` of each channel. */
void pool_global(const pool *p, int64_t positions, const void *x, void *y, int threads);

#endif
