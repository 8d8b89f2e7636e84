/* copy_strided against one element at a time, over random views of every element size. */
#include "check.h"

#include <ortcore/kernels/cpu/copy.h>

static uint32_t seed = 1;
static int64_t below(int64_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (int64_t)((seed >> 8) % (uint32_t)n);
}

/* A random permutation of [0, rank). */
static void shuffle(int rank, int *perm) {
  for (int i = 0; i < rank; ++i) perm[i] = i;
  for (int i = rank - 1; i > 0; --i) {
    int j = (int)below(i + 1), swap = perm[i];
    perm[i] = perm[j];
    perm[j] = swap;
  }
}

/* Dense strides in a random order of axes, sometimes reversed; returns the elements that the view spans and the offset of index 0. */
static int64_t random_view(int rank, const int64_t *dims, bool may_repeat, int64_t *strides, int64_t *offset) {
  int perm[COPY_MAX_RANK];
  int64_t n = 1;
  shuffle(rank, perm);
  *offset = 0;
  if (below(3) == 0)
    for (int i = 0; i < rank; ++i) perm[i] = rank - 1 - i;  /* innermost first: the plain order */
  for (int i = 0; i < rank; ++i) {
    int d = perm[i];
    if (may_repeat && below(6) == 0) {
      strides[d] = 0;
      continue;
    }
    strides[d] = n;
    n *= dims[d] + (below(4) == 0 ? below(3) : 0);         /* now and then with a gap */
    if (below(6) == 0) {
      *offset += strides[d] * (dims[d] - 1);
      strides[d] = -strides[d];
    }
  }
  return n;
}

static void copy_slowly(const strided_copy *c) {
  int64_t index[COPY_MAX_RANK] = {0};
  for (;;) {
    int64_t to = c->to_offset, from = c->from_offset;
    for (int d = 0; d < c->rank; ++d) to += index[d] * c->to_strides[d], from += index[d] * c->from_strides[d];
    for (int b = 0; b < c->bits; ++b) packed_put(c->to, to * c->bits + b, 1, packed_get(c->from, from * c->bits + b, 1));
    int d = c->rank - 1;
    while (d >= 0 && ++index[d] == c->dims[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

static void compare(strided_copy *c, int64_t to_count, int64_t from_count, int threads) {
  size_t to_bytes = (size_t)(to_count * c->bits + 7) / 8, from_bytes = (size_t)(from_count * c->bits + 7) / 8;
  uint8_t *from = malloc(from_bytes + 1), *got = malloc(to_bytes + 1), *want = malloc(to_bytes + 1);
  for (size_t i = 0; i < from_bytes; ++i) from[i] = (uint8_t)below(256);
  memset(got, 0xa5, to_bytes + 1);
  memset(want, 0xa5, to_bytes + 1);
  c->from = from;
  c->to = want;
  copy_slowly(c);
  c->to = got;
  copy_strided(threads, c);
  char dims[DIMS_TEXT], to[DIMS_TEXT], back[DIMS_TEXT];
  CHECKF(memcmp(got, want, to_bytes + 1) == 0, "%d bits, dims %s, to %s, from %s", c->bits,
         dims_format(dims, sizeof dims, c->rank, c->dims),
         dims_format(to, sizeof to, c->rank, c->to_strides), dims_format(back, sizeof back, c->rank, c->from_strides));
  free(from);
  free(got);
  free(want);
}

static void test_random_views(void) {
  static const int bits[] = {8, 16, 32, 64, 128, 4, 2, 6};
  for (int i = 0; i < 6000; ++i) {
    strided_copy c = {.bits = bits[i % 8], .rank = (int)below(6)};
    for (int d = 0; d < c.rank; ++d) c.dims[d] = 1 + below(below(4) == 0 ? 40 : 5);
    int64_t to = random_view(c.rank, c.dims, false, c.to_strides, &c.to_offset);
    int64_t from = random_view(c.rank, c.dims, true, c.from_strides, &c.from_offset);
    compare(&c, to, from, 1);
  }
}

/* Large enough to be divided among threads. */
static void test_large(void) {
  static const int64_t shapes[][3] = {{3, 401, 300}, {1, 1000, 700}, {700, 1, 700}, {64, 64, 64}, {2, 3, 100000}, {100000, 3, 2}};
  static const int perms[][3] = {{0, 2, 1}, {1, 0, 2}, {2, 1, 0}, {2, 0, 1}, {0, 1, 2}};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
    for (size_t p = 0; p < sizeof perms / sizeof *perms; ++p) {
      int64_t strides[3];
      strided_copy c = {.bits = s % 2 ? 32 : 16, .rank = 3};
      int64_t n = dense_strides(3, shapes[s], strides);
      for (int d = 0; d < 3; ++d) c.dims[d] = shapes[s][perms[p][d]], c.from_strides[d] = strides[perms[p][d]];
      dense_strides(3, c.dims, c.to_strides);
      compare(&c, n, n, 4);
    }
  }
}

static void test_nothing_to_copy(void) {
  strided_copy c = {.bits = 32, .rank = 2, .dims = {3, 0}, .to_strides = {1, 1}, .from_strides = {1, 1}};
  copy_strided(4, &c);
  copy_bytes(4, NULL, NULL, 0);
}

int main(void) {
  RUN(test_random_views);
  RUN(test_large);
  RUN(test_nothing_to_copy);
  return check_result();
}
