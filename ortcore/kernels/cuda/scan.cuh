/* Running sums and other running combinations over the threads of a block. */
#ifndef ORTCORE_KERNELS_CUDA_SCAN_CUH
#define ORTCORE_KERNELS_CUDA_SCAN_CUH

#include <ortcore/kernels/cuda/block.cuh>

namespace ortcore {

/* What the threads before this one hold, joined in their order; `none` for the first. *total: what all hold. `shared` has room for a value a
 * warp; all threads of the block take part, and there are whole warps of them. */
template <class A, class J> ON_GPU A block_scan(A value, A none, A *shared, J join, A *total) {
  int lane = threadIdx.x % warp_threads, warp = threadIdx.x / warp_threads, warps = blockDim.x / warp_threads;
  A sum = value;
#pragma unroll
  for (int far = 1; far < warp_threads; far *= 2) {
    A before = __shfl_up_sync(whole_warp, sum, far);
    if (lane >= far) sum = join(before, sum);
  }
  A before = __shfl_up_sync(whole_warp, sum, 1);
  __syncthreads();                                         /* what an earlier scan left there has been read */
  if (lane == warp_threads - 1) shared[warp] = sum;
  __syncthreads();
  A earlier = none, all = none;
  for (int w = 0; w < warps; ++w) {
    if (w == warp) earlier = all;
    all = join(all, shared[w]);
  }
  *total = all;
  return lane == 0 ? earlier : join(earlier, before);
}

/* One block: offsets[i] is the sum of the counts before the i-th, and offsets[n] that of all. */
template <class COUNT> __global__ void __launch_bounds__(threads_per_block) offsets_kernel(const COUNT *counts, int64_t n, int64_t *offsets) {
  __shared__ int64_t warps[most_warps];
  int64_t carry = 0;
  for (int64_t first = 0; first < n; first += threads_per_block) {
    int64_t i = first + threadIdx.x, total, before = block_scan<int64_t>(i < n ? counts[i] : 0, 0, warps, plus(), &total);
    if (i < n) offsets[i] = carry + before;
    carry += total;
  }
  if (threadIdx.x == 0) offsets[n] = carry;
}

}  // namespace ortcore

#endif
