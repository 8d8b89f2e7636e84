/* The end of a product whose sums a library has written. */
#include "product_end.cuh"

using namespace ortcore;

namespace {

template <class T>
__global__ void __launch_bounds__(threads_per_block, 1) end_kernel(plain_end<T, computed_t<T>> end, int m, int n, const cuda_batch batch) {
  const int groups = (n + end_width - 1) / end_width;
  const int64_t count = batch.count * m * groups;
  for (int64_t i = first_index(); i < count; i += index_step()) {
    const int column = static_cast<int>(i % groups) * end_width, row = static_cast<int>(i / groups % m), width = min(n - column, end_width);
    plain_end<T, computed_t<T>> here = end;
    here.open(place_of(batch, i / groups / m));
    computed_t<T> x[end_width] = {};
#pragma unroll
    for (int j = 0; j < end_width; ++j)
      if (j < width) x[j] = load(here.out[here.places.at(row, column + j)]);
    here.store(row, column, x, width);
  }
}

}  // namespace

int cuda_product_finish(const cuda_product *p, const cuda_operands *o, void *stream) {
  int64_t count = p->batch.count * p->m * ((p->n + end_width - 1) / end_width);
  if (count == 0) return cudaSuccess;
  return with_float(p->type, [&](auto *t) {
    using T = std::remove_pointer_t<decltype(t)>;
    auto end = end_of<T, computed_t<T>>(*p, *o);
    end.alpha = 1;
    end_kernel<T>
        <<<blocks_for(count), threads_per_block, 0, as_stream(stream)>>>(end, static_cast<int>(p->m), static_cast<int>(p->n), p->batch);
    return static_cast<int>(cudaGetLastError());
  });
}
