/* Convolutions, sliding and transposed. */
#include "primitive.h"

#include <ortcore/base/mem.h>
#include <ortcore/base/threads.h>
#include <string.h>

static dnnl_memory_desc_t image(const dnn_conv *c, dtype type, int64_t channels, const int64_t *spatial, layout order) {
  int rank = c->w->rank;
  image_strides s = image_strides_of(order, channels, spatial);
  dnn_tensor t = {.type = type, .rank = 2 + rank, .dims = {c->images, channels}, .strides = {s.batch, s.channel}};
  for (int i = 0; i < rank; ++i) t.dims[2 + i] = spatial[SPATIAL - rank + i], t.strides[2 + i] = s.spatial[SPATIAL - rank + i];
  return dnn_desc(&t);
}

/* The weights as ONNX has them, in oneDNN's order of dims: [groups,] outs, ins, taps. */
static dnnl_memory_desc_t weights(const dnn_conv *c, bool any) {
  const window *w = c->w;
  dnn_tensor t = {.type = c->w_type};
  int64_t taps = window_taps(w);
  if (c->groups > 1) t.dims[t.rank] = c->groups, t.strides[t.rank++] = c->outs * c->ins * taps;
  t.dims[t.rank] = c->outs, t.strides[t.rank++] = c->transposed ? taps : c->ins * taps;
  t.dims[t.rank] = c->ins, t.strides[t.rank++] = c->transposed ? c->outs * taps : taps;
  for (int i = SPATIAL - w->rank; i < SPATIAL; ++i) {
    taps /= w->kernel[i];
    t.dims[t.rank] = w->kernel[i], t.strides[t.rank++] = taps;
  }
  if (!any) return dnn_desc(&t);
  dnnl_memory_desc_t desc;
  return dnnl_memory_desc_create_with_tag(&desc, t.rank, t.dims, dnn_type(c->w_type), dnnl_format_tag_any) == dnnl_success ? desc : NULL;
}

/* Images in plain order cost half the speed: the primitive may choose, and dnn_create re-orders. */
static dnnl_memory_desc_t wanted_image(const_dnnl_memory_desc_t given, layout order) {
  dnnl_memory_desc_t desc = NULL;
  if (order == LAYOUT_CHANNELS_LAST) {
    dnnl_memory_desc_clone(&desc, given);
    return desc;
  }
  int rank;
  const dnnl_dims_t *dims;
  dnnl_data_type_t type;
  dnnl_memory_desc_query(given, dnnl_query_ndims_s32, &rank);
  dnnl_memory_desc_query(given, dnnl_query_dims, &dims);
  dnnl_memory_desc_query(given, dnnl_query_data_type, &type);
  dnnl_memory_desc_create_with_tag(&desc, rank, *dims, type, dnnl_format_tag_any);
  return desc;
}

static dnnl_status_t describe(const dnn_conv *c, const dnnl_memory_desc_t d[OPERANDS], const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out) {
  const window *w = c->w;
  int rank = w->rank, first = SPATIAL - rank;
  dnnl_dims_t stride, dilation, begin, end;
  for (int i = 0; i < rank; ++i) {
    int a = first + i;
    stride[i] = w->stride[a], dilation[i] = w->dilation[a] - 1, begin[i] = w->begin[a];
    int64_t span = (w->kernel[a] - 1) * w->dilation[a] + 1;
    /* What the window really covers: oneDNN derives the output's dims from pads, and transposed ones may be padded behind. */
    end[i] = c->transposed ? (w->in[a] - 1) * w->stride[a] + span - w->begin[a] - w->out[a] : w->end[a];
  }
  if (c->transposed)
    return dnnl_deconvolution_forward_primitive_desc_create(out, dnn_engine(), dnnl_forward_inference, dnnl_deconvolution_direct, d[OPERAND_X],
                                                            d[OPERAND_WEIGHTS],
                                                            d[OPERAND_BIAS], d[OPERAND_Y], stride, dilation, begin, end, attr);
  return dnnl_convolution_forward_primitive_desc_create(out, dnn_engine(), dnnl_forward_inference, dnnl_convolution_direct, d[OPERAND_X],
                                                        d[OPERAND_WEIGHTS],
                                                        d[OPERAND_BIAS], d[OPERAND_Y], stride, dilation, begin, end, attr);
}

