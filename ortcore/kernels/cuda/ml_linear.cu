/* Linear models: features become floats before their product, and a thread a row makes scores and a label of what it says. */
#include "ml_linear.h"

#include "ml.cuh"

#include <type_traits>

using namespace ortcore;

namespace {

template <class X> __global__ void __launch_bounds__(threads_per_block) floats_kernel(const X *x, int64_t count, float *to) {
  for (int64_t i = first_index(); i < count; i += index_step()) to[i] = static_cast<float>(feature(x[i]));
}

/* Of one output. */
ON_GPU void add_class(post_transform post, float product, float *scores) {
  if (post == POST_LOGISTIC) {
    scores[1] = post_logistic(product);
    scores[0] = 1 - scores[1];
    return;
  }
  scores[0] = -product, scores[1] = product;
  post_apply(post, scores, 2);
}

__global__ void __launch_bounds__(threads_per_block) finish_kernel(cuda_linear_end e) {
  for (int64_t row = first_index(); row < e.rows; row += index_step()) {
    const float *products = e.products + row * e.outputs;
    if (e.labels) {
      int64_t best = e.outputs > 1 ? largest(products, e.outputs) : e.label_count > 1 && products[0] > 0;
      e.labels[row] = e.label_values[best];
    }
    if (!e.scores) continue;
    if (e.adds_class) {
      add_class(e.post, products[0], e.scores + 2 * row);
      continue;
    }
    float *scores = e.scores + row * e.outputs;
    for (int64_t i = 0; scores != products && i < e.outputs; ++i) scores[i] = products[i];
    post_apply(e.post, scores, e.outputs);
  }
}

}  // namespace

int cuda_features_to_floats(const cuda_features *x, float *to, void *stream) {
  int64_t count = x->rows * x->columns;
  if (count == 0) return cudaSuccess;
  return with_features(x->type, [&](auto *type) {
    using X = std::remove_pointer_t<decltype(type)>;
    floats_kernel<<<blocks_for(count), threads_per_block, 0, as_stream(stream)>>>(static_cast<const X *>(x->data), count, to);
    return static_cast<int>(cudaGetLastError());
  });
}

int cuda_linear_finish(const cuda_linear_end *e, void *stream) {
  if (e->rows == 0) return cudaSuccess;
  finish_kernel<<<blocks_for(e->rows), threads_per_block, 0, as_stream(stream)>>>(*e);
  return cudaGetLastError();
}
