#include <ortcore/base/cpu.h>
#include <ortcore/base/threads.h>
#include <ortcore/kernels/cpu/resize.h>
#include <string.h>

enum { ELEMENTS_PER_THREAD = 1 << 15 };

/* ---- Taps ---------------------------------------------------------------------------------------------------------------------------------- */

static void find_filter_taps(const resize_how *how, const resize_axis *a, resize_taps *to, int64_t j, float place) {
  float x = resize_filter_place(how, a, place);
  int64_t first = resize_first_tap(x, to->count);
  double sum = 0;
  for (int t = 0; t < to->count; ++t) {
    double w = resize_weight(how, a, x, first + t);
    to->index[t * a->out + j] = resize_tap_index(a, first + t);
    to->weight[t * a->out + j] = w;
    sum += w;
  }
  for (int t = 0; t < to->count && sum != 0; ++t) to->weight[t * a->out + j] /= sum;
}

void resize_find_taps(const resize_how *how, const resize_axis *a, resize_taps *to) {
  to->count = resize_tap_count(how, a);
  for (int64_t j = 0; j < a->out; ++j) {
    float x = resize_place(how, a, j);
    to->outside[j] = resize_is_outside(how, a, x);
    if (how->filter == RESIZE_NEAREST) to->index[j] = resize_nearest_index(how, a, x);
    else find_filter_taps(how, a, to, j, x);
  }
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
typedef struct nearest_work { int rank, width; int64_t repeats; const resize_axis *axes; const resize_taps *taps; const char *x; char *y; } nearest_work;

static int64_t find_repeats(const resize_axis *a, const int64_t *index) {
  if (!index || a->in == 0 || a->out % a->in) return 0;
  int64_t repeats = a->out / a->in;
  for (int64_t j = 0; j < a->out; ++j)
    if (index[j] != j / repeats) return 0;
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
  const int64_t *columns = w->taps[w->rank - 1].index;
  int64_t row_bytes = last->out * w->width;
  for (int64_t row = begin, before = -1; row < end; ++row) {
    int64_t rest = row, from = 0, stride = last->in;
    for (int d = w->rank - 2; d >= 0; --d) {
      const resize_axis *a = &w->axes[d];
      const int64_t *index = w->taps[d].index;
      from += (index ? index[rest % a->out] : rest % a->out) * stride;
      rest /= a->out;
      stride *= a->in;
    }
    const char *x = w->x + from * w->width;
    char *y = w->y + row * row_bytes;
    if (!columns) memcpy(y, x, (size_t)row_bytes);
    else if (from == before) memcpy(y, y - row_bytes, (size_t)row_bytes);
    else if (w->repeats) repeat_elements(x, last->in, w->repeats, w->width, y);
    else gather_elements(x, columns, last->out, w->width, y);
    before = from;
  }
}

void resize_nearest(int threads, int rank, const resize_axis *axes, const resize_taps *taps, int width, const void *x, void *y) {
  nearest_work w = {rank, width, find_repeats(&axes[rank - 1], taps[rank - 1].index), axes, taps, x, y};
  int64_t rows = 1, each = axes[rank - 1].out;
  for (int d = 0; d < rank - 1; ++d) rows *= axes[d].out;
  parallel_for(threads, rows, ELEMENTS_PER_THREAD / each + 1, nearest_rows, &w);
}
