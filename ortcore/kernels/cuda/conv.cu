/* How a convolution is computed: as which product, or directly. */
#include "conv.h"

#include "common.cuh"
#include "conv_routes.cuh"

using namespace ortcore;

namespace {

/* One tap, every place: output position p sees input position p. */
bool is_matrix(const cuda_conv &c) {
  const cuda_window &w = c.window;
  bool same = cuda_window_taps(&w) == 1;
  for (int d = 0; d < CUDA_SPATIAL; ++d) same = same && w.stride[d] == 1 && w.begin[d] == 0 && w.in[d] == w.out[d];
  return same;
}

/* The images side by side make fuller tiles; one after the other they are read 16 bytes at a time. */
bool reads_whole_images(const cuda_conv &c, int64_t positions) { return c.images == 1 || positions % 8 == 0 || positions >= 256; }

}  // namespace

void cuda_conv_plan(cuda_conv *c, int processors) {
  cuda_product *p = &c->product;
  int64_t positions = cuda_window_positions(&c->window), taps = cuda_window_taps(&c->window), depth = c->ins * taps;
  *p = {};
  p->type = c->type;
  p->m = c->outs, p->n = positions, p->k = depth;
  p->a_row = c->transposed ? taps : depth, p->a_inner = c->transposed ? c->outs : 1;
  p->b_column = c->x.axis[2], p->b_inner = c->x.channel;
  p->c_row = c->y.channel, p->c_column = c->y.axis[2];
  p->end = {1, 1, 1, 0, c->act};
  bool matrix = is_matrix(*c) && reads_whole_images(*c, positions);
  c->route = c->groups > 1 && c->outs <= 4 && c->ins <= 4 ? CUDA_CONV_DIRECT : matrix ? CUDA_CONV_MATRIX : CUDA_CONV_WINDOW;
  if (c->route == CUDA_CONV_MATRIX) {
    cuda_batch_add(&p->batch, c->images, 0, c->x.image, c->y.image, 0);
  } else {
    p->n = positions * c->images;
    p->image_columns = positions, p->c_image = c->y.image;
  }
  cuda_batch_add(&p->batch, c->groups, c->outs * depth, c->ins * c->x.channel, c->outs * c->y.channel, c->outs);
  if (c->route == CUDA_CONV_DIRECT) {
    p->n = positions;                                       /* the kernel finds images itself */
    p->image_columns = p->c_image = 0;
    p->splits = 1;
    return;
  }
  cuda_product_plan(p, processors);
  if (c->route == CUDA_CONV_WINDOW && (c->transposed || c->type == ORTC_DOUBLE)) p->route = CUDA_PRODUCT_TILES_64;
}

int cuda_conv_run(const cuda_conv *c, const cuda_operands *o, void *stream) {
  const cuda_product &p = c->product;
  if (p.m == 0 || p.n == 0 || p.batch.count == 0 || c->images == 0) return cudaSuccess;
  if (c->route == CUDA_CONV_MATRIX) return cuda_product_run(&p, o, stream);
  if (c->route == CUDA_CONV_DIRECT) return conv_direct(*c, *o, stream);
  switch (c->type) {
    case ORTC_FLOAT: return conv_window_f32(*c, *o, stream);
    case ORTC_FLOAT16: return conv_window_f16(*c, *o, stream);
    case ORTC_BFLOAT16: return conv_window_bf16(*c, *o, stream);
    case ORTC_DOUBLE: return conv_window_f64(*c, *o, stream);
    default: return cudaErrorInvalidValue;
  }
}

const char *cuda_conv_route_name(const cuda_conv *c) {
  static const char *const names[] = {"product of matrices", "product through the window", "direct"};
  return names[c->route];
}
