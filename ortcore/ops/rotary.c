/* RotaryEmbedding: pairs of features of each head turn by an angle that the position tells. */
#include <ortcore/base/cpu.h>
#include <ortcore/base/threads.h>
#include <ortcore/ops/float_io.h>
#include <ortcore/ops/movement.h>
#include <ortcore/ops/params/rotary.h>

static const rotary_def onnx_def = {3, 1, 2}, microsoft_def = {1, 2, 3};

typedef struct rotary_work {
  const float *x, *cos, *sin;
  float *y;
  const int64_t *ids;                                       /* NULL: the caches have a row for each place */
  bool interleaved;
  rotary_sizes of;
} rotary_work;

MULTIVERSION static void rotate(const float *restrict x, const float *restrict cosine, const float *restrict sine, int64_t half, bool interleaved, float *restrict y) {
  if (interleaved)
    for (int64_t i = 0; i < half; ++i) {
      float a = x[2 * i], b = x[2 * i + 1];
      y[2 * i] = a * cosine[i] - b * sine[i];
      y[2 * i + 1] = a * sine[i] + b * cosine[i];
    }
  else
    for (int64_t i = 0; i < half; ++i) {
      float a = x[i], b = x[half + i];
      y[i] = a * cosine[i] - b * sine[i];
      y[half + i] = a * sine[i] + b * cosine[i];
    }
}

/* Rows: a batch, a step, a head. */
static void rotary_range(void *context, int64_t begin, int64_t end) {
  const rotary_work *w = context;
  const rotary_sizes *of = &w->of;
  for (int64_t row = begin; row < end; ++row) {
    int64_t head = row % of->heads, place = row / of->heads, step = place % of->steps, batch = place / of->steps;
    int64_t position = !w->ids ? place : of->ids_are_offset ? w->ids[0] + step : w->ids[place];
    int64_t at = batch * of->batch_stride + head * of->head_stride + step * of->step_stride;
    rotate(w->x + at, w->cos + position * of->half, w->sin + position * of->half, of->half, w->interleaved, w->y + at);
    memcpy(w->y + at + 2 * of->half, w->x + at + 2 * of->half, (size_t)(of->size - 2 * of->half) * sizeof(float));
  }
}

/* Every row that will be read from the caches exists. */
static status check_positions(const rotary_sizes *of, const tensor *ids) {
  for (int64_t i = 0; ids && i < ids->count; ++i) {
    int64_t first = ((const int64_t *)ids->data)[i], last;
    if (__builtin_add_overflow(first, of->ids_are_offset ? of->steps - 1 : 0, &last) || first < 0 || last >= of->rows)
      return ERROR(INVALID_ARGUMENT, "'position_ids' has %lld at %lld, but the caches have %lld rows", (long long)first, (long long)i, (long long)of->rows);
  }
  return OK;
}

static status rotary_run(kernel_ctx *k) {
  const rotary_def *def = k->node->op->data;
  tensor copies[3], out_copy, *out, *y;
  const tensor *x, *cos, *sin, *ids = kernel_in(k, def->ids);
  rotary_work w = {.interleaved = attr_int_or(k->node, "interleaved", 0)};
  TRY(float_input(k, 0, &copies[0], &x));
  TRY(float_input(k, def->cos, &copies[1], &cos));
  TRY(float_input(k, def->sin, &copies[2], &sin));
  TRY(rotary_find_sizes(k->node, def, x, cos, sin, ids, &w.of));
  w.ids = ids ? ids->data : NULL;
  TRY(check_positions(&w.of, ids));
  TRY(kernel_output_like(k, 0, k->in[0], &out));
  TRY(float_output(k, out, &out_copy, &y));
  if (!x->count) return OK;
  w.x = x->data;
  w.y = y->data;
  w.cos = cos->data;
  w.sin = sin->data;
  parallel_for(k->threads, w.of.batch * w.of.steps * w.of.heads, 16384 / w.of.size + 1, rotary_range, &w);
  float_finish(out, y);
  return OK;
}

OP_FAMILY(rotary) = {
  {.name = "RotaryEmbedding", .since = 23, .signature = "X:T cos_cache:T sin_cache:T position_ids:i64? -> Y:T", .T = TS(FLOAT) | TS_HALF, .run = rotary_run, .data = &onnx_def},
  {.name = "RotaryEmbedding", .domain = "com.microsoft", .since = 1, .signature = "input:T position_ids:i64 cos_cache:T sin_cache:T -> output:T", .T = TS(FLOAT) | TS_HALF,
   .run = rotary_run, .data = &microsoft_def},
  {0}};
