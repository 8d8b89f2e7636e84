/* One element type of the epilogue: T (stored), ACC (computed in), LD, ST, SCALE(float) and ACTIVATE(f, x, n) defined by the includer. */

MULTIVERSION
static void NAME(store)(const gemm_sink *s, int64_t batch, int64_t row, int64_t column, int64_t count, void *acc) {
  const epilogue *e = (const epilogue *)s;
  ACC *x = acc;
  int64_t place = (e->offsets ? e->offsets[batch] : batch * e->batch_stride) + row * e->row_stride + column * e->column_stride;
  int64_t step = e->column_stride;
  if (e->alpha != 1) for (int64_t i = 0; i < count; ++i) x[i] *= SCALE(e->alpha);
  if (e->bias) {
    const T *bias = (const T *)e->bias + (e->bias_offsets ? e->bias_offsets[batch] : 0) + row * e->bias_row_stride + column * e->bias_column_stride;
    int64_t stride = e->bias_column_stride;
    ACC beta = SCALE(e->beta);
    if (stride == 1) for (int64_t i = 0; i < count; ++i) x[i] += beta * LD(bias[i]);
    else for (int64_t i = 0; i < count; ++i) x[i] += beta * LD(bias[i * stride]);
  }
  if (e->residual) {
    const T *residual = (const T *)e->residual + place;
    for (int64_t i = 0; i < count; ++i) x[i] += LD(residual[i * step]);
  }
  ACTIVATE(&e->act, x, count);
  T *out = (T *)e->out + place;
  if (step == 1) for (int64_t i = 0; i < count; ++i) out[i] = ST(x[i]);
  else for (int64_t i = 0; i < count; ++i) out[i * step] = ST(x[i]);
}

#undef T
#undef ACC
#undef LD
#undef ST
#undef NAME
#undef SCALE
#undef ACTIVATE
