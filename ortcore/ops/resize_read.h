/* Attributes and sizes of Resize and Upsample, read and checked once for every device. */
#ifndef ORTCORE_OPS_RESIZE_READ_H
#define ORTCORE_OPS_RESIZE_READ_H

#include <ortcore/kernels/resize.h>
#include <ortcore/ops/movement.h>

typedef enum aspect_policy { ASPECT_STRETCH, ASPECT_NOT_LARGER, ASPECT_NOT_SMALLER } aspect_policy;

/* Where a version has its inputs (-1: nowhere); its attributes tell the rest. */
typedef struct resize_def { int8_t roi, scales, sizes; bool old; } resize_def;

extern const resize_def resize_upsample7, resize_old, resize_new;    /* Upsample 7; Upsample 9 and Resize 10; Resize 11 */

typedef struct resize_params {
  resize_how how;
  const resize_def *def;
  aspect_policy aspect;
  double extrapolation;
  integers axes;                                            /* none: all */
  int64_t factor_count;                                     /* Upsample 7 */
  const float *factors;
} resize_params;

status resize_read_params(const node *n, const resize_def *def, resize_params *out) MUST_CHECK;
/* In, out and scale of every axis, from dims and what scales and sizes say of them; either may be NULL. *out_axes: which they speak of. */
status resize_read_sizes(const resize_params *p, int rank, const int64_t *dims, const tensor *scales, const tensor *sizes, resize_axis *out,
                         integers *out_axes) MUST_CHECK;
/* Starts and ends of the region that tf_crop_and_resize enlarges. */
status resize_read_region(const tensor *roi, const integers *axes, resize_axis *out) MUST_CHECK;
/* Both, for a run, and room for the output. *out is NULL if there is nothing to compute: nobody wants it, or it has no elements. */
status resize_begin(kernel_ctx *k, const resize_params *p, resize_axis *axes, tensor **out) MUST_CHECK;
/* Refuses what no memory could hold. `taps`: of each element, 0 if they could not be counted. */
status resize_check_taps(const resize_axis *a, int64_t taps) MUST_CHECK;
/* The type to compute in. */
dtype resize_working_type(dtype t);

#endif
