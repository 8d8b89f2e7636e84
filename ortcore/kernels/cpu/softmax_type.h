/* Softmax for one type. Before inclusion: T, NAME(f), EXP, LOG. e^(x - max) / sum: the largest exponent is 0, so nothing overflows; NaN anywhere in
 * a row makes the row NaN. */

MULTIVERSION static T NAME(row_max)(const T *restrict x, int64_t n) {
  T lanes[16];
  for (int l = 0; l < 16; ++l) lanes[l] = -INFINITY;
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int l = 0; l < 16; ++l) lanes[l] = lanes[l] > x[i + l] ? lanes[l] : x[i + l];
  for (int l = 0; i < n; ++i, ++l) lanes[l] = lanes[l] > x[i] ? lanes[l] : x[i];
  T m = lanes[0];
  for (int l = 1; l < 16; ++l) m = m > lanes[l] ? m : lanes[l];
  return m;
}

/* y = e^(x - m); returns the sum. */
MULTIVERSION static T NAME(row_exp)(const T *x, T *y, int64_t n, T m) {
  T lanes[16] = {0};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int l = 0; l < 16; ++l) {
      T e = EXP(x[i + l] - m);
      y[i + l] = e;
      lanes[l] += e;
    }
  for (int l = 0; i < n; ++i, ++l) {
    T e = EXP(x[i] - m);
    y[i] = e;
    lanes[l] += e;
  }
  for (int width = 8; width; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0];
}

MULTIVERSION static void NAME(row_scale)(T *y, int64_t n, T factor) {
  for (int64_t i = 0; i < n; ++i) y[i] *= factor;
}

MULTIVERSION static T NAME(row_exp_sum)(const T *x, int64_t n, T m) {
  T lanes[16] = {0};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int l = 0; l < 16; ++l) lanes[l] += EXP(x[i + l] - m);
  for (int l = 0; i < n; ++i, ++l) lanes[l] += EXP(x[i] - m);
  for (int width = 8; width; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0];
}

MULTIVERSION static void NAME(row_subtract)(const T *x, T *y, int64_t n, T m, T log_sum) {
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) - log_sum;
}

static void NAME(hard_row)(const T *x, T *y, int64_t n, int64_t step) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i)
    if (x[i * step] > x[best * step]) best = i;
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
