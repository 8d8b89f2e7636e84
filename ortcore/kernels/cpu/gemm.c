/* The blocked loop. A task is one tile of C; for each block of k it packs what it needs of A and B and multiplies panels of registers. */
#include "gemm.h"
#include "gemm_i8.h"

#include <ortcore/base/checked.h>
#include <ortcore/base/cpu.h>
#include <ortcore/base/threads.h>
#include <string.h>

enum {
  GEMM_VECTOR = 64,                                         /* bytes of accumulators in a register panel of B */
  GEMM_MR = 6,                                              /* rows in a panel of A: six accumulating registers of AVX-512, twelve of AVX2 */
  GEMM_MC = 24 * GEMM_MR, GEMM_NC = 256, GEMM_KC = 256,     /* a tile of C, and the depth packed at a time */
  GEMM_I8_KC = 4 * GEMM_KC,                                 /* bytes */
};

#define ACC float
#define NAME(x) f32_##x
#include "gemm_body.h"
#define ACC double
#define NAME(x) f64_##x
#include "gemm_body.h"
#define ACC uint32_t
#define NAME(x) i32_##x
#include "gemm_body.h"
#define ACC uint64_t
#define NAME(x) i64_##x
#include "gemm_body.h"

typedef void (*block_fn)(const void *a, const void *b, int64_t m, int64_t n, int64_t k, void *tile, int64_t ld, bool first);
static const block_fn blocks[] = {[GEMM_F32] = f32_block, [GEMM_F64] = f64_block, [GEMM_I32] = i32_block, [GEMM_I64] = i64_block};
static const block_fn wide_blocks[] = {[GEMM_F32] = f32_wide_block, [GEMM_F64] = f64_wide_block, [GEMM_I32] = i32_wide_block, [GEMM_I64] = i64_wide_block};

size_t gemm_acc_bytes(gemm_acc acc) { return acc == GEMM_F64 || acc == GEMM_I64 ? 8 : 4; }

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

/* Sizes of tiles for one problem, and where a thread's buffers lie in its share of the scratch. */
typedef struct tiling {
  int64_t mc, nc, kc, nr;
  size_t width, a_bytes, b_bytes, thread_bytes;
} tiling;

static tiling tiling_of(gemm_acc acc, int threads, int64_t m, int64_t n, int64_t k) {
  tiling t = {.width = gemm_acc_bytes(acc)};
  t.nr = acc == GEMM_I8 ? GEMM_I8_NR : GEMM_VECTOR / (int64_t)t.width;
  t.mc = least(GEMM_MC, round_up(m, acc == GEMM_I8 ? GEMM_I8_MR : GEMM_MR));
  t.nc = least(GEMM_NC, round_up(n, t.nr));
  t.kc = acc == GEMM_I8 ? least(GEMM_I8_KC, round_up(k, GEMM_I8_QUAD)) : least(GEMM_KC, k);
  /* Few large tiles would leave threads without work. */
  while (t.nc > 4 * t.nr && ((m + t.mc - 1) / t.mc) * ((n + t.nc - 1) / t.nc) < 2 * threads && threads > 1) t.nc = round_up(t.nc / 2, t.nr);
  size_t packed_width = acc == GEMM_I8 ? 1 : t.width;
  t.a_bytes = align_up((size_t)(t.mc * t.kc) * packed_width, 64);
  t.b_bytes = align_up((size_t)(t.nc * t.kc) * packed_width, 64);
  t.thread_bytes = t.a_bytes + t.b_bytes + align_up((size_t)(t.mc * t.nc) * t.width, 64);
  return t;
}

/* Fewer threads have larger tiles, and may need more memory together. */
size_t gemm_scratch_bytes(gemm_acc acc, int threads, int64_t m, int64_t n, int64_t k) {
  size_t most = 0;
  for (int t = 1; t <= threads; ++t) {
    size_t bytes = tiling_of(acc, t, m, n, k).thread_bytes * (size_t)t;
    if (bytes > most) most = bytes;
  }
  return most;
}

