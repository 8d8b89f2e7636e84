/* Resizing on a GPU, for C. */
#ifndef ORTCORE_KERNELS_CUDA_RESIZE_H
#define ORTCORE_KERNELS_CUDA_RESIZE_H

#include <ortcore/base/dtype.h>
#include <ortcore/kernels/resize.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_RESIZE_AXES = 5 };

/* x and y as [inner[0], axis 0, inner[1], axis 1, ..., inner[axes]]: what lies between the resized axes stays as it is. */
typedef struct cuda_resize {
  resize_how how;
  int32_t axes;
  resize_axis axis[CUDA_RESIZE_AXES];
  int64_t inner[CUDA_RESIZE_AXES + 1];
  dtype type;
  int32_t width;                                           /* of an element; nearest moves elements of any type of 1, 2, 4, 8 or 16 bytes */
  char fill[16];                                           /* the element that stands for what lies outside, for RESIZE_TF_CROP */
} cuda_resize;

/* Whether elements of that type can be weighed. */
bool cuda_resize_interpolates(dtype type);
/* Device memory for tables of taps; false if they are too many. */
bool cuda_resize_scratch_bytes(const cuda_resize *r, size_t *out_bytes);
/* Returns a cudaError_t. Neither x nor y is empty. */
int cuda_resize_run(const cuda_resize *r, const void *x, void *y, void *scratch, void *stream);

#ifdef __cplusplus
}
#endif
#endif
