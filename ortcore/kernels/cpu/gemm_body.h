/* The blocked product for one accumulator: included with ACC and NAME(x) defined. */

/* acc[MR][panels * NR] of the tile += a panel of A times one or two panels of B. */
static inline __attribute__((always_inline)) void NAME(micro)(const ACC *restrict a, const ACC *restrict b, int64_t k, ACC *restrict tile, int64_t ld, bool first,
                                                              const int panels) {
  typedef ACC vector __attribute__((vector_size(GEMM_VECTOR)));
  enum { NR = GEMM_VECTOR / sizeof(ACC) };
  vector sum[GEMM_MR][2] = {{{0}}};
#pragma GCC unroll 8
  for (int i = 0; i < GEMM_MR; ++i)
    for (int j = 0; j < panels && !first; ++j) memcpy(&sum[i][j], tile + i * ld + j * NR, sizeof(vector));
  for (int64_t x = 0; x < k; ++x) {
    vector row[2];
    for (int j = 0; j < panels; ++j) memcpy(&row[j], b + (j * k + x) * NR, sizeof(vector));
#pragma GCC unroll 8
    for (int i = 0; i < GEMM_MR; ++i)
      for (int j = 0; j < panels; ++j) sum[i][j] += a[x * GEMM_MR + i] * row[j];
  }
#pragma GCC unroll 8
  for (int i = 0; i < GEMM_MR; ++i)
    for (int j = 0; j < panels; ++j) memcpy(tile + i * ld + j * NR, &sum[i][j], sizeof(vector));
}

MULTIVERSION
static void NAME(block)(const void *a, const void *b, int64_t m, int64_t n, int64_t k, void *tile, int64_t ld, bool first) {
  enum { NR = GEMM_VECTOR / sizeof(ACC) };
  for (int64_t j = 0; j < n; j += NR)
    for (int64_t i = 0; i < m; i += GEMM_MR) NAME(micro)((const ACC *)a + i * k, (const ACC *)b + j * k, k, (ACC *)tile + i * ld + j, ld, first, 1);
}

/* AVX-512 has registers for two panels of B, and six sums would wait for each other. */
FOR_AVX512
static void NAME(wide_block)(const void *a, const void *b, int64_t m, int64_t n, int64_t k, void *tile, int64_t ld, bool first) {
  enum { NR = GEMM_VECTOR / sizeof(ACC) };
  for (int64_t j = 0; j < n; j += 2 * NR)
    for (int64_t i = 0; i < m; i += GEMM_MR) {
      const ACC *rows = (const ACC *)a + i * k, *columns = (const ACC *)b + j * k;
      if (n - j > NR) NAME(micro)(rows, columns, k, (ACC *)tile + i * ld + j, ld, first, 2);
      else NAME(micro)(rows, columns, k, (ACC *)tile + i * ld + j, ld, first, 1);
    }
}

#undef ACC
#undef NAME
