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
ARITHMETIC_BINARY(BINARY)
ARITHMETIC_COMPARE(COMPARE)

/* The remainder with the divisor's sign, as numpy has it. */
#define MOD_FLOOR PASTE(mod_floor, SUFFIX)
static inline T MOD_FLOOR(T a, T b) {
  T r = FMOD(a, b);
  if (r == 0) return COPYSIGN((T)0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
ARITHMETIC_LIBRARY(BINARY)
#define CLIP(name, expression) TERNARY_LOOP(name, T, expression)
ARITHMETIC_CLIP(CLIP)
#define TEST(name, expression) PARAMETRIC_LOOP(name, uint8_t, double, expression)
ARITHMETIC_TEST(TEST)

#define GATED(name, expression) \
  ELEMENTWISE_FN(name) { \
    (void)repeated; \
    const T p = (T)((const elementwise_params *)params)->p, *x0 = in[0], *x1 = in[1]; \
    T *y = out; \
    EACH(n) { \
      T a = x0[i], b = x1[i]; \
      y[i] = expression; \
    } \
  }
ARITHMETIC_GATED(GATED)

const elementwise TABLE[] = {
  ARITHMETIC_SIMPLE(CHEAP) ARITHMETIC_FUNCTIONS(FUNCTION) ARITHMETIC_PERIODIC(FUNCTION) ARITHMETIC_TRIGONOMETRIC(LIBRARY)
  ARITHMETIC_POWERS(CHEAP) ARITHMETIC_PARAMETRIC(FUNCTION)
  ARITHMETIC_BINARY(CHEAP_2) ARITHMETIC_COMPARE(CHEAP_2) ARITHMETIC_LIBRARY(LIBRARY_2) ARITHMETIC_CLIP(CHEAP_3) ARITHMETIC_TEST(CHEAP)
  ARITHMETIC_GATED(FUNCTION)
  {0}};
