/* Products with packed weights: many rows through shared memory, few rows with a warp for each column. */
#include "nbits.cuh"
#include "product_mma.cuh"
#include "product_simt.cuh"

using namespace ortcore;

namespace {

constexpr int most_rows = 8, warp = 32, warps = threads_per_block / warp, run = 8;   /* run: codes that a lane takes at a time, all of one block */

/* Each column of B is unpacked once and multiplied with all rows. */
template <class T>
__global__ void __launch_bounds__(threads_per_block, 1)
    column_kernel(const T *a, const nbits_source<T> b, plain_end<T, float> end, int m, int a_row) {
  const int lane = threadIdx.x % warp, column = static_cast<int>(blockIdx.x) * warps + threadIdx.x / warp;
  if (column >= b.outers) return;
  const uint8_t *codes = b.data + static_cast<int64_t>(column) * b.column_bytes;
  float sums[most_rows] = {};
  for (int k = lane * run; k < b.inners; k += warp * run) {
    float weights[run];
    if (b.weights.groups) {
#pragma unroll
      for (int j = 0; j < run; ++j) weights[j] = k + j < b.inners ? b.value(b.data, column, k + j) : 0.0f;
    } else {
      int block = k >> b.block_shift;
      float scale = b.scale(column, block), zero = b.zero(column, block);
#pragma unroll
      for (int j = 0; j < run; ++j) weights[j] = k + j < b.inners ? (b.unpacked(codes, k + j) - zero) * scale : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < most_rows; ++i) {
      if (i >= m) break;
      const T *row = a + static_cast<int64_t>(i) * a_row + k;
#pragma unroll
      for (int j = 0; j < run; ++j)
        if (k + j < b.inners) sums[i] += load(row[j]) * weights[j];
    }
  }
  float own = 0;                                            /* lane i gets the sum of row i */
#pragma unroll
  for (int i = 0; i < most_rows; ++i) {
    if (i >= m) break;
    for (int apart = warp / 2; apart > 0; apart /= 2) sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], apart);
    if (lane == i) own = sums[i];
  }
  if (lane < m) end.store(lane, column, &own, 1);
}

template <class T> int multiply_packed(const cuda_product &planned, const cuda_nbits &w, const cuda_operands &o, void *stream) {
  cuda_product p = planned;
  nbits_source<T> b = nbits_of<T>(p, w);
  if (p.m <= most_rows) {
    p.splits = 1;
    column_kernel<T><<<tiles_of(p.n, warps), threads_per_block, 0, as_stream(stream)>>>(
        static_cast<const T *>(o.a), b, end_of<T, float>(p, o), static_cast<int>(p.m), static_cast<int>(p.a_row));
    return cudaGetLastError();
  }
  auto a = left_of<T>(p, o.a);
  auto end = end_of<T, float>(p, o);
  if constexpr (std::is_same<T, float>::value) return multiply<simt_64<float>>(p, a, b, end, stream);
  else return multiply<mma_64<T, true, true>>(p, a, b, end, stream);
}

}  // namespace

int cuda_nbits_product(const cuda_product *p, const cuda_nbits *weights, const cuda_operands *o, void *stream) {
  if (p->m == 0 || p->n == 0) return cudaSuccess;
  switch (p->type) {
    case ORTC_FLOAT: return multiply_packed<float>(*p, *weights, *o, stream);
    case ORTC_FLOAT16: return multiply_packed<__half>(*p, *weights, *o, stream);
    case ORTC_BFLOAT16: return multiply_packed<__nv_bfloat16>(*p, *weights, *o, stream);
    default: return cudaErrorInvalidValue;
  }
}
