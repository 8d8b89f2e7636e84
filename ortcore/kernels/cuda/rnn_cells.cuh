/* The functions of recurrent cells. */
#ifndef ORTCORE_KERNELS_CUDA_RNN_CELLS_CUH
#define ORTCORE_KERNELS_CUDA_RNN_CELLS_CUH

#include "functions.cuh"

#include <ortcore/ops/params/rnn.h>

namespace ortcore {

/* NaN stays NaN. clip 0: as it is. */
template <class A> ON_GPU A clipped(A x, A clip) { return clip > 0 ? (x > clip ? clip : x < -clip ? -clip : x) : x; }

template <class A> ON_GPU A activated(const rnn_activation &f, A x) {
  A alpha = f.alpha, beta = f.beta;
  switch (f.function) {
    case RNN_SIGMOID: return SIGMOID(x);
    case RNN_TANH: return TANH(x);
    case RNN_RELU: return x < 0 ? 0 : x;
    case RNN_AFFINE: return alpha * x + beta;
    case RNN_LEAKY_RELU: return x < 0 ? alpha * x : x;
    case RNN_THRESHOLDED_RELU: return x < alpha ? 0 : x;
    case RNN_SCALED_TANH: return alpha * TANH(beta * x);
    case RNN_HARD_SIGMOID: {
      A line = alpha * x + beta;
      return line < 0 ? 0 : line > 1 ? 1 : line;
    }
    case RNN_ELU: return x < 0 ? alpha * EXPM1(x) : x;
    case RNN_SOFTSIGN: return x / (1 + (x < 0 ? -x : x));
    case RNN_SOFTPLUS: return SOFTPLUS(x);
  }
  return x;
}

}  // namespace ortcore

#endif
