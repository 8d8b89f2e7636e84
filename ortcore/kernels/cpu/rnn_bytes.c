/* Products of a quantised recurrent layer: rows of floats are rounded to bytes, and multiplied with weights that stay bytes. A quarter of the
 * memory is read, which is what a step of few rows takes its time for. */
#include <math.h>
#include <ortcore/base/cpu.h>
#include <ortcore/base/threads.h>
#include <ortcore/kernels/cpu/gemm_i8.h>
#include <ortcore/kernels/cpu/rnn.h>
#include <string.h>

enum { PANEL = 64, QUAD = 4, ROWS = 4, MULTIPLICATIONS_PER_THREAD = 1 << 21 };

static int64_t quads_of(int64_t k) { return (k + QUAD - 1) / QUAD; }
int64_t rnn_bytes_count(int64_t columns, int64_t k) { return rnn_padded(columns) * quads_of(k) * QUAD; }

/* Panels are [ceil(columns/64)][ceil(k/4)][64][4]. */
void rnn_bytes_pack(const void *matrix, bool is_signed, int64_t columns, int64_t k, int8_t *panels, int32_t *sums) {
  const uint8_t flip = is_signed ? 0 : 0x80;                /* unsigned weights are seen as signed, 128 less */
  memset(panels, 0, (size_t)rnn_bytes_count(columns, k));
  for (int64_t c = 0; c < columns; ++c) {
    int8_t *panel = panels + c / PANEL * PANEL * quads_of(k) * QUAD + c % PANEL * QUAD;
    int32_t sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      int8_t w = (int8_t)(((const uint8_t *)matrix)[i * columns + c] ^ flip);
      panel[i / QUAD * PANEL * QUAD + i % QUAD] = w;
      sum += w;
    }
    sums[c] = sum;
  }
}

/* One scale and zero point for all of x, as onnxruntime has it; a scale of NaN if x holds NaN or infinities. Rows of the result are filled up with
 * zeros to whole quads. */
MULTIVERSION static void quantise(const float *restrict x, int64_t stride, int64_t rows, int64_t k, uint8_t *restrict out, float *out_scale, int32_t *out_zero) {
  float low = 0, high = 0;
  int strange = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < k; ++i) {
      float v = x[r * stride + i];
      low = v < low ? v : low;
      high = v > high ? v : high;
      strange |= v - v != 0;
    }
  float scale = high > low ? (high - low) / 255 : 1, zero = nearbyintf(-low / scale);
  int64_t width = quads_of(k) * QUAD;
  for (int64_t r = 0; r < rows; ++r) {
    uint8_t *row = out + r * width;
    for (int64_t i = 0; i < k; ++i) {
      float q = nearbyintf(x[r * stride + i] / scale) + zero;
      q = q > 0 ? q : 0;
      row[i] = (uint8_t)(int32_t)(q > 255 ? 255 : q);
    }
    memset(row + k, 0, (size_t)(width - k));
  }
  *out_scale = strange ? NAN : scale;
  *out_zero = strange ? 0 : (int32_t)zero;
}

#if defined(__x86_64__)
#include <immintrin.h>

bool rnn_bytes_available(void) { return cpu_has_vnni(); }

/* `rows` (one, or ROWS) rows by a panel. */
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"), always_inline))
static inline void multiply_rows(const uint8_t *x, int64_t width, const int8_t *panel, int32_t (*sums)[PANEL], const int rows) {
  __m512i sum[ROWS][PANEL / 16] = {{{0}}};
  for (int64_t i = 0; i < width; i += QUAD, panel += PANEL * QUAD) {
    __m512i w[PANEL / 16];
#pragma GCC unroll 4
    for (int j = 0; j < PANEL / 16; ++j) w[j] = _mm512_loadu_si512(panel + 64 * j);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      int32_t four;
      memcpy(&four, x + r * width + i, sizeof four);
      __m512i row = _mm512_set1_epi32(four);
#pragma GCC unroll 4
      for (int j = 0; j < PANEL / 16; ++j) ADD_PRODUCTS(sum[r][j], row, w[j]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int j = 0; j < PANEL / 16; ++j) _mm512_storeu_si512(sums[r] + 16 * j, sum[r][j]);
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
static void multiply_four(const uint8_t *x, int64_t width, const int8_t *panel, int32_t (*sums)[PANEL]) { multiply_rows(x, width, panel, sums, ROWS); }
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
static void multiply_one(const uint8_t *x, int64_t width, const int8_t *panel, int32_t (*sums)[PANEL]) { multiply_rows(x, width, panel, sums, 1); }

#else

bool rnn_bytes_available(void) { return false; }
static void multiply_four(const uint8_t *x, int64_t width, const int8_t *panel, int32_t (*sums)[PANEL]) { (void)x, (void)width, (void)panel, (void)sums; }
static void multiply_one(const uint8_t *x, int64_t width, const int8_t *panel, int32_t (*sums)[PANEL]) { (void)x, (void)width, (void)panel, (void)sums; }

#endif

typedef struct product { const rnn_bytes *w; const uint8_t *x; int64_t rows, width, y_stride; float scale; int32_t zero; float *y; } product;

/* The sum of (x - x zero) * (w - w zero), scaled. */
MULTIVERSION static void finish(const product *p, int32_t *restrict sums, int64_t row, int64_t first) {
  const rnn_bytes *w = p->w;
  const int32_t *restrict w_sums = w->sums + first, zero = p->zero;
  const float *restrict scales = w->scales + first, scale = p->scale;
  float *restrict y = p->y + row * p->y_stride + first;
  int64_t n = w->columns - first < PANEL ? w->columns - first : PANEL;
  if (w->zeros) {
    int32_t x_sum = -(int32_t)w->k * zero;
    for (int64_t i = 0; i < p->width; ++i) x_sum += p->x[row * p->width + i];
    for (int64_t j = 0; j < n; ++j) sums[j] -= w->zeros[first + j] * x_sum;
  }
  for (int64_t j = 0; j < n; ++j) y[j] = (float)(sums[j] - zero * w_sums[j]) * (scale * scales[j]);
}

static void multiply_panels(void *context, int64_t begin, int64_t end) {
  const product *p = context;
  int32_t sums[ROWS][PANEL];
  for (int64_t n = begin; n < end; ++n) {
    const int8_t *panel = p->w->panels + n * PANEL * p->width;
    int64_t row = 0;
    for (; row + ROWS <= p->rows; row += ROWS) {
      multiply_four(p->x + row * p->width, p->width, panel, sums);
      for (int r = 0; r < ROWS; ++r) finish(p, sums[r], row + r, n * PANEL);
    }
    for (; row < p->rows; ++row) {
      multiply_one(p->x + row * p->width, p->width, panel, sums);
      finish(p, sums[0], row, n * PANEL);
    }
  }
}

void rnn_bytes_multiply(int threads, const rnn_bytes *w, const float *x, int64_t x_stride, int64_t rows, uint8_t *scratch, float *y, int64_t y_stride) {
  product p = {.w = w, .x = scratch, .rows = rows, .width = quads_of(w->k) * QUAD, .y_stride = y_stride, .y = y};
  quantise(x, x_stride, rows, w->k, scratch, &p.scale, &p.zero);
  int64_t panels = rnn_padded(w->columns) / PANEL, work = rows * w->k * PANEL;
  parallel_for(threads, panels, work > 0 ? MULTIPLICATIONS_PER_THREAD / work + 1 : panels, multiply_panels, &p);
}
