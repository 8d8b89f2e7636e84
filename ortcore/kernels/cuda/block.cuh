/* Reductions over the threads of a warp or a block. Every thread gets the result, and the order of the operations is always the same. */
#ifndef ORTCORE_KERNELS_CUDA_BLOCK_CUH
#define ORTCORE_KERNELS_CUDA_BLOCK_CUH

#include <ortcore/kernels/cuda/common.cuh>

namespace ortcore {

constexpr unsigned whole_warp = 0xffffffffu;
constexpr int warp_threads = 32;
constexpr int most_warps = 32;                             /* of a block */

/* A value of any plain struct of 4-byte words from the lane whose number differs in the bits of `mask`. */
template <class A> ON_GPU A from_lane_xor(const A &value, int mask) {
  static_assert(sizeof(A) % 4 == 0, "values travel as words");
  A other;
  const unsigned *from = reinterpret_cast<const unsigned *>(&value);
  unsigned *to = reinterpret_cast<unsigned *>(&other);
#pragma unroll
  for (unsigned word = 0; word < sizeof(A) / 4; ++word) to[word] = __shfl_xor_sync(whole_warp, from[word], mask);
  return other;
}

/* Over groups of `lanes` neighbouring lanes (a power of two up to 32). All lanes of the warp take part. */
template <class A, class J> ON_GPU A lanes_reduce(A value, int lanes, J join) {
  for (int mask = lanes / 2; mask; mask /= 2) value = join(value, from_lane_xor(value, mask));
  return value;
}

/* Over the threads of one row of a block: blockDim.x is a power of two; up to 32 it is done within the warp, else through `shared`, which has
 * room for a value a warp of the block. All threads of the block take part. */
template <class A, class J> ON_GPU A row_reduce(A value, A *shared, J join) {
  if (blockDim.x <= warp_threads) return lanes_reduce(value, blockDim.x, join);
  value = lanes_reduce(value, warp_threads, join);
  int warps = blockDim.x / warp_threads, warp = threadIdx.x / warp_threads;
  shared += threadIdx.y * warps;
  __syncthreads();                                         /* what an earlier reduction left there has been read */
  if (threadIdx.x % warp_threads == 0) shared[warp] = value;
  __syncthreads();
  return lanes_reduce(shared[threadIdx.x % warps], warps, join);
}

struct plus { template <class A> ON_GPU A operator()(A a, A b) const { return a + b; } };

/* How many threads serve a row of n elements, of which each takes `each` at a time: a power of two from 1 to `most`. */
inline int threads_for_row(int64_t n, int each, int most) {
  int threads = 1;
  while (threads < most && static_cast<int64_t>(threads) * each < n) threads *= 2;
  return threads;
}
/* The shape of a block of such rows, of at least 128 threads. */
inline dim3 block_for_rows(int threads) { return dim3(threads, threads < 128 ? 128 / threads : 1); }

}  // namespace ortcore
#endif
