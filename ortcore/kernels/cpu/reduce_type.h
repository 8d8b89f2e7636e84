/* Reductions for one element type. Defined before inclusion: T the element; A what is accumulated; NAME(f) the function's name for this type;
 * IS_FLOAT 1 or 0. Along rows (inner = 1) sixteen accumulators run side by side, which is faster and rounds less than one; across rows, whole
 * blocks of columns are accumulated at once, in chunks whose sums are added up, so that the error grows with the chunk and not with n. */

#define LANES 16
#define COLUMNS 512
#define CHUNK 128

#if IS_FLOAT
#define IS_NAN(x) ((x) != (x))
#else
#define IS_NAN(x) 0
#endif

/* REDUCTION(name, initial, map of x, combination of a and b, finish of a over n): a function per reduction. */
#define REDUCTION(name, initial, map, combine, finish) \
  static inline A NAME(name##_map)(T x) { return (map); } \
  static inline A NAME(name##_join)(A a, A b) { return (combine); } \
  static inline T NAME(name##_finish)(A a, int64_t n) { (void)n; return (T)(finish); } \
  MULTIVERSION static A NAME(name##_row)(const T *restrict x, int64_t n) { \
    A lanes[LANES]; \
    for (int l = 0; l < LANES; ++l) lanes[l] = (A)(initial); \
    int64_t i = 0; \
    for (; i + LANES <= n; i += LANES) \
      for (int l = 0; l < LANES; ++l) lanes[l] = NAME(name##_join)(lanes[l], NAME(name##_map)(x[i + l])); \
    for (int l = 0; i < n; ++i, ++l) lanes[l] = NAME(name##_join)(lanes[l], NAME(name##_map)(x[i])); \
    for (int width = LANES / 2; width; width /= 2) \
      for (int l = 0; l < width; ++l) lanes[l] = NAME(name##_join)(lanes[l], lanes[l + width]); \
    return lanes[0]; \
  } \
  MULTIVERSION static void NAME(name##_columns)(const T *restrict x, A *restrict sums, int64_t n, int64_t inner, int64_t width) { \
    A part[COLUMNS]; \
    for (int64_t c = 0; c < width; ++c) sums[c] = (A)(initial); \
    for (int64_t i = 0; i < n; i += CHUNK) { \
      for (int64_t c = 0; c < width; ++c) part[c] = (A)(initial); \
      for (int64_t j = i; j < n && j < i + CHUNK; ++j) \
        for (int64_t c = 0; c < width; ++c) part[c] = NAME(name##_join)(part[c], NAME(name##_map)(x[j * inner + c])); \
      for (int64_t c = 0; c < width; ++c) sums[c] = NAME(name##_join)(sums[c], part[c]); \
    } \
  } \
  static void NAME(name)(const void *data, void *result, int64_t begin, int64_t end, int64_t n, int64_t inner) { \
    const T *x = data; \
    T *y = result; \
    A sums[COLUMNS]; \
    for (int64_t o = begin; o < end; ++o) { \
      if (inner == 1) { \
        y[o] = NAME(name##_finish)(NAME(name##_row)(x + o * n, n), n); \
        continue; \
      } \
      for (int64_t c = 0; c < inner; c += COLUMNS) { \
        int64_t width = inner - c < COLUMNS ? inner - c : COLUMNS; \
        NAME(name##_columns)(x + o * n * inner + c, sums, n, inner, width); \
        for (int64_t j = 0; j < width; ++j) y[o * inner + c + j] = NAME(name##_finish)(sums[j], n); \
      } \
    } \
  }

REDUCTION(Sum, 0, (A)x, (A)(a + b), a)
REDUCTION(Prod, 1, (A)x, (A)(a * b), a)
REDUCTION(SumSquare, 0, (A)((A)x * (A)x), (A)(a + b), a)
REDUCTION(L1, 0, (A)(x > 0 ? (A)x : (A)0 - (A)x), (A)(a + b), a)
#if IS_FLOAT
REDUCTION(Mean, 0, (A)x, (A)(a + b), a / (A)n)
REDUCTION(L2, 0, (A)((A)x * (A)x), (A)(a + b), SQRT(a))
REDUCTION(LogSum, 0, (A)x, (A)(a + b), LOG(a))
REDUCTION(Max, -INFINITY, (A)x, (IS_NAN(a) ? a : a > b ? a : b), a)
REDUCTION(Min, INFINITY, (A)x, (IS_NAN(a) ? a : a < b ? a : b), a)
#else
/* Sums of integers go through double where the result is no sum: a truncated mean, a root, a logarithm. */
REDUCTION(Max, T_MIN, (A)x, ((T)a > (T)b ? a : b), a)
REDUCTION(Min, T_MAX, (A)x, ((T)a < (T)b ? a : b), a)
#endif

/* log(sum(exp(x - m))) + m: finite for any finite x, and for infinite m the infinity itself. */
static void NAME(LogSumExp)(const void *data, void *result, int64_t begin, int64_t end, int64_t n, int64_t inner) {
  const T *x = data;
  T *y = result;
  for (int64_t o = begin; o < end; ++o)
    for (int64_t c = 0; c < inner; ++c) {
      const T *from = x + o * n * inner + c;
      double m = -INFINITY, sum = 0;
      for (int64_t i = 0; i < n; ++i) m = m != m || m > (double)from[i * inner] ? m : (double)from[i * inner];
      double shift = isinf(m) ? 0 : m;
      for (int64_t i = 0; i < n; ++i) sum += exp((double)from[i * inner] - shift);
      y[o * inner + c] = (T)(log(sum) + shift);
    }
}

#if !IS_FLOAT
#define THROUGH_DOUBLE(name, map, finish) \
  static void NAME(name)(const void *data, void *result, int64_t begin, int64_t end, int64_t n, int64_t inner) { \
    const T *values = data; \
    T *y = result; \
    for (int64_t o = begin; o < end; ++o) \
      for (int64_t c = 0; c < inner; ++c) { \
        double a = 0; \
        for (int64_t i = 0; i < n; ++i) { \
          double x = (double)values[(o * n + i) * inner + c]; \
          a += (map); \
        } \
        y[o * inner + c] = (T)(finish); \
      } \
  }
THROUGH_DOUBLE(L2, x * x, sqrt(a))
THROUGH_DOUBLE(LogSum, x, log(a))

/* The sum in 128 bits, so that no mean is wrong; truncated like every conversion to an integer. */
static void NAME(Mean)(const void *data, void *result, int64_t begin, int64_t end, int64_t n, int64_t inner) {
  const T *x = data;
  T *y = result;
  for (int64_t o = begin; o < end; ++o)
    for (int64_t c = 0; c < inner; ++c) {
      __int128 sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += (__int128)x[(o * n + i) * inner + c];
      y[o * inner + c] = n ? (T)(sum / n) : 0;
    }
}
#undef THROUGH_DOUBLE
#endif

static void NAME(arg)(const T *x, int64_t *y, int64_t begin, int64_t end, int64_t n, int64_t inner, bool last, bool smallest) {
  for (int64_t o = begin; o < end; ++o)
    for (int64_t c = 0; c < inner; ++c) {
      const T *from = x + o * n * inner + c;
      int64_t best = 0;
      for (int64_t i = 1; i < n; ++i) {
        T a = from[best * inner], b = from[i * inner];
        bool better = smallest ? b < a : b > a, equal = a == b || (IS_NAN(a) && IS_NAN(b));
        if ((better && !IS_NAN(a)) || (IS_NAN(b) && !IS_NAN(a)) || (last && equal)) best = i;
      }
      y[o * inner + c] = best;
    }
}
static void NAME(argmax)(const void *x, int64_t *y, int64_t begin, int64_t end, int64_t n, int64_t inner, bool last) { NAME(arg)(x, y, begin, end, n, inner, last, false); }
static void NAME(argmin)(const void *x, int64_t *y, int64_t begin, int64_t end, int64_t n, int64_t inner, bool last) { NAME(arg)(x, y, begin, end, n, inner, last, true); }

#undef REDUCTION
#undef LANES
#undef COLUMNS
#undef CHUNK
#undef IS_NAN
#undef T
#undef A
#undef NAME
#undef IS_FLOAT
