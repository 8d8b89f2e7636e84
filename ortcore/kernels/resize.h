/* Resizing as arithmetic, once for every device: where an element of a resized axis comes from, and how much its neighbours there weigh.
 * gcc and nvcc both take it. Coordinates are floats, so that ties fall as they do everywhere else; weights are doubles. */
#ifndef ORTCORE_KERNELS_RESIZE_H
#define ORTCORE_KERNELS_RESIZE_H

#include <math.h>
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
} resize_axis;

enum { RESIZE_MOST_TAPS = 1 << 16 };                        /* of one element along one axis */

#ifdef __CUDACC__
#define RESIZE_FUNCTION __host__ __device__ static inline
#else
#define RESIZE_FUNCTION static inline
#endif
/* A product that is rounded before it is added to anything. */
#ifdef __CUDA_ARCH__
#define RESIZE_PRODUCT(a, b) __fmul_rn(a, b)
#else
#define RESIZE_PRODUCT(a, b) ((a) * (b))
#endif

/* Nothing to do: every element is its own only tap. */
RESIZE_FUNCTION bool resize_is_identity(const resize_how *how, const resize_axis *a) {
  return a->in == a->out && how->coordinates != RESIZE_TF_CROP && (a->scale == 1 || how->coordinates == RESIZE_ALIGN_CORNERS);
}

/* The coordinate in the input of element j of the output. */
RESIZE_FUNCTION float resize_place(const resize_how *how, const resize_axis *a, int64_t j) {
  float x = (float)j, in = (float)a->in, out = (float)a->out;
  switch (how->coordinates) {
    case RESIZE_HALF_PIXEL: x = (x + 0.5f) / a->scale - 0.5f; break;
    case RESIZE_HALF_PIXEL_SYMMETRIC: x = RESIZE_PRODUCT(in / 2, 1 - out / (a->scale * in)) + (x + 0.5f) / a->scale - 0.5f; break;
    case RESIZE_PYTORCH_HALF_PIXEL: x = a->out > 1 ? (x + 0.5f) / a->scale - 0.5f : 0; break;
    case RESIZE_ALIGN_CORNERS: x = a->out > 1 ? x * (in - 1) / (out - 1) : 0; break;
    case RESIZE_TF_HALF_PIXEL: x = (x + 0.5f) / a->scale; break;
    case RESIZE_TF_CROP:
      x = a->out > 1 ? RESIZE_PRODUCT(a->start, in - 1) + x * (a->end - a->start) * (in - 1) / (out - 1) : 0.5f * (a->start + a->end) * (in - 1);
      break;
    default: x = x / a->scale;
  }
  return x > -1e15f && x < 1e15f ? x : 0;                   /* beyond is a scale of almost 0 */
}

/* Whether that coordinate gets the extrapolation value. */
RESIZE_FUNCTION bool resize_is_outside(const resize_how *how, const resize_axis *a, float x) {
  return how->coordinates == RESIZE_TF_CROP && (x < 0 || x > (float)(a->in - 1));
}

/* The element that is nearest to coordinate x, by the rules of `rounding`. */
RESIZE_FUNCTION int64_t resize_nearest_index(const resize_how *how, const resize_axis *a, float x) {
  switch (how->rounding) {
    case RESIZE_PREFER_FLOOR: x = ceilf(x - 0.5f); break;
    case RESIZE_PREFER_CEIL: x = floorf(x + 0.5f); break;
    case RESIZE_FLOOR: x = floorf(x); break;
    case RESIZE_CEIL: x = ceilf(x); break;
    default: x = a->scale < 1 ? ceilf(x) : truncf(x);
  }
  if (!(x > 0)) return 0;
  return x < (float)a->in && (int64_t)x < a->in ? (int64_t)x : a->in - 1;
}

/* How far the filter is stretched: when shrinking with antialias, more elements contribute. */
RESIZE_FUNCTION double resize_stretch(const resize_how *how, const resize_axis *a) { return how->antialias && a->scale < 1 ? 1 / (double)a->scale : 1; }

/* Taps that each element has; 0 if the scale is too small to count them. */
RESIZE_FUNCTION int resize_tap_count(const resize_how *how, const resize_axis *a) {
  if (how->filter == RESIZE_NEAREST) return 1;
  double half = (how->filter == RESIZE_LINEAR ? 1 : 2) * resize_stretch(how, a);
  return half < RESIZE_MOST_TAPS / 2 ? 2 * (int)ceil(half) : 0;
}

/* Where linear filters without antialias read beyond the ends, they read the ends. */
RESIZE_FUNCTION float resize_filter_place(const resize_how *how, const resize_axis *a, float x) {
  if (how->filter != RESIZE_LINEAR || how->antialias) return x;
  return x < 0 ? 0 : x > (float)(a->in - 1) ? (float)(a->in - 1) : x;
}

/* The first of `taps` elements around coordinate x; it may lie outside. */
RESIZE_FUNCTION int64_t resize_first_tap(float x, int taps) { return (int64_t)floorf(x) - taps / 2 + 1; }

/* The weight of element i (before all of an element's weights are divided by their sum). */
RESIZE_FUNCTION double resize_weight(const resize_how *how, const resize_axis *a, float x, int64_t i) {
  if (how->exclude_outside && (i < 0 || i >= a->in)) return 0;
  double d = fabs(((double)i - (double)x) / resize_stretch(how, a)), cubic = how->cubic_a;
  if (how->filter == RESIZE_LINEAR) return d < 1 ? 1 - d : 0;
  if (d <= 1) return ((cubic + 2) * d - (cubic + 3)) * d * d + 1;
  return d < 2 ? ((cubic * d - 5 * cubic) * d + 8 * cubic) * d - 4 * cubic : 0;
}

/* Taps that lie outside are the element at that end. */
RESIZE_FUNCTION int64_t resize_tap_index(const resize_axis *a, int64_t i) { return i < 0 ? 0 : i >= a->in ? a->in - 1 : i; }

#endif
