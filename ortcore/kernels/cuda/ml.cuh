/* What kernels of ai.onnx.ml's operators share: features as numbers, and what becomes of a row's scores. */
#ifndef ORTCORE_KERNELS_CUDA_ML_CUH
#define ORTCORE_KERNELS_CUDA_ML_CUH

#include <ortcore/kernels/cuda/common.cuh>
#include <ortcore/kernels/cuda/ml.h>

namespace ortcore {

/* As the CPU has it: integers become floats by way of doubles. */
ON_GPU float feature(float x) { return x; }
ON_GPU double feature(double x) { return x; }
ON_GPU float feature(int32_t x) { return static_cast<float>(x); }
ON_GPU float feature(int64_t x) { return static_cast<float>(static_cast<double>(x)); }

/* Calls f with a null pointer of the C++ type of features. */
template <class F> int with_features(dtype type, F f) {
  switch (type) {
    case ORTC_FLOAT: return f(static_cast<float *>(nullptr));
    case ORTC_DOUBLE: return f(static_cast<double *>(nullptr));
    case ORTC_INT32: return f(static_cast<int32_t *>(nullptr));
    case ORTC_INT64: return f(static_cast<int64_t *>(nullptr));
    default: return cudaErrorInvalidValue;
  }
}

/* The first of the largest. */
template <class Y> ON_GPU int64_t largest(const Y *scores, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i)
    if (scores[i] > scores[best]) best = i;
  return best;
}

ON_GPU float post_logistic(float x) {
  float v = 1 / (1 + expf(-fabsf(x)));
  return x < 0 ? 1 - v : v;
}

/* sqrt(2) * erfinv(2x - 1), erfinv by Winitzki's approximation with a = 0.147, as the operators' reference has it. */
ON_GPU float post_probit(float x) {
  float y = 2 * x - 1, sign = y < 0 ? -1 : 1, l = logf((1 - y) * (1 + y));
  float a = 2 / (3.14159f * 0.147f) + 0.5f * l, b = l / 0.147f;
  return 1.41421356f * sign * sqrtf(-a + sqrtf(a * a - b));
}

/* `keep_zeros`: scores of 0 stay there, and do not count. */
template <class Y> ON_GPU void post_softmax(Y *scores, int64_t n, bool keep_zeros) {
  float m = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; ++i) m = fmaxf(m, static_cast<float>(scores[i]));
  for (int64_t i = 0; i < n; ++i) {
    float score = static_cast<float>(scores[i]);
    bool kept = keep_zeros && fabsf(score) <= 1e-7f;
    score = kept ? score * expf(-m) : expf(score - m);
    if (!kept) sum += score;
    scores[i] = score;
  }
  for (int64_t i = 0; i < n && sum != 0; ++i) scores[i] = static_cast<float>(scores[i]) / sum;
}

/* All scores of a row, in place, by one thread. They are floats, whatever they are stored as. */
template <class Y> ON_GPU void post_apply(post_transform p, Y *scores, int64_t n) {
  if (p == POST_SOFTMAX || p == POST_SOFTMAX_ZERO) post_softmax(scores, n, p == POST_SOFTMAX_ZERO);
  if (p != POST_LOGISTIC && p != POST_PROBIT) return;
  for (int64_t i = 0; i < n; ++i) {
    float score = static_cast<float>(scores[i]);
    scores[i] = p == POST_LOGISTIC ? post_logistic(score) : post_probit(score);
  }
}

}  // namespace ortcore

#endif
