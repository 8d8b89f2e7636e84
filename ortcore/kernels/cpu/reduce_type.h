/* Reductions for one element type. Defined before inclusion: T the element; A what is accumulated; NAME(f) the function's name for this type;
 * IS_FLOAT 1 or 0. Along rows (inner = 1) a vector of accumulators runs through each block, and across rows whole tiles of columns are accumulated
 * at once in chunks; the sums of blocks and chunks are added up, so that the error grows with their size and not with n. */

#define SHORT 16
#define BLOCK 4096
#define COLUMNS 512
#define CHUNK 128

#if IS_FLOAT
#define IS_NAN(x) ((x) != (x))
#else
#define IS_NAN(x) 0
#endif

#define PRAGMA(text) _Pragma(#text)

/* How a reduction treats an element, joins two accumulators, and ends over n elements. */
#define STEPS(name, map, combine, finish) \
  static inline A NAME(name##_map)(T x) { return (map); } \
  static inline A NAME(name##_join)(A a, A b) { return (combine); } \
  static inline T NAME(name##_finish)(A a, int64_t n) { (void)n; return (T)(finish); }

/* The accumulator of a row, for reductions by + or *. */
#define ROW(name, initial, op) \
  MULTIVERSION static A NAME(name##_row)(const T *restrict x, int64_t n) { \
    A total = (A)(initial); \
    for (int64_t i = 0; i < n; i += BLOCK) { \
      A part = (A)(initial); \
      int64_t end = n - i < BLOCK ? n : i + BLOCK; \
      PRAGMA(omp simd reduction(op : part)) \
      for (int64_t j = i; j < end; ++j) part = (A)(part op NAME(name##_map)(x[j])); \
      total = (A)(total op part); \
    } \
    return total; \
  }

/* The same for the largest and the smallest; a NaN anywhere is the result. */
#define ROW_EXTREME(name, initial, compare, kind) \
  MULTIVERSION static A NAME(name##_row)(const T *restrict x, int64_t n) { \
    T best = (T)(initial); \
    int nan = 0; \
    PRAGMA(omp simd reduction(kind : best) reduction(| : nan)) \
    for (int64_t i = 0; i < n; ++i) { \
      best = best compare x[i] ? best : x[i]; \
      nan |= IS_NAN(x[i]); \
    } \
    return nan ? (A)NOT_A_NUMBER : (A)best; \
  }

#define BLOCKS(name, initial) \
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
        A a = (A)(initial); \
        if (n > SHORT) a = NAME(name##_row)(x + o * n, n); \
        else for (int64_t i = 0; i < n; ++i) a = NAME(name##_join)(a, NAME(name##_map)(x[o * n + i])); \
        y[o] = NAME(name##_finish)(a, n); \
        continue; \
      } \
      for (int64_t c = 0; c < inner; c += COLUMNS) { \
        int64_t width = inner - c < COLUMNS ? inner - c : COLUMNS; \
        NAME(name##_columns)(x + o * n * inner + c, sums, n, inner, width); \
        for (int64_t j = 0; j < width; ++j) y[o * inner + c + j] = NAME(name##_finish)(sums[j], n); \
      } \
    } \
  }

#define REDUCTION(name, initial, op, map, finish) \
  STEPS(name, map, (A)(a op b), finish) \
  ROW(name, initial, op) \
  BLOCKS(name, initial)
#define EXTREME(name, initial, compare, kind) \
  STEPS(name, (A)x, (IS_NAN(a) || (T)a compare (T)b ? a : b), a) \
  ROW_EXTREME(name, initial, compare, kind) \
  BLOCKS(name, initial)

REDUCTION(Sum, 0, +, (A)x, a)
REDUCTION(Prod, 1, *, (A)x, a)
REDUCTION(SumSquare, 0, +, (A)((A)x * (A)x), a)
REDUCTION(L1, 0, +, (A)(x > 0 ? (A)x : (A)0 - (A)x), a)
#if IS_FLOAT
#define NOT_A_NUMBER NAN
REDUCTION(Mean, 0, +, (A)x, a / (A)n)
REDUCTION(L2, 0, +, (A)((A)x * (A)x), SQRT(a))
REDUCTION(LogSum, 0, +, (A)x, LOG(a))
EXTREME(Max, -INFINITY, >, max)
EXTREME(Min, INFINITY, <, min)
#else
/* Sums of integers go through double where the result is no sum: a truncated mean, a root, a logarithm. */
#define NOT_A_NUMBER 0
EXTREME(Max, T_MIN, >, max)
EXTREME(Min, T_MAX, <, min)
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

/* Along a row: the extreme is found first, and then where it stands. */
static int64_t NAME(arg_row)(const T *x, int64_t n, bool last, bool smallest) {
  T best = (T)(smallest ? NAME(Min_row)(x, n) : NAME(Max_row)(x, n));
  int64_t i = last ? n - 1 : 0, step = last ? -1 : 1;
  for (; i >= 0 && i < n; i += step)
    if (x[i] == best || (IS_NAN(best) && IS_NAN(x[i]))) return i;
  return 0;
}

/* Across rows, a tile of columns at once. */
MULTIVERSION static void NAME(arg_columns)(const T *restrict x, int64_t *restrict y, int64_t n, int64_t inner, int64_t width, bool last, bool smallest) {
  T best[COLUMNS];
  int64_t at[COLUMNS];
  for (int64_t c = 0; c < width; ++c) {
    best[c] = x[c];
    at[c] = 0;
  }
  for (int64_t i = 1; i < n; ++i)
    for (int64_t c = 0; c < width; ++c) {
      T a = best[c], b = x[i * inner + c];
      int better = (smallest ? b < a : b > a) & !IS_NAN(a), missing = IS_NAN(b) & !IS_NAN(a), again = last & ((a == b) | (IS_NAN(a) & IS_NAN(b)));
      int take = better | missing | again;
      best[c] = take ? b : a;
      at[c] = take ? i : at[c];
    }
  for (int64_t c = 0; c < width; ++c) y[c] = at[c];
}

static void NAME(arg)(const T *x, int64_t *y, int64_t begin, int64_t end, int64_t n, int64_t inner, bool last, bool smallest) {
  for (int64_t o = begin; o < end; ++o) {
    if (inner == 1) y[o] = NAME(arg_row)(x + o * n, n, last, smallest);
    for (int64_t c = 0; c < inner && inner > 1; c += COLUMNS)
      NAME(arg_columns)(x + o * n * inner + c, y + o * inner + c, n, inner, inner - c < COLUMNS ? inner - c : COLUMNS, last, smallest);
  }
}
static void NAME(argmax)(const void *x, int64_t *y, int64_t begin, int64_t end, int64_t n, int64_t inner, bool last) {
  NAME(arg)(x, y, begin, end, n, inner, last, false);
}
static void NAME(argmin)(const void *x, int64_t *y, int64_t begin, int64_t end, int64_t n, int64_t inner, bool last) {
  NAME(arg)(x, y, begin, end, n, inner, last, true);
}

#undef REDUCTION
#undef EXTREME
#undef NOT_A_NUMBER
#undef STEPS
#undef ROW
#undef ROW_EXTREME
#undef BLOCKS
#undef PRAGMA
#undef SHORT
#undef BLOCK
#undef COLUMNS
#undef CHUNK
#undef IS_NAN
#undef T
#undef A
#undef NAME
#undef IS_FLOAT
