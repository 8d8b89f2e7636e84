#include "nbits.h"

#include <ortcore/base/checked.h>
#include <ortcore/base/cpu.h>
#include <ortcore/base/threads.h>
#include <string.h>

enum { COLUMNS = 16 };                                      /* columns that a task unpacks before it stores rows */

static inline uint32_t code_at(const uint8_t *codes, int bits, int64_t i) {
  int64_t bit = i * bits;
  return codes[bit >> 3] >> (bit & 7) & ((1u << bits) - 1);
}

static float zero_of(const nbits *w, int64_t column, int64_t block) {
  if (w->zeros) return w->zeros[column * w->blocks + block];
  if (!w->zero_codes) return (float)(1 << (w->bits - 1));
  int64_t bytes = (w->blocks * w->bits + 7) / 8;
  return (float)code_at(w->zero_codes + column * bytes, w->bits, block);
}

MULTIVERSION
static void unpack_4bit(const uint8_t *restrict codes, int64_t pairs, float scale, float zero, float *restrict out) {
  for (int64_t i = 0; i < pairs; ++i) {
    out[2 * i] = ((float)(codes[i] & 15) - zero) * scale;
    out[2 * i + 1] = ((float)(codes[i] >> 4) - zero) * scale;
  }
}

MULTIVERSION
static void unpack_8bit(const uint8_t *restrict codes, int64_t n, float scale, float zero, float *restrict out) {
  for (int64_t i = 0; i < n; ++i) out[i] = ((float)codes[i] - zero) * scale;
}

/* Elements [begin, end) of one column. */
static void unpack(const nbits *w, int64_t column, int64_t begin, int64_t end, float *out) {
  const uint8_t *codes = w->codes + column * w->blocks * (w->block * w->bits / 8);
  if (w->groups) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t group = w->groups[i];
      out[i - begin] = ((float)code_at(codes, w->bits, i) - zero_of(w, column, group)) * w->scales[column * w->blocks + group];
    }
    return;
  }
  for (int64_t i = begin; i < end;) {
    int64_t block = i / w->block, stop = (block + 1) * w->block < end ? (block + 1) * w->block : end;
    float scale = w->scales[column * w->blocks + block], zero = zero_of(w, column, block);
    if (w->bits == 8) unpack_8bit(codes + i, stop - i, scale, zero, out + (i - begin));
    else if (w->bits == 4 && (i & 1) == 0 && ((stop - i) & 1) == 0) unpack_4bit(codes + i / 2, (stop - i) / 2, scale, zero, out + (i - begin));
    else for (int64_t j = i; j < stop; ++j) out[j - begin] = ((float)code_at(codes, w->bits, j) - zero) * scale;
    i = stop;
  }
}

static void nbits_pack(const gemm_side *s, int64_t batch, int64_t outer, int64_t outers, int64_t inner, int64_t inners, int width, void *out) {
  const nbits *w = (const nbits *)s;
  float row[256];
  (void)batch;
  for (int64_t o = 0; o < outers; o += width) {
    float *panel = (float *)out + o * inners;
    int64_t count = outers - o < width ? outers - o : width;
    if (count < width) memset(panel, 0, (size_t)(inners * width) * sizeof *panel);
    for (int64_t j = 0; j < count; ++j)
      for (int64_t i = 0; i < inners; i += 256) {
        int64_t n = inners - i < 256 ? inners - i : 256;
        unpack(w, outer + o + j, inner + i, inner + i + n, row);
        for (int64_t x = 0; x < n; ++x) panel[(i + x) * width + j] = row[x];
      }
  }
}

void nbits_init(nbits *w) { w->side = (gemm_side){.pack = nbits_pack}; }

MULTIVERSION
static float dot(const float *restrict a, const float *restrict b, int64_t n) {
  enum { LANES = 32 };
  float sum[LANES] = {0}, total = 0;
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int l = 0; l < LANES; ++l) sum[l] += a[i + l] * b[i + l];
  for (int l = 0; l < LANES; ++l) total += sum[l];
  for (; i < n; ++i) total += a[i] * b[i];
  return total;
}

typedef struct few_rows {
  const nbits *w;
  int64_t m, tasks;
  int shares;
  const float *x;
  const gemm_sink *sink;
  char *scratch;
  size_t share_bytes;
} few_rows;

static void share_range(void *context, int64_t begin, int64_t end) {
  const few_rows *f = context;
  const nbits *w = f->w;
  for (int64_t share = begin; share < end; ++share) {
    float *column = (float *)(f->scratch + (size_t)share * f->share_bytes), *sums = column + w->k;
    for (int64_t task = f->tasks * share / f->shares; task < f->tasks * (share + 1) / f->shares; ++task) {
      int64_t first = task * COLUMNS, count = w->n - first < COLUMNS ? w->n - first : COLUMNS;
      for (int64_t j = 0; j < count; ++j) {
        unpack(w, first + j, 0, w->k, column);
        for (int64_t i = 0; i < f->m; ++i) sums[i * COLUMNS + j] = dot(f->x + i * w->k, column, w->k);
      }
      for (int64_t i = 0; i < f->m; ++i) f->sink->store(f->sink, 0, i, first, count, sums + i * COLUMNS);
    }
  }
}

size_t nbits_scratch_bytes(const nbits *w, int64_t m, int threads) { return align_up((size_t)(w->k + m * COLUMNS) * sizeof(float), 64) * (size_t)threads; }

void nbits_product(const nbits *w, int64_t m, const float *x, const gemm_sink *sink, int threads, void *scratch) {
  few_rows f = {w, m, (w->n + COLUMNS - 1) / COLUMNS, threads, x, sink, scratch, nbits_scratch_bytes(w, m, 1)};
  if (w->n * w->k < 65536) f.shares = 1;
  if (f.shares > f.tasks) f.shares = (int)f.tasks;
  parallel_for(f.shares, f.shares, 1, share_range, &f);
}
