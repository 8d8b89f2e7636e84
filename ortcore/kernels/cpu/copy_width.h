/* Template: the inner loops of copy.c for elements of WIDTH bytes, which it includes once per width. `to` and `from` are byte addresses
 * and the strides count bytes; row i and column j of a block are at to + i·to1 + j·to0 and from + i·from1 + j·from0. */
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define FN(name) PASTE(name##_w, WIDTH)

#if WIDTH == 1
typedef uint8_t FN(element);
#define ZIP_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif WIDTH == 2
typedef uint16_t FN(element);
#define ZIP_LOW 0, 8, 1, 9, 2, 10, 3, 11
#define ZIP_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#elif WIDTH == 4
typedef uint32_t FN(element);
#define ZIP_LOW 0, 4, 1, 5
#define ZIP_HIGH 2, 6, 3, 7
#elif WIDTH == 8
typedef uint64_t FN(element);
#define ZIP_LOW 0, 2
#define ZIP_HIGH 1, 3
#else
typedef unsigned __int128 FN(element);
#endif

static inline void FN(move)(char *to, const char *from) { memcpy(to, from, WIDTH); }

/* One line of n elements. The strides that occur most are written out, so that they become vector loops. */
static inline void FN(line)(char *restrict to, int64_t to_stride, const char *restrict from, int64_t from_stride, int64_t n) {
  if (to_stride == WIDTH && from_stride == 0) {
    FN(element) x;
    memcpy(&x, from, WIDTH);
    for (int64_t i = 0; i < n; ++i) memcpy(to + i * WIDTH, &x, WIDTH);
  } else if (to_stride == WIDTH && from_stride == -WIDTH) {
    for (int64_t i = 0; i < n; ++i) FN(move)(to + i * WIDTH, from - i * WIDTH);
  } else if (to_stride == WIDTH && from_stride == 2 * WIDTH) {
    for (int64_t i = 0; i < n; ++i) FN(move)(to + i * WIDTH, from + i * 2 * WIDTH);
  } else if (to_stride == 2 * WIDTH && from_stride == WIDTH) {
    for (int64_t i = 0; i < n; ++i) FN(move)(to + i * 2 * WIDTH, from + i * WIDTH);
  } else {
    for (int64_t i = 0; i < n; ++i) FN(move)(to + i * to_stride, from + i * from_stride);
  }
}

/* Channels of an image apart, or together again: row i of `from`, k elements, goes to k lines of `to`, or the reverse. With k known the
 * compiler makes vector shuffles of it. */
static inline __attribute__((always_inline)) void FN(apart)(char *restrict to, int64_t line, const char *restrict from, int64_t n,
                                                            const int k) {
  for (int64_t i = 0; i < n; ++i)
    for (int c = 0; c < k; ++c) FN(move)(to + c * line + i * WIDTH, from + (i * k + c) * WIDTH);
}
static inline __attribute__((always_inline)) void FN(together)(char *restrict to, const char *restrict from, int64_t line, int64_t n,
                                                               const int k) {
  for (int64_t i = 0; i < n; ++i)
    for (int c = 0; c < k; ++c) FN(move)(to + (i * k + c) * WIDTH, from + c * line + i * WIDTH);
}

/* Any strides; the longer direction is the inner loop. */
MULTIVERSION static void FN(copy_elements)(char *to, const char *from, int64_t n1, int64_t to1, int64_t from1, int64_t n0, int64_t to0,
                                           int64_t from0) {
  bool apart = to1 == WIDTH && from0 == WIDTH && from1 == n0 * WIDTH, together = from1 == WIDTH && to0 == WIDTH && to1 == n0 * WIDTH;
  if (apart && n0 == 3) FN(apart)(to, to0, from, n1, 3);
  else if (apart && n0 == 4) FN(apart)(to, to0, from, n1, 4);
  else if (together && n0 == 2) FN(together)(to, from, from0, n1, 2);
  else if (together && n0 == 3) FN(together)(to, from, from0, n1, 3);
  else if (together && n0 == 4) FN(together)(to, from, from0, n1, 4);
  else if (n0 < 8 && n1 > n0)
    for (int64_t j = 0; j < n0; ++j) FN(line)(to + j * to0, to1, from + j * from0, from1, n1);
  else
    for (int64_t i = 0; i < n1; ++i) FN(line)(to + i * to1, to0, from + i * from1, from0, n0);
}

#if WIDTH < 16
enum { FN(TILE) = 16 / WIDTH };
typedef FN(element) FN(vector) __attribute__((vector_size(16)));

/* A TILE × TILE square: interleaving row i with row i + TILE/2, log2(TILE) times over, transposes it. */
static inline void FN(transpose_tile)(char *to, int64_t to1, const char *from, int64_t from0) {
  FN(vector) a[FN(TILE)], b[FN(TILE)];
  for (int i = 0; i < FN(TILE); ++i) memcpy(&a[i], from + i * from0, 16);
#pragma GCC unroll 4
  for (int stage = 1; stage < FN(TILE); stage *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < FN(TILE) / 2; ++i) {
      b[2 * i] = __builtin_shufflevector(a[i], a[i + FN(TILE) / 2], ZIP_LOW);
      b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + FN(TILE) / 2], ZIP_HIGH);
    }
    memcpy(a, b, sizeof a);
  }
  for (int i = 0; i < FN(TILE); ++i) memcpy(to + i * to1, &a[i], 16);
}

