#include <math.h>
#include <ortcore/base/cpu.h>
#include <ortcore/base/threads.h>
#include <ortcore/kernels/cpu/resize.h>
#include <string.h>

enum { ELEMENTS_PER_THREAD = 1 << 15, MOST_TAPS = 1 << 16 };

/* ---- Coordinates: in float, so that ties fall as they do everywhere else ------------------------------------------------------------------ */

static float original(const resize_how *how, const resize_axis *a, int64_t j) {
  float x = (float)j, in = (float)a->in, out = (float)a->out;
  switch (how->coordinates) {
    case RESIZE_HALF_PIXEL: return (x + 0.5f) / a->scale - 0.5f;
    case RESIZE_HALF_PIXEL_SYMMETRIC: return in / 2 * (1 - out / (a->scale * in)) + (x + 0.5f) / a->scale - 0.5f;
    case RESIZE_PYTORCH_HALF_PIXEL: return a->out > 1 ? (x + 0.5f) / a->scale - 0.5f : 0;
    case RESIZE_ALIGN_CORNERS: return a->out > 1 ? x * (in - 1) / (out - 1) : 0;
    case RESIZE_TF_HALF_PIXEL: return (x + 0.5f) / a->scale;
    case RESIZE_TF_CROP:
      return a->out > 1 ? a->start * (in - 1) + x * (a->end - a->start) * (in - 1) / (out - 1) : 0.5f * (a->start + a->end) * (in - 1);
    default: return x / a->scale;
  }
}

static int64_t clamp(float x, int64_t n) { return x > 0 ? (x < (float)n ? ((int64_t)x < n ? (int64_t)x : n - 1) : n - 1) : 0; }

static float rounded(const resize_how *how, float x, float scale) {
  switch (how->rounding) {
    case RESIZE_PREFER_FLOOR: return ceilf(x - 0.5f);
    case RESIZE_PREFER_CEIL: return floorf(x + 0.5f);
    case RESIZE_FLOOR: return floorf(x);
    case RESIZE_CEIL: return ceilf(x);
    default: return scale < 1 ? ceilf(x) : truncf(x);
  }
}

/* ---- Taps ---------------------------------------------------------------------------------------------------------------------------------- */

