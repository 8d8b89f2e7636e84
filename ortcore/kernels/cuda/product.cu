/* How a matrix product is computed: which kernel, in how many parts. */
#include "product.h"

#include "common.cuh"
#include "product_routes.cuh"

#include <algorithm>

using namespace ortcore;

namespace {

constexpr int64_t few = 8;                                 /* rows or columns that the vector kernels take */

bool is_float(dtype type) { return type == ORTC_FLOAT || type == ORTC_FLOAT16 || type == ORTC_BFLOAT16; }
int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* C' = B' A': what has few columns becomes a product with few rows. */
cuda_product turned(const cuda_product &p) {
  cuda_product t = p;
  t.m = p.n, t.n = p.m;
  t.a_row = p.b_column, t.a_inner = p.b_inner, t.b_column = p.a_row, t.b_inner = p.a_inner;
  t.c_row = p.c_column, t.c_column = p.c_row;
  t.end.bias_row = p.end.bias_column, t.end.bias_column = p.end.bias_row;
  std::copy(p.batch.b, p.batch.b + CUDA_BATCH_RANK, t.batch.a);
  std::copy(p.batch.a, p.batch.a + CUDA_BATCH_RANK, t.batch.b);
  return t;
}

/* Parts of k, so that `blocks` of them occupy the GPU; none shorter than `least`. */
int32_t splits_for(int64_t blocks, int64_t k, int64_t least, int64_t wanted) {
  if (blocks * 2 > wanted) return 1;
  return static_cast<int32_t>(std::max<int64_t>(1, std::min({wanted / blocks, k / least, int64_t{64}})));
}

}  // namespace

bool cuda_batch_add(cuda_batch *batch, int64_t dim, int64_t a, int64_t b, int64_t c, int64_t bias) {
  if (batch->rank == 0 && batch->count == 0) batch->count = 1;
  batch->count *= dim;
  if (dim == 1) return true;
  int last = batch->rank - 1;
  if (last >= 0 && batch->a[last] == a * dim && batch->b[last] == b * dim && batch->c[last] == c * dim && batch->bias[last] == bias * dim) {
    batch->dims[last] *= dim;
  } else {
    if (batch->rank == CUDA_BATCH_RANK) return false;
    last = batch->rank++;
    batch->dims[last] = dim;
  }
  batch->a[last] = a, batch->b[last] = b, batch->c[last] = c, batch->bias[last] = bias;
  return true;
}

int cuda_processors(void) {
  int device = 0, count = 0;
  bool known =
      cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) == cudaSuccess;
  return known && count > 0 ? count : 64;
}

void cuda_product_plan(cuda_product *p, int processors) {
  p->splits = 1;
  p->scratch_bytes = 0;
  if (p->batch.rank == 0) p->batch.count = 1;
  if (p->m == 0 || p->n == 0 || p->batch.count == 0) return;
  if (is_float(p->type) && std::min(p->m, p->n) <= few && p->image_columns == 0) {
    cuda_product t = p->m <= few ? *p : turned(*p);
    int64_t blocks = p->batch.count * ceil_div(t.n, t.b_inner == 1 ? 8 : 128);
    p->route = CUDA_PRODUCT_VECTOR;
    p->splits = splits_for(blocks, p->k, 256, 2 * processors);
  } else {
    int64_t large = p->batch.count * ceil_div(p->m, 128) * ceil_div(p->n, 128),
            small = p->batch.count * ceil_div(p->m, 64) * ceil_div(p->n, 64);
    p->route = is_float(p->type) && p->m > 64 && p->n > 64 && large >= processors ? CUDA_PRODUCT_TILES_128 : CUDA_PRODUCT_TILES_64;
    p->splits = splits_for(p->route == CUDA_PRODUCT_TILES_128 ? large : small, p->k, 128, 2 * processors);
  }
  size_t sum_bytes = p->type == ORTC_DOUBLE || p->type == ORTC_INT64 || p->type == ORTC_UINT64 ? 8 : 4;
  if (p->splits > 1) p->scratch_bytes = static_cast<size_t>(p->splits * p->batch.count * p->m * p->n) * sum_bytes;
}

int cuda_product_run(const cuda_product *p, const cuda_operands *o, void *stream) {
  if (p->m == 0 || p->n == 0 || p->batch.count == 0) return cudaSuccess;
  if (p->route == CUDA_PRODUCT_VECTOR) {
    if (p->m <= few) return product_vector(*p, *o, stream);
    cuda_operands swapped = {o->b, o->a, o->bias, o->residual, o->c, o->scratch};
    return product_vector(turned(*p), swapped, stream);
  }
  switch (p->type) {
    case ORTC_FLOAT: return product_tiles_f32(*p, *o, stream);
    case ORTC_FLOAT16: return product_tiles_f16(*p, *o, stream);
    case ORTC_BFLOAT16: return product_tiles_bf16(*p, *o, stream);
    default: return product_tiles_other(*p, *o, stream);
  }
}

const char *cuda_product_route_name(const cuda_product *p) {
  static const char *const names[2][3] = {{"vector", "tiles of 64", "tiles of 128"},
                                          {"vector, split", "tiles of 64, split", "tiles of 128, split"}};
  return names[p->splits > 1][p->route];
}
