/* Geometry of convolutions, sliding and transposed. */
#include "conv.h"

#include <string.h>

static status read_transposed(const node *n, conv_attrs *a) {
  int64_t count;
  int rank = a->window.rank;
  const int64_t *padding = attr_ints(n, "output_padding", &count);
  if (padding && count && count != rank)
    return ERROR(INVALID_ARGUMENT, "attribute 'output_padding' has %lld values; the input has %d spatial dims", (long long)count, rank);
  for (int64_t i = 0; padding && i < count; ++i) {
    if (padding[i] < 0 || padding[i] > INT32_MAX)
      return ERROR(INVALID_ARGUMENT, "attribute 'output_padding' holds %lld; it must not be negative", (long long)padding[i]);
    a->output_padding[SPATIAL - rank + i] = padding[i];
  }
  const int64_t *shape = attr_ints(n, "output_shape", &count);
  /* Some exporters write the whole shape [N, C, spatial...]; only its end matters. */
  if (shape && count && count != rank && count != rank + 2)
    return ERROR(INVALID_ARGUMENT, "attribute 'output_shape' has %lld values; the input has %d spatial dims", (long long)count, rank);
  for (int i = 0; shape && count && i < rank; ++i) {
    int64_t d = shape[count - rank + i];
    if (d <= 0 || d > INT32_MAX) return ERROR(INVALID_ARGUMENT, "attribute 'output_shape' holds %lld; it must be positive", (long long)d);
    a->output_shape[SPATIAL - rank + i] = d;
  }
  return OK;
}

status conv_attrs_read(const node *n, const fact *x, const fact *weights, bool transposed, conv_attrs *out) {
  int rank;
  *out = (conv_attrs){.transposed = transposed, .group = attr_int_or(n, "group", 1)};
  TRY(window_spatial_rank(x, "X", &rank));
  if (rank == 0 && weights) TRY(window_spatial_rank(weights, "W", &rank));
  TRY(window_attrs_read(n, rank, &out->window));
  if (out->group < 1) return ERROR(INVALID_ARGUMENT, "attribute 'group' is %lld; it must be at least 1", (long long)out->group);
  if (weights && weights->rank != RANK_UNKNOWN && out->window.rank) {
    if (weights->rank != out->window.rank + 2)
      return ERROR(INVALID_ARGUMENT, "the weights have rank %d and the input has rank %d; they must be equal", weights->rank, out->window.rank + 2);
    TRY(window_attrs_weights(&out->window, weights->dims + 2));
  }
  return transposed ? read_transposed(n, out) : OK;
}

/* The window of a transposed convolution: pads are taken off its output. */
static status transpose_slide(const conv_attrs *a, const dim *in, dim *out, window *w) {
  const window_attrs *v = &a->window;
  *w = (window){.rank = v->rank};
  for (int axis = 0; axis < SPATIAL; ++axis) {
    w->kernel[axis] = v->kernel[axis], w->stride[axis] = v->stride[axis], w->dilation[axis] = v->dilation[axis];
    w->in[axis] = w->out[axis] = 1;
    int own = axis - (SPATIAL - v->rank);
    if (own < 0) continue;
    out[own] = a->output_shape[axis] ? a->output_shape[axis] : DIM_UNKNOWN;
    if (!dim_known(in[own])) continue;
    if (in[own] > INT32_MAX)
      return ERROR(INVALID_ARGUMENT, "spatial axis %d has %lld elements; at most %d are supported", own, (long long)in[own], INT32_MAX);
    w->in[axis] = in[own];
    bool same = v->pad == AUTO_SAME_UPPER || v->pad == AUTO_SAME_LOWER;
    int64_t full = in[own] ? v->stride[axis] * (in[own] - 1) + a->output_padding[axis] + (v->kernel[axis] - 1) * v->dilation[axis] + 1 : 0;
    if (a->output_shape[axis] || same) {
      w->out[axis] = a->output_shape[axis] ? a->output_shape[axis] : in[own] * v->stride[axis];
      int64_t total = full > w->out[axis] ? full - w->out[axis] : 0;
      w->begin[axis] = v->pad == AUTO_SAME_UPPER ? total / 2 : total - total / 2;
      w->end[axis] = total - w->begin[axis];
    } else {
      if (v->pad == AUTO_NOTSET) w->begin[axis] = v->begin[axis], w->end[axis] = v->end[axis];
      w->out[axis] = full - w->begin[axis] - w->end[axis];
      if (w->out[axis] < 0) {
        if (in[own])
          return ERROR(INVALID_ARGUMENT, "attribute 'pads' takes %lld elements off spatial axis %d, which has %lld",
                       (long long)(w->begin[axis] + w->end[axis]), own, (long long)full);
        w->out[axis] = 0;
      }
    }
    out[own] = w->out[axis];
  }
  return OK;
}

