/* Elementwise programs of integers and bools, and of elements that are only moved. All of them are computed in 64 bits, uint64 apart: a sum, a
 * product or a shift, cut to the narrower type when it is stored, is what that type would have given, and comparisons and quotients agree. */
#include <ortcore/kernels/cuda/elementwise.cuh>

namespace ortcore {
namespace {

/* A divisor of zero is a fault, and gives zero. */
template <class T> ON_GPU T DIVIDE(T a, T b) { return b == 0 ? 0 : b == static_cast<T>(-1) && std::is_signed_v<T> ? T(0) - a : a / b; }
template <class T> ON_GPU T MOD_TRUNC(T a, T b) { return b == 0 || (b == static_cast<T>(-1) && std::is_signed_v<T>) ? 0 : a % b; }
template <class T> ON_GPU T MOD_FLOOR(T a, T b) {
  T r = MOD_TRUNC(a, b);
  if constexpr (std::is_signed_v<T>) return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  return r;
}

/* Whole powers by squaring. A negative one is a fraction, which is cut to zero but for the bases 1 and -1. */
template <class T> ON_GPU T POWER(T base, T exponent) {
  if constexpr (std::is_signed_v<T>)
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  uint64_t result = 1, square = static_cast<uint64_t>(base);
#pragma unroll 1
  for (uint64_t e = static_cast<uint64_t>(exponent); e; e >>= 1, square *= square)
    if (e & 1) result *= square;
  return static_cast<T>(result);
}

template <class T> ON_GPU bool negative(T x) {
  if constexpr (std::is_signed_v<T>) return x < 0;
  return false;
}
#define NEGATIVE(x) negative(x)
#define BITS 64
#define IS_SIGNED std::is_signed_v<T>

template <class T> struct short_operators {
  template <int N> static ON_GPU void apply(const cuda_elementwise &, const program_step &step, T (&u)[N], const T (&v)[N], const T (&w)[N]) {
    using W = uint64_t;
    switch (step.op) {
      APPLY_1(Copy, x)
      APPLY_1(Not, x == 0)
      ARITHMETIC_INTEGER_UNARY(APPLY_1)
      ARITHMETIC_INTEGER_BINARY(APPLY_2)
      ARITHMETIC_COMPARE(APPLY_2)
      ARITHMETIC_TRUTH(APPLY_2)
      ARITHMETIC_INTEGER_CLIP(APPLY_3)
      APPLY_3(Where, a != 0 ? b : c)
      default: break;
    }
  }
};

template <class T> struct long_operators {
  template <int N> static ON_GPU void apply(const cuda_elementwise &e, const program_step &step, T (&u)[N], const T (&v)[N], const T (&)[N]) {
    EACH(N) if (v[j] == 0 && step.op != PROGRAM_Pow) tell_fault(e.fault, GPU_FAULT_DIVISION);
    switch (step.op) {
      ARITHMETIC_INTEGER_DIVISION(APPLY_2)
      default: break;
    }
  }
};

template <class T> int launch(const cuda_elementwise *e, void *stream) {
  switch (e->what.steps[0].op) {
    case PROGRAM_Div: case PROGRAM_ModTrunc: case PROGRAM_ModFloor: case PROGRAM_Pow: return elementwise_launch<T, 1, long_operators<T>>(e, stream);
    default: return elementwise_launch<T, 4, short_operators<T>>(e, stream);
  }
}

}  // namespace
}  // namespace ortcore

int cuda_elementwise_i64(const cuda_elementwise *e, void *stream) { return ortcore::launch<int64_t>(e, stream); }
int cuda_elementwise_u64(const cuda_elementwise *e, void *stream) { return ortcore::launch<uint64_t>(e, stream); }
