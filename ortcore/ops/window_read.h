/* Attributes of convolutions and pools -> windows. */
#ifndef ORTCORE_OPS_WINDOW_READ_H
#define ORTCORE_OPS_WINDOW_READ_H

#include <ortcore/kernels/cpu/window.h>
#include <ortcore/ops/op.h>

typedef enum auto_pad { AUTO_NOTSET, AUTO_SAME_UPPER, AUTO_SAME_LOWER, AUTO_VALID } auto_pad;

/* The attributes as they stand in the model; values for axes that the operator does not have are neutral. */
typedef struct window_attrs {
  int rank;                                                 /* 0 while no attribute and no input tells */
  bool has_kernel, has_pads, ceil_mode;
  bool may_hang_over;                                       /* a first window reaches beyond the padded input by less than a stride */
  auto_pad pad;
  int64_t kernel[SPATIAL], stride[SPATIAL], dilation[SPATIAL], begin[SPATIAL], end[SPATIAL];
} window_attrs;

/* `rank` is the number of spatial dims, or 0 if unknown. */
status window_attrs_read(const node *n, int rank, window_attrs *out) MUST_CHECK;
status window_attrs_pool(const node *n, int rank, window_attrs *out) MUST_CHECK;   /* of a pool, which must say its kernel's shape */
/* Spatial dims of a fact [N, C, ...]; 0 if the rank is unknown; ranks other than 3 to 5 are refused. */
status window_spatial_rank(const fact *x, const char *input, int *out_rank) MUST_CHECK;
/* Kernel dims from a weight's shape (spatial dims first), checked against the attribute. dims of a fact or a tensor. */
status window_attrs_weights(window_attrs *a, const int64_t *spatial) MUST_CHECK;
/* For input dims (spatial ones, `a->rank` of them): output dims of a sliding window; unknown gives unknown. With known dims `out_window`
 * (may be NULL) is complete. */
status window_slide(const window_attrs *a, const dim *in, dim *out, window *out_window) MUST_CHECK;

/* Dims of the image that was pooled to `in`, as the attributes tell; unknown gives unknown. */
status window_unpool(const node *n, int rank, const dim *in, dim *out) MUST_CHECK;

/* Images with channels in the last dim (attribute `channels_last` of operators that the layout pass makes, and of com.microsoft's): the same
 * image with dims [N, C, spatial...], as everything here expects it. `image_dims` is the way back. */
bool node_is_channels_last(const node *n);
fact image_fact(const fact *f, bool channels_last);
tensor image_tensor(const tensor *t, bool channels_last);
void image_dims(bool channels_last, int rank, int64_t *dims);

#endif
