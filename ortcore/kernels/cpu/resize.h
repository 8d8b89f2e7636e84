/* Resizing, one axis after another: each element of a resized axis is a weighted sum of a few elements, its taps. */
#ifndef ORTCORE_KERNELS_CPU_RESIZE_H
#define ORTCORE_KERNELS_CPU_RESIZE_H

#include <ortcore/kernels/resize.h>

/* The taps of all elements of an axis. */
typedef struct resize_taps {
  int count;                                                /* of each element */
  int64_t *index;                                           /* [count][out]; NULL where the axis is an identity */
  double *weight;                                           /* [count][out] */
  bool *outside;                                            /* [out], for RESIZE_TF_CROP: gets the extrapolation value */
} resize_taps;

/* Fills the tables, for which there is room. in > 0. */
void resize_find_taps(const resize_how *how, const resize_axis *a, resize_taps *out);

/* x [outer, in, inner] to y [outer, out, inner]. */
void resize_pass_f32(int threads, const resize_axis *a, const resize_taps *taps, int64_t outer, int64_t inner, const float *x, float *y);
void resize_pass_f64(int threads, const resize_axis *a, const resize_taps *taps, int64_t outer, int64_t inner, const double *x, double *y);

/* Nearest: y[j0, j1, ...] = x[index0[j0], index1[j1], ...], elements of `width` bytes. */
void resize_nearest(int threads, int rank, const resize_axis *axes, const resize_taps *taps, int width, const void *x, void *y);

#endif
