/* Template: the elementwise loops of a floating type. The includer defines T, SUFFIX, TABLE and the functions of kernels/arithmetic.h. */
#include <ortcore/kernels/cpu/elementwise_loops.h>

#define UNARY(name, expression) UNARY_LOOP(name, T, expression)
#define BINARY(name, expression) BINARY_LOOP(name, T, expression)
#define COMPARE(name, expression) BINARY_LOOP(name, uint8_t, expression)
#define PARAMETRIC(name, expression) PARAMETRIC_LOOP(name, T, T, expression)

ARITHMETIC_UNARY(UNARY)
ARITHMETIC_TRIGONOMETRIC(UNARY)
#ifdef PERIODIC_LIMIT
/* The fast functions serve arguments up to a limit; a row with a larger one goes through the C library. */
#define PERIODIC(name, expression) \
  UNARY(Near##name, expression) \
  static inline T far_##name(T x) { return FAR_##name(x); } \
  ELEMENTWISE_FN(name) { \
    const T *x = in[0]; \
    T *y = out; \
    int far = 0; \
    for (int64_t i = 0; i < n; ++i) far |= FABS(x[i]) > PERIODIC_LIMIT; \
    if (!far) PASTE(Near##name, SUFFIX)(out, in, n, repeated, params); \
    else for (int64_t i = 0; i < n; ++i) y[i] = far_##name(x[i]); \
  }
ARITHMETIC_PERIODIC(PERIODIC)
#else
ARITHMETIC_PERIODIC(UNARY)
#endif
ARITHMETIC_POWERS(UNARY)
ARITHMETIC_PARAMETRIC(PARAMETRIC)
PARAMETRIC(Scale, x * p)
ARITHMETIC_BINARY(BINARY)
ARITHMETIC_COMPARE(COMPARE)

/* p: alpha of the Swish. */
ELEMENTWISE_FN(SwiGLU) {
  (void)repeated;
  const T p = (T)((const elementwise_params *)params)->p, *a = in[0], *b = in[1];
  T *y = out;
  EACH(n) y[i] = a[i] * SIGMOID(p * a[i]) * b[i];
}

/* The remainder with the divisor's sign, as numpy has it. */
static inline T PASTE(mod_floor, SUFFIX)(T a, T b) {
  T r = FMOD(a, b);
  if (r == 0) return COPYSIGN((T)0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
BINARY(ModFloor, PASTE(mod_floor, SUFFIX)(a, b))
BINARY(ModTrunc, FMOD(a, b))
BINARY(Pow, POW(a, b))
TERNARY_LOOP(Clip, T, ARITHMETIC_MINIMUM(c, ARITHMETIC_MAXIMUM(a, b)))
UNARY_LOOP(IsNaN, uint8_t, x != x)
/* p, q: whether negative and positive infinities count. */
PARAMETRIC_LOOP(IsInf, uint8_t, double, (x == -(T)INFINITY && p != 0) || (x == (T)INFINITY && q != 0))

const elementwise TABLE[] = {
  ARITHMETIC_SIMPLE(CHEAP) ARITHMETIC_FUNCTIONS(FUNCTION) ARITHMETIC_PERIODIC(FUNCTION) ARITHMETIC_TRIGONOMETRIC(LIBRARY)
  ARITHMETIC_POWERS(CHEAP) ARITHMETIC_PARAMETRIC(FUNCTION) CHEAP(Scale)
  ARITHMETIC_BINARY(CHEAP_2) ARITHMETIC_COMPARE(CHEAP_2)
  LIBRARY_2(ModFloor) LIBRARY_2(ModTrunc) LIBRARY_2(Pow) CHEAP_3(Clip) CHEAP(IsNaN) CHEAP(IsInf)
  FUNCTION(SwiGLU)
  {0}};
