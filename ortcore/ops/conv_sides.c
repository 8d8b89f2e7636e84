/* A convolution as the CPU's product takes it: tables of input places, offsets of weights and outputs, the two sides. */
#include "conv.h"

#include <ortcore/base/mem.h>

static status make_tables(conv_shape *s, bool transposed) {
  for (int i = 0; i < SPATIAL; ++i) {
    s->tables[i] = mem_calloc((size_t)s->w.kernel[i], (size_t)s->w.out[i] * sizeof(int32_t));
    if (!s->tables[i]) return status_out_of_memory();
    window_axis_table(&s->w, i, transposed, s->tables[i]);
  }
  int64_t batches = s->images * s->groups;
  if (s->groups == 1) return OK;
  s->weight_offsets = mem_calloc((size_t)batches, sizeof(int64_t));
  if (!s->weight_offsets) return status_out_of_memory();
  for (int64_t i = 0; i < batches; ++i) s->weight_offsets[i] = i % s->groups * s->outs * s->ins * window_taps(&s->w);
  return OK;
}

status conv_shape_init(conv_shape *s, const node *n, const tensor *x, const tensor *weights, bool transposed) {
  TRY(conv_shape_read(s, n, x, weights, transposed));
  status failure = make_tables(s, transposed);
  if (failure) conv_shape_deinit(s);
  return failure;
}

void conv_shape_deinit(conv_shape *s) {
  for (int i = 0; i < SPATIAL; ++i) mem_free(s->tables[i]);
  mem_free(s->weight_offsets);
  *s = (conv_shape){0};
}

bool conv_sides_init(conv_sides *c, const conv_shape *s, const tensor *x, int32_t x_zero_point, dtype weight_type, const void *weights) {
  const window *w = &s->w;
  int64_t depth = s->ins * window_taps(w);
  image_strides strides = image_strides_of(x->order, x->dims[1], w->in);
  if (!gemm_matrix_init(&c->weights, weight_type) || !gemm_matrix_init(&c->matrix, x->type) || !conv_image_init(&c->image, x->type)) return false;
  c->weights.data = weights, c->weights.outer_stride = depth, c->weights.inner_stride = 1, c->weights.offsets = s->weight_offsets;
  c->image.data = x->data, c->image.strides = strides, c->image.w = w, c->image.channels = s->ins, c->image.groups = s->groups;
  c->image.zero_point = x_zero_point;
  c->image.unit_step = strides.spatial[2] == 1 && w->stride[2] == 1;
  for (int i = 0; i < SPATIAL; ++i) c->image.tables[i] = s->tables[i];
  c->matrix.data = x->data, c->matrix.batch_stride = strides.batch;
  c->matrix.outer_stride = strides.spatial[2], c->matrix.inner_stride = strides.channel;
  bool matrix = s->pointwise && x_zero_point == 0;
  c->problem = (gemm_problem){gemm_acc_of_pair(weight_type, x->type), s->images * s->groups, s->outs, window_out(w), depth, &c->weights.side,
                              matrix ? &c->matrix.side : &c->image.side, NULL};
  return true;
}

status conv_places_init(conv_places *p, const conv_shape *s, layout order) {
  image_strides strides = image_strides_of(order, s->out_dims[1], s->w.out);
  int64_t batches = s->images * s->groups;
  *p = (conv_places){mem_calloc((size_t)batches + 1, sizeof(int64_t)), strides.channel, strides.spatial[2]};
  if (!p->offsets) return status_out_of_memory();
  for (int64_t i = 0; i < batches; ++i) p->offsets[i] = i / s->groups * strides.batch + i % s->groups * s->outs * strides.channel;
  return OK;
}
