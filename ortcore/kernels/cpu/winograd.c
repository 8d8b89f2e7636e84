#include "winograd.h"

#include <ortcore/base/cpu.h>
#include <ortcore/base/threads.h>
#include <string.h>

enum { TILE = 4, FIELD = 6 };
typedef float lanes __attribute__((vector_size(WINOGRAD_LANES * sizeof(float))));

static int64_t tiles_along(int64_t out) { return (out + TILE - 1) / TILE; }

bool winograd_fits(const window *w, int64_t groups, int64_t ins, int64_t outs) {
  bool fits = w->rank == 2 && groups == 1 && ins % WINOGRAD_LANES == 0 && outs % WINOGRAD_LANES == 0;
  /* Small images leave most of a tile unused, and direct convolution is as fast there. */
  for (int axis = 1; axis < SPATIAL; ++axis)
    fits = fits && w->kernel[axis] == 3 && w->stride[axis] == 1 && w->dilation[axis] == 1 && w->out[axis] >= 12;
  return fits;
}

int64_t winograd_tiles(const window *w, int64_t images) { return images * tiles_along(w->out[1]) * tiles_along(w->out[2]); }

/* G g G', in f64: its rounding would add to that of every tile. */
void winograd_weights(const float *weights, int64_t ins, int64_t outs, float *out) {
  static const double g[FIELD][3] = {{0.25, 0, 0},           {-1. / 6, -1. / 6, -1. / 6}, {-1. / 6, 1. / 6, -1. / 6},
                                     {1. / 24, 1. / 12, 1. / 6}, {1. / 24, -1. / 12, 1. / 6}, {0, 0, 1}};
  for (int64_t k = 0; k < outs; ++k)
    for (int64_t c = 0; c < ins; ++c) {
      const float *w = weights + (k * ins + c) * 9;
      double rows[FIELD][3];
      for (int i = 0; i < FIELD; ++i)
        for (int j = 0; j < 3; ++j) rows[i][j] = g[i][0] * w[j] + g[i][1] * w[3 + j] + g[i][2] * w[6 + j];
      for (int i = 0; i < FIELD; ++i)
        for (int j = 0; j < FIELD; ++j)
          out[((i * FIELD + j) * ins + c) * outs + k] = (float)(rows[i][0] * g[j][0] + rows[i][1] * g[j][1] + rows[i][2] * g[j][2]);
    }
}

/* B'd of six numbers, `step` apart. */
static inline __attribute__((always_inline)) void transform_in(lanes *d, int step) {
  lanes d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step], d5 = d[5 * step];
  lanes a = d4 - 4 * d2, b = d3 - 4 * d1, c = d4 - d2, e = 2 * (d3 - d1);
  d[0] = 4 * d0 - 5 * d2 + d4;
  d[step] = a + b;
  d[2 * step] = a - b;
  d[3 * step] = c + e;
  d[4 * step] = c - e;
  d[5 * step] = 4 * d1 - 5 * d3 + d5;
}

/* A'm of six numbers: four. */
static inline __attribute__((always_inline)) void transform_out(const lanes *m, int step, lanes *o, int out_step) {
  lanes sum = m[step] + m[2 * step], difference = m[step] - m[2 * step], far_sum = m[3 * step] + m[4 * step],
      far_difference = m[3 * step] - m[4 * step];
  o[0] = m[0] + sum + far_sum;
  o[out_step] = difference + 2 * far_difference;
  o[2 * out_step] = sum + 4 * far_sum;
  o[3 * out_step] = difference + 8 * far_difference + m[5 * step];
}

typedef struct tile_place { int64_t image, y, x; } tile_place;

static tile_place place_of(const winograd *g, int64_t tile) {
  int64_t across = tiles_along(g->w->out[2]), down = tiles_along(g->w->out[1]);
  return (tile_place){tile / (across * down), tile / across % down * TILE, tile % across * TILE};
}