/* Sums of bytes become floats by a scale for each channel; what is left to do for y is one multiplication and one addition. */
static dnnl_primitive_attr_t byte_attributes(const dnn_conv *c, int *out_residual_index) {
  dnnl_primitive_attr_t attr;
  dnnl_post_ops_t ops;
  *out_residual_index = 0;
  if (dnnl_primitive_attr_create(&attr) != dnnl_success) return NULL;
  bool good = dnnl_post_ops_create(&ops) == dnnl_success;
  if (good) {
    good = dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_linear, 1 / c->y_scale, (float)c->y_zero_point) == dnnl_success &&
           dnnl_primitive_attr_set_post_ops(attr, ops) == dnnl_success;
    dnnl_post_ops_destroy(ops);
  }
  good = good && dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user) == dnnl_success &&
         dnnl_primitive_attr_set_scales_mask(attr, DNNL_ARG_WEIGHTS, c->groups > 1 ? 3 : 1) == dnnl_success;
  if (c->x_zero_point) good = good && dnnl_primitive_attr_set_zero_points_mask(attr, DNNL_ARG_SRC, 0) == dnnl_success;
  if (good) return attr;
  dnnl_primitive_attr_destroy(attr);
  return NULL;
}

static status keep_numbers(const dnn_conv *c, int64_t outs, dnn **out) {
  dnn *p = *out;
  p->scales = mem_alloc((size_t)outs * sizeof *p->scales);
  if (!p->scales) {
    dnn_release(p);
    *out = NULL;
    return status_out_of_memory();
  }
  memcpy(p->scales, c->scales, (size_t)outs * sizeof *p->scales);
  p->scale_count = outs;
  p->x_zero_point = c->x_zero_point;
  return OK;
}

static void drop(dnnl_memory_desc_t *descs) {
  for (int i = 0; i < OPERANDS; ++i)
    if (descs[i]) dnnl_memory_desc_destroy(descs[i]);
}

/* Convolutions along one axis often come as images of width 1. oneDNN blocks its registers over the width: the other axis becomes it. */
static window squeezed(const window *from) {
  window w = *from;
  while (w.rank > 1 && w.in[2] == 1 && w.kernel[2] == 1 && !w.begin[2] && !w.end[2] && w.out[2] == 1) {
    int64_t *const lists[] = {w.kernel, w.stride, w.dilation, w.begin, w.end, w.in, w.out};
    static const int64_t neutral[] = {1, 1, 1, 0, 0, 1, 1};
    for (int i = 0; i < 7; ++i) {
      lists[i][2] = lists[i][1];
      lists[i][1] = lists[i][0];
      lists[i][0] = neutral[i];
    }
    --w.rank;
  }
  return w;
}

status dnn_conv_create(const dnn_conv *conv, int threads, dnn **out) {
  window w = squeezed(conv->w);
  dnn_conv own = *conv;
  own.w = &w;
  const dnn_conv *c = &own;
  int64_t outs = c->groups * c->outs;
  dnnl_dims_t bias_dims = {outs};
  int residual_index;
  *out = NULL;
  dnnl_memory_desc_t given[OPERANDS] = {
    [OPERAND_X] = image(c, c->type, c->groups * c->ins, c->w->in, c->x_order), [OPERAND_WEIGHTS] = weights(c, false),
        [OPERAND_Y] = image(c, c->y_type, outs, c->w->out, c->y_order)};
  if (c->bias) dnnl_memory_desc_create_with_tag(&given[OPERAND_BIAS], 1, bias_dims, c->scales ? dnnl_f32 : dnn_type(c->type), dnnl_a);
  if (c->residual) given[OPERAND_RESIDUAL] = image(c, c->type, outs, c->w->out, c->y_order);
  if (!given[OPERAND_X] || !given[OPERAND_Y] || !given[OPERAND_WEIGHTS]) {
    drop(given);
    return OK;
  }
  dnnl_memory_desc_t wanted[OPERANDS] = {[OPERAND_X] = wanted_image(given[OPERAND_X], c->x_order), [OPERAND_WEIGHTS] = weights(c, true),
                                         [OPERAND_Y] = wanted_image(given[OPERAND_Y], c->y_order)};
  if (c->residual) wanted[OPERAND_RESIDUAL] = wanted_image(given[OPERAND_RESIDUAL], c->y_order);
  if (c->bias) dnnl_memory_desc_clone(&wanted[OPERAND_BIAS], given[OPERAND_BIAS]);
  threads_set_team(threads);
  dnnl_primitive_attr_t attr = c->scales ? byte_attributes(c, &residual_index) : dnn_attributes(1, &c->act, wanted[OPERAND_RESIDUAL], &residual_index);
  dnnl_primitive_desc_t pd = NULL;
  if (!attr || describe(c, wanted, attr, &pd) != dnnl_success) pd = NULL;
  if (attr) dnnl_primitive_attr_destroy(attr);
  drop(wanted);
  if (pd) {
    TRY(dnn_create(pd, given, residual_index, &c->act, c->y_type, threads, out));
    return *out && c->scales ? keep_numbers(c, outs, out) : OK;
  }
  drop(given);
  return OK;
}
