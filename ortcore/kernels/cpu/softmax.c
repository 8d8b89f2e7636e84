#include <math.h>
#include <ortcore/base/cpu.h>
#include <ortcore/kernels/cpu/mathf.h>
#include <ortcore/kernels/cpu/softmax.h>

/* e^x for x <= 0; results below the normal floats are 0, since they stand beside a 1. */
static inline __attribute__((always_inline)) float exp_negative(float x) {
  int32_t n;
  float r = mathf_reduce(mathf_max(-87.3f, x), 0, &n), y = (1 + mathf_expm1_reduced(r)) * mathf_pow2(n);
  return x < -87.3f ? 0 : y;
}

#define T float
#define NAME(f) f##_f32
#define EXP exp_negative
#define LOG logf
#include <ortcore/kernels/cpu/softmax_type.h>
#define T double
#define NAME(f) f##_f64
#define EXP exp
#define LOG log
#include <ortcore/kernels/cpu/softmax_type.h>

softmax_fn softmax_for(dtype type) { return type == ORTC_FLOAT ? softmax_f32 : type == ORTC_DOUBLE ? softmax_f64 : NULL; }
