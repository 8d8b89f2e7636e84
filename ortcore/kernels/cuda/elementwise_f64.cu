/* Elementwise programs in double. */
#include <ortcore/kernels/cuda/elementwise.cuh>
#include <ortcore/kernels/cuda/functions.cuh>

namespace ortcore {
namespace {

struct double_operators {
  template <int N> static ON_GPU void apply(const cuda_elementwise &, const program_step &step, double (&u)[N], const double (&v)[N], const double (&w)[N]) {
    using T = double;
    T p = step.p, q = step.q;
    switch (step.op) {
      PROGRAM_1(APPLY_1)
      PROGRAM_LONG_1(APPLY_1)
      PROGRAM_2(APPLY_2)
      PROGRAM_LONG_2(APPLY_2)
      PROGRAM_3(APPLY_3)
      default: break;
    }
  }
};

}  // namespace
}  // namespace ortcore

int cuda_elementwise_f64(const cuda_elementwise *e, void *stream) {
  return ortcore::elementwise_launch<double, 1, ortcore::double_operators>(e, stream);
}