static status check_channels(const conv_attrs *a, dim x_channels, const dim *weights, dim *out_channels) {
  dim ins = a->transposed ? weights[0] : dim_mul(weights[1], a->group);
  *out_channels = a->transposed ? dim_mul(weights[1], a->group) : weights[0];
  if (dim_known(x_channels) && dim_known(ins) && x_channels != ins)
    return ERROR(INVALID_ARGUMENT, "input 'X' has %lld channels; the weights%s are for %lld", (long long)x_channels, a->group > 1 ? " and 'group'"
                 : "", (long long)ins);
  dim divided = a->transposed ? ins : *out_channels;
  if (dim_known(divided) && divided % a->group)
    return ERROR(INVALID_ARGUMENT, "%lld channels cannot be divided into %lld groups (attribute 'group')", (long long)divided, (long long)a->group);
  return OK;
}

static status shape_of(const conv_attrs *a, const dim *x, const dim *weights, dim *out, window *w) {
  TRY(check_channels(a, x[1], weights, &out[1]));
  out[0] = x[0];
  if (a->transposed) return transpose_slide(a, x + 2, out + 2, w);
  return window_slide(&a->window, x + 2, out + 2, w);
}

status conv_infer_shape(const node *n, const fact *given, const fact *weights, bool transposed, fact *out) {
  conv_attrs a;
  bool last = node_is_channels_last(n);
  fact image = image_fact(given, last), *x = &image;
  window w;
  dim dims[2 + SPATIAL], unknown[2 + SPATIAL] = {DIM_UNKNOWN, DIM_UNKNOWN, DIM_UNKNOWN, DIM_UNKNOWN, DIM_UNKNOWN};
  TRY(conv_attrs_read(n, x, weights, transposed, &a));
  if (!out || x->rank == RANK_UNKNOWN) return OK;
  const dim *kernel = weights->rank == RANK_UNKNOWN ? unknown : weights->dims;
  bool spatial_known = a.window.has_kernel;
  for (int i = 0; !spatial_known && i < a.window.rank; ++i) spatial_known = dim_known(kernel[2 + i]);
  TRY(shape_of(&a, x->dims, kernel, dims, &w));
  for (int i = 0; !spatial_known && i < a.window.rank; ++i) dims[2 + i] = DIM_UNKNOWN;
  image_dims(last, a.window.rank + 2, dims);
  fact_set_shape(out, a.window.rank + 2, dims);
  return OK;
}

static fact fact_of(const tensor *t) {
  fact f = {.kind = KIND_TENSOR, .type = t->type, .rank = t->rank};
  memcpy(f.dims, t->dims, sizeof f.dims);
  return f;
}

status conv_shape_read(conv_shape *s, const node *n, const tensor *x, const tensor *weights, bool transposed) {
  conv_attrs a;
  fact x_fact = fact_of(x), w_fact = fact_of(weights);
  *s = (conv_shape){0};
  TRY(conv_attrs_read(n, &x_fact, &w_fact, transposed, &a));
  TRY(shape_of(&a, x->dims, weights->dims, s->out_dims, &s->w));
  s->images = x->dims[0], s->groups = a.group, s->ins = x->dims[1] / a.group, s->outs = s->out_dims[1] / a.group;
  s->pointwise = !transposed && window_taps(&s->w) == 1 && s->groups == 1;
  for (int i = 0; i < SPATIAL; ++i) s->pointwise = s->pointwise && s->w.stride[i] == 1 && s->w.begin[i] == 0 && s->w.end[i] == 0;
  return OK;
}

status conv_check_bias(const tensor *bias, const conv_shape *s) {
  if (!bias || (bias->rank == 1 && bias->dims[0] == s->out_dims[1])) return OK;
  char given[DIMS_TEXT];
  return ERROR(INVALID_ARGUMENT, "the bias has shape %s; it must be [%lld], one for each output channel",
               dims_format(given, sizeof given, bias->rank, bias->dims), (long long)s->out_dims[1]);
}

status conv_check_residual(const tensor *residual, int rank, const int64_t *dims) {
  char given[DIMS_TEXT], wanted[DIMS_TEXT];
  if (!residual || dims_equal(residual->rank, residual->dims, rank, dims)) return OK;
  return ERROR(INVALID_ARGUMENT, "input 'Z' has shape %s; it is added to a result of shape %s",
               dims_format(given, sizeof given, residual->rank, residual->dims), dims_format(wanted, sizeof wanted, rank, dims));
}
