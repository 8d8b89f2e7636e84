/* Matrices as sides of a product, one packing loop for each element type, and the product of a single row. */
#include "gemm.h"
#include "gemm_i8.h"

#include <ortcore/base/cpu.h>
#include <ortcore/base/half.h>
#include <ortcore/base/threads.h>
#include <string.h>

enum { GEMM_VECTOR = 64 };

static inline float minifloat_load(int type, uint8_t code) { return minifloat_to_f32(type, code); }

#define PACK "gemm_pack.h"
#include "gemm_types.h"
#define T uint8_t
#define ACC float
#define LD(x) minifloat_load(ORTC_FLOAT8E4M3FN, x)
#define NAME(x) e4m3fn_##x
#include "gemm_pack.h"
#define T uint8_t
#define ACC float
#define LD(x) minifloat_load(ORTC_FLOAT8E4M3FNUZ, x)
#define NAME(x) e4m3fnuz_##x
#include "gemm_pack.h"
#define T uint8_t
#define ACC float
#define LD(x) minifloat_load(ORTC_FLOAT8E5M2, x)
#define NAME(x) e5m2_##x
#include "gemm_pack.h"
#define T uint8_t
#define ACC float
#define LD(x) minifloat_load(ORTC_FLOAT8E5M2FNUZ, x)
#define NAME(x) e5m2fnuz_##x
#include "gemm_pack.h"
#define T uint16_t
#define ACC uint32_t
#define LD(x) ((uint32_t)(x))
#define NAME(x) u16_##x
#include "gemm_pack.h"
#define T int16_t
#define ACC uint32_t
#define LD(x) ((uint32_t)(int32_t)(x))
#define NAME(x) i16_##x
#include "gemm_pack.h"
#define T uint32_t
#define ACC uint32_t
#define LD(x) (x)
#define NAME(x) u32_##x
#include "gemm_pack.h"
#define T uint64_t
#define ACC uint64_t
#define LD(x) (x)
#define NAME(x) u64_##x
#include "gemm_pack.h"

static const struct { gemm_acc acc; void (*pack)(const gemm_side *, int64_t, int64_t, int64_t, int64_t, int64_t, int,
                                                 void *); } sides[ORTC_ELEMENT_TYPE_COUNT] = {
  [ORTC_FLOAT] = {GEMM_F32, f32_pack}, [ORTC_DOUBLE] = {GEMM_F64, f64_pack}, [ORTC_FLOAT16] = {GEMM_F32, f16_pack},
  [ORTC_BFLOAT16] = {GEMM_F32, bf16_pack}, [ORTC_UINT8] = {GEMM_I32, u8_pack}, [ORTC_INT8] = {GEMM_I32, i8_pack},
  [ORTC_UINT16] = {GEMM_I32, u16_pack}, [ORTC_INT16] = {GEMM_I32, i16_pack}, [ORTC_UINT32] = {GEMM_I32, u32_pack},
  [ORTC_INT32] = {GEMM_I32, u32_pack}, [ORTC_UINT64] = {GEMM_I64, u64_pack}, [ORTC_INT64] = {GEMM_I64, u64_pack},
  [ORTC_FLOAT8E4M3FN] = {GEMM_F32, e4m3fn_pack}, [ORTC_FLOAT8E4M3FNUZ] = {GEMM_F32, e4m3fnuz_pack},
  [ORTC_FLOAT8E5M2] = {GEMM_F32, e5m2_pack}, [ORTC_FLOAT8E5M2FNUZ] = {GEMM_F32, e5m2fnuz_pack},
};

/* ---- Bytes ---------------------------------------------------------------------------------------------------------- */

static void bytes_pack(const gemm_side *s, int64_t batch, int64_t outer, int64_t outers, int64_t inner, int64_t inners, bool left, int width,
                       uint8_t *out, int32_t *sums) {
  const gemm_matrix *m = (const gemm_matrix *)s;
  const uint8_t *data = (const uint8_t *)m->data + (m->offsets ? m->offsets[batch] : batch * m->batch_stride) + inner * m->inner_stride;
  uint8_t flip = s->is_signed == left ? 0x80 : 0;
  int64_t quads = (inners + GEMM_I8_QUAD - 1) / GEMM_I8_QUAD;
  for (int64_t o = 0; o < outers; ++o) {
    uint8_t *panel = out + (o - o % width) * quads * GEMM_I8_QUAD + o % width * GEMM_I8_QUAD;
    sums[o] += gemm_i8_place(data + (outer + o) * m->outer_stride, m->inner_stride, inners, flip, !left, width, panel);
  }
}

static void bytes_zeros(const gemm_side *s, int64_t batch, int64_t outer, int64_t outers, int32_t *out) {
  const gemm_matrix *m = (const gemm_matrix *)s;
  for (int64_t o = 0; o < outers; ++o) {
    int64_t at = m->zero_points ? batch % m->zero_point_batches * m->zero_point_batch_stride + (outer + o) % m->zero_point_period : 0;
    out[o] = !m->zero_points ? 0 : s->is_signed ? ((const int8_t *)m->zero_points)[at] : ((const uint8_t *)m->zero_points)[at];
  }
}

