/* Template: the four ways to combine, for element type T with arithmetic type A, LD(x) from T to A and ST(a) back. NAME is the suffix. */
#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define COMBINE(how, expression) \
  static void PASTE(how, NAME)(void *to, const void *from, int64_t n) { \
    T *y = to; \
    const T *x = from; \
    for (int64_t i = 0; i < n; ++i) { \
      A a = LD(y[i]), b = LD(x[i]); \
      y[i] = ST(expression); \
    } \
  }
COMBINE(add, ADD(a, b))
COMBINE(mul, MUL(a, b))
COMBINE(max, a > b || a != a ? a : b)
COMBINE(min, a < b || a != a ? a : b)
#undef COMBINE
#undef PASTE
#undef PASTE_
#undef T
#undef A
#undef LD
#undef ST
#undef NAME
