/* Divisions by numbers that the host knows. */
#ifndef ORTCORE_KERNELS_CUDA_DIVIDE_CUH
#define ORTCORE_KERNELS_CUDA_DIVIDE_CUH

#include "common.cuh"

namespace ortcore {

/* n / d by a multiplication, for 0 <= n < 2^31. */
struct divisor {
  uint32_t d, multiplier, shift;
  ON_GPU uint32_t quotient(uint32_t n) const { return (__umulhi(n, multiplier) + n) >> shift; }
};

inline divisor divide_by(int64_t d) {
  uint32_t shift = 0;
  while ((int64_t{1} << shift) < d) ++shift;
  uint64_t excess = (uint64_t{1} << shift) - static_cast<uint64_t>(d);
  return {static_cast<uint32_t>(d), static_cast<uint32_t>((excess << 32) / static_cast<uint64_t>(d) + 1), shift};
}

}  // namespace ortcore

#endif
