/* DynamicQuantizeLinear: blocks find the ranges of their parts, and then every block joins these and quantises. */
#include <ortcore/kernels/cuda/block.cuh>
#include <ortcore/kernels/cuda/quantize.h>
#include <ortcore/kernels/cuda/range.cuh>

namespace ortcore {
namespace {

static_assert(threads_per_block == CUDA_RANGE_BLOCKS, "a thread reads one part's range");

__global__ void __launch_bounds__(threads_per_block, 1) range_kernel(const float *x, int64_t count, bool strict, range *parts) {
  __shared__ range shared[threads_per_block / warp_threads];
  range r = {0.0f, 0.0f};
  for (int64_t i = first_index(); i < count; i += index_step()) r = wider()(r, range_of(x[i], strict));
  r = row_reduce(r, shared, wider());
  if (threadIdx.x == 0) parts[blockIdx.x] = r;
}

__global__ void __launch_bounds__(threads_per_block, 1) quantize_kernel(const float *x, int64_t count, const range *parts, int part_count, uint8_t *y,
                                                                        float *scale_out, uint8_t *zero_out) {
  __shared__ range shared[threads_per_block / warp_threads];
  range r = {0.0f, 0.0f};
  if (threadIdx.x < part_count) r = parts[threadIdx.x];
  byte_scale by = scale_of(row_reduce(r, shared, wider()));
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    if (scale_out) *scale_out = by.scale;
    if (zero_out) *zero_out = static_cast<uint8_t>(by.zero);
  }
  if (!y) return;
  for (int64_t i = first_index(); i < count; i += index_step()) y[i] = static_cast<uint8_t>(to_byte(x[i], by));
}

}  // namespace
}  // namespace ortcore

int cuda_dynamic_quantize(const float *x, int64_t count, bool strict, uint8_t *y, float *scale, uint8_t *zero, void *scratch, void *stream) {
  using namespace ortcore;
  int64_t wanted = (count + threads_per_block * 4 - 1) / (threads_per_block * 4);
  int blocks = wanted < 1 ? 1 : wanted < CUDA_RANGE_BLOCKS ? static_cast<int>(wanted) : CUDA_RANGE_BLOCKS;
  range *parts = static_cast<range *>(scratch);
  range_kernel<<<blocks, threads_per_block, 0, as_stream(stream)>>>(x, count, strict, parts);
  cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) return error;
  quantize_kernel<<<blocks, threads_per_block, 0, as_stream(stream)>>>(x, count, parts, blocks, y, scale, zero);
  return cudaGetLastError();
}
