/* Softmax for one type. Before inclusion: T, NAME(f), EXP, LOG. e^(x - max) / sum: the largest exponent is 0, so nothing overflows; NaN anywhere in
 * a row makes the row NaN. */

MULTIVERSION static T NAME(row_max)(const T *restrict x, int64_t n) {
  T m = -INFINITY;
#pragma omp simd reduction(max : m)
  for (int64_t i = 0; i < n; ++i) m = m > x[i] ? m : x[i];
  return m;
}

/* y = e^(x - m); returns the sum. */
MULTIVERSION static T NAME(row_exp)(const T *x, T *y, int64_t n, T m) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    T e = EXP(x[i] - m);
    y[i] = e;
    sum += e;
  }
  return sum;
}

MULTIVERSION static void NAME(row_scale)(T *y, int64_t n, T factor) {
  for (int64_t i = 0; i < n; ++i) y[i] *= factor;
}

MULTIVERSION static T NAME(row_exp_sum)(const T *x, int64_t n, T m) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += EXP(x[i] - m);
  return sum;
}

MULTIVERSION static void NAME(row_subtract)(const T *x, T *y, int64_t n, T m, T log_sum) {
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) - log_sum;
}

/* The first of the largest elements, which is the first NaN if there is one, as ArgMax has it. */
static void NAME(hard_row)(const T *x, T *y, int64_t n, int64_t step) {
  int64_t best = 0;
  for (int64_t i = 1; i < n && !isnan(x[best * step]); ++i)
    if (x[i * step] > x[best * step] || isnan(x[i * step])) best = i;
  for (int64_t i = 0; i < n; ++i) y[i * step] = (T)(i == best);
}

static void NAME(row)(softmax_kind kind, const T *x, T *y, int64_t n) {
  if (kind == SOFTMAX_HARD) {
    NAME(hard_row)(x, y, n, 1);
    return;
  }
  T m = NAME(row_max)(x, n);
  if (kind == SOFTMAX_PLAIN) NAME(row_scale)(y, n, 1 / NAME(row_exp)(x, y, n, m));
  else NAME(row_subtract)(x, y, n, m, LOG(NAME(row_exp_sum)(x, n, m)));
}

#define COLUMNS 256

/* A block of columns at once: the same three passes, each over rows of the block. */
MULTIVERSION static void NAME(columns)(softmax_kind kind, const T *x, T *y, int64_t n, int64_t inner, int64_t width) {
  T m[COLUMNS], sum[COLUMNS];
  for (int64_t c = 0; c < width; ++c) {
    m[c] = -INFINITY;
    sum[c] = 0;
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t c = 0; c < width; ++c) m[c] = m[c] > x[i * inner + c] ? m[c] : x[i * inner + c];
  if (kind == SOFTMAX_PLAIN) {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t c = 0; c < width; ++c) {
        T e = EXP(x[i * inner + c] - m[c]);
        y[i * inner + c] = e;
        sum[c] += e;
      }
    for (int64_t c = 0; c < width; ++c) sum[c] = 1 / sum[c];
    for (int64_t i = 0; i < n; ++i)
      for (int64_t c = 0; c < width; ++c) y[i * inner + c] *= sum[c];
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t c = 0; c < width; ++c) sum[c] += EXP(x[i * inner + c] - m[c]);
  for (int64_t c = 0; c < width; ++c) sum[c] = LOG(sum[c]);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t c = 0; c < width; ++c) y[i * inner + c] = (x[i * inner + c] - m[c]) - sum[c];
}

static void NAME(softmax)(softmax_kind kind, const void *data, void *result, int64_t begin, int64_t end, int64_t n, int64_t inner) {
  for (int64_t o = begin; o < end; ++o) {
    const T *x = (const T *)data + o * n * inner;
    T *y = (T *)result + o * n * inner;
    if (inner == 1) NAME(row)(kind, x, y, n);
    else if (kind == SOFTMAX_HARD)
      for (int64_t c = 0; c < inner; ++c) NAME(hard_row)(x + c, y + c, n, inner);
    else
      for (int64_t c = 0; c < inner; c += COLUMNS) NAME(columns)(kind, x + c, y + c, n, inner, inner - c < COLUMNS ? inner - c : COLUMNS);
  }
}

#undef COLUMNS
#undef T
#undef NAME
#undef EXP
#undef LOG
