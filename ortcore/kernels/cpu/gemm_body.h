/* The blocked product for one accumulator: included with ACC, NAME(x) and VECTOR (64 bytes of ACC) defined. */

/* acc[MR][NR] of the tile += a panel of A times a panel of B. */
static inline __attribute__((always_inline)) void NAME(micro)(const ACC *restrict a, const ACC *restrict b, int64_t k, ACC *restrict tile,
                                                              int64_t ld, bool first) {
  typedef ACC vector __attribute__((vector_size(GEMM_VECTOR)));
  vector sum[GEMM_MR];
  for (int i = 0; i < GEMM_MR; ++i) {
    if (first) sum[i] = (vector){0};
    else memcpy(&sum[i], tile + i * ld, sizeof(vector));
  }
  for (int64_t x = 0; x < k; ++x) {
    vector row;
    memcpy(&row, b + x * (int64_t)(GEMM_VECTOR / sizeof(ACC)), sizeof row);
    for (int i = 0; i < GEMM_MR; ++i) sum[i] += a[x * GEMM_MR + i] * row;
  }
  for (int i = 0; i < GEMM_MR; ++i) memcpy(tile + i * ld, &sum[i], sizeof(vector));
}

MULTIVERSION
static void NAME(block)(const void *a_panels, const void *b_panels, int64_t m, int64_t n, int64_t k, void *tile, int64_t ld, bool first) {
  enum { NR = GEMM_VECTOR / sizeof(ACC) };
  for (int64_t j = 0; j < n; j += NR)
    for (int64_t i = 0; i < m; i += GEMM_MR)
      NAME(micro)((const ACC *)a_panels + i * k, (const ACC *)b_panels + j * k, k, (ACC *)tile + i * ld + j, ld, first);
}

#undef ACC
#undef NAME
