/* One element type of the pools: T (stored), ACC (computed in), LD, ST, LOWEST, NAME and whether it is FLOATING, defined by the includer. */

#if FLOATING
#define IS_NAN(x) __builtin_isnan(x)
#else
#define IS_NAN(x) false
#endif

static inline ACC NAME(power)(ACC x, ACC p) {
#if FLOATING
  return p == 2 ? x * x : p == 1 ? (x < 0 ? -x : x) : POW(x < 0 ? -x : x, p);
#else
  (void)p;
  return x;
#endif
}

static inline __attribute__((always_inline)) void NAME(add)(const pool *q, const T *restrict x, int64_t step, int64_t count, ACC *restrict sum) {
  if (q->op == POOL_MAX) {
    /* NaN wins, as in numpy. */
    if (step == 1) for (int64_t i = 0; i < count; ++i) { ACC v = LD(x[i]); sum[i] = v > sum[i] || IS_NAN(v) ? v : sum[i]; }
    else for (int64_t i = 0; i < count; ++i) { ACC v = LD(x[i * step]); sum[i] = v > sum[i] || IS_NAN(v) ? v : sum[i]; }
  } else if (q->op == POOL_AVERAGE) {
    if (step == 1) for (int64_t i = 0; i < count; ++i) sum[i] += LD(x[i]);
    else for (int64_t i = 0; i < count; ++i) sum[i] += LD(x[i * step]);
  } else {
    for (int64_t i = 0; i < count; ++i) sum[i] += NAME(power)(LD(x[i * step]), (ACC)q->p);
  }
}

static inline ACC NAME(finish)(const pool *q, ACC sum, int64_t count) {
  (void)count;
#if FLOATING
  if (q->op == POOL_AVERAGE) return count ? sum / (ACC)count : 0;
  if (q->op == POOL_LP) return q->p == 1 ? sum : POW(sum, 1 / (ACC)q->p);
#endif
  return (void)q, sum;
}

/* One output row (depth od, height oh) of a plain plane, positions ow.. */
MULTIVERSION
static void NAME(plain_row)(const pool *q, const void *plane, int64_t od, int64_t oh, int64_t ow, int64_t count, void *out) {
  const window *w = q->w;
  ACC sum[POOL_LANES];
  for (int64_t i = 0; i < count; ++i) sum[i] = q->op == POOL_MAX ? LOWEST : 0;
  for (int64_t tap = 0; tap < window_taps(w); ++tap) {
    int64_t kw = tap % w->kernel[2], kh = tap / w->kernel[2] % w->kernel[1], kd = tap / (w->kernel[2] * w->kernel[1]);
    int64_t ih = q->tables[1][kh * w->out[1] + oh], id = q->tables[0][kd * w->out[0] + od];
    if (ih < 0 || id < 0) continue;
    const int32_t *columns = q->tables[2] + kw * w->out[2] + ow;
    int64_t begin = 0, end = count;
    while (begin < end && columns[begin] < 0) ++begin;
    while (end > begin && columns[end - 1] < 0) --end;
    if (begin < end) NAME(add)(q, (const T *)plane + (id * w->in[1] + ih) * w->in[2] + columns[begin], w->stride[2], end - begin, sum + begin);
  }
  int64_t outer = q->op == POOL_AVERAGE ? (int64_t)q->counts[0][od] * q->counts[1][oh] : 0;
  for (int64_t i = 0; i < count; ++i) ((T *)out)[i] = ST(NAME(finish)(q, sum[i], q->op == POOL_AVERAGE ? outer * q->counts[2][ow + i] : 0));
}

/* One output position, channels c.. of a channels-last image. */
MULTIVERSION
static void NAME(last_position)(const pool *q, const void *image, int64_t od, int64_t oh, int64_t ow, int64_t count, void *out) {
  const window *w = q->w;
  ACC sum[POOL_LANES];
  for (int64_t i = 0; i < count; ++i) sum[i] = q->op == POOL_MAX ? LOWEST : 0;
  for (int64_t tap = 0; tap < window_taps(w); ++tap) {
    int64_t kw = tap % w->kernel[2], kh = tap / w->kernel[2] % w->kernel[1], kd = tap / (w->kernel[2] * w->kernel[1]);
    int64_t iw = q->tables[2][kw * w->out[2] + ow], ih = q->tables[1][kh * w->out[1] + oh], id = q->tables[0][kd * w->out[0] + od];
    if (iw >= 0 && ih >= 0 && id >= 0) NAME(add)(q, (const T *)image + ((id * w->in[1] + ih) * w->in[2] + iw) * q->channels, 1, count, sum);
  }
  int64_t taps = q->op == POOL_AVERAGE ? (int64_t)q->counts[0][od] * q->counts[1][oh] * q->counts[2][ow] : 0;
  for (int64_t i = 0; i < count; ++i) ((T *)out)[i] = ST(NAME(finish)(q, sum[i], taps));
}

/* The place of the largest element under one window; `x` is the channel's first element, `step` the distance of positions. */
static int64_t NAME(place)(const pool *q, const void *x, int64_t step, int64_t od, int64_t oh, int64_t ow) {
  const window *w = q->w;
  ACC best = 0;
  int64_t place = -1;
  for (int64_t tap = 0; tap < window_taps(w); ++tap) {
    int64_t kw = tap % w->kernel[2], kh = tap / w->kernel[2] % w->kernel[1], kd = tap / (w->kernel[2] * w->kernel[1]);
    int64_t iw = q->tables[2][kw * w->out[2] + ow], ih = q->tables[1][kh * w->out[1] + oh], id = q->tables[0][kd * w->out[0] + od];
    if (iw < 0 || ih < 0 || id < 0) continue;
    ACC v = LD(((const T *)x)[((id * w->in[1] + ih) * w->in[2] + iw) * step]);
    if (place >= 0 && !(v > best) && (!IS_NAN(v) || IS_NAN(best))) continue;
    best = v;
    place = q->column_major ? id + (ih + iw * w->in[1]) * w->in[0] : (id * w->in[1] + ih) * w->in[2] + iw;
  }
  return place < 0 ? 0 : place;
}

/* All positions of some neighbouring channels: `count` lanes, `positions` steps of `stride`. A plain plane is one channel. */
MULTIVERSION
static void NAME(global)(const pool *q, const void *x, int64_t positions, int64_t stride, int64_t count, void *out) {
  ACC sum[POOL_LANES];
  bool single = count == 1 && stride == 1;
  int64_t lanes = single ? 64 : count;                      /* partial results of one channel run side by side */
  for (int64_t i = 0; i < lanes; ++i) sum[i] = q->op == POOL_MAX ? LOWEST : 0;
  if (!single) for (int64_t i = 0; i < positions; ++i) NAME(add)(q, (const T *)x + i * stride, 1, count, sum);
  else for (int64_t i = 0; i < positions; i += 64) NAME(add)(q, (const T *)x + i, 1, positions - i < 64 ? positions - i : 64, sum);
  for (int64_t i = 1; single && i < 64; ++i) {
    if (q->op == POOL_MAX) sum[0] = sum[i] > sum[0] || IS_NAN(sum[i]) ? sum[i] : sum[0];
    else sum[0] += sum[i];
  }
  for (int64_t i = 0; i < count; ++i) ((T *)out)[i] = ST(NAME(finish)(q, sum[i], positions));
}

#undef T
#undef ACC
#undef LD
#undef ST
#undef LOWEST
#undef FLOATING
#undef POW
#undef NAME
#undef IS_NAN
