#include <math.h>
#include <ortcore/base/checked.h>
#include <ortcore/base/cpu.h>
#include <ortcore/base/threads.h>
#include <ortcore/kernels/cpu/mathf.h>
#include <ortcore/kernels/cpu/rnn.h>
#include <string.h>

enum { PANEL = 64, MULTIPLICATIONS_PER_THREAD = 1 << 19 };

int64_t rnn_scratch_count(const rnn_layer *l, int64_t steps, int64_t batch) {
  int64_t rows, states, width = rnn_padded(l->gates * l->hidden), projected, inputs, total;
  if (checked_mul(batch, (int64_t)l->directions, &rows) || checked_mul(rows, steps, &projected) || checked_add(projected, rows, &projected) ||
      checked_mul(projected, width, &projected) || checked_mul(rows, 2 * l->hidden, &states) || checked_add(projected, states, &total))
    return -1;
  if (!l->quantise) return total;
  if (checked_mul(steps, batch, &inputs) || checked_mul(inputs, l->inputs, &inputs) || checked_add(total, inputs, &total)) return -1;
  return total;
}

static inline double sigmoid_f64(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
static inline double softplus_f64(double x) { return (x > 0 ? x : 0) + log1p(exp(x > 0 ? -x : x)); }

#define T float
#define NAME(f) f##_f32
#define EXP mathf_exp
#define TANH mathf_tanh
#define SIGMOID mathf_sigmoid
#define SOFTPLUS mathf_softplus
#include <ortcore/kernels/cpu/rnn_type.h>
#undef T
#undef NAME
#undef EXP
#undef TANH
#undef SIGMOID
#undef SOFTPLUS

#define T double
#define NAME(f) f##_f64
#define EXP exp
#define TANH tanh
#define SIGMOID sigmoid_f64
#define SOFTPLUS softplus_f64
#include <ortcore/kernels/cpu/rnn_type.h>
