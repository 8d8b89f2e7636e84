/* Resizing, one axis after another: each element of a resized axis is a weighted sum of a few elements, its taps. */
#ifndef ORTCORE_KERNELS_CPU_RESIZE_H
#define ORTCORE_KERNELS_CPU_RESIZE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum resize_filter { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC } resize_filter;
typedef enum resize_coordinates {
  RESIZE_HALF_PIXEL, RESIZE_HALF_PIXEL_SYMMETRIC, RESIZE_PYTORCH_HALF_PIXEL, RESIZE_ALIGN_CORNERS, RESIZE_ASYMMETRIC, RESIZE_TF_HALF_PIXEL, RESIZE_TF_CROP
} resize_coordinates;
/* The last is how versions before 11 round: down when enlarging, up when shrinking. */
typedef enum resize_rounding { RESIZE_PREFER_FLOOR, RESIZE_PREFER_CEIL, RESIZE_FLOOR, RESIZE_CEIL, RESIZE_SIMPLE } resize_rounding;

typedef struct resize_how {
  resize_filter filter;
  resize_coordinates coordinates;
  resize_rounding rounding;
  float cubic_a;
  bool exclude_outside, antialias;
} resize_how;

typedef struct resize_axis {
  int64_t in, out;
  float scale, start, end;                                  /* start and end: of the region, for RESIZE_TF_CROP */
  int taps;
  int64_t *index;                                           /* [taps][out] */
  double *weight;                                           /* [taps][out] */
  bool *outside;                                            /* [out], for RESIZE_TF_CROP: gets the extrapolation value */
} resize_axis;

/* Taps that each element has; 0 if the scale is too small to count them. */
int resize_tap_count(const resize_how *how, const resize_axis *a);
/* Fills index, weight and outside (each may be NULL but index). in > 0. */
void resize_find_taps(const resize_how *how, resize_axis *a);
/* Nothing to do: every element is its own tap. */
bool resize_is_identity(const resize_how *how, const resize_axis *a);

/* x [outer, in, inner] to y [outer, out, inner]. */
void resize_pass_f32(int threads, const resize_axis *a, int64_t outer, int64_t inner, const float *x, float *y);
void resize_pass_f64(int threads, const resize_axis *a, int64_t outer, int64_t inner, const double *x, double *y);

/* Nearest: y[j0, j1, ...] = x[index0[j0], index1[j1], ...], elements of `width` bytes. */
void resize_nearest(int threads, int rank, const resize_axis *axes, int width, const void *x, void *y);

#endif