typedef struct gemm_work {
  const gemm_problem *p;
  tiling t;
  int64_t row_tiles, column_tiles, tasks;
  int shares;
  char *scratch;
} gemm_work;

/* What zero points take off a row of sums. */
MULTIVERSION
static void correct_row(uint32_t *restrict sums, int64_t n, int64_t k, int32_t a_sum, int32_t a_zero, const int32_t *restrict b_sums,
                        const int32_t *restrict b_zeros) {
  uint32_t base = (uint32_t)k * (uint32_t)a_zero - (uint32_t)a_sum;
  for (int64_t j = 0; j < n; ++j) sums[j] += base * (uint32_t)b_zeros[j] - (uint32_t)a_zero * (uint32_t)b_sums[j];
}

/* Rows of A as a thread packed them last: neighbouring tiles of C have them in common. */
typedef struct packed_rows { int64_t batch, row; int32_t sums[GEMM_MC]; } packed_rows;

static void run_tile_i8(const gemm_problem *p, const tiling *t, int64_t batch, int64_t row, int64_t column, packed_rows *rows, uint8_t *a, uint8_t *b,
                        uint32_t *tile) {
  int64_t m = least(t->mc, p->m - row), n = least(t->nc, p->n - column);
  int32_t own_sums[GEMM_NC] = {0}, a_zeros[GEMM_MC], b_zeros[GEMM_NC];
  bool packed = p->k <= GEMM_I8_KC && rows->batch == batch && rows->row == row;
  const int32_t *b_sums = own_sums;
  size_t columns = (size_t)round_up(p->n, t->nr), depth_bytes = (size_t)round_up(p->k, GEMM_I8_QUAD);
  if (p->k == 0) memset(tile, 0, (size_t)(t->mc * t->nc) * t->width);
  for (int64_t depth = 0; depth < p->k; depth += GEMM_I8_KC) {
    int64_t k = least(GEMM_I8_KC, p->k - depth), quads = (k + GEMM_I8_QUAD - 1) / GEMM_I8_QUAD;
    const uint8_t *from = b;
    if (depth == 0 && !packed) *rows = (packed_rows){batch, row, {0}};
    if (!packed) {
      memset(a, 0, (size_t)(round_up(m, GEMM_I8_MR) * quads * GEMM_I8_QUAD));
      p->a->pack_bytes(p->a, batch, row, m, depth, k, true, GEMM_I8_MR, a, rows->sums);
    }
    if (p->b->packed) {
      from = (const uint8_t *)p->b->packed + (size_t)depth * columns + (size_t)(column * quads * GEMM_I8_QUAD);
    } else {
      memset(b, 0, (size_t)(round_up(n, GEMM_I8_NR) * quads * GEMM_I8_QUAD));
      p->b->pack_bytes(p->b, batch, column, n, depth, k, false, GEMM_I8_NR, b, own_sums);
    }
    gemm_i8_block(a, from, m, n, quads, tile, t->nc, depth == 0);
  }
  if (p->b->packed) b_sums = (const int32_t *)((const uint8_t *)p->b->packed + columns * depth_bytes) + column;
  p->a->zeros(p->a, batch, row, m, a_zeros);
  p->b->zeros(p->b, batch, column, n, b_zeros);
  for (int64_t j = 0; j < n; ++j) b_zeros[j] -= p->b->is_signed ? 0 : 128;
  for (int64_t i = 0; i < m; ++i) {
    correct_row(tile + i * t->nc, n, p->k, rows->sums[i], a_zeros[i] + (p->a->is_signed ? 128 : 0), b_sums, b_zeros);
    p->sink->store(p->sink, batch, row + i, column, n, tile + i * t->nc);
  }
}

