#include "window_read.h"

#include <ortcore/base/checked.h>

#include <string.h>

static status read_list(const node *n, const char *name, int rank, int64_t least, int64_t fallback, int64_t *out, bool *given) {
  int64_t count;
  const int64_t *values = attr_ints(n, name, &count);
  for (int i = 0; i < SPATIAL; ++i) out[i] = fallback;
  if (given) *given = values && count;
  if (!values || count == 0) return OK;
  if (count != rank) return ERROR(INVALID_ARGUMENT, "attribute '%s' has %lld values; the input has %d spatial dims", name, (long long)count, rank);
  for (int i = 0; i < rank; ++i) {
    if (values[i] < least || values[i] > INT32_MAX)
      return ERROR(INVALID_ARGUMENT, "attribute '%s' holds %lld; it must be at least %lld", name, (long long)values[i], (long long)least);
    out[SPATIAL - rank + i] = values[i];
  }
  return OK;
}

static status read_pads(const node *n, int rank, window_attrs *a) {
  int64_t count;
  const int64_t *values = attr_ints(n, "pads", &count);
  if (!values || count == 0) return OK;
  if (count != 2 * rank)
    return ERROR(INVALID_ARGUMENT, "attribute 'pads' has %lld values; %d spatial dims need %d", (long long)count, rank, 2 * rank);
  for (int i = 0; i < 2 * rank; ++i)
    if (values[i] < 0 || values[i] > INT32_MAX)
      return ERROR(INVALID_ARGUMENT, "attribute 'pads' holds %lld; pads of a sliding window are not negative (Slice crops)", (long long)values[i]);
  for (int i = 0; i < rank; ++i) a->begin[SPATIAL - rank + i] = values[i], a->end[SPATIAL - rank + i] = values[rank + i];
  a->has_pads = true;
  return OK;
}

status window_attrs_read(const node *n, int rank, window_attrs *out) {
  static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  int64_t count;
  *out = (window_attrs){0};
  if (rank == 0 && attr_ints(n, "kernel_shape", &count) && count > 0 && count <= SPATIAL) rank = (int)count;
  out->rank = rank;
  const char *pad = attr_string_or(n, "auto_pad", "NOTSET").data;
  int kind = 0;
  while (kind < 4 && strcmp(pad, names[kind])) ++kind;
  if (kind == 4 && *pad) return ERROR(INVALID_ARGUMENT, "attribute 'auto_pad' is \"%s\"; it must be NOTSET, SAME_UPPER, SAME_LOWER or VALID", pad);
  out->pad = (auto_pad)(kind & 3);
  out->ceil_mode = attr_int_or(n, "ceil_mode", 0) != 0;
  TRY(read_list(n, "kernel_shape", rank, 1, 1, out->kernel, &out->has_kernel));
  TRY(read_list(n, "strides", rank, 1, 1, out->stride, NULL));
  TRY(read_list(n, "dilations", rank, 1, 1, out->dilation, NULL));
  return rank ? read_pads(n, rank, out) : OK;
}

/* ONNX's formula rounds down; onnxruntime's pools round towards zero, and models depend on it: a window that is too large by less than a stride
 * has one place. */
status window_attrs_pool(const node *n, int rank, window_attrs *a) {
  TRY(window_attrs_read(n, rank, a));
  a->may_hang_over = true;
  if (a->rank && !a->has_kernel) return ERROR(INVALID_ARGUMENT, "attribute 'kernel_shape' is missing");
  return OK;
}

status window_spatial_rank(const fact *x, const char *input, int *out_rank) {
  *out_rank = 0;
  if (x->rank == RANK_UNKNOWN) return OK;
  if (x->rank < 3 || x->rank > 2 + SPATIAL)
    return ERROR(INVALID_ARGUMENT, "input '%s' has rank %d; it must be [N, C, spatial...] with one to three spatial dims", input, x->rank);
  *out_rank = x->rank - 2;
  return OK;
}

status window_attrs_weights(window_attrs *a, const int64_t *spatial) {
  for (int i = 0; i < a->rank; ++i) {
    int64_t *k = &a->kernel[SPATIAL - a->rank + i];
    if (!dim_known(spatial[i])) continue;
    if (a->has_kernel && *k != spatial[i])
      return ERROR(INVALID_ARGUMENT, "attribute 'kernel_shape' says %lld on spatial axis %d; the weights have %lld there", (long long)*k, i,
                   (long long)spatial[i]);
    *k = spatial[i];
  }
  return OK;
}

