/* Images read between their elements on a GPU, for C: AffineGrid, GridSample and RoiAlign. And MaxUnpool, which puts elements back. */
#ifndef ORTCORE_KERNELS_CUDA_SAMPLE_H
#define ORTCORE_KERNELS_CUDA_SAMPLE_H

#include <ortcore/kernels/cuda/fault.h>
#include <ortcore/base/dtype.h>
#include <ortcore/ops/params/gridsample.h>
#include <ortcore/ops/params/roialign.h>

#ifdef __cplusplus
extern "C" {
#endif

/* x [batch, channels, dims...], grid [batch, places, axes] with the last axis first, y [batch, channels, places]. */
typedef struct cuda_grid_sample {
  sample_params how;
  dtype type, grid_type;
  int32_t axes;                                            /* 2 or 3 */
  int64_t batch, channels, places, dims[3];                /* dims are positive and below 2^31 */
} cuda_grid_sample;

/* Both return a cudaError_t. */
int cuda_grid_sample_run(const cuda_grid_sample *g, const void *x, const void *grid, void *y, void *stream);

/* x [images, channels, height, width], rois [regions, 4] of the same type, y [regions, channels, cells of the region]. */
typedef struct cuda_roi_align { roi_params how; dtype type; int64_t images, channels, height, width, regions; } cuda_roi_align;

/* `batch` names each region's image; one that is not there, or too many samples, is told to `fault` (fault.h). */
int cuda_roi_align_run(const cuda_roi_align *r, const void *x, const void *rois, const int64_t *batch, void *y, const cuda_fault_place *fault, void *stream);

/* theta [batch, axes, axes + 1], grid [batch, dims..., axes]: the places of a regular grid, moved. */
typedef struct cuda_affine_grid { dtype type; int32_t axes; bool align_corners; int64_t batch, dims[3]; } cuda_affine_grid;
int cuda_affine_grid_run(const cuda_affine_grid *g, const void *theta, void *grid, void *stream);

/* Elements of `width` bytes to where `index` says, in an image of `dims`; y has dims of its own. Elsewhere y is zero. */
enum { CUDA_UNPOOL_RANK = 5 };
typedef struct cuda_unpool { int32_t width, rank; int64_t count, dims[CUDA_UNPOOL_RANK], out_dims[CUDA_UNPOOL_RANK]; } cuda_unpool;
/* An index that the image does not have is told to `fault`. */
int cuda_unpool_run(const cuda_unpool *u, const void *x, const int64_t *index, void *y, const cuda_fault_place *fault, void *stream);

#ifdef __cplusplus
}
#endif
#endif
