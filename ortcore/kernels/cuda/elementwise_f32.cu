/* Elementwise programs in float: those of float, float16 and bfloat16. */
#include <ortcore/kernels/cuda/elementwise.cuh>
#include <ortcore/kernels/cuda/functions.cuh>

namespace ortcore {
namespace {

struct short_operators {
  template <int N> static ON_GPU void apply(const cuda_elementwise &, const program_step &step, float (&u)[N], const float (&v)[N], const float (&w)[N]) {
    using T = float;
    T p = static_cast<T>(step.p), q = static_cast<T>(step.q);
    switch (step.op) {
      PROGRAM_1(APPLY_1)
      PROGRAM_2(APPLY_2)
      PROGRAM_3(APPLY_3)
      default: break;
    }
  }
};

struct long_operators {
  template <int N> static ON_GPU void apply(const cuda_elementwise &, const program_step &step, float (&u)[N], const float (&v)[N], const float (&)[N]) {
    using T = float;
    switch (step.op) {
      PROGRAM_LONG_1(APPLY_1)
      PROGRAM_LONG_2(APPLY_2)
      default: break;
    }
  }
};

}  // namespace
}  // namespace ortcore

int cuda_elementwise_f32(const cuda_elementwise *e, void *stream) {
  using namespace ortcore;
  return program_is_long(static_cast<program_op>(e->what.steps[0].op)) ? elementwise_launch<float, 1, long_operators>(e, stream)
                                                                       : elementwise_launch<float, 8, short_operators>(e, stream);
}
