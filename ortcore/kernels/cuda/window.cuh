/* Positions and taps of a window as coordinates. */
#ifndef ORTCORE_KERNELS_CUDA_WINDOW_CUH
#define ORTCORE_KERNELS_CUDA_WINDOW_CUH

#include "divide.cuh"
#include "window.h"

namespace ortcore {

struct window_places {
  divisor positions, out_plane, out_row, taps, kernel_plane, kernel_row;
};

inline window_places places_of(const cuda_window &w) {
  int64_t out_plane = static_cast<int64_t>(w.out[1]) * w.out[2], kernel_plane = static_cast<int64_t>(w.kernel[1]) * w.kernel[2];
  return {divide_by(out_plane * w.out[0]), divide_by(out_plane), divide_by(w.out[2]), divide_by(kernel_plane * w.kernel[0]), divide_by(kernel_plane),
          divide_by(w.kernel[2])};
}

/* index as rest of a division by `all`, then as three coordinates. */
ON_GPU int split(uint32_t index, const divisor &all, const divisor &plane, const divisor &row, int (&at)[CUDA_SPATIAL]) {
  uint32_t outer = all.quotient(index), rest = index - outer * all.d;
  at[0] = plane.quotient(rest);
  rest -= at[0] * plane.d;
  at[1] = row.quotient(rest);
  at[2] = rest - at[1] * row.d;
  return outer;
}

}  // namespace ortcore

#endif
