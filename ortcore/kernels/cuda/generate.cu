/* Tensors made of little: Range, EyeLike. */
#include <ortcore/kernels/cuda/elements.cuh>
#include <ortcore/kernels/cuda/movement.h>

namespace ortcore {
namespace {

__global__ void __launch_bounds__(threads_per_block) range_kernel(const cuda_range r, bool whole) {
  for (int64_t i = first_index(); i < r.count; i += index_step()) {
    if (whole) {
      int64_t x[1] = {static_cast<int64_t>(static_cast<uint64_t>(r.start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(r.delta))};
      write_elements(r.type, r.to, i, 1, x);
    } else {
      double x[1] = {__dadd_rn(r.float_start, __dmul_rn(static_cast<double>(i), r.float_delta))};   /* as the CPU: rounded twice */
      write_elements(r.type, r.to, i, 1, x);
    }
  }
}

__global__ void __launch_bounds__(threads_per_block) eye_kernel(void *to, dtype type, int64_t count, int64_t columns, int64_t shift) {
  for (int64_t i = first_index(); i < count; i += index_step()) {
    int64_t row = i / columns, column = i - row * columns, x[1] = {column - row == shift};
    write_elements(type, to, i, 1, x);
  }
}

}  // namespace
}  // namespace ortcore

using namespace ortcore;

int cuda_make_range(const cuda_range *r, void *stream) {
  if (r->count == 0) return cudaSuccess;
  range_kernel<<<blocks_for(r->count), threads_per_block, 0, as_stream(stream)>>>(*r, typeset_has(TS_INTEGER, r->type));
  return cudaGetLastError();
}

int cuda_make_eye(void *to, dtype type, int64_t rows, int64_t columns, int64_t shift, void *stream) {
  int64_t count = rows * columns;
  if (count == 0) return cudaSuccess;
  eye_kernel<<<blocks_for(count), threads_per_block, 0, as_stream(stream)>>>(to, type, count, columns, shift);
  return cudaGetLastError();
}
