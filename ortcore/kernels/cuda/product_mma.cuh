/* Tiles of float16 and bfloat16 that are multiplied by tensor cores (mma.sync m16n8k16), with sums in float. */
#ifndef ORTCORE_KERNELS_CUDA_PRODUCT_MMA_CUH
#define ORTCORE_KERNELS_CUDA_PRODUCT_MMA_CUH

#include "product_tiles.cuh"
#include "ptx.cuh"

namespace ortcore {

/* Warps stand in WARP_ROWS rows; each has WARP_HEIGHT x WARP_WIDTH sums. */
template <class T, int SIZE, int WARP_HEIGHT, int WARP_WIDTH, int STAGES, bool A_INNER, bool B_INNER> struct mma_tile {
  static constexpr int rows = SIZE, columns = SIZE, depth = 32, stages = STAGES;
  static constexpr int warps_down = SIZE / WARP_HEIGHT, warps_across = SIZE / WARP_WIDTH, threads = warps_down * warps_across * 32,
                       blocks = 512 / threads;
  static constexpr bool a_inner = A_INNER, b_inner = B_INNER;
  static constexpr int high = WARP_HEIGHT / 16, wide = WARP_WIDTH / 8, passes = high, pass_rows = warps_down * 16;

  float sums[high][wide][4] = {};

  static ON_GPU int lane() { return threadIdx.x % 32; }
  static ON_GPU int top() { return threadIdx.x / 32 / warps_across * WARP_HEIGHT; }
  static ON_GPU int left() { return threadIdx.x / 32 % warps_across * WARP_WIDTH; }

  template <class TILE_A, class TILE_B> ON_GPU void multiply(const TILE_A &a, const TILE_B &b) {
    /* Lanes 0-7, 8-15, 16-23, 24-31 name the rows of one small matrix each: those of A go down first, those of B along the inner index. */
    const int line = lane() % 8, second = lane() / 8 % 2 * 8, third = lane() / 16 * 8;
#pragma unroll
    for (int k = 0; k < depth; k += 16) {
      uint32_t from_a[high][4], from_b[wide / 2][4];
#pragma unroll
      for (int i = 0; i < high; ++i) {
        int row = top() + i * 16;
        if constexpr (A_INNER) load_matrices<false>(&a[row + second + line][k + third], from_a[i]);
        else load_matrices<true>(&a[k + third + line][row + second], from_a[i]);
      }
#pragma unroll
      for (int j = 0; j < wide / 2; ++j) {
        int column = left() + j * 16;
        if constexpr (B_INNER) load_matrices<false>(&b[column + third + line][k + second], from_b[j]);
        else load_matrices<true>(&b[k + second + line][column + third], from_b[j]);
      }
#pragma unroll
      for (int i = 0; i < high; ++i)
#pragma unroll
        for (int j = 0; j < wide; ++j) multiply_add(sums[i][j], from_a[i], from_b[j / 2][j % 2 * 2], from_b[j / 2][j % 2 * 2 + 1], T());
    }
  }
  template <class PART> ON_GPU void put(int pass, PART &out) const {
    const int row = top() / WARP_HEIGHT * 16 + lane() / 4, column = left() + lane() % 4 * 2;
#pragma unroll
    for (int i = 0; i < high; ++i) {
      if (i != pass) continue;
#pragma unroll
      for (int j = 0; j < wide; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) out[row + e / 2 * 8][column + j * 8 + e % 2] = sums[i][j][e];
    }
  }
  static ON_GPU int row_of(int pass, int r) { return r / 16 * WARP_HEIGHT + pass * 16 + r % 16; }
};

template <class T, bool A_INNER, bool B_INNER> using mma_64 = mma_tile<T, 64, 32, 32, 4, A_INNER, B_INNER>;
template <class T, bool A_INNER, bool B_INNER> using mma_128 = mma_tile<T, 128, 64, 32, 2, A_INNER, B_INNER>;

}  // namespace ortcore

#endif