/* A square of whole cache lines by way of a local copy, so that each line is touched once: rows a power of two apart share so few places
 * of the cache that they would evict each other before all of a line is used. */
static inline void FN(transpose_lines)(char *to, int64_t to1, const char *from, int64_t from0) {
  enum { TILE = FN(TILE), LINE = 64 / WIDTH };
  char square[LINE * 64];
  for (int j = 0; j < LINE; ++j) memcpy(square + j * 64, from + j * from0, 64);
  for (int i = 0; i < LINE; i += TILE)
    for (int j = 0; j < LINE; j += TILE) FN(transpose_tile)(to + i * to1 + j * WIDTH, to1, square + j * 64 + i * WIDTH, 64);
}

/* Up to a cache line's worth of rows. */
static void FN(transpose_rows)(char *to, const char *from, int64_t n1, int64_t to1, int64_t from1, int64_t n0, int64_t to0, int64_t from0) {
  enum { TILE = FN(TILE), LINE = 64 / WIDTH };
  int64_t j = 0;
  if (n1 == LINE && (to1 % 2048 == 0 || from0 % 2048 == 0))
    for (; j + LINE <= n0; j += LINE) FN(transpose_lines)(to + j * WIDTH, to1, from + j * from0, from0);
  for (; j + TILE <= n0; j += TILE) {
    int64_t i = 0;
    for (; i + TILE <= n1; i += TILE) FN(transpose_tile)(to + i * to1 + j * WIDTH, to1, from + j * from0 + i * WIDTH, from0);
    for (; i < n1; ++i) FN(line)(to + i * to1 + j * WIDTH, WIDTH, from + j * from0 + i * WIDTH, from0, TILE);
  }
  if (j < n0) FN(copy_elements)(to + j * to0, from + j * from0, n1, to1, from1, n0 - j, to0, from0);
}

/* Columns are adjacent in `to`, rows are adjacent in `from`. Whole cache lines of `from` are used before they can be evicted, and not more
 * rows of it at a time than the TLB has pages for. */
static void FN(copy_transposed)(char *to, const char *from, int64_t n1, int64_t to1, int64_t from1, int64_t n0, int64_t to0,
                                int64_t from0) {
  enum { LINE = 64 / WIDTH, COLUMNS = 512 };
  for (int64_t j = 0; j < n0; j += COLUMNS)
    for (int64_t i = 0; i < n1; i += LINE)
      FN(transpose_rows)(to + i * to1 + j * to0, from + i * from1 + j * from0, n1 - i < LINE ? n1 - i : LINE, to1, from1,
                         n0 - j < COLUMNS ? n0 - j : COLUMNS, to0, from0);
}
#endif

#undef ZIP_LOW
#undef ZIP_HIGH
#undef FN
#undef PASTE
#undef PASTE_
#undef WIDTH