/* Output positions along one axis, and the pads that auto_pad stands for. */
static status slide_axis(const window_attrs *a, int axis, int64_t in, int64_t *begin, int64_t *end, int64_t *out) {
  int64_t stride = a->stride[axis], span = (a->kernel[axis] - 1) * a->dilation[axis] + 1;
  *begin = a->begin[axis], *end = a->end[axis];
  if (a->pad == AUTO_SAME_UPPER || a->pad == AUTO_SAME_LOWER) {
    *out = (in + stride - 1) / stride;
    int64_t total = (*out - 1) * stride + span - in;
    if (total < 0) total = 0;
    *begin = a->pad == AUTO_SAME_UPPER ? total / 2 : total - total / 2;
    *end = total - *begin;
    return OK;
  }
  if (a->pad == AUTO_VALID) *begin = *end = 0;
  int64_t room = in + *begin + *end - span;
  bool hangs_over = room < 0 && a->may_hang_over && in > 0 && -room < stride;
  if (room < 0 && in > 0 && !hangs_over)
    return ERROR(INVALID_ARGUMENT, "the window does not fit: it spans %lld on spatial axis %d, where the padded input has %lld", (long long)span,
                 axis - (SPATIAL - a->rank), (long long)(in + *begin + *end));
  *out = hangs_over ? 1 : room < 0 ? 0 : (a->ceil_mode ? (room + stride - 1) / stride : room / stride) + 1;
  /* The last window of ceil_mode must begin inside the input or the pads before it. */
  if (a->ceil_mode && *out > 0 && (*out - 1) * stride >= in + *begin) --*out;
  return OK;
}

status window_slide(const window_attrs *a, const dim *in, dim *out, window *w) {
  window scratch;
  if (!w) w = &scratch;
  *w = (window){.rank = a->rank};
  memcpy(w->kernel, a->kernel, sizeof w->kernel);
  memcpy(w->stride, a->stride, sizeof w->stride);
  memcpy(w->dilation, a->dilation, sizeof w->dilation);
  int64_t taps = 1;
  for (int axis = 0; axis < SPATIAL; ++axis) {
    if (a->kernel[axis] > TAPS_MAX || (taps *= a->kernel[axis]) > TAPS_MAX) return ERROR(INVALID_ARGUMENT, "the window has more than %d taps", TAPS_MAX);
    int own = axis - (SPATIAL - a->rank);
    w->in[axis] = w->out[axis] = 1;
    if (own < 0) continue;
    if (in[own] > INT32_MAX)
      return ERROR(INVALID_ARGUMENT, "spatial axis %d has %lld elements; at most %d are supported", own, (long long)in[own], INT32_MAX);
    out[own] = DIM_UNKNOWN;
    if (!dim_known(in[own])) continue;
    w->in[axis] = in[own];
    TRY(slide_axis(a, axis, in[own], &w->begin[axis], &w->end[axis], &w->out[axis]));
    out[own] = w->out[axis];
  }
  return OK;
}

/* ---- Channels in the last dim --------------------------------------------------------------------------------------- */

bool node_is_channels_last(const node *n) { return attr_int_or(n, "channels_last", 0) != 0; }

static void channel_first(int rank, int64_t *dims) {
  int64_t channels = dims[rank - 1];
  for (int i = rank - 1; i > 1; --i) dims[i] = dims[i - 1];
  dims[1] = channels;
}

fact image_fact(const fact *f, bool channels_last) {
  fact image = *f;
  if (channels_last && f->rank > 2) channel_first(f->rank, image.dims);
  return image;
}

tensor image_tensor(const tensor *t, bool channels_last) {
  tensor image = *t;
  if (!channels_last || t->rank < 3) return image;
  channel_first(t->rank, image.dims);
  image.order = LAYOUT_CHANNELS_LAST;
  return image;
}

void image_dims(bool channels_last, int rank, int64_t *dims) {
  if (!channels_last || rank < 3) return;
  int64_t channels = dims[1];
  for (int i = 1; i < rank - 1; ++i) dims[i] = dims[i + 1];
  dims[rank - 1] = channels;
}

status window_unpool(const node *n, int rank, const dim *in, dim *out) {
  window_attrs a;
  TRY(window_attrs_read(n, rank - 2, &a));
  out[0] = in[0], out[1] = in[1];
  for (int i = 0; i < a.rank; ++i) {
    int axis = SPATIAL - a.rank + i;
    out[2 + i] = DIM_UNKNOWN;
    if (!dim_known(in[2 + i])) continue;
    int64_t size;
    if (checked_mul(in[2 + i] - 1, a.stride[axis], &size) || checked_add(size, a.kernel[axis], &size) || checked_sub(size, a.begin[axis], &size) ||
        checked_sub(size, a.end[axis], &size))
      return ERROR(INVALID_ARGUMENT, "the image that was pooled would be too large on spatial axis %d", i);
    out[2 + i] = size;
    if (size < 0) return ERROR(INVALID_ARGUMENT, "attribute 'pads' is larger than the image on spatial axis %d", i);
  }
  return OK;
}