gemm_acc gemm_acc_of_pair(dtype a, dtype b) {
  bool bytes = (a == ORTC_INT8 || a == ORTC_UINT8) && (b == ORTC_INT8 || b == ORTC_UINT8);
  return bytes && gemm_i8_available() ? GEMM_I8 : gemm_acc_of(a);
}

bool gemm_matrix_init(gemm_matrix *m, dtype type) {
  *m = (gemm_matrix){.side = {.pack = sides[type].pack, .pack_bytes = bytes_pack, .zeros = bytes_zeros, .is_signed = type == ORTC_INT8},
                     .type = type, .zero_point_period = 1, .zero_point_batches = 1};
  return m->side.pack;
}

gemm_acc gemm_acc_of(dtype type) { return sides[type].acc; }

/* ---- A single row ------------------------------------------------------------------------------------------------- */

/* Columns are shared out by GRAIN and taken in strips, whose sums stay in L1 while rows of B stream by. */
enum { GEMV_GRAIN = 256, GEMV_STRIP = 768 };

typedef float gemv_lanes __attribute__((vector_size(64)));
enum { GEMV_LANES = sizeof(gemv_lanes) / sizeof(float), GEMV_ROWS = 4 };

/* Columns of a row-major B, at most a strip, four rows at a time. A row of a strip ends before the processor has noticed that it is read in order,
 * so that the next four are asked for by name. */
MULTIVERSION
static void gemv_columns(const float *restrict x, const float *restrict b, int64_t ld, int64_t n, int64_t k, float *restrict y) {
  float sum[GEMV_STRIP] = {0};
  int64_t i = 0, whole = n / GEMV_LANES * GEMV_LANES;
  for (; i + GEMV_ROWS <= k; i += GEMV_ROWS, b += GEMV_ROWS * ld) {
    for (int64_t j = 0; j < whole; j += GEMV_LANES) {
      gemv_lanes total;
      memcpy(&total, sum + j, sizeof total);
      for (int r = 0; r < GEMV_ROWS; ++r) {
        gemv_lanes row;
        memcpy(&row, b + r * ld + j, sizeof row);
        __builtin_prefetch(b + (r + GEMV_ROWS) * ld + j);
        total += x[i + r] * row;
      }
      memcpy(sum + j, &total, sizeof total);
    }
    for (int64_t j = whole; j < n; ++j)
      for (int r = 0; r < GEMV_ROWS; ++r) sum[j] += x[i + r] * b[r * ld + j];
  }
  for (; i < k; ++i, b += ld)
    for (int64_t j = 0; j < n; ++j) sum[j] += x[i] * b[j];
  memcpy(y, sum, (size_t)n * sizeof *y);
}

/* Rows of a transposed B: a dot product each, read from its beginning to its end by four vectors of partial sums. */
MULTIVERSION
static void gemv_rows(const float *restrict x, const float *restrict b, int64_t ld, int64_t n, int64_t k, float *restrict y) {
  enum { LANES = GEMV_LANES, SUMS = 4 };
  for (int64_t j = 0; j < n; ++j, b += ld) {
    gemv_lanes sum[SUMS] = {0};
    int64_t i = 0;
    for (; i + SUMS * LANES <= k; i += SUMS * LANES)
      for (int u = 0; u < SUMS; ++u) {
        gemv_lanes left, right;
        memcpy(&left, x + i + u * LANES, sizeof left);
        memcpy(&right, b + i + u * LANES, sizeof right);
        sum[u] += left * right;
      }
    for (; i + LANES <= k; i += LANES) {
      gemv_lanes left, right;
      memcpy(&left, x + i, sizeof left);
      memcpy(&right, b + i, sizeof right);
      sum[0] += left * right;
    }
    gemv_lanes whole = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    float total = 0;
    for (int l = 0; l < LANES; ++l) total += whole[l];
    for (; i < k; ++i) total += x[i] * b[i];
    y[j] = total;
  }
}

typedef struct gemv_work { const float *x, *b; int64_t k, k_stride, n_stride; float *y; } gemv_work;

static void gemv_range(void *context, int64_t begin, int64_t end) {
  const gemv_work *w = context;
  if (w->n_stride != 1) {
    gemv_rows(w->x, w->b + begin * w->n_stride, w->n_stride, end - begin, w->k, w->y + begin);
    return;
  }
  for (int64_t j = begin; j < end; j += GEMV_STRIP)
    gemv_columns(w->x, w->b + j, w->k_stride, end - j < GEMV_STRIP ? end - j : GEMV_STRIP, w->k, w->y + j);
}

void gemv_f32(int threads, int64_t n, int64_t k, const float *x, const float *b, int64_t k_stride, int64_t n_stride, float *y) {
  gemv_work w = {x, b, k, k_stride, n_stride, y};
  int64_t grain = (65536 / (k + 1) + GEMV_GRAIN) / GEMV_GRAIN * GEMV_GRAIN;   /* a thread's share is worth 10 microseconds */
  parallel_for(threads, n, grain, gemv_range, &w);
}
