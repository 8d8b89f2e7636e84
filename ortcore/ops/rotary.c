/* RotaryEmbedding: pairs of features of each head turn by an angle that the position tells. */
#include <ortcore/base/cpu.h>
#include <ortcore/base/threads.h>
#include <ortcore/ops/float_io.h>
#include <ortcore/ops/movement.h>

/* Positions of the inputs: ai.onnx has the caches first, com.microsoft the position ids. */
typedef struct rotary_def { int8_t ids, cos, sin; } rotary_def;

static const rotary_def onnx_def = {3, 1, 2}, microsoft_def = {1, 2, 3};

typedef struct rotary_work {
  const float *x, *cos, *sin;
  float *y;
  const int64_t *ids;                                       /* NULL: the caches have a row for each place */
  bool ids_are_offset, interleaved;
  int64_t heads, steps, size, half;                         /* of x; half: pairs that turn */
  int64_t batch_stride, head_stride, step_stride;
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
  for (int64_t row = begin; row < end; ++row) {
    int64_t head = row % w->heads, place = row / w->heads, step = place % w->steps, batch = place / w->steps;
    int64_t position = !w->ids ? place : w->ids_are_offset ? w->ids[0] + step : w->ids[place];
    int64_t at = batch * w->batch_stride + head * w->head_stride + step * w->step_stride;
    rotate(w->x + at, w->cos + position * w->half, w->sin + position * w->half, w->half, w->interleaved, w->y + at);
    memcpy(w->y + at + 2 * w->half, w->x + at + 2 * w->half, (size_t)(w->size - 2 * w->half) * sizeof(float));
  }
}

static status find_sizes(kernel_ctx *k, const tensor *x, const tensor *cache, rotary_work *w, int64_t *out_batch) {
  int64_t rotated = attr_int_or(k->node, "rotary_embedding_dim", 0), heads = attr_int_or(k->node, "num_heads", 0);
  if (x->rank != 3 && x->rank != 4)
    return ERROR(INVALID_ARGUMENT, "the input has rank %d, expected 3 (batch, steps, hidden) or 4 (batch, heads, steps, size)", x->rank);
  *out_batch = x->dims[0];
  w->steps = x->dims[x->rank - 2];
  if (x->rank == 4) {
    w->heads = x->dims[1];
    w->size = x->dims[3];
    w->step_stride = w->size;
    w->head_stride = w->steps * w->size;
  } else {
    int64_t size = heads ? 0 : rotated ? rotated : 2 * (cache->rank ? cache->dims[cache->rank - 1] : 0);
    if (!heads && size > 0 && x->dims[2] % size == 0) heads = x->dims[2] / size;
    if (heads < 1 || x->dims[2] % heads)
      return ERROR(INVALID_ARGUMENT, "attribute 'num_heads' is %lld, which must divide the input's last dim %lld", (long long)heads, (long long)x->dims[2]);
    w->heads = heads;
    w->size = x->dims[2] / heads;
    w->step_stride = x->dims[2];
    w->head_stride = w->size;
  }
  w->batch_stride = w->heads * w->steps * w->size;
  rotated = rotated ? rotated : w->size;
  w->half = rotated / 2;
  if (rotated % 2 || rotated > w->size)
    return ERROR(INVALID_ARGUMENT, "attribute 'rotary_embedding_dim' is %lld, expected an even number up to the heads' size %lld", (long long)rotated, (long long)w->size);
  return OK;
}

/* Every row that will be read from the caches exists. */
static status check_positions(const rotary_work *w, const tensor *ids, const tensor *cos, const tensor *sin, int64_t batch) {
  int64_t rows = w->half ? cos->count / w->half : 0, places = batch * w->steps;
  if (cos->count != sin->count || (w->half && cos->count % w->half) || (cos->rank && cos->dims[cos->rank - 1] != w->half))
    return ERROR(INVALID_ARGUMENT, "the cosine and sine caches must both have %lld numbers in a row", (long long)w->half);
  if (!ids) return rows >= places ? OK : ERROR(INVALID_ARGUMENT, "the caches have %lld rows, but there are %lld places and no 'position_ids'", (long long)rows, (long long)places);
  if (!w->ids_are_offset && ids->count != places)
    return ERROR(INVALID_ARGUMENT, "'position_ids' has %lld elements, expected %lld", (long long)ids->count, (long long)places);
  for (int64_t i = 0; i < ids->count; ++i) {
    int64_t first = w->ids[i], last;
    if (__builtin_add_overflow(first, w->ids_are_offset ? w->steps - 1 : 0, &last) || first < 0 || last >= rows)
      return ERROR(INVALID_ARGUMENT, "'position_ids' has %lld at %lld, but the caches have %lld rows", (long long)first, (long long)i, (long long)rows);
  }
  return OK;
}

static status rotary_run(kernel_ctx *k) {
  const rotary_def *def = k->node->op->data;
  tensor copies[3], out_copy, *out, *y;
  const tensor *x, *cos, *sin, *ids = kernel_in(k, def->ids);
  rotary_work w = {.interleaved = attr_int_or(k->node, "interleaved", 0)};
  int64_t batch;
  TRY(float_input(k, 0, &copies[0], &x));
  TRY(float_input(k, def->cos, &copies[1], &cos));
  TRY(float_input(k, def->sin, &copies[2], &sin));
  TRY(find_sizes(k, x, cos, &w, &batch));
  w.ids = ids ? ids->data : NULL;
  w.ids_are_offset = ids && ids->count == 1 && def->ids == 1;
  TRY(check_positions(&w, ids, cos, sin, batch));
  TRY(kernel_output_like(k, 0, k->in[0], &out));
  TRY(float_output(k, out, &out_copy, &y));
  if (!x->count) return OK;
  w.x = x->data;
  w.y = y->data;
  w.cos = cos->data;
  w.sin = sin->data;
  parallel_for(k->threads, batch * w.steps * w.heads, 16384 / w.size + 1, rotary_range, &w);
  float_finish(out, y);
  return OK;
}

OP_FAMILY(rotary) = {
  {.name = "RotaryEmbedding", .since = 23, .signature = "X:T cos_cache:T sin_cache:T position_ids:i64? -> Y:T", .T = TS(FLOAT) | TS_HALF, .run = rotary_run, .data = &onnx_def},
  {.name = "RotaryEmbedding", .domain = "com.microsoft", .since = 1, .signature = "input:T position_ids:i64 cos_cache:T sin_cache:T -> output:T", .T = TS(FLOAT) | TS_HALF,
   .run = rotary_run, .data = &microsoft_def},
  {0}};
