/* Sums of products over any strides: a thread for each element of the result. */
#include "contract.h"

#include "common.cuh"

using namespace ortcore;

namespace {

struct contraction_dims { cuda_contraction c; int64_t count, terms; };

/* index as coordinates of `dims`, into offsets of both operands. */
ON_GPU void offsets_of(int64_t index, int rank, const int64_t *dims, const int64_t *a_steps, const int64_t *b_steps, int64_t *a,
                       int64_t *b) {
  for (int d = rank - 1; d >= 0; --d) {
    int64_t along = index % dims[d];
    index /= dims[d];
    *a += along * a_steps[d];
    *b += along * b_steps[d];
  }
}

template <class T>
__global__ void __launch_bounds__(threads_per_block, 1) contract_kernel(const T *a, const T *b, T *y, const contraction_dims d) {
  using N = computed_t<T>;
  const cuda_contraction &c = d.c;
  for (int64_t i = first_index(); i < d.count; i += index_step()) {
    int64_t a_first = 0, b_first = 0;
    offsets_of(i, c.kept, c.kept_dims, c.kept_a, c.kept_b, &a_first, &b_first);
    N sum = 0;
    for (int64_t term = 0; term < d.terms; ++term) {
      int64_t at_a = a_first, at_b = b_first;
      offsets_of(term, c.summed, c.summed_dims, c.summed_a, c.summed_b, &at_a, &at_b);
      sum += load(a[at_a]) * (b ? load(b[at_b]) : N(1));
    }
    y[i] = store<T>(sum);
  }
}

int64_t product_of(const int64_t *dims, int rank) {
  int64_t n = 1;
  for (int d = 0; d < rank; ++d) n *= dims[d];
  return n;
}

}  // namespace

int cuda_contract(const cuda_contraction *c, const void *a, const void *b, void *y, void *stream) {
  contraction_dims d = {*c, product_of(c->kept_dims, c->kept), product_of(c->summed_dims, c->summed)};
  if (d.count == 0) return cudaSuccess;
  return with_float(c->type, [&](auto *t) {
    using T = std::remove_pointer_t<decltype(t)>;
    contract_kernel<T><<<blocks_for(d.count), threads_per_block, 0, as_stream(stream)>>>(static_cast<const T *>(a),
                                                                                         static_cast<const T *>(b), static_cast<T *>(y), d);
    return static_cast<int>(cudaGetLastError());
  });
}
