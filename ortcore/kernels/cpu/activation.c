#include "activation.h"
#include "mathf.h"

#include <ortcore/base/cpu.h>
#include <ortcore/base/half.h>
#include <ortcore/base/threads.h>
#include <math.h>

enum { BLOCK = 512, GRAIN = 1 << 15 };

/* Comparisons are written so that NaN stays NaN. */
#define APPLY(T, EXP, TANH, ERF) \
  switch (f->kind) { \
    case ACTIVATION_NONE: break; \
    case ACTIVATION_RELU: for (int64_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? 0 : x[i]; break; \
    case ACTIVATION_LEAKY_RELU: for (int64_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? x[i] * (T)f->a : x[i]; break; \
    case ACTIVATION_CLIP: for (int64_t i = 0; i < n; ++i) { T v = x[i] < (T)f->a ? (T)f->a : x[i]; x[i] = v > (T)f->b ? (T)f->b : v; } break; \
    case ACTIVATION_SIGMOID: for (int64_t i = 0; i < n; ++i) x[i] = 1 / (1 + EXP(-x[i])); break; \
    case ACTIVATION_HARD_SWISH: \
      for (int64_t i = 0; i < n; ++i) { T v = x[i] / 6 + (T)0.5; v = v < 0 ? 0 : v; x[i] *= v > 1 ? 1 : v; } \
      break; \
    case ACTIVATION_HARD_SIGMOID: \
      for (int64_t i = 0; i < n; ++i) { T v = x[i] * (T)f->a + (T)f->b; v = v < 0 ? 0 : v; x[i] = v > 1 ? 1 : v; } \
      break; \
    case ACTIVATION_SILU: for (int64_t i = 0; i < n; ++i) x[i] = x[i] / (1 + EXP(-x[i])); break; \
    case ACTIVATION_TANH: for (int64_t i = 0; i < n; ++i) x[i] = TANH(x[i]); break; \
    case ACTIVATION_GELU: for (int64_t i = 0; i < n; ++i) x[i] = (T)0.5 * x[i] * (1 + ERF(x[i] * (T)M_SQRT1_2)); break; \
    case ACTIVATION_ELU: for (int64_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? (T)f->a * (EXP(x[i]) - 1) : x[i]; break; \
  }

MULTIVERSION void activation_apply_f32(const activation *f, float *x, int64_t n) { APPLY(float, mathf_exp, mathf_tanh, mathf_erf) }
MULTIVERSION void activation_apply_f64(const activation *f, double *x, int64_t n) { APPLY(double, exp, tanh, erf) }

typedef struct whole { const activation *f; void *x; } whole;

static void apply_f32(void *context, int64_t begin, int64_t end) {
  const whole *w = context;
  activation_apply_f32(w->f, (float *)w->x + begin, end - begin);
}

static void apply_bf16(void *context, int64_t begin, int64_t end) {
  const whole *w = context;
  bf16 *x = w->x;
  float block[BLOCK];
  for (int64_t i = begin; i < end; i += BLOCK) {
    int64_t n = end - i < BLOCK ? end - i : BLOCK;
    for (int64_t j = 0; j < n; ++j) block[j] = bf16_to_f32(x[i + j]);
    activation_apply_f32(w->f, block, n);
    for (int64_t j = 0; j < n; ++j) x[i + j] = f32_to_bf16(block[j]);
  }
}

void activation_apply_all(const activation *f, dtype type, void *x, int64_t n, int threads) {
  whole w = {f, x};
  parallel_for(threads, n, GRAIN, type == ORTC_BFLOAT16 ? apply_bf16 : apply_f32, &w);
}
