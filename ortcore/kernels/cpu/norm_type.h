/* Normalisation for one type. Before inclusion: T, NAME(f), SQRT. The variance is taken about the mean in a second pass, which loses nothing to
 * cancellation; sixteen partial sums keep the rounding error small. */

MULTIVERSION static T NAME(row_sum)(const T *restrict x, int64_t n) {
  T lanes[16] = {0};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int l = 0; l < 16; ++l) lanes[l] += x[i + l];
  for (int l = 0; i < n; ++i, ++l) lanes[l] += x[i];
  for (int width = 8; width; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0];
}

MULTIVERSION static T NAME(row_squares)(const T *restrict x, int64_t n, T mean) {
  T lanes[16] = {0};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int l = 0; l < 16; ++l) lanes[l] += (x[i + l] - mean) * (x[i + l] - mean);
  for (int l = 0; i < n; ++i, ++l) lanes[l] += (x[i] - mean) * (x[i] - mean);
  for (int width = 8; width; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0];
}

MULTIVERSION static void NAME(row_elements)(const T *x, T *y, const T *restrict scale, const T *restrict bias, int64_t n, T mean, T inverse) {
  if (scale && bias)
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inverse * scale[i] + bias[i];
  else if (scale)
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inverse * scale[i];
  else
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inverse;
}

MULTIVERSION static void NAME(row_affine)(const T *x, T *y, int64_t n, T mean, T factor, T offset) {
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * factor + offset;
}

static void NAME(norm)(const norm_rows *rows, int64_t begin, int64_t end) {
  const T *scale = rows->scale, *bias = rows->bias;
  for (int64_t r = begin; r < end; ++r) {
    const T *x = (const T *)rows->x + r * rows->n;
    T *y = (T *)rows->y + r * rows->n;
    T mean = rows->centre ? NAME(row_sum)(x, rows->n) / (T)rows->n : 0;
    T inverse = 1 / SQRT(NAME(row_squares)(x, rows->n, mean) / (T)rows->n + (T)rows->epsilon);
    if (rows->means) ((T *)rows->means)[r] = mean;
    if (rows->inverses) ((T *)rows->inverses)[r] = inverse;
    if (!rows->per_row) {
      NAME(row_elements)(x, y, scale, bias, rows->n, mean, inverse);
    } else {
      int64_t c = r % rows->per_row;
      NAME(row_affine)(x, y, rows->n, mean, inverse * (scale ? scale[c] : 1), bias ? bias[c] : 0);
    }
  }
}

MULTIVERSION static void NAME(affine)(const void *data, void *result, const void *factor, const void *offset, int64_t channels, int64_t inner, int64_t begin, int64_t end) {
  const T *a = factor, *b = offset;
  for (int64_t r = begin; r < end; ++r) {
    const T *x = (const T *)data + r * inner;
    T *y = (T *)result + r * inner, f = a[r % channels], o = b[r % channels];
    for (int64_t i = 0; i < inner; ++i) y[i] = x[i] * f + o;
  }
}

#undef T
#undef NAME
#undef SQRT
