/* Packing of an image through a window: T (element), ACC (accumulator), LD(x) and NAME(x) defined by the includer. */

/* `count` positions of one output row at one tap, from `ow` on; `row` is the input row, NULL where all of it is padding. */
static inline void NAME(span)(const conv_image *m, const T *row, int64_t kw, int64_t ow, int64_t count, ACC *restrict out) {
  const int32_t *columns = m->tables[2] + kw * m->w->out[2] + ow;
  ACC zero = (ACC)m->zero_point;
  if (!row) {
    for (int64_t j = 0; j < count; ++j) out[j] = 0;
    return;
  }
  if (m->unit_step && columns[0] >= 0 && columns[count - 1] >= 0) {
    const T *from = row + columns[0];
    for (int64_t j = 0; j < count; ++j) out[j] = LD(from[j]) - zero;
    return;
  }
  int64_t step = m->strides.spatial[2];
  for (int64_t j = 0; j < count; ++j) out[j] = columns[j] < 0 ? 0 : LD(row[columns[j] * step]) - zero;
}

MULTIVERSION
static void NAME(panel)(const conv_image *m, const T *image, int64_t position, int64_t count, int64_t inner, int64_t inners, int width,
                        ACC *restrict out) {
  const window *w = m->w;
  int64_t taps = window_taps(w), channel = inner / taps, tap = inner % taps;
  if (count < width) memset(out, 0, (size_t)inners * (size_t)width * sizeof(ACC));
  for (int64_t i = 0; i < inners; ++i, out += width) {
    int64_t kw = tap % w->kernel[2], kh = tap / w->kernel[2] % w->kernel[1], kd = tap / (w->kernel[2] * w->kernel[1]);
    const T *plane = image + channel * m->strides.channel;
    for (int64_t j = 0, p = position; j < count;) {
      int64_t ow = p % w->out[2], oh = p / w->out[2] % w->out[1], od = p / (w->out[2] * w->out[1]);
      int64_t length = w->out[2] - ow < count - j ? w->out[2] - ow : count - j;
      int64_t ih = m->tables[1][kh * w->out[1] + oh], id = m->tables[0][kd * w->out[0] + od];
      const T *row = ih < 0 || id < 0 ? NULL : plane + id * m->strides.spatial[0] + ih * m->strides.spatial[1];
      NAME(span)(m, row, kw, ow, length, out + j);
      j += length, p += length;
    }
    if (++tap == taps) tap = 0, ++channel;
  }
}

static void NAME(pack)(const gemm_side *s, int64_t batch, int64_t outer, int64_t outers, int64_t inner, int64_t inners, int width, void *out) {
  const conv_image *m = (const conv_image *)s;
  const T *image = (const T *)m->data + batch / m->groups * m->strides.batch + batch % m->groups * m->channels * m->strides.channel;
  for (int64_t o = 0; o < outers; o += width)
    NAME(panel)(m, image, outer + o, outers - o < width ? outers - o : width, inner, inners, width, (ACC *)out + o * inners);
}

#undef T
#undef ACC
#undef LD
#undef NAME