static void run_tile(const gemm_work *w, int64_t task, packed_rows *rows, char *scratch) {
  const gemm_problem *p = w->p;
  const tiling *t = &w->t;
  int64_t row = task % w->row_tiles * t->mc, column = task / w->row_tiles % w->column_tiles * t->nc, batch = task / (w->row_tiles * w->column_tiles);
  int64_t m = least(t->mc, p->m - row), n = least(t->nc, p->n - column);
  char *a = scratch, *b = a + t->a_bytes, *tile = b + t->b_bytes;
  if (p->acc == GEMM_I8) {
    run_tile_i8(p, t, batch, row, column, rows, (uint8_t *)a, (uint8_t *)b, (uint32_t *)tile);
    return;
  }
  if (p->k == 0) memset(tile, 0, (size_t)(t->mc * t->nc) * t->width);
  for (int64_t depth = 0; depth < p->k; depth += GEMM_KC) {
    int64_t k = least(GEMM_KC, p->k - depth);
    const void *columns = b;
    p->a->pack(p->a, batch, row, m, depth, k, GEMM_MR, a);
    if (p->b->packed) columns = (const char *)p->b->packed + (size_t)(depth * round_up(p->n, t->nr) + column * k) * t->width;
    else p->b->pack(p->b, batch, column, n, depth, k, (int)t->nr, b);
    (cpu_has_avx512() ? wide_blocks : blocks)[p->acc](a, columns, m, n, k, tile, t->nc, depth == 0);
  }
  for (int64_t i = 0; i < m; ++i) p->sink->store(p->sink, batch, row + i, column, n, tile + (size_t)(i * t->nc) * t->width);
}

static void run_share(void *context, int64_t begin, int64_t end) {
  const gemm_work *w = context;
  for (int64_t share = begin; share < end; ++share) {
    packed_rows rows = {.batch = -1};
    for (int64_t task = w->tasks * share / w->shares; task < w->tasks * (share + 1) / w->shares; ++task)
      run_tile(w, task, &rows, w->scratch + (size_t)share * w->t.thread_bytes);
  }
}

void gemm_run(const gemm_problem *p, int threads, void *scratch) {
  if (p->batch == 0 || p->m == 0 || p->n == 0) return;
  gemm_work w = {.p = p, .t = tiling_of(p->acc, threads, p->m, p->n, p->k), .scratch = scratch};
  w.row_tiles = (p->m + w.t.mc - 1) / w.t.mc;
  w.column_tiles = (p->n + w.t.nc - 1) / w.t.nc;
  w.tasks = w.row_tiles * w.column_tiles * p->batch;
  /* Under some 20 microseconds of arithmetic another thread costs more than it brings. */
  bool large = (double)p->batch * (double)p->m * (double)p->n * (double)(p->k + 8) > 5e5;
  w.shares = large ? (int)least(threads, w.tasks) : 1;
  parallel_for(w.shares, w.shares, 1, run_share, &w);
}

size_t gemm_packed_bytes(gemm_acc acc, int64_t n, int64_t k) {
  size_t width = gemm_acc_bytes(acc);
  if (acc == GEMM_I8) return (size_t)round_up(n, GEMM_I8_NR) * ((size_t)round_up(k, GEMM_I8_QUAD) + sizeof(int32_t));
  return (size_t)round_up(n, GEMM_VECTOR / (int64_t)width) * (size_t)k * width;
}

void gemm_pack_side(gemm_acc acc, const gemm_side *b, int64_t n, int64_t k, void *out) {
  if (acc == GEMM_I8) {
    /* The sums of columns stand behind the bytes. */
    int64_t columns = round_up(n, GEMM_I8_NR);
    memset(out, 0, gemm_packed_bytes(acc, n, k));
    int32_t *sums = (int32_t *)((uint8_t *)out + columns * round_up(k, GEMM_I8_QUAD));
    for (int64_t depth = 0; depth < k; depth += GEMM_I8_KC)
      b->pack_bytes(b, 0, 0, n, depth, least(GEMM_I8_KC, k - depth), false, GEMM_I8_NR, (uint8_t *)out + depth * columns, sums);
    return;
  }
  int64_t width = (int64_t)gemm_acc_bytes(acc), nr = GEMM_VECTOR / width;
  for (int64_t depth = 0; depth < k; depth += GEMM_KC)
    b->pack(b, 0, 0, n, depth, least(GEMM_KC, k - depth), (int)nr, (char *)out + depth * round_up(n, nr) * width);
}
