#include "pool.h"

#include <ortcore/base/cpu.h>
#include <ortcore/base/half.h>
#include <ortcore/base/threads.h>
#include <math.h>

enum { POOL_LANES = 256 };

#define T float
#define ACC float
#define LD(x) (x)
#define ST(x) (x)
#define LOWEST -INFINITY
#define FLOATING 1
#define POW powf
#define NAME(x) f32_##x
#include "pool_type.h"
#define T double
#define ACC double
#define LD(x) (x)
#define ST(x) (x)
#define LOWEST -INFINITY
#define FLOATING 1
#define POW pow
#define NAME(x) f64_##x
#include "pool_type.h"
#define T f16
#define ACC float
#define LD(x) f16_to_f32(x)
#define ST(x) f32_to_f16(x)
#define LOWEST -INFINITY
#define FLOATING 1
#define POW powf
#define NAME(x) f16_##x
#include "pool_type.h"
#define T bf16
#define ACC float
#define LD(x) bf16_to_f32(x)
#define ST(x) f32_to_bf16(x)
#define LOWEST -INFINITY
#define FLOATING 1
#define POW powf
#define NAME(x) bf16_##x
#include "pool_type.h"
#define T int8_t
#define ACC int8_t
#define LD(x) (x)
#define ST(x) (x)
#define LOWEST INT8_MIN
#define FLOATING 0
#define NAME(x) i8_##x
#include "pool_type.h"
#define T uint8_t
#define ACC uint8_t
#define LD(x) (x)
#define ST(x) (x)
#define LOWEST 0
#define FLOATING 0
#define NAME(x) u8_##x
#include "pool_type.h"

typedef struct pool_functions {
  void (*plain_row)(const pool *q, const void *plane, int64_t od, int64_t oh, int64_t ow, int64_t count, void *out);
  void (*last_position)(const pool *q, const void *image, int64_t od, int64_t oh, int64_t ow, int64_t count, void *out);
  int64_t (*place)(const pool *q, const void *x, int64_t step, int64_t od, int64_t oh, int64_t ow);
  void (*global)(const pool *q, const void *x, int64_t positions, int64_t stride, int64_t count, void *out);
} pool_functions;

#define FUNCTIONS(t) {t##_plain_row, t##_last_position, t##_place, t##_global}
static const pool_functions functions[ORTC_ELEMENT_TYPE_COUNT] = {
  [ORTC_FLOAT] = FUNCTIONS(f32), [ORTC_DOUBLE] = FUNCTIONS(f64), [ORTC_FLOAT16] = FUNCTIONS(f16), [ORTC_BFLOAT16] = FUNCTIONS(bf16),
  [ORTC_INT8] = FUNCTIONS(i8), [ORTC_UINT8] = FUNCTIONS(u8)};

bool pool_supports(pool_op op, dtype type) { return functions[type].plain_row && (op == POOL_MAX || (type != ORTC_INT8 && type != ORTC_UINT8)); }

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

typedef struct pool_work {
  const pool *q;
  const char *x;
  char *y;
  int64_t *indices, positions;
} pool_work;

/* Units are output rows of all planes. */
static void plain_range(void *context, int64_t begin, int64_t end) {
  const pool_work *k = context;
  const window *w = k->q->w;
  int64_t rows = w->out[0] * w->out[1], width = dtype_width(k->q->type);
  const pool_functions *f = &functions[k->q->type];
  for (int64_t i = begin; i < end; ++i) {
    int64_t plane = i / rows, od = i % rows / w->out[1], oh = i % rows % w->out[1];
    const char *x = k->x + plane * window_in(w) * width;
    for (int64_t ow = 0; ow < w->out[2]; ow += POOL_LANES)
      f->plain_row(k->q, x, od, oh, ow, least(POOL_LANES, w->out[2] - ow), k->y + (i * w->out[2] + ow) * width);
    for (int64_t ow = 0; k->indices && ow < w->out[2]; ++ow) k->indices[i * w->out[2] + ow] = plane * window_in(w) + f->place(k->q, x, 1, od, oh, ow);
  }
}

/* Units are output positions of all images. */
static void last_range(void *context, int64_t begin, int64_t end) {
  const pool_work *k = context;
  const window *w = k->q->w;
  int64_t positions = window_out(w), width = dtype_width(k->q->type), channels = k->q->channels;
  const pool_functions *f = &functions[k->q->type];
  for (int64_t i = begin; i < end; ++i) {
    int64_t image = i / positions, position = i % positions;
    int64_t ow = position % w->out[2], oh = position / w->out[2] % w->out[1], od = position / (w->out[2] * w->out[1]);
    const char *x = k->x + image * window_in(w) * channels * width;
    for (int64_t c = 0; c < channels; c += POOL_LANES)
      f->last_position(k->q, x + c * width, od, oh, ow, least(POOL_LANES, channels - c), k->y + (i * channels + c) * width);
    for (int64_t c = 0; k->indices && c < channels; ++c)
      k->indices[(image * channels + c) * positions + position] = (image * channels + c) * window_in(w) + f->place(k->q, x + c * width, channels,
                                                                                                                   od, oh, ow);
  }
}

void pool_run(const pool *p, const void *x, void *y, int64_t *indices, int threads) {
  pool_work work = {p, x, y, indices, 0};
  const window *w = p->w;
  bool last = p->order == LAYOUT_CHANNELS_LAST;
  int64_t units = p->images * (last ? window_out(w) : p->channels * w->out[0] * w->out[1]);
  int64_t cost = window_taps(w) * (last ? p->channels : w->out[2]);
  parallel_for(threads, units, 1 + 100000 / (cost + 1), last ? last_range : plain_range, &work);
}

static void global_range(void *context, int64_t begin, int64_t end) {
  const pool_work *k = context;
  const pool *q = k->q;
  int64_t width = dtype_width(q->type);
  if (q->order == LAYOUT_PLAIN) {
    for (int64_t i = begin; i < end; ++i) functions[q->type].global(q, k->x + i * k->positions * width, k->positions, 1, 1, k->y + i * width);
    return;
  }
  int64_t blocks = (q->channels + POOL_LANES - 1) / POOL_LANES;
  for (int64_t i = begin; i < end; ++i) {
    int64_t image = i / blocks, c = i % blocks * POOL_LANES;
    functions[q->type].global(q, k->x + (image * k->positions * q->channels + c) * width, k->positions, q->channels,
                              least(POOL_LANES, q->channels - c),
                              k->y + (image * q->channels + c) * width);
  }
}

void pool_global(const pool *p, int64_t positions, const void *x, void *y, int threads) {
  pool_work work = {p, x, y, NULL, positions};
  bool last = p->order == LAYOUT_CHANNELS_LAST;
  int64_t units = p->images * (last ? (p->channels + POOL_LANES - 1) / POOL_LANES : p->channels);
  parallel_for(threads, units, 1 + 200000 / (1 + positions * (last ? POOL_LANES : 1)), global_range, &work);
}
