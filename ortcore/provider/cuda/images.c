#include <ortcore/provider/cuda/images.h>

_Static_assert((int)CUDA_SPATIAL == (int)SPATIAL, "windows have as many axes on every device");

status images_window(const window *w, cuda_window *out) {
  double in = 1, positions = 1;
  for (int d = 0; d < SPATIAL; ++d) {
    out->kernel[d] = (int32_t)w->kernel[d], out->stride[d] = (int32_t)w->stride[d], out->dilation[d] = (int32_t)w->dilation[d];
    out->begin[d] = (int32_t)w->begin[d], out->end[d] = (int32_t)w->end[d];
    out->in[d] = (int32_t)w->in[d], out->out[d] = (int32_t)w->out[d];
    in *= (double)w->in[d], positions *= (double)w->out[d];
    double reach = (double)w->out[d] * (double)w->stride[d] + (double)w->kernel[d] * (double)w->dilation[d] + (double)w->begin[d] + (double)w->end[d];
    if (reach > INT32_MAX / 2)
      return ERROR(NOT_IMPLEMENTED, "the window reaches over %.0f places of an axis; on a GPU it is at most 2^30", reach);
  }
  if (in <= INT32_MAX && positions <= INT32_MAX) return OK;
  return ERROR(NOT_IMPLEMENTED, "a channel has %.0f elements and its result %.0f; on a GPU both are below 2^31", in, positions);
}

cuda_image images_steps(layout order, int64_t channels, const int64_t spatial[SPATIAL]) {
  image_strides s = image_strides_of(order, channels, spatial);
  return (cuda_image){s.batch, s.channel, {s.spatial[0], s.spatial[1], s.spatial[2]}};
}

bool images_are_plain(const node *n, const fact *const *in) {
  (void)in;
  return !node_is_channels_last(n);
}
