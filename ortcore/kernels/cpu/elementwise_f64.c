/* Elementwise loops in double: the C library's functions. */
#include <math.h>

static inline double sigmoid(double x) {
  double e = exp(-fabs(x)), q = 1 / (1 + e);
  return x < 0 ? e * q : q;
}
static inline double softplus(double x) { return (x > 0 ? x : 0 * x) + log1p(exp(-fabs(x))); }
static inline double mish(double x) {
  double e = exp(x > 40 ? 40 : x), w = e * (e + 2);
  return x * (w / (w + 2));
}
static inline double gelu(double x) { return x * 0.5 * erfc(-x * M_SQRT1_2); }

#define T double
#define SUFFIX f64
#define TABLE elementwise_f64
#define FABS fabs
#define CEIL ceil
#define FLOOR floor
#define RINT rint
#define SQRT sqrt
#define EXP exp
#define EXPM1 expm1
#define LOG log
#define TANH tanh
#define ERF erf
#define SIGMOID sigmoid
#define SOFTPLUS softplus
#define MISH mish
#define GELU gelu
#define SIN sin
#define COS cos
#define TAN tan
#define ASIN asin
#define ACOS acos
#define ATAN atan
#define SINH sinh
#define COSH cosh
#define ASINH asinh
#define ACOSH acosh
#define ATANH atanh
#define FMOD fmod
#define POW pow
#define COPYSIGN copysign
#include <ortcore/kernels/cpu/elementwise_float.h>
