/* Packing of a strided matrix: included with T (element), ACC (accumulator), LD(x) and NAME(x) defined. ZERO(x) gives a zero point's value
 * where the type has them. */

MULTIVERSION
static void NAME(panel)(const T *restrict data, int64_t outer_stride, int64_t inner_stride, int64_t outers, int64_t inners, int width,
                        const ACC *zero, ACC *restrict out) {
  if (outers < width) memset(out, 0, (size_t)inners * (size_t)width * sizeof(ACC));
  if (outer_stride == 1) {
    for (int64_t i = 0; i < inners; ++i) {
      const T *row = data + i * inner_stride;
      for (int64_t o = 0; o < outers; ++o) out[i * width + o] = LD(row[o]) - zero[o];
    }
    return;
  }
  for (int64_t o = 0; o < outers; ++o) {
    const T *row = data + o * outer_stride;
    if (inner_stride == 1) for (int64_t i = 0; i < inners; ++i) out[i * width + o] = LD(row[i]) - zero[o];
    else for (int64_t i = 0; i < inners; ++i) out[i * width + o] = LD(row[i * inner_stride]) - zero[o];
  }
}

static void NAME(pack)(const gemm_side *s, int64_t batch, int64_t outer, int64_t outers, int64_t inner, int64_t inners, int width, void *out) {
  const gemm_matrix *m = (const gemm_matrix *)s;
  const T *data = (const T *)m->data + (m->offsets ? m->offsets[batch] : batch * m->batch_stride);
  const T *zero_points = m->zero_points;
  if (zero_points) zero_points += batch % m->zero_point_batches * m->zero_point_batch_stride;
  for (int64_t o = 0; o < outers; o += width) {
    ACC zero[GEMM_VECTOR] = {0};
    int64_t count = outers - o < width ? outers - o : width;
    for (int64_t j = 0; zero_points && j < count; ++j) zero[j] = LD(zero_points[(outer + o + j) % m->zero_point_period]);
    NAME(panel)(data + (outer + o) * m->outer_stride + inner * m->inner_stride, m->outer_stride, m->inner_stride, count, inners, width, zero,
                (ACC *)out + o * inners);
  }
}

#undef T
#undef ACC
#undef LD
#undef NAME