MULTIVERSION
static void input_tile(const winograd *g, const float *x, int64_t tile, int64_t column, int64_t chunk, float *out) {
  const window *w = g->w;
  tile_place p = place_of(g, tile);
  int64_t top = p.y - w->begin[1], left = p.x - w->begin[2];
  const float *image = x + p.image * w->in[1] * w->in[2] * g->ins;
  for (int64_t c = 0; c < g->ins; c += WINOGRAD_LANES) {
    lanes d[FIELD * FIELD];
    for (int i = 0; i < FIELD; ++i)
      for (int j = 0; j < FIELD; ++j) {
        int64_t h = top + i, v = left + j;
        if (h < 0 || h >= w->in[1] || v < 0 || v >= w->in[2]) d[i * FIELD + j] = (lanes){0};
        else memcpy(&d[i * FIELD + j], image + (h * w->in[2] + v) * g->ins + c, sizeof(lanes));
      }
    for (int i = 0; i < FIELD; ++i) transform_in(d + i * FIELD, 1);
    for (int j = 0; j < FIELD; ++j) transform_in(d + j, FIELD);
    for (int i = 0; i < FIELD * FIELD; ++i) memcpy(out + (i * chunk + column) * g->ins + c, &d[i], sizeof(lanes));
  }
}

MULTIVERSION
static void output_tile(const winograd *g, const float *products, int64_t tile, int64_t column, int64_t chunk, float *y) {
  const window *w = g->w;
  tile_place p = place_of(g, tile);
  int64_t rows = w->out[1] - p.y < TILE ? w->out[1] - p.y : TILE, columns = w->out[2] - p.x < TILE ? w->out[2] - p.x : TILE;
  for (int64_t k = 0; k < g->outs; k += WINOGRAD_LANES) {
    lanes m[FIELD * FIELD], half[TILE * FIELD], o[TILE * TILE], bias = {0};
    if (g->bias) memcpy(&bias, g->bias + k, sizeof bias);
    for (int i = 0; i < FIELD * FIELD; ++i) memcpy(&m[i], products + (i * chunk + column) * g->outs + k, sizeof(lanes));
    for (int j = 0; j < FIELD; ++j) transform_out(m + j, FIELD, half + j, FIELD);
    for (int i = 0; i < TILE; ++i) transform_out(half + i * FIELD, 1, o + i * TILE, 1);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) {
        int64_t at = ((p.image * w->out[1] + p.y + i) * w->out[2] + p.x + j) * g->outs + k;
        lanes value = o[i * TILE + j] + bias;
        if (g->residual) {
          lanes added;
          memcpy(&added, g->residual + at, sizeof added);
          value += added;
        }
        memcpy(y + at, &value, sizeof value);
      }
  }
}

/* Goes over the rows of a tile while they are in the cache. */
static void activate_tile(const winograd *g, int64_t tile, float *y) {
  const window *w = g->w;
  tile_place p = place_of(g, tile);
  int64_t rows = w->out[1] - p.y < TILE ? w->out[1] - p.y : TILE, columns = w->out[2] - p.x < TILE ? w->out[2] - p.x : TILE;
  for (int64_t i = 0; i < rows; ++i)
    activation_apply_f32(&g->act, y + ((p.image * w->out[1] + p.y + i) * w->out[2] + p.x) * g->outs, columns * g->outs);
}

typedef struct winograd_work { const winograd *g; const float *in; float *out; int64_t first, chunk; } winograd_work;

static void input_range(void *context, int64_t begin, int64_t end) {
  const winograd_work *k = context;
  for (int64_t i = begin; i < end; ++i) input_tile(k->g, k->in, k->first + i, i, k->chunk, k->out);
}

static void output_range(void *context, int64_t begin, int64_t end) {
  const winograd_work *k = context;
  for (int64_t i = begin; i < end; ++i) {
    output_tile(k->g, k->in, k->first + i, i, k->chunk, k->out);
    if (k->g->act.kind != ACTIVATION_NONE) activate_tile(k->g, k->first + i, k->out);
  }
}

void winograd_input(const winograd *g, const float *x, int64_t first, int64_t count, int64_t chunk, float *out, int threads) {
  winograd_work work = {g, x, out, first, chunk};
  parallel_for(threads, count, 8, input_range, &work);
}

void winograd_output(const winograd *g, const float *products, int64_t first, int64_t count, int64_t chunk, float *y, int threads) {
  winograd_work work = {g, products, y, first, chunk};
  parallel_for(threads, count, 8, output_range, &work);
}
