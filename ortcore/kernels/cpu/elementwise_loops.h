/* Loops around one expression, for the templates by type. Inputs and outputs may be the same memory, element for element: that is what ivdep says. */
#ifndef ORTCORE_KERNELS_CPU_ELEMENTWISE_LOOPS_H
#define ORTCORE_KERNELS_CPU_ELEMENTWISE_LOOPS_H

#include <ortcore/base/cpu.h>
#include <ortcore/kernels/arithmetic.h>
#include <ortcore/kernels/cpu/elementwise.h>

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)

#define ELEMENTWISE_FN(name) MULTIVERSION static void PASTE(name, SUFFIX)(void *out, const void *const *in, int64_t n, unsigned repeated, const void *params)
#define EACH(n) _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i)

#define UNARY_EACH(type_out, expression) \
  type_out *y = out; \
  const T *x0 = in[0]; \
  EACH(n) { \
    T x = x0[i]; \
    y[i] = (type_out)(expression); \
  }
#define UNARY_LOOP(name, type_out, expression) \
  ELEMENTWISE_FN(name) { \
    (void)params, (void)repeated; \
    UNARY_EACH(type_out, expression) \
  }

#define BINARY_EACH(first, second, type_out, expression) \
  EACH(n) { \
    T a = first, b = second; \
    y[i] = (type_out)(expression); \
  }
#define BINARY_LOOP(name, type_out, expression) \
  ELEMENTWISE_FN(name) { \
    (void)params; \
    type_out *y = out; \
    const T *x0 = in[0], *x1 = in[1]; \
    if (repeated == 1) { \
      const T one = *x0; \
      BINARY_EACH(one, x1[i], type_out, expression) \
    } else if (repeated == 2) { \
      const T one = *x1; \
      BINARY_EACH(x0[i], one, type_out, expression) \
    } else { \
      BINARY_EACH(x0[i], x1[i], type_out, expression) \
    } \
  }

/* Three operands; the last two are often one number each. */
#define TERNARY_LOOP(name, type_out, expression) \
  ELEMENTWISE_FN(name) { \
    (void)params; \
    type_out *y = out; \
    const T *x0 = in[0], *x1 = in[1], *x2 = in[2]; \
    if (repeated) { \
      const T b = *x1, c = *x2; \
      EACH(n) { \
        T a = x0[i]; \
        y[i] = (type_out)(expression); \
      } \
    } else { \
      EACH(n) { \
        T a = x0[i], b = x1[i], c = x2[i]; \
        y[i] = (type_out)(expression); \
      } \
    } \
  }

/* With the parameters p and q, as type P. */
#define PARAMETRIC_LOOP(name, type_out, P, expression) \
  ELEMENTWISE_FN(name) { \
    (void)repeated; \
    const elementwise_params *given = params; \
    const P p = (P)given->p, q = (P)given->q; \
    (void)p, (void)q; \
    UNARY_EACH(type_out, expression) \
  }

/* Rows of a table. */
#define CHEAP(name, ...) {#name, PASTE(name, SUFFIX), GRAIN_CHEAP, 0},
#define FUNCTION(name, ...) {#name, PASTE(name, SUFFIX), GRAIN_FUNCTION, 0},
#define LIBRARY(name, ...) {#name, PASTE(name, SUFFIX), GRAIN_LIBRARY, 0},
#define CHEAP_2(name, ...) {#name, PASTE(name, SUFFIX), GRAIN_CHEAP, ACCEPTS_EITHER},
#define FUNCTION_2(name, ...) {#name, PASTE(name, SUFFIX), GRAIN_FUNCTION, ACCEPTS_EITHER},
#define LIBRARY_2(name, ...) {#name, PASTE(name, SUFFIX), GRAIN_LIBRARY, ACCEPTS_EITHER},
#define CHEAP_3(name, ...) {#name, PASTE(name, SUFFIX), GRAIN_CHEAP, ACCEPTS_LAST_TWO},

#endif
