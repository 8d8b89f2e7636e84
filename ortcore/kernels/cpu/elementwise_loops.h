/* Loops around one expression, for the templates by type. Inputs and outputs may be the same memory, element for element: that is what ivdep says. */
#ifndef ORTCORE_KERNELS_CPU_ELEMENTWISE_LOOPS_H
#define ORTCORE_KERNELS_CPU_ELEMENTWISE_LOOPS_H

#include <ortcore/base/cpu.h>
#include <ortcore/kernels/arithmetic.h>
#include <ortcore/kernels/cpu/elementwise.h>

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)

#define ELEMENTWISE_FN(name) MULTIVERSION static void PASTE(name, SUFFIX)(void *out, const void *const *in, int64_t n, const void *params)

#define UNARY_LOOP(name, type_out, expression) \
  ELEMENTWISE_FN(name) { \
    (void)params; \
    type_out *y = out; \
    const T *x0 = in[0]; \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) { \
      T x = x0[i]; \
      y[i] = (type_out)(expression); \
    } \
  }

#define BINARY_LOOP(name, type_out, expression) \
  ELEMENTWISE_FN(name) { \
    (void)params; \
    type_out *y = out; \
    const T *x0 = in[0], *x1 = in[1]; \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) { \
      T a = x0[i], b = x1[i]; \
      y[i] = (type_out)(expression); \
    } \
  }

#define TERNARY_LOOP(name, type_out, expression) \
  ELEMENTWISE_FN(name) { \
    (void)params; \
    type_out *y = out; \
    const T *x0 = in[0], *x1 = in[1], *x2 = in[2]; \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) { \
      T a = x0[i], b = x1[i], c = x2[i]; \
      y[i] = (type_out)(expression); \
    } \
  }

/* With the parameters p and q, as type P. */
#define PARAMETRIC_LOOP(name, type_out, P, expression) \
  ELEMENTWISE_FN(name) { \
    const elementwise_params *given = params; \
    const P p = (P)given->p, q = (P)given->q; \
    (void)p, (void)q; \
    type_out *y = out; \
    const T *x0 = in[0]; \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) { \
      T x = x0[i]; \
      y[i] = (type_out)(expression); \
    } \
  }

#endif
