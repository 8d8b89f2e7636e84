/* RotaryEmbedding: a thread turns one pair, or copies one feature that does not turn. */
#include "rotary.h"

#include <ortcore/kernels/cuda/common.cuh>
#include <type_traits>

using namespace ortcore;

namespace {

template <class T> __global__ void __launch_bounds__(threads_per_block) rotary_kernel(cuda_rotary r) {
  const int64_t lanes = r.size - r.half, count = r.batch * r.steps * r.heads * lanes;   /* of a head: pairs, then single features */
  for (int64_t i = first_index(); i < count; i += index_step()) {
    int64_t lane = i % lanes, head = i / lanes % r.heads, place = i / lanes / r.heads, step = place % r.steps, b = place / r.steps;
    int64_t at = b * r.batch_stride + head * r.head_stride + step * r.step_stride;
    const T *x = static_cast<const T *>(r.x) + at;
    T *y = static_cast<T *>(r.y) + at;
    if (lane >= r.half) {
      y[r.half + lane] = x[r.half + lane];
      continue;
    }
    int64_t row = !r.ids ? place : r.ids_are_offset ? r.ids[0] + step : r.ids[place];
    if (row < 0 || row >= r.rows) {
      tell_fault(r.fault, GPU_FAULT_POSITION);
      row = 0;
    }
    float cosine = load(static_cast<const T *>(r.cosine)[row * r.half + lane]), sine = load(static_cast<const T *>(r.sine)[row * r.half + lane]);
    int64_t first = r.interleaved ? 2 * lane : lane, second = r.interleaved ? 2 * lane + 1 : lane + r.half;
    float a = load(x[first]), c = load(x[second]);
    y[first] = store<T>(a * cosine - c * sine);
    y[second] = store<T>(a * sine + c * cosine);
  }
}

}  // namespace

int cuda_rotary_run(const cuda_rotary *r, void *stream) {
  const int64_t count = r->batch * r->steps * r->heads * (r->size - r->half);
  if (count == 0) return cudaSuccess;
  return with_float(r->type, [&](auto *element) -> int {
    using T = std::remove_pointer_t<decltype(element)>;
    if constexpr (!std::is_same_v<T, double>) {
      rotary_kernel<T><<<blocks_for(count), threads_per_block, 0, as_stream(stream)>>>(*r);
      return cudaGetLastError();
    }
    return cudaErrorInvalidValue;
  });
}
