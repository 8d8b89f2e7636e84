/* One pass of resizing for one type. Before inclusion: T, NAME(f). */

MULTIVERSION static void NAME(weigh)(const T *restrict x, T w, T *restrict y, int64_t n, bool first) {
  if (first)
    for (int64_t i = 0; i < n; ++i) y[i] = w * x[i];
  else
    for (int64_t i = 0; i < n; ++i) y[i] += w * x[i];
}

MULTIVERSION static void NAME(weigh_two)(const T *restrict a, const T *restrict b, T v, T w, T *restrict y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = v * a[i] + w * b[i];
}

/* The resized axis is the last one. */
MULTIVERSION static void NAME(gather_row)(const T *restrict x, const int64_t *restrict index, const double *restrict weight, int taps, int64_t n, T *restrict y) {
  for (int64_t j = 0; j < n; ++j) y[j] = (T)weight[j] * x[index[j]];
  for (int t = 1; t < taps; ++t)
    for (int64_t j = 0; j < n; ++j) y[j] += (T)weight[t * n + j] * x[index[t * n + j]];
}

MULTIVERSION static void NAME(gather_row_two)(const T *restrict x, const int64_t *restrict index, const double *restrict weight, int64_t n, T *restrict y) {
  for (int64_t j = 0; j < n; ++j) y[j] = (T)weight[j] * x[index[j]] + (T)weight[n + j] * x[index[n + j]];
}

typedef struct NAME(pass) { const resize_axis *a; const resize_taps *taps; int64_t inner; const T *x; T *y; } NAME(pass);

static void NAME(pass_rows)(void *context, int64_t begin, int64_t end) {
  const NAME(pass) *p = context;
  const resize_axis *a = p->a;
  const resize_taps *by = p->taps;
  int64_t n = p->inner;
  for (int64_t row = begin; row < end; ++row) {
    int64_t j = row % a->out;
    const T *x = p->x + row / a->out * a->in * n;
    T *y = p->y + row * n;
    if (by->count == 2) {
      NAME(weigh_two)(x + by->index[j] * n, x + by->index[a->out + j] * n, (T)by->weight[j], (T)by->weight[a->out + j], y, n);
      continue;
    }
    for (int t = 0; t < by->count; ++t) NAME(weigh)(x + by->index[t * a->out + j] * n, (T)by->weight[t * a->out + j], y, n, t == 0);
  }
}

static void NAME(pass_last)(void *context, int64_t begin, int64_t end) {
  const NAME(pass) *p = context;
  const resize_axis *a = p->a;
  const resize_taps *by = p->taps;
  for (int64_t row = begin; row < end; ++row) {
    if (by->count == 2) NAME(gather_row_two)(p->x + row * a->in, by->index, by->weight, a->out, p->y + row * a->out);
    else NAME(gather_row)(p->x + row * a->in, by->index, by->weight, by->count, a->out, p->y + row * a->out);
  }
}

void NAME(resize_pass)(int threads, const resize_axis *a, const resize_taps *by, int64_t outer, int64_t inner, const T *x, T *y) {
  NAME(pass) p = {a, by, inner, x, y};
  int64_t each = by->count * (inner == 1 ? a->out : inner);
  if (inner == 1) parallel_for(threads, outer, ELEMENTS_PER_THREAD / each + 1, NAME(pass_last), &p);
  else parallel_for(threads, outer * a->out, ELEMENTS_PER_THREAD / each + 1, NAME(pass_rows), &p);
}
