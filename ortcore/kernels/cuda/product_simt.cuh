/* Tiles that are multiplied with ordinary arithmetic: floats, doubles, integers. E is the type in shared memory and of the sums. */
#ifndef ORTCORE_KERNELS_CUDA_PRODUCT_SIMT_CUH
#define ORTCORE_KERNELS_CUDA_PRODUCT_SIMT_CUH

#include "product_tiles.cuh"

namespace ortcore {

/* A thread has SIDE x SIDE sums, in squares of 4 x 4 that lie apart, so that the threads of a warp read neighbours from shared memory. */
template <class E, int SIZE, int SIDE> struct simt_tile {
  static constexpr int rows = SIZE, columns = SIZE, depth = 16, stages = 2, along = SIZE / SIDE, threads = along * along,
                       blocks = SIDE > 4 || sizeof(E) > 4 ? 1 : 2;
  static constexpr bool a_inner = false, b_inner = false;
  static constexpr int squares = SIDE / 4, apart = along * 4, passes = squares, pass_rows = apart;
  struct alignas(sizeof(E) > 4 ? 16 : 4 * sizeof(E)) four { E at[4]; };

  E sums[SIDE][SIDE] = {};

  template <class TILE_A, class TILE_B> ON_GPU void multiply(const TILE_A &a, const TILE_B &b) {
    const int x = threadIdx.x % along * 4, y = threadIdx.x / along * 4;
#pragma unroll
    for (int k = 0; k < depth; ++k) {
      four left[squares], right[squares];
#pragma unroll
      for (int s = 0; s < squares; ++s) {
        left[s] = *reinterpret_cast<const four *>(&a[k][s * apart + y]);
        right[s] = *reinterpret_cast<const four *>(&b[k][s * apart + x]);
      }
#pragma unroll
      for (int i = 0; i < SIDE; ++i)
#pragma unroll
        for (int j = 0; j < SIDE; ++j) sums[i][j] += left[i / 4].at[i % 4] * right[j / 4].at[j % 4];
    }
  }
  template <class PART> ON_GPU void put(int pass, PART &out) const {
    const int x = threadIdx.x % along * 4, y = threadIdx.x / along * 4;
#pragma unroll
    for (int s = 0; s < squares; ++s) {
      if (s != pass) continue;
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < SIDE; ++j) out[y + i][j / 4 * apart + x + j % 4] = sums[s * 4 + i][j];
    }
  }
  static ON_GPU int row_of(int pass, int r) { return pass * apart + r; }
};

template <class E> using simt_64 = simt_tile<E, 64, 4>;
template <class E> using simt_128 = simt_tile<E, 128, 8>;

}  // namespace ortcore

#endif
