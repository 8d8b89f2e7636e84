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
  enum { WIDE = 32 };
  float sum[WIDE] = {0}, total = 0;
  int64_t i = 0;
  for (; i + WIDE <= n; i += WIDE)
    for (int l = 0; l < WIDE; ++l) sum[l] += a[i + l] * b[i + l];
  for (int l = 0; l < WIDE; ++l) total += sum[l];
  for (; i < n; ++i) total += a[i] * b[i];
  return total;
}

/* ---- Few rows ------------------------------------------------------------------------------------------------------- */

/* Codes of 4 bits are multiplied as they lie. A chunk of 64 bytes is 16 words of 8 codes: shifted by 4j, the words give the j-th code of each, and
 * the row is put in that order beforehand. Zero points go by the sums of blocks: sum (q - zero) x = sum q x - zero * sum x. */
enum { LANES = 16, WORD_CODES = 8, CHUNK_CODES = LANES * WORD_CODES };
typedef float lanes_f32 __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t lanes_i32 __attribute__((vector_size(LANES * sizeof(int32_t))));

static bool multiplies_codes(const nbits *w) {
  return w->bits == 4 && !w->groups && w->block % (4 * WORD_CODES) == 0 && w->blocks * w->block % CHUNK_CODES == 0;
}

static void split_row(const nbits *w, const float *x, float *out, float *sums) {
  memset(sums, 0, (size_t)w->blocks * sizeof *sums);
  for (int64_t i = 0; i < w->blocks * w->block; ++i) {
    int64_t chunk = i / CHUNK_CODES, word = i % CHUNK_CODES / WORD_CODES, j = i % WORD_CODES;
    out[chunk * CHUNK_CODES + j * LANES + word] = i < w->k ? x[i] : 0;
    if (i < w->k) sums[i / w->block] += x[i];
  }
}

MULTIVERSION
static float dot_4bit(const uint8_t *restrict codes, const float *restrict x, const float *restrict scales, const float *end, int64_t chunks, int64_t block) {
  /* Scales of the blocks that a chunk touches, spread over its words. */
  int touched = block < CHUNK_CODES ? (int)(CHUNK_CODES / block) : 1, chunk_shift = block > CHUNK_CODES
      ? __builtin_ctzll((uint64_t)block / CHUNK_CODES) : 0;
  lanes_i32 spread;
  lanes_f32 sum = {0};
  for (int l = 0; l < LANES; ++l) spread[l] = (int32_t)(l * touched / LANES);
  for (int64_t c = 0; c < chunks; ++c, codes += CHUNK_CODES / 2, x += CHUNK_CODES) {
    lanes_i32 words;
    lanes_f32 parts[2] = {0}, scale = {0};
    memcpy(&words, codes, sizeof words);
    for (int j = 0; j < WORD_CODES; ++j) {
      lanes_f32 row;
      memcpy(&row, x + j * LANES, sizeof row);
      parts[j & 1] += __builtin_convertvector(words >> (4 * j) & 15, lanes_f32) * row;
    }
    /* Scales behind those of the chunk are read with them, where there are any: one load instead of a detour through memory. */
    const float *own = scales + (c * touched >> chunk_shift);
    if (end - own >= LANES) memcpy(&scale, own, sizeof scale);
    else for (int l = 0; l < touched; ++l) scale[l] = own[l];
    sum += (parts[0] + parts[1]) * __builtin_shuffle(scale, spread);
  }
  float total = 0;
  for (int l = 0; l < LANES; ++l) total += sum[l];
  return total;
}

static float column_product(const nbits *w, int64_t column, const float *x, const float *sums) {
  const float *scales = w->scales + column * w->blocks;
  float y = dot_4bit(w->codes + column * w->blocks * (w->block / 2), x, scales, w->scales + w->n * w->blocks, w->blocks * w->block / CHUNK_CODES, w->block);
  float zeros = 0;
  if (!w->zeros && !w->zero_codes) return y - zero_of(w, column, 0) * dot(scales, sums, w->blocks);
  for (int64_t b = 0; b < w->blocks; ++b) zeros += scales[b] * zero_of(w, column, b) * sums[b];
  return y - zeros;
}

typedef struct few_rows {
  const nbits *w;
  int64_t m, tasks;
  int shares;
  const float *x;                                           /* [m, k], or as split_row leaves it */
  const float *sums;                                        /* [m, blocks]; NULL: columns are unpacked */
  const gemm_sink *sink;
  char *scratch;
  size_t share_bytes;
} few_rows;

static void column_sums(const few_rows *f, int64_t column, float *unpacked, float *out) {
  const nbits *w = f->w;
  if (f->sums) {
    for (int64_t i = 0; i < f->m; ++i) out[i * COLUMNS] = column_product(w, column, f->x + i * w->blocks * w->block, f->sums + i * w->blocks);
    return;
  }
  unpack(w, column, 0, w->k, unpacked);
  for (int64_t i = 0; i < f->m; ++i) out[i * COLUMNS] = dot(f->x + i * w->k, unpacked, w->k);
}

static void share_range(void *context, int64_t begin, int64_t end) {
  const few_rows *f = context;
  for (int64_t share = begin; share < end; ++share) {
    float *column = (float *)(f->scratch + (size_t)share * f->share_bytes), *sums = column + f->w->k;
    for (int64_t task = f->tasks * share / f->shares; task < f->tasks * (share + 1) / f->shares; ++task) {
      int64_t first = task * COLUMNS, count = f->w->n - first < COLUMNS ? f->w->n - first : COLUMNS;
      for (int64_t j = 0; j < count; ++j) column_sums(f, first + j, column, sums + j);
      for (int64_t i = 0; i < f->m; ++i) f->sink->store(f->sink, 0, i, first, count, sums + i * COLUMNS);
    }
  }
}

static size_t share_bytes(const nbits *w, int64_t m) { return align_up((size_t)(w->k + m * COLUMNS) * sizeof(float), 64); }
static size_t split_bytes(const nbits *w, int64_t m) { return align_up((size_t)(m * w->blocks * (w->block + 1)) * sizeof(float), 64); }

size_t nbits_scratch_bytes(const nbits *w, int64_t m, int threads) { return share_bytes(w, m) * (size_t)threads + split_bytes(w, m); }

void nbits_product(const nbits *w, int64_t m, const float *x, const gemm_sink *sink, int threads, void *scratch) {
  few_rows f = {w, m, (w->n + COLUMNS - 1) / COLUMNS, threads, x, NULL, sink, (char *)scratch + split_bytes(w, m), share_bytes(w, m)};
  if (w->n * w->k < 65536) f.shares = 1;
  if (f.shares > f.tasks) f.shares = (int)f.tasks;
  if (multiplies_codes(w)) {
    float *rows = scratch, *sums = rows + m * w->blocks * w->block;
    for (int64_t i = 0; i < m; ++i) split_row(w, x + i * w->k, rows + i * w->blocks * w->block, sums + i * w->blocks);
    f.x = rows, f.sums = sums;
  }
  parallel_for(f.shares, f.shares, 1, share_range, &f);
}