static double filter_at(const resize_how *how, double d) {
  d = fabs(d);
  if (how->filter == RESIZE_LINEAR) return d < 1 ? 1 - d : 0;
  double a = how->cubic_a;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* How far the filter is stretched: when shrinking with antialias, more elements contribute. */
static double stretch(const resize_how *how, const resize_axis *a) { return how->antialias && a->scale < 1 ? 1 / (double)a->scale : 1; }

int resize_tap_count(const resize_how *how, const resize_axis *a) {
  if (how->filter == RESIZE_NEAREST) return 1;
  double half = (how->filter == RESIZE_LINEAR ? 1 : 2) * stretch(how, a);
  return half < MOST_TAPS / 2 ? 2 * (int)ceil(half) : 0;
}

static void find_filter_taps(const resize_how *how, resize_axis *a, int64_t j, float x) {
  if (how->filter == RESIZE_LINEAR && !how->antialias) x = x < 0 ? 0 : x > (float)(a->in - 1) ? (float)(a->in - 1) : x;
  double by = stretch(how, a), sum = 0;
  int64_t first = (int64_t)floorf(x) - a->taps / 2 + 1;
  for (int t = 0; t < a->taps; ++t) {
    int64_t i = first + t, at = t * a->out + j;
    double w = filter_at(how, ((double)i - (double)x) / by);
    if (how->exclude_outside && (i < 0 || i >= a->in)) w = 0;
    a->index[at] = i < 0 ? 0 : i >= a->in ? a->in - 1 : i;
    a->weight[at] = w;
    sum += w;
  }
  for (int t = 0; t < a->taps && sum != 0; ++t) a->weight[t * a->out + j] /= sum;
}

void resize_find_taps(const resize_how *how, resize_axis *a) {
  a->taps = resize_tap_count(how, a);
  for (int64_t j = 0; j < a->out; ++j) {
    float x = original(how, a, j);
    if (!(x > -1e15f && x < 1e15f)) x = 0;                  /* a scale of almost 0 */
    if (a->outside) a->outside[j] = how->coordinates == RESIZE_TF_CROP && (x < 0 || x > (float)(a->in - 1));
    if (how->filter == RESIZE_NEAREST) a->index[j] = clamp(rounded(how, x, a->scale), a->in);
    else find_filter_taps(how, a, j, x);
  }
}

bool resize_is_identity(const resize_how *how, const resize_axis *a) {
  return a->in == a->out && how->coordinates != RESIZE_TF_CROP && (a->scale == 1 || how->coordinates == RESIZE_ALIGN_CORNERS);
}

#define T float
#define NAME(f) f##_f32
#include <ortcore/kernels/cpu/resize_type.h>
#undef T
#undef NAME

#define T double
#define NAME(f) f##_f64
#include <ortcore/kernels/cpu/resize_type.h>

/* ---- Nearest ------------------------------------------------------------------------------------------------------------------------------- */

/* repeats: each element of a row this often in a row, 0 if they are picked in another way. */
typedef struct nearest_work { int rank, width; int64_t repeats; const resize_axis *axes; const char *x; char *y; } nearest_work;

static int64_t find_repeats(const resize_axis *a) {
  if (!a->index || a->in == 0 || a->out % a->in) return 0;
  int64_t repeats = a->out / a->in;
  for (int64_t j = 0; j < a->out; ++j)
    if (a->index[j] != j / repeats) return 0;
  return repeats;
}

#define REPEAT_BY(U, times) for (int64_t i = 0; i < n; ++i) for (int64_t t = 0; t < times; ++t) ((U *)(void *)to)[i * times + t] = ((const U *)(const void *)from)[i]
#define REPEAT(U) if (repeats == 2) REPEAT_BY(U, 2); else if (repeats == 4) REPEAT_BY(U, 4); else REPEAT_BY(U, repeats)

MULTIVERSION static void repeat_elements(const char *restrict from, int64_t n, int64_t repeats, int width, char *restrict to) {
  switch (width) {
    case 1: REPEAT(uint8_t); break;
    case 2: REPEAT(uint16_t); break;
    case 4: REPEAT(uint32_t); break;
    case 8: REPEAT(uint64_t); break;
    default: for (int64_t j = 0; j < n * repeats; ++j) memcpy(to + j * width, from + j / repeats * width, (size_t)width); break;
  }
}

#define GATHER(U) for (int64_t j = 0; j < n; ++j) ((U *)(void *)to)[j] = ((const U *)(const void *)from)[index[j]]

MULTIVERSION static void gather_elements(const char *restrict from, const int64_t *restrict index, int64_t n, int width, char *restrict to) {
  switch (width) {
    case 1: GATHER(uint8_t); break;
    case 2: GATHER(uint16_t); break;
    case 4: GATHER(uint32_t); break;
    case 8: GATHER(uint64_t); break;
    default: for (int64_t j = 0; j < n; ++j) memcpy(to + j * width, from + index[j] * width, (size_t)width); break;
  }
}

/* Rows of the last axis. One that comes from where the row before it came is a copy of that. */
static void nearest_rows(void *context, int64_t begin, int64_t end) {
  const nearest_work *w = context;
  const resize_axis *last = &w->axes[w->rank - 1];
  int64_t row_bytes = last->out * w->width;
  for (int64_t row = begin, before = -1; row < end; ++row) {
    int64_t rest = row, from = 0, stride = last->in;
    for (int d = w->rank - 2; d >= 0; --d) {
      const resize_axis *a = &w->axes[d];
      from += (a->index ? a->index[rest % a->out] : rest % a->out) * stride;
      rest /= a->out;
      stride *= a->in;
    }
    const char *x = w->x + from * w->width;
    char *y = w->y + row * row_bytes;
    if (!last->index) memcpy(y, x, (size_t)row_bytes);
    else if (from == before) memcpy(y, y - row_bytes, (size_t)row_bytes);
    else if (w->repeats) repeat_elements(x, last->in, w->repeats, w->width, y);
    else gather_elements(x, last->index, last->out, w->width, y);
    before = from;
  }
}

void resize_nearest(int threads, int rank, const resize_axis *axes, int width, const void *x, void *y) {
  nearest_work w = {rank, width, find_repeats(&axes[rank - 1]), axes, x, y};
  int64_t rows = 1, each = axes[rank - 1].out;
  for (int d = 0; d < rank - 1; ++d) rows *= axes[d].out;
  parallel_for(threads, rows, ELEMENTS_PER_THREAD / each + 1, nearest_rows, &w);
}
