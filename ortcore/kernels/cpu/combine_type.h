/* Template: the four ways to combine, for element type T with arithmetic type A, LD(x) from T to A and ST(a) back. NAME is the suffix.
 * Each exists over adjacent elements and, for ScatterElements, over places that indices name. */
#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define COMBINE(how, expression) \
  static inline void PASTE(how##_one, NAME)(T *y, const T *x) { \
    A a = LD(*y), b = LD(*x); \
    *y = ST(expression); \
  } \
  MULTIVERSION static void PASTE(how, NAME)(void *to, const void *from, int64_t n) { \
    for (int64_t i = 0; i < n; ++i) PASTE(how##_one, NAME)((T *)to + i, (const T *)from + i); \
  } \
  static void PASTE(how##_at, NAME)(void *to, const void *from, int64_t count, const combine_places *p) { \
    for (int64_t i = 0; i < count; ++i) \
      PASTE(how##_one, NAME)((T *)((char *)to + combine_place(p, i)), (const T *)from + i); \
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
