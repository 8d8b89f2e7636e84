/* What the rows share whose operators slide a window over images. */
#ifndef ORTCORE_PROVIDER_CUDA_IMAGES_H
#define ORTCORE_PROVIDER_CUDA_IMAGES_H

#include <ortcore/kernels/cuda/window.h>
#include <ortcore/ops/window_read.h>
#include <ortcore/provider/cuda/plugin.h>

/* The window in the GPU's words; refused where an image or its result has more elements in one channel than its kernels count. */
status images_window(const window *w, cuda_window *out) MUST_CHECK;
/* Where the elements of images of `channels` channels lie. */
cuda_image images_steps(layout order, int64_t channels, const int64_t spatial[SPATIAL]);
bool images_are_plain(const node *n, const fact *const *in);/* channels in dim 1, as the model has them */

#endif
